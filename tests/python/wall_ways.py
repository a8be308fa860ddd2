"""Ways of a kernel that is broken: a table, and the program that tries each in the kernel's place.

`fairway-guest supervise` starts it as it does a kernel, behind the wall, with the rights of its
user. It needs ctypes alone.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from ways_out import CALLS, Attempt, call, checked, libc, mounts, prctl, tried, tries

#: The test's directory outside, and the number of a process of its own.
PLACE, FOREIGN = "WALL_PLACE", "WALL_FOREIGN"
#: More numbers of system calls on x86-64.
MORE = {
    "msgget": 68, "process_vm_readv": 310, "renameat2": 316,
    "memfd_create": 319, "clone3": 435,
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


def whiteout() -> str:
    """Leave a device of Linux's own in the place of a file."""
    Path("left").write_text("x")
    here, leave_a_device = -100, 4  # AT_FDCWD, RENAME_WHITEOUT
    return f"it returned {call('renameat2', here, b'left', here, b'moved', leave_a_device)}"


def limits() -> str:
    """Let a process of this user open no file any more."""
    return f"it returned {resource.prlimit(foreign(), resource.RLIMIT_NOFILE, (0, 0))}"


def holds(command: int, argument: int | bytes) -> Callable[[], str]:
    """A way to hold a file of this machine that is opened to read."""

    def go() -> str:
        fcntl.fcntl(os.open(place("file"), os.O_RDONLY), command, argument)
        return "done"

    return go


def in_a_child(act: Callable[[], object]) -> Callable[[], str]:
    """A way of a process that leads no group."""

    def go() -> str:
        child = os.fork()
        if child == 0:
            try:
                act()
            except OSError as error:
                os._exit(error.errno or 255)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return errno.errorcode.get(code, "done")

    return go


def clone_namespace() -> str:
    child = checked(libc.syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "done"


#: Every way, in the order of the page.
WAYS = (
    Attempt("run directory", "make, write, rename and remove files there", ("done",),
        run_directory),
    Attempt("memory", "make a file without a name in its own directory", ("done",), scratch),
    Attempt("consoles", "open `/dev/null` to read and to write", ("done",),
        opens(lambda: "/dev/null", os.O_RDWR)),
    Attempt("read", "read a file of this machine", ("done",),
        does(lambda: Path(place("file")).read_text())),
    Attempt("write", "open a file of this machine to write", _FILES,
        opens(lambda: place("file"), os.O_WRONLY)),
    Attempt("append", "likewise to append", _FILES,
        opens(lambda: place("file"), os.O_WRONLY | os.O_APPEND)),
    Attempt("truncate", "shorten it by its path", _LINKS,
        does(lambda: os.truncate(place("file"), 0))),
    Attempt("create", "make a file", _FILES, opens(lambda: place("new"), os.O_CREAT | os.O_WRONLY)),
    Attempt("memory of others", "make a file where memory lies", _FILES,
        opens(lambda: "/dev/shm/fairway-walls", os.O_CREAT | os.O_WRONLY)),
    Attempt("remove", "remove a file", _FILES, does(lambda: os.unlink(place("file")))),
    Attempt("rename out", "move a file of the run directory out", (*_FILES, "EXDEV"),
        does(lambda: os.rename("made", place("moved")))),
    Attempt("rename in", "move a file of this machine in", (*_FILES, "EXDEV"),
        does(lambda: os.rename(place("file"), "taken"))),
    Attempt("mkdir", "make a directory", _FILES, does(lambda: os.mkdir(place("directory")))),
    Attempt("symlink", "make a link, in the run directory too", _LINKS,
        does(lambda: os.symlink(place("file"), "link"))),
    Attempt("hard link", "give a file of this machine a second name", _LINKS,
        does(lambda: os.link(place("file"), "link"))),
    Attempt("mknod", "make a FIFO, in the run directory too", _LINKS,
        does(lambda: os.mkfifo("fifo"))),
    Attempt("whiteout", "leave a device in the place of a renamed file", (_REFUSED,), whiteout),
    Attempt("chmod", "change a mode", _LINKS, does(lambda: os.chmod(place("file"), 0o777))),
    Attempt("chown", "change an owner", _LINKS, does(lambda: os.chown(place("file"), 1, 1))),
    Attempt("utime", "change a time", _LINKS, does(lambda: os.utime(place("file"), (1, 1)))),
    Attempt("setxattr", "set an attribute", _LINKS,
        does(lambda: os.setxattr(place("file"), "user.x", b"x"))),
    Attempt("lock", "lock a file of this machine", (_REFUSED,),
        holds(fcntl.F_SETLK, struct.pack("hhlli4x", fcntl.F_RDLCK, 0, 0, 0, 0))),
    Attempt("lease", "have its writers wait", (_REFUSED,), holds(fcntl.F_SETLEASE, fcntl.F_RDLCK)),
    Attempt("own memory", "write to `/proc/self/oom_score_adj`", _FILES,
        opens(lambda: "/proc/self/oom_score_adj", os.O_WRONLY)),
    Attempt("TCP", "a socket of the network", (_REFUSED,),
        sockets(socket.AF_INET, socket.SOCK_STREAM)),
    Attempt("UDP", "likewise", (_REFUSED,), sockets(socket.AF_INET, socket.SOCK_DGRAM)),
    Attempt("IPv6", "likewise", (_REFUSED,), sockets(socket.AF_INET6, socket.SOCK_STREAM)),
    Attempt("UNIX", "a socket of this machine", (_REFUSED,),
        sockets(socket.AF_UNIX, socket.SOCK_STREAM)),
    Attempt("netlink", "a socket of the host's kernel", (_REFUSED,), sockets(16, socket.SOCK_RAW)),
    Attempt("packet", "a socket of a device", (_REFUSED,), sockets(17, socket.SOCK_RAW)),
    Attempt("vsock", "a socket of the machine below", (_REFUSED,), sockets(40, socket.SOCK_STREAM)),
    Attempt("socketpair", "a pair of another family", (_REFUSED,),
        does(lambda: socket.socketpair(socket.AF_INET))),
    Attempt("signal", "end a process of this user", (_REFUSED,),
        does(lambda: os.kill(foreign(), signal.SIGTERM))),
    Attempt("signal, supervisor", "end the supervisor", (_REFUSED,),
        does(lambda: os.kill(SUPERVISOR, signal.SIGKILL))),
    Attempt("group", "leave the group that the supervisor ends", (_REFUSED,),
        in_a_child(lambda: os.setpgid(0, 0))),
    Attempt("session", "likewise, by a session", (_REFUSED,), in_a_child(os.setsid)),
    Attempt("prlimit", "take files from a process of this user", (_REFUSED,), limits),
    Attempt("ptrace", "trace a process of this user", (_REFUSED,),
        lambda: f"it returned {call('ptrace', 16, foreign(), 0, 0)}"),
    Attempt("process_vm_readv", "read its memory", (_REFUSED,),
        lambda: f"it returned {call('process_vm_readv', foreign(), None, 0, None, 0, 0)}"),
    Attempt("/proc/PID/mem", "write its memory", _LINKS,
        opens(lambda: f"/proc/{foreign()}/mem", os.O_RDWR)),
    Attempt("pidfd", "hold a process of this user", (_REFUSED,),
        lambda: f"it returned {call('pidfd_open', foreign(), 0)}"),
    Attempt("capabilities", "keep or gain more than to read", ("none",), gains_rights),
    Attempt("no_new_privs", "turn it off", ("EINVAL",), prctl(38, 0, 0, 0, 0)),
    Attempt("mount", "mount a file system", (_REFUSED,), mounts(b"tmpfs")),
    Attempt("unshare", "a namespace", (_REFUSED,), network_namespace),
    Attempt("clone", "a child in a namespace", (_REFUSED,), clone_namespace),
    Attempt("clone3", "likewise, by a call whose flags cannot be looked at", (_REFUSED,),
        tries("clone3", None, 0)),
    Attempt("io_uring", "have the host make calls", (_REFUSED,), tries("io_uring_setup", 4, None)),
    Attempt("bpf", "load a program", (_REFUSED,), tries("bpf", 5, None, 0)),
    Attempt("perf", "open an event", (_REFUSED,), tries("perf_event_open", None, 0, -1, -1, 0)),
    Attempt("userfaultfd", "open one", (_REFUSED,), tries("userfaultfd", 0)),
    Attempt("keyrings", "add a key", (_REFUSED,), tries("add_key", b"user", b"x", b"y", 1, -3)),
    Attempt("memfd", "make a file that can be executed", (_REFUSED,),
        tries("memfd_create", b"x", 0)),
    Attempt("messages", "a queue of System V", (_REFUSED,), tries("msgget", 1, 0o1600)),
    Attempt("init_module", "load a module", (_REFUSED,), tries("init_module", None, 0, b"")),
    Attempt("kexec", "load a kernel", (_REFUSED,), tries("kexec_load", 0, 0, None, 0)),
    Attempt("reboot", "restart this machine", (_REFUSED,), tries("reboot", 0, 0, 0, None)),
    Attempt("clock", "set its time", (_REFUSED,), tries("settimeofday", None, None)),
    Attempt("chroot", "change the root", (_REFUSED,), does(lambda: os.chroot("/"))),
    Attempt("setuid", "change the user", (_REFUSED,), does(lambda: os.setuid(os.getuid()))),
    Attempt("ioctl", "type into a terminal (`TIOCSTI`)", (_REFUSED,),
        lambda: f"it returned {checked(libc.ioctl(0, 0x5412, b'x'))}"),
)  # fmt: skip


def main() -> None:
    """Leave the results in the run directory."""
    results = {way.name: tried(way) for way in WAYS}
    Path("results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    sys.exit(main())
