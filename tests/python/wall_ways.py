"""Ways of a kernel that is broken: a table, and the program that tries each in the kernel's place.

`fairway-guest supervise` starts it as it does a kernel, behind the wall, with the rights of its
user. It needs ctypes alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from ways_out import CALLS, Way, call, checked, libc, mounts, prctl, tried, tries

#: The test's directory outside, and the number of a process of its own.
PLACE, FOREIGN = "WALL_PLACE", "WALL_FOREIGN"
#: More numbers of system calls on x86-64.
MORE = {
    "msgget": 68, "process_vm_readv": 310, "memfd_create": 319, "clone3": 435,
}  # fmt: skip
CALLS.update(MORE)
#: Who has started this program.
SUPERVISOR = os.getppid()

_REFUSED = "EPERM"
#: Refused by Landlock, or by a mount that is read-only.
_FILES = ("EACCES", "EROFS")
_LINKS = (_REFUSED, *_FILES)


def place(name: str) -> str:
    return f"{os.environ[PLACE]}/{name}"


def foreign() -> int:
    return int(os.environ[FOREIGN])


def does(act: Callable[[], object]) -> Callable[[], str]:
    """A way that succeeds if nothing is raised."""

    def go() -> str:
        act()
        return "done"

    return go


def opens(path: Callable[[], str], flags: int) -> Callable[[], str]:
    return does(lambda: os.open(path(), flags, 0o600))


def sockets(family: int, kind: int) -> Callable[[], str]:
    return does(lambda: socket.socket(family, kind))


def gains_rights() -> str:
    """Whether executing a program gives root's capabilities back."""
    lines = Path("/proc/self/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    # Reading files is all that is left: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
    more = int(values["CapEff"], 16) & ~0b110
    return "none" if not more and values["NoNewPrivs"].strip() == "1" else f"{more:x}"


def run_directory() -> str:
    """All that a kernel does in its run directory."""
    os.mkdir("made")
    Path("made/one").write_text("x")
    os.rename("made/one", "made/two")
    os.truncate(os.open("made/two", os.O_RDWR), 0)
    os.unlink("made/two")
    os.rmdir("made")
    Path("made").write_text("x")
    return "done"


def scratch() -> str:
    """The file of its memory, which has no name."""
    os.close(os.open(os.environ["TMPDIR"], os.O_RDWR | os.O_TMPFILE | os.O_EXCL, 0o700))
    return "done"


def network_namespace() -> str:
    return f"it returned {call('unshare', 0x40000000)}"


def clone_namespace() -> str:
    child = checked(libc.syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "done"


#: Every way, in the order of the page.
WAYS = (
    Way("run directory", "make, write, rename and remove files there", ("done",), run_directory),
    Way("memory", "make a file without a name in its own directory", ("done",), scratch),
    Way("consoles", "open `/dev/null` to read and to write", ("done",),
        opens(lambda: "/dev/null", os.O_RDWR)),
    Way("read", "read a file of this machine", ("done",),
        does(lambda: Path(place("file")).read_text())),
    Way("write", "open a file of this machine to write", _FILES,
        opens(lambda: place("file"), os.O_WRONLY)),
    Way("append", "likewise to append", _FILES,
        opens(lambda: place("file"), os.O_WRONLY | os.O_APPEND)),
    Way("truncate", "shorten it by its path", _LINKS, does(lambda: os.truncate(place("file"), 0))),
    Way("create", "make a file", _FILES, opens(lambda: place("new"), os.O_CREAT | os.O_WRONLY)),
    Way("memory of others", "make a file where memory lies", _FILES,
        opens(lambda: "/dev/shm/fairway-walls", os.O_CREAT | os.O_WRONLY)),
    Way("remove", "remove a file", _FILES, does(lambda: os.unlink(place("file")))),
    Way("rename out", "move a file of the run directory out", (*_FILES, "EXDEV"),
        does(lambda: os.rename("made", place("moved")))),
    Way("rename in", "move a file of this machine in", (*_FILES, "EXDEV"),
        does(lambda: os.rename(place("file"), "taken"))),
    Way("mkdir", "make a directory", _FILES, does(lambda: os.mkdir(place("directory")))),
    Way("symlink", "make a link, in the run directory too", _LINKS,
        does(lambda: os.symlink(place("file"), "link"))),
    Way("hard link", "give a file of this machine a second name", _LINKS,
        does(lambda: os.link(place("file"), "link"))),
    Way("mknod", "make a FIFO, in the run directory too", _LINKS, does(lambda: os.mkfifo("fifo"))),
    Way("chmod", "change a mode", _LINKS, does(lambda: os.chmod(place("file"), 0o777))),
    Way("chown", "change an owner", _LINKS, does(lambda: os.chown(place("file"), 1, 1))),
    Way("utime", "change a time", _LINKS, does(lambda: os.utime(place("file"), (1, 1)))),
    Way("setxattr", "set an attribute", _LINKS,
        does(lambda: os.setxattr(place("file"), "user.x", b"x"))),
    Way("own memory", "write to `/proc/self/oom_score_adj`", _FILES,
        opens(lambda: "/proc/self/oom_score_adj", os.O_WRONLY)),
    Way("TCP", "a socket of the network", (_REFUSED,), sockets(socket.AF_INET, socket.SOCK_STREAM)),
    Way("UDP", "likewise", (_REFUSED,), sockets(socket.AF_INET, socket.SOCK_DGRAM)),
    Way("IPv6", "likewise", (_REFUSED,), sockets(socket.AF_INET6, socket.SOCK_STREAM)),
    Way("UNIX", "a socket of this machine", (_REFUSED,),
        sockets(socket.AF_UNIX, socket.SOCK_STREAM)),
    Way("netlink", "a socket of the host's kernel", (_REFUSED,), sockets(16, socket.SOCK_RAW)),
    Way("packet", "a socket of a device", (_REFUSED,), sockets(17, socket.SOCK_RAW)),
    Way("vsock", "a socket of the machine below", (_REFUSED,), sockets(40, socket.SOCK_STREAM)),
    Way("socketpair", "a pair of another family", (_REFUSED,),
        does(lambda: socket.socketpair(socket.AF_INET))),
    Way("signal", "end a process of this user", (_REFUSED,),
        does(lambda: os.kill(foreign(), signal.SIGTERM))),
    Way("signal, supervisor", "end the supervisor", (_REFUSED,),
        does(lambda: os.kill(SUPERVISOR, signal.SIGKILL))),
    Way("ptrace", "trace a process of this user", (_REFUSED,),
        lambda: f"it returned {call('ptrace', 16, foreign(), 0, 0)}"),
    Way("process_vm_readv", "read its memory", (_REFUSED,),
        lambda: f"it returned {call('process_vm_readv', foreign(), None, 0, None, 0, 0)}"),
    Way("/proc/PID/mem", "write its memory", _LINKS,
        opens(lambda: f"/proc/{foreign()}/mem", os.O_RDWR)),
    Way("pidfd", "hold a process of this user", (_REFUSED,),
        lambda: f"it returned {call('pidfd_open', foreign(), 0)}"),
    Way("capabilities", "keep or gain more than to read", ("none",), gains_rights),
    Way("no_new_privs", "turn it off", ("EINVAL",), prctl(38, 0, 0, 0, 0)),
    Way("mount", "mount a file system", (_REFUSED,), mounts(b"tmpfs")),
    Way("unshare", "a namespace", (_REFUSED,), network_namespace),
    Way("clone", "a child in a namespace", (_REFUSED,), clone_namespace),
    Way("clone3", "likewise, by a call whose flags cannot be looked at", (_REFUSED,),
        tries("clone3", None, 0)),
    Way("io_uring", "have the host make calls", (_REFUSED,), tries("io_uring_setup", 4, None)),
    Way("bpf", "load a program", (_REFUSED,), tries("bpf", 5, None, 0)),
    Way("perf", "open an event", (_REFUSED,), tries("perf_event_open", None, 0, -1, -1, 0)),
    Way("userfaultfd", "open one", (_REFUSED,), tries("userfaultfd", 0)),
    Way("keyrings", "add a key", (_REFUSED,), tries("add_key", b"user", b"x", b"y", 1, -3)),
    Way("memfd", "make a file that can be executed", (_REFUSED,),
        tries("memfd_create", b"x", 0)),
    Way("messages", "a queue of System V", (_REFUSED,), tries("msgget", 1, 0o1600)),
    Way("init_module", "load a module", (_REFUSED,), tries("init_module", None, 0, b"")),
    Way("kexec", "load a kernel", (_REFUSED,), tries("kexec_load", 0, 0, None, 0)),
    Way("reboot", "restart this machine", (_REFUSED,), tries("reboot", 0, 0, 0, None)),
    Way("clock", "set its time", (_REFUSED,), tries("settimeofday", None, None)),
    Way("chroot", "change the root", (_REFUSED,), does(lambda: os.chroot("/"))),
    Way("setuid", "change the user", (_REFUSED,), does(lambda: os.setuid(os.getuid()))),
    Way("ioctl", "type into a terminal (`TIOCSTI`)", (_REFUSED,),
        lambda: f"it returned {checked(libc.ioctl(0, 0x5412, b'x'))}"),
)  # fmt: skip


def main() -> None:
    """Leave the results in the run directory."""
    results = {way.name: tried(way) for way in WAYS}
    Path("results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    sys.exit(main())
