"""One kernel, booted for one run: started, watched, ended, and nothing of it left.

The kernel is started by a supervisor, a small process of its own (`fairway-guest supervise`), which
ends it and all that belongs to it when it is told to, or when this process is gone for whatever
reason: then its standard input comes to an end.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fairway._core import Cancelled
from fairway.backends.linux import confinement
from fairway.backends.linux.confinement import AGENT
from fairway.backends.linux.kernel import Kernel
from fairway.backends.linux.memory_file import place_for
from fairway.errors import InputError, RunFailed, writing
from fairway.ground import quantities, text
from fairway.ground.temporary import Temporary, remove_tree

#: The network that its kernel loads.
NETWORK = AGENT.with_name("libfairway-network.so")
#: Names another patience: seconds of real time that may pass without progress.
PATIENCE = "FAIRWAY_LINUX_PATIENCE_S"
#: The longest that was seen is 20 s: a boot on a machine that had read none of it from its disk.
_PATIENCE_S = 60.0
#: How often a kernel is looked at, in seconds.
_TICK_S = 0.05
#: How long the supervisor may take to end everything; it takes milliseconds.
_FAREWELL_S = 10.0
#: File of what the kernel's console shows.
_CONSOLE = "console"
#: A kernel whose console has grown beyond this has gone mad.
_MAX_CONSOLE_BYTES = 16 << 20
#: What of a console goes into an error: its last lines, and the one that says why, before the
#: registers and calls that a panic prints, at the head.
_LAST_LINES = 15
_LAST_BYTES = 8192
_REASON = "Kernel panic"
#: What a kernel without memory says (mm/oom_kill.c, `out_of_memory` and `__oom_kill_process`).
_NO_MEMORY = ("System is deadlocked on memory", "Out of memory: ")
#: What it says when it has killed a process whose pages the host did not map (arch/um/kernel/tlb.c,
#: `report_enomem`).
_UNMAPPED = "UML ran out of memory on the host side"
#: What it says of a process that it has killed for its memory, by name (`TASK_COMM_LEN`, 16 with
#: the end, escaped to four times as much). A console may hold anything, so both are bounded.
_KILLED = re.compile(r"Out of memory: Killed process \d{1,10} \((.{0,64}?)\) total-vm")
#: The run directory as the kernel's process sees it: its working directory.
_HERE = "/proc/self/cwd"
#: Exit codes of the supervisor: this and more are signals.
_SIGNALLED = 128
#: Where the supervisor says why the host places the kernel's memory at random, if it does.
_ASLR = "aslr"
#: Where it says why the kernel could write files of this machine, if it could.
_OPEN = "unconfined"


@contextlib.contextmanager
def run_directory() -> Iterator[Path]:
    """A private directory for one run, gone at the end."""
    place = Temporary("fairway-run-")
    try:
        yield place.path.resolve()
    finally:
        place.remove()


@contextlib.contextmanager
def scratch_directory(place: Path) -> Iterator[Path]:
    """A private directory for the memory of one machine, all it can write but for its run.

    The supervisor removes it, too, if this process is gone.
    """
    with writing(place):
        directory = Path(tempfile.mkdtemp(prefix="fairway-memory-", dir=place))
    try:
        yield directory
    finally:
        # The supervisor has removed it, if it could.
        with contextlib.suppress(OSError):
            remove_tree(directory)


def cautions(directory: Path) -> list[str]:
    """What there is to say of a kernel that has carried out the plan of this run directory."""
    console = _tail(directory / _CONSOLE, _MAX_CONSOLE_BYTES)
    said = [
        f"the kernel ran out of memory and killed {name}; `memory` in [linux] gives it more"
        for name in dict.fromkeys(_KILLED.findall(console))
    ]
    if _UNMAPPED in console:
        said.append(
            "a process was killed, since the host maps no more pages for it: vm.max_map_count is "
            "65530 by default, enough for some 250 MB; as root on this machine: "
            "sysctl vm.max_map_count=1048576"
        )
    if why := _tail(directory / _ASLR, _LAST_BYTES):
        said.append(
            f"this machine placed the kernel's memory at random (personality: {why}), so the "
            "limits that it takes from its size may differ from run to run; a container needs a "
            "seccomp profile that allows personality(2)"
        )
    if why := _tail(directory / _OPEN, _LAST_BYTES):
        said.append(confinement.missing(why))
    return said


class Machine:
    """A kernel that carries out `plan.json` of a run directory; `seed` decides its randomness."""

    def __init__(
        self,
        kernel: Kernel,
        directory: Path,
        *,
        memory_bytes: int,
        seed: int,
        is_emulated: bool = False,
        arguments: Sequence[str] = (),
        patience_s: float | None = None,
        hint: str = "",
    ) -> None:
        self._kernel = kernel
        self._directory = directory
        self._console = directory / _CONSOLE
        self._memory_bytes = memory_bytes
        self._memory_place = place_for(memory_bytes)
        self._seed = seed
        self._arguments = arguments
        self._is_emulated = is_emulated
        self._patience_s = _patience_s() if patience_s is None else patience_s
        self._hint = hint

    def run(self, progressed: Callable[[int], None], cancelled: Callable[[], bool]) -> None:
        """Boot it and stay with it until it has carried the plan out."""
        with scratch_directory(self._memory_place) as scratch:
            supervisor = self._start(scratch)
            try:
                self._watch(supervisor, progressed, cancelled)
            finally:
                _end(supervisor)
        if not (self._directory / "totals.json").is_file():
            raise self._failure(self._what_happened(supervisor.returncode))

    def _start(self, scratch: Path) -> subprocess.Popen[bytes]:
        if not AGENT.is_file():
            raise InputError(f"{AGENT}: missing; install Fairway again: make build")
        with writing(self._directory):
            (self._directory / "agent").symlink_to(AGENT)
            console = self._console.open("wb")
        environment = {
            "PATH": os.environ.get("PATH") or os.defpath,
            "HOME": str(self._directory),
            # The file that is the machine's memory goes there, without a name.
            "TMPDIR": str(scratch),
            "FAIRWAY_SEED": str(self._seed),
        }
        supervise: list[str | Path] = [AGENT, "supervise", self._directory]
        kernel: list[str | Path] = [self._kernel.path, *self._command_line()]
        with console:
            return subprocess.Popen(
                [*supervise, *kernel],
                cwd=self._directory,
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def _command_line(self) -> list[str]:
        return [
            f"mem={self._memory_bytes >> 20}M",
            # The host's files, which nothing can be written to.
            *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"),
            # The command line is part of the kernel's randomness: it does not name the directory.
            f"init={_HERE}/agent",
            *("con0=null,fd:1", "con=null", "quiet", "loglevel=4", "panic=-1"),
            # No addresses of IPv6 until a sysctl asks for them: nothing is sent but by flows.
            "ipv6.disable_ipv6=1",
            f"uml_dir={_HERE}/uml",
            f"fairway.dir={_HERE}",
            *([f"fairway.network={_HERE}"] if self._is_emulated else []),
            *self._kernel.boot,
            *self._arguments,
        ]

    def _watch(
        self,
        supervisor: subprocess.Popen[bytes],
        progressed: Callable[[int], None],
        cancelled: Callable[[], bool],
    ) -> None:
        done_ns, moved_at = -1, time.monotonic()
        while True:
            if cancelled():
                raise Cancelled("the run was cancelled")
            with contextlib.suppress(subprocess.TimeoutExpired):
                supervisor.wait(_TICK_S)
                return
            now = time.monotonic()
            if (reached_ns := self._done_ns()) != done_ns:
                done_ns, moved_at = reached_ns, now
                progressed(max(done_ns, 0))
            if now - moved_at > self._patience_s:
                where = "did not start" if done_ns < 0 else f"stood still at {done_ns / 1e9:.3f} s"
                raise self._failure(
                    f"it {where} for {self._patience_s:g} s of real time and was ended (if this "
                    f"machine is only slow, set {PATIENCE} to more seconds){self._hint}"
                )
            if _size(self._console) > _MAX_CONSOLE_BYTES:
                raise self._failure("it filled its console without end and was ended")

    def _done_ns(self) -> int:
        """Virtual nanoseconds done; -1 if it has not begun."""
        try:
            with (self._directory / "progress").open("rb") as file:
                return int(file.read(32))
        except (OSError, ValueError):
            return -1

    def _what_happened(self, code: int) -> str:
        said = _tail(self._directory / "error", _LAST_BYTES).strip()
        if said:
            return f"its guest gave up: {said}"
        if code < 0:
            return f"its supervisor was ended by {_signal_name(-code)}"
        if code > _SIGNALLED:
            return f"it was ended by {_signal_name(code - _SIGNALLED)} without results"
        return f"it ended with exit code {code} and without results"

    def _failure(self, what: str) -> RunFailed:
        console = _tail(self._console, _LAST_BYTES).split("\n")
        if reason := next((line.strip() for line in console if _REASON in line), ""):
            what = f"{reason}; {what}"
        if any(sign in line for line in console for sign in _NO_MEMORY):
            has, more = (quantities.binary(self._memory_bytes * times) for times in (1, 2))
            what = f'it ran out of memory ({has}; [linux] memory = "{more}" gives it more): {what}'
        lines = [f"the kernel {self._kernel.path} failed: {what}"]
        # What is not even room for a page was room for nothing.
        if (free := _free_bytes(self._directory)) < 1 << 16:
            lines.append(
                f"the disk that holds {self._directory.parent} is full ({free} bytes are free): "
                "free some space, or set TMPDIR to another directory"
            )
        lines.append("the last lines of its console:")
        lines += [f"  {line}" for line in console[-_LAST_LINES:]]
        return RunFailed("\n".join(lines))


def _end(supervisor: subprocess.Popen[bytes]) -> None:
    """Have everything ended, whatever state it is in."""
    assert supervisor.stdin is not None
    with contextlib.suppress(OSError):
        supervisor.stdin.write(b"end\n")
        supervisor.stdin.flush()
    with contextlib.suppress(OSError):
        supervisor.stdin.close()
    try:
        supervisor.wait(_FAREWELL_S)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()
    if supervisor.returncode < 0:  # someone has killed it, and it could not do its work
        _kill_session(supervisor.pid)


def _kill_session(session: int) -> None:
    """Kill every process of a session."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(entry.name)
            # Behind the name, in brackets: state, parent, group, session.
            if int((entry / "stat").read_text("utf-8").rpartition(")")[2].split()[3]) == session:
                os.kill(pid, signal.SIGKILL)


def _patience_s() -> float:
    given = os.environ.get(PATIENCE, "")
    if not given:
        return _PATIENCE_S
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"{PATIENCE}={given}: not a time; write seconds, such as {PATIENCE}=300")
    return seconds


def _tail(path: Path, limit: int) -> str:
    """The end of a text file, blanks at its very end left out; nothing if there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - limit))
            words = file.read(limit).decode("utf-8", "replace").rstrip()
    except OSError:
        return ""
    # A console ends its lines with both.
    return text.printable(words.replace("\r\n", "\n"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _free_bytes(directory: Path) -> int:
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return 1 << 62


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
