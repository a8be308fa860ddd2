"""What Fairway brings to a kernel: configuration, edits, congestion controls and network devices.

No edit is in the network stack: docs/decisions/0015-edits-to-the-kernel.md says why each is needed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from fairway.backends.linux.extra import Extra
from fairway.errors import InputError, writing

#: Largest file that is edited, in bytes; the largest in Linux 6.1 has 20 kB.
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Edit:
    """One replacement in one file.

    Attributes:
        file: Path in the source tree.
        find: Text that must be there exactly once.
        required: Whether a kernel without it is of no use.
        otherwise: What a kernel without it lacks, if it is of use.
        unless: A text in a file, as (path, text), by which kernels are known that need no edit.
    """

    file: str
    find: str
    replace: str
    why: str
    required: bool
    otherwise: str = ""
    unless: tuple[str, str] | None = None


HZ = Edit(
    file="arch/um/Kconfig",
    find="config HZ\n\tint\n\tdefault 100\n",
    replace="config HZ\n\tint\n\tdefault 1000\n",
    why="TCP's timers tick every 1 ms; arch/um has no question for that",
    required=True,
)

# The XSAVE area of processors with AMX has 11,008 bytes (CPUID leaf 0x0D), rounded up here to three
# pages. Newer kernels ask the host for its size, and keep that in `host_fp_size`.
REGISTERS = Edit(
    file="arch/x86/um/user-offsets.c",
    find="DEFINE_LONGS(HOST_FP_SIZE, 2696);",
    replace="DEFINE_LONGS(HOST_FP_SIZE, 12288);",
    why="room for the registers of processors with AMX, on which no program starts without it",
    required=False,
    otherwise="on processors with AMX it ends with `ptrace set fp regs failed, errno = 14`",
    unless=("arch/x86/um/os-Linux/registers.c", "host_fp_size"),
)

RANDOMNESS = Edit(
    file="arch/um/os-Linux/util.c",
    find="""\
ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	return getrandom(buf, len, flags);
}
""",
    replace="""\
#include "fairway_random.h"

ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	return fairway_getrandom(buf, len, flags);
}
""",
    why="randomness that follows from a seed, so that a run can be repeated",
    required=False,
    otherwise="two runs of one experiment will differ",
)

# Every timer comes this way, with a `struct uml_pt_regs`, of which 12 kB are room for registers of
# the floating-point unit (above). Nobody reads those there: the other branch has never set them.
TIMERS = Edit(
    file="arch/um/os-Linux/signal.c",
    find="""\
	if (mc != NULL)
		get_regs_from_mc(&regs, mc);
	else
		memset(&regs, 0, sizeof(regs));
	timer_handler(""",
    replace="""\
	if (mc != NULL) {
		get_regs_from_mc(&regs, mc);
	} else {
		memset(regs.gp, 0, sizeof(regs.gp));
		memset(&regs.faultinfo, 0, sizeof(regs.faultinfo));
		regs.syscall = 0;
		regs.is_user = 0;
	}
	timer_handler(""",
    why="no 12 kB of zeros for each timer",
    required=False,
    otherwise="runs take about a tenth longer",
)

# A change of task asked the host three times for its thread pointer, with all registers each time.
# That one is among the registers that the host is given anyway before a task goes on (`userspace`):
# Linux 6.12 relies on it (`arch_switch_to` in arch/x86/um/syscalls_64.c).
TASKS = Edit(
    file="arch/x86/um/syscalls_64.c",
    find="\tarch_prctl(to, ARCH_SET_FS, (void __user *) to->thread.arch.fs);\n",
    replace="\tto->thread.regs.regs.gp[FS_BASE / sizeof(unsigned long)] = to->thread.arch.fs;\n",
    why="no request to the host for each change of task",
    required=False,
    otherwise="runs take a third longer and more",
    unless=("arch/x86/um/syscalls_64.c", "Nothing needs to be done on x86_64"),
)

# The host lets programs go whose kernel is killed: they would go on as its own, with its files. In
# Linux 6.1 copies of a process are made elsewhere.
_FREE = "a kernel that is killed may leave its programs running on this machine, with its files"
PROGRAMS = Edit(
    file="arch/um/os-Linux/skas/process.c",
    find="(void *) PTRACE_O_TRACESYSGOOD) < 0",
    replace="(void *) (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) < 0",
    why="programs that end with their kernel",
    required=False,
    otherwise=_FREE,
)
COPIES = Edit(
    file="arch/um/os-Linux/skas/process.c",
    find="(void *)PTRACE_O_TRACESYSGOOD) < 0",
    replace="(void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) < 0",
    why="copies of programs that end with their kernel",
    required=False,
    otherwise=_FREE,
    unless=("arch/um/os-Linux/skas/process.c", "%s : PTRACE_SETOPTIONS failed"),
)

# With a unit of 256 ns, and timers at least 500 ns ahead and a nanosecond late, each packet is late
# by some hundred nanoseconds, and meets another place in a queue or another slot of a radio than in
# the simulator.
_LATE = "packets leave up to some microseconds late"
CLOCK = Edit(
    file="arch/um/include/linux/time-internal.h",
    find="#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n",
    replace="#define TIMER_MULTIPLIER 1\n#define TIMER_MIN_DELTA  1\n",
    why="a clock and timers of a nanosecond",
    required=False,
    otherwise=_LATE,
)
ALARMS = Edit(
    file="arch/um/kernel/time.c",
    find="\tdelta += 1;\n",
    replace="\tdelta += time_travel_mode == TT_MODE_OFF;\n",
    why="timers that expire when they are set to",
    required=False,
    otherwise=_LATE,
)


def _if_repeated(statement: str) -> str:
    """C that takes virtual time by `statement`, but not the first hundred times at an instant."""
    return f"""\
			{{
				static unsigned long long last;
				static unsigned int times;

				if (time_travel_time != last)
					times = 0;
				if (times < 100)
					times++;
				else
					{statement};
				last = time_travel_time;
			}}
"""


# Each reading of the clock outside of interrupts takes 256 ns (`timer_read`), and each system call
# that fails a microsecond (`handle_syscall`, by `time_travel_ndelay`), so that a program that does
# nothing else until time has passed does not do so for ever. All other programs wait meanwhile.
# Now only repeated ones take time.
READINGS = Edit(
    file="arch/um/kernel/time.c",
    find="\t\t\ttime_travel_update_time_rel(TIMER_MULTIPLIER);\n",
    replace=_if_repeated("time_travel_update_time_rel(256)"),
    why="readings of the clock that take no time",
    required=False,
    otherwise=_LATE,
)
FAILURES = Edit(
    file="arch/um/kernel/time.c",
    find="\ttime_travel_update_time_rel(nsec);\n",
    replace=_if_repeated("time_travel_update_time_rel(nsec)"),
    why="failing system calls that take no time",
    required=False,
    otherwise=_LATE,
)

# A timer with slack expires within a range: at its end, or before with another one. One kernel is
# all hosts here, so that timers of one host would bring forward those of another.
RANGES = Edit(
    file="kernel/time/hrtimer.c",
    find="\t\t\tif (basenow < hrtimer_get_softexpires_tv64(timer))\n",
    replace="\t\t\tif (basenow < hrtimer_get_expires_tv64(timer))\n",
    why="timers that expire alone",
    required=False,
    otherwise="hosts acknowledge up to 100 µs earlier when others do",
)

DEVICES = Edit(
    file="arch/um/drivers/Makefile",
    find="obj-y := stdio_console.o",
    replace="fairway-objs := fairway_kern.o fairway_user.o\n\nobj-y := fairway.o stdio_console.o",
    why="devices of Fairway's network",
    required=False,
    otherwise='experiments need `[linux] network = "tc"`',
)

# The handler of a core dump runs as root of the whole kernel. Without CONFIG_EXPERT, which changes
# many other defaults, COREDUMP cannot be chosen.
DUMPS = Edit(
    file="fs/Kconfig.binfmt",
    find='config COREDUMP\n\tbool "Enable core dump support" if EXPERT\n\tdefault y\n',
    replace='config COREDUMP\n\tbool "Enable core dump support" if EXPERT\n\tdefault n\n',
    why="no program of the kernel's own when another one crashes",
    required=True,
)

EDITS = (
    HZ,
    DUMPS,
    REGISTERS,
    RANDOMNESS,
    TIMERS,
    TASKS,
    PROGRAMS,
    COPIES,
    CLOCK,
    ALARMS,
    READINGS,
    FAILURES,
    RANGES,
    DEVICES,
)


def apply(tree: Path, edits: tuple[Edit, ...] = EDITS) -> tuple[list[Edit], list[str]]:
    """Make the edits in a source tree, each only where its text is found exactly once.

    Returns those that were made, and what the kernel lacks because others could not be.
    """
    applied: list[Edit] = []
    warnings: list[str] = []
    for edit in edits:
        text = _read(tree / edit.file)
        if text.count(edit.find) == 1:
            with writing(tree / edit.file):
                (tree / edit.file).write_text(text.replace(edit.find, edit.replace), "utf-8")
            applied.append(edit)
        elif edit.required:
            raise InputError(_no_place(edit, text))
        elif edit.unless is None or edit.unless[1] not in _read(tree / edit.unless[0]):
            warnings.append(f"{_no_place(edit, text)}; {edit.otherwise}")
    return applied, warnings


def _read(path: Path) -> str:
    """The text of a file of the tree; nothing if it is missing or not a text of usual size."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return ""
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


def _no_place(edit: Edit, text: str) -> str:
    found = f"it is there {text.count(edit.find)} times" if text.count(edit.find) else "not found"
    if not text:
        found = "no such file"
    return (
        f"{edit.file}: this kernel's source differs from the ones known (Linux 6.1 and 6.12): "
        f"expected {edit.find.strip()!r} once, {found}; it would be edited for this: {edit.why}"
    )


#: Where the data lies.
DATA = Path(__file__).resolve().parent / "kernel"


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a kernel besides its source.

    Attributes:
        modules: Congestion controls of ours: name of the file and its text.
        headers: What they include of ours: likewise.
        devices: The devices of Fairway's network: likewise.
        extras: Congestion controls of others.
    """

    fragment: str
    random: str
    edits: tuple[Edit, ...]
    modules: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]
    devices: tuple[tuple[str, str], ...]
    extras: tuple[Extra, ...] = ()

    def digest(self, source_identity: str) -> str:
        """SHA-256 over the recipe and a source."""
        content: dict[str, object] = {
            "source": source_identity,
            "fragment": self.fragment,
            "random": self.random,
            "edits": [(edit.file, edit.find, edit.replace) for edit in self.edits],
            "modules": self.modules,
            "headers": self.headers,
            "devices": self.devices,
        }
        if self.extras:
            content["extras"] = [extra.files for extra in self.extras]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def recipe(data: Path = DATA, extras: tuple[Extra, ...] = ()) -> Recipe:
    """The recipe of this version of Fairway, with congestion controls of others.

    Every `tcp_*.c` in `data` is built in, every `*_rules.h` lies beside it.
    """
    return Recipe(
        fragment=(data / "fragment.config").read_text("utf-8"),
        random=(data / "fairway_random.h").read_text("utf-8"),
        edits=EDITS,
        modules=_texts(data, "tcp_*.c"),
        headers=_texts(data, "*_rules.h"),
        devices=_texts(data / "network", "fairway*.[ch]"),
        extras=extras,
    )


def _texts(data: Path, pattern: str) -> tuple[tuple[str, str], ...]:
    return tuple((file.name, file.read_text("utf-8")) for file in sorted(data.glob(pattern)))
