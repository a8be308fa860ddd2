"""Commands of which one call of the system fails: `python failing_cases.py [--of NAME]`.

A library in C (`failing_calls.c`) stands before the C library. It counts the calls of a command on
files below a directory, whoever makes them: Python, the compiled module or another library. The
command runs once in health; then once for each call and each error that the call may have, which
it has to survive in words: see `judged`.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from crash_disk import COUNTED
from fairway.ground import inventory, scratch
from waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]

#: Names of calls as the library logs them -> errors that they have where a disk is full or broken,
#: or permission, descriptors or memory are missing (open(2), read(2), write(2), rename(2), ...).
ERRORS = {
    "open": ("EIO", "EMFILE", "EACCES", "ENOMEM"),
    "create": ("ENOSPC", "EIO", "EMFILE", "EACCES"),
    "read": ("EIO", "ENOMEM"),
    "write": ("ENOSPC", "EIO"),
    "sync": ("EIO", "ENOSPC"),
    "close": ("EIO",),
    "rename": ("ENOSPC", "EIO", "EACCES"),
    "make": ("ENOSPC", "EACCES", "EIO"),
    "link": ("ENOSPC", "EACCES"),
    "remove": ("EIO", "EACCES"),
    "stat": ("EIO", "EACCES", "ENOMEM"),
    "list": ("EIO",),
    "map": ("ENOMEM", "EACCES"),
    "mode": ("EIO",),
    "lock": ("ENOLCK",),
    "truncate": ("ENOSPC",),
}
#: Errors that stay: a disk that is full, and a process without descriptors.
STAYING = ("ENOSPC", "EMFILE")

#: Signs of an error that nobody has thought of.
_UNEXPECTED = ("Traceback", "internal error", "panicked", "Exception ignored", "core dumped")


@dataclass(frozen=True)
class Case:
    """A command, run in a directory that `made` has filled.

    Attributes:
        name: What it is called.
        arguments: Of `fairway`.
        made: Fills the directory.
        out: The file or directory that it writes, if any.
        resumes: Whether a part of what it writes may stay, as of a sweep: it goes on from there.
        code: Its exit code in health.
    """

    name: str
    arguments: tuple[str, ...]
    made: Callable[[Path], None]
    out: str | None = None
    resumes: bool = False
    code: int = 0


@dataclass(frozen=True)
class Call:
    """One call of a command in health."""

    number: int
    name: str
    path: str


@dataclass
class Outcome:
    """What became of a command."""

    code: int
    out: str
    err: str
    files: dict[str, bytes] = field(default_factory=dict)


def library(place: Path) -> Path | None:
    """The library, compiled into `place`; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    target = place / "failing_calls.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", target, source, "-ldl"], check=True)
    return target


class Harness:
    """Runs a case in copies of its directory."""

    def __init__(self, case: Case, place: Path, preload: Path) -> None:
        self.case = case
        self._place = place / case.name
        self._preload = preload
        self._template = self._place / "template"
        self._template.mkdir(parents=True)
        case.made(self._template)
        self.before = _files(self._template, case.out)
        first, self.calls = self._healthy("first")
        second, _ = self._healthy("second")
        assert first.code == second.code == case.code, first.err
        #: What is the same in every run: times that a run took are not.
        self.after = {
            name: data for name, data in first.files.items() if second.files.get(name) == data
        }
        self.names = set(first.files)
        self.printed = first.out if first.out == second.out else None

    def _healthy(self, name: str) -> tuple[Outcome, list[Call]]:
        log = self._place / f"{name}.log"
        outcome = self.run(name, {"FAILING_LOG": str(log)})
        lines = log.read_text(errors="surrogateescape").splitlines()
        parts = [line.split(" ", 2) for line in lines]
        return outcome, [Call(int(number), call, path) for number, call, path in parts]

    def run(self, name: str, environment: dict[str, str], *, keep: bool = False) -> Outcome:
        """Run it once in a copy of its directory, which is removed unless it is kept."""
        work = self._place / name
        if not work.exists():
            shutil.copytree(self._template, work, symlinks=True)
        for aside in ("tmp", "home"):
            (self._place / f"{name}-{aside}").mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-I", "-m", "fairway", *self.case.arguments],
            cwd=work, capture_output=True, timeout=PATIENCE_S, check=False,
            env={
                **os.environ, "LD_PRELOAD": str(self._preload), "COLUMNS": "100",
                "FAILING_ROOT": str(self._place / name), "NO_COLOR": "1",
                "TMPDIR": f"{work}-tmp", "HOME": f"{work}-home", "XDG_CACHE_HOME": f"{work}-home",
                # Git, which tells the commit of a source tree, is somebody else's program.
                "GIT_CONFIG_GLOBAL": os.devnull,
                **environment,
            },
        )  # fmt: skip
        outcome = Outcome(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
            _files(work, self.case.out),
        )
        if not keep:
            for one in (work, Path(f"{work}-tmp"), Path(f"{work}-home")):
                shutil.rmtree(one)
        return outcome

    def points(self) -> Iterator[tuple[Call, str]]:
        """Each call with each of its errors."""
        for call in self.calls:
            for error in ERRORS[call.name]:
                yield call, error

    def tried(self, call: Call, error: str) -> list[str]:
        """What is wrong with how the command takes an error of a call."""
        name = f"{call.number}-{error}"
        environment = {
            "FAILING_AT": str(call.number), "FAILING_WITH": str(getattr(errno, error)),
            **({"FAILING_STAYS": "1"} if error in STAYING else {}),
        }  # fmt: skip
        outcome = self.run(name, environment, keep=True)
        wrong = self.judged(outcome, error)
        if self.case.out is not None and not wrong:
            again = self.run(name, {})
            wrong += [f"again: {one}" for one in self.judged(again, None)]
        for one in ("", "-tmp", "-home"):
            shutil.rmtree(self._place / f"{name}{one}", ignore_errors=True)
        return wrong

    def judged(self, outcome: Outcome, error: str | None) -> list[str]:
        """What is wrong: the right result, or a sentence and the old one, is not."""
        wrong = [sign for sign in _UNEXPECTED if sign in outcome.err + outcome.out]
        if error is not None:
            # A file that could not be removed holds nobody up: the next command removes it.
            files = {name: data for name, data in outcome.files.items() if not _is_left(name)}
            outcome = replace(outcome, files=files)
        if outcome.code < 0:
            wrong.append(f"ended by {signal.Signals(-outcome.code).name}")
        is_whole = self._is(outcome.files, self.after, self.names)
        reason = os.strerror(getattr(errno, error)) if error is not None else "\0"
        if outcome.code == self.case.code and reason in outcome.err + outcome.out:
            pass  # It says of which part the result is, as of a capture that is cut off.
        elif outcome.code == self.case.code:
            if self.printed is not None and outcome.out != self.printed:
                wrong.append("fine, but it printed something else")
            if not is_whole:
                wrong.append("fine, but its files differ: " + self._differing(outcome))
        elif error is None:
            wrong.append(f"exit code {outcome.code}: {outcome.err}")
        else:
            if not outcome.err.strip():
                wrong.append(f"exit code {outcome.code} and nothing said")
            drawn = {name for name in self.names if _is_drawn(name)}
            is_old = self._is(outcome.files, self.before, set(self.before))
            is_without_drawings = self._is(
                {name: data for name, data in outcome.files.items() if name not in drawn},
                {name: data for name, data in self.after.items() if name not in drawn},
                self.names - drawn,
            )
            if not (is_old or is_whole or is_without_drawings or self.case.resumes):
                wrong.append("neither the old files nor the new ones: " + self._differing(outcome))
        return wrong

    @staticmethod
    def _is(files: dict[str, bytes], expected: dict[str, bytes], names: set[str]) -> bool:
        return set(files) == names and all(files[name] == data for name, data in expected.items())

    def _differing(self, outcome: Outcome) -> str:
        names = sorted(set(outcome.files) ^ self.names) or sorted(
            name for name, data in self.after.items() if outcome.files.get(name) != data
        )
        return ", ".join(names[:5])


def _is_left(name: str) -> bool:
    """Whether it is a lock, or lies in a scratch directory."""
    parts = PurePath(name).parts
    return parts[-1] == inventory.LOCK or any(scratch.NAME.fullmatch(part) for part in parts)


def _is_drawn(name: str) -> bool:
    return name.endswith("report.html") or "/figures" in name


def _files(work: Path, out: str | None) -> dict[str, bytes]:
    """The files that a command has written, or all that it could have."""
    found = {}
    for path in sorted(work.rglob("*") if out is not None else ()):
        name = str(path.relative_to(work))
        if path.is_file() and name.partition("/")[0] == str(out).partition("/")[0]:
            found[name] = COUNTED.sub(b"0", path.read_bytes())
    return found


def every(harness: Harness, step: int = 1, first: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Try every `step`-th point of a case; what it is, and what is wrong there."""
    points = list(harness.points())[first::step]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = pool.map(lambda point: harness.tried(*point), points)
        for (call, error), wrong in zip(points, found, strict=True):
            label = f"{harness.case.name}: {call.number} {call.name} {call.path} {error}"
            yield label, wrong


def main(cases: Sequence[Case]) -> int:
    """Try all, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", action="append", help="name of a case; may be repeated")
    parser.add_argument("--every", type=int, default=1, help="try one point in so many")
    parser.add_argument("--first", type=int, default=0, help="from which point on")
    arguments = parser.parse_args()
    tried = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary).resolve()
        preload = library(place)
        if preload is None:
            sys.stdout.write("no C compiler on Linux: nothing is tried\n")
            return 0
        for case in cases:
            if arguments.of and case.name not in arguments.of:
                continue
            harness = Harness(case, place, preload)
            for label, wrong in every(harness, arguments.every, arguments.first):
                tried += 1
                if wrong:
                    failed += 1
                    sys.stdout.write(f"{label}: {'; '.join(wrong)}\n")
                    sys.stdout.flush()
            sys.stdout.write(f"{case.name}: {len(list(harness.points()))} points\n")
    sys.stdout.write(f"{tried} tried, {failed} failed\n")
    return int(failed > 0)
