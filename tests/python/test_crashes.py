"""Results are old or new, and whole, whichever call on the disk fails or is the last one.

A few calls of each command are tried; `FAIRWAY_STORE_CRASHES=all` (`make crashes`) tries all of
them, a number as many, and `FAIRWAY_STORE_ROUND` others.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crash_disk import FAILURES, Disk, Unflushed, on, one_call, power_cut, restore, tree, visible
from fairway.cli import terminal
from fairway.cli.main import guarded
from fairway.ground import inventory, replacing, scratch
from small_studies import compare, study_of, write

#: Calls that are tried of each command for each kind of failure, of hundreds.
SAMPLE = os.environ.get("FAIRWAY_STORE_CRASHES", "2")
ROUND = int(os.environ.get("FAIRWAY_STORE_ROUND", "0"))
#: A round begins as far from all others as can be (Knuth, The Art of Computer Programming, 6.4).
GOLDEN_RATIO = 0.6180339887

SHORT = """
title = "Short"
duration = "300 ms"
[stack]
preset = "ns2-tcp-linux"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "2 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", limit = "20 packets" }
[[flow]]
cc = "bic"
[measure]
sample = "50 ms"
"""
SWEEP = SHORT + '\n[sweep]\n"flow.0.cc" = ["reno", "cubic"]\n'
#: Files that are drawn, or written, once results are complete: they may be missing.
DERIVED = ("report.html", "figures", "experiment.toml")
ROWS = "points/summaries.parquet"

pytestmark = pytest.mark.filterwarnings("ignore::fairway.ground.scratch.Leftover")


@dataclass(frozen=True)
class Case:
    """A command that writes results.

    Attributes:
        before: The command whose result is there before, if one is.
        command: What is tried; names of files are those of the directory above.
        has_exchange: Whether the file system exchanges names.
        is_once: Whether the command refuses to replace a result of its own.
    """

    command: list[str]
    before: list[str] | None = None
    has_exchange: bool = True
    is_once: bool = False


RUN = ["run", "../run.toml", "--out", "out", "-q"]
OTHER = [*RUN, "--set", "flow.0.cc=reno"]
GROWN = ["run", "../sweep.toml", "--out", "out", "-q", "--threads", "1"]
TWICE = [*GROWN, "--set", "sweep.repetitions=2"]
CASES = {
    "run": Case(RUN),
    "run-again": Case(RUN, RUN),
    "run-replaced": Case([*OTHER, "--replace"], RUN),
    "run-replaced-by-two-renames": Case([*OTHER, "--replace"], RUN, has_exchange=False),
    "report": Case(["report", "out", "--figures", "svg"], RUN),
    "sweep": Case(GROWN),
    "sweep-grown": Case(TWICE, GROWN),
    "summaries": Case([*GROWN, "--keep", "summaries"]),
    "summaries-grown": Case([*TWICE, "--keep", "summaries"], [*GROWN, "--keep", "summaries"]),
    "agree": Case(["agree", "../run.toml", "--against", "sim,model", "--out", "out", "-q"]),
    "compare": Case(["compare", "../one", "../two", "--out", "page.html"]),
    "study": Case(["reproduce", "../study", "--out", "out", "-q", "--threads", "1"]),
    "study-new": Case(["study", "new", "out", "--experiment", "../run.toml"], is_once=True),
    "analyze": Case(["analyze", "../a.pcap", "--out", "out", "-q"]),
    "pair": Case(["analyze", "../a.pcap", "../b.pcap", "--out", "out", "-q"]),
    "replay": Case(["replay", "../a.pcap", "--cc", "cubic,reno", "--out", "out", "-q"]),
    "animate": Case(["animate", "../run.toml", "--out", "page.html", "-q"]),
    "captured": Case([*RUN, "--capture", "hosts"], RUN),
    "algorithms": Case(["algorithms", "cubic", "--figure", "cubic.svg"]),
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The current directory of commands, with what they read in the one above."""
    (tmp_path / "run.toml").write_text(SHORT)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def files(tmp_path, monkeypatch) -> Callable[[Case], None]:
    """Makes what a case reads, if that takes time."""

    def make(case: Case) -> None:
        words = " ".join(case.command)
        if "../one" in words:
            for place in ("one", "two"):
                code, text = said(["run", "../run.toml", "--out", f"../{place}", "-q"])
                assert code == 0, text
        if "a.pcap" in words:
            code, text = said(
                ["run", "../run.toml", "--out", "../ends", "-q", "--capture", "hosts"]
            )
            assert code == 0, text
            shutil.copy(tmp_path / "ends" / "captures" / "s0.pcapng", tmp_path / "a.pcap")
            shutil.copy(tmp_path / "ends" / "captures" / "d0.pcapng", tmp_path / "b.pcap")
        if "../study" in words:
            text = study_of("A study", compare(), keys="repetitions = 1")
            write(tmp_path / "study", text, published="cc,a\nbic,0\nhtcp,0\n")

    return make


def said(words: list[str]) -> tuple[int, str]:
    """Run a command in this process; its exit code and all that it says."""
    out = io.StringIO()
    terminal._warned.clear()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
        code = guarded(words)
    return code, out.getvalue()


def results(found: dict[str, bytes | None]) -> set[str]:
    """Directories that have a list."""
    names = (name for name in found if name.rpartition("/")[2] == inventory.NAME)
    return {name.rpartition("/")[0] for name in names}


def units(
    found: dict[str, bytes | None], known: set[str]
) -> tuple[dict[str, dict[str, bytes]], dict[str, dict[str, bytes]]]:
    """Files of each result that come together, and those that may be missing."""
    whole: dict[str, dict[str, bytes]] = {}
    derived: dict[str, dict[str, bytes]] = {}
    for name, content in found.items():
        if content is None or name.rpartition("/")[2] == inventory.NAME:
            continue
        own = max((one for one in known if name.startswith(f"{one}/")), key=len, default="")
        rest = name.removeprefix(f"{own}/")
        into = derived if rest.split("/")[0] in DERIVED else whole
        key = f"{own}/{ROWS}" if rest == ROWS else own or name
        into.setdefault(key, {})[name] = content
    return whole, derived


def wrong(root: Path, old: dict[str, bytes | None], new: dict[str, bytes | None]) -> str | None:
    """The first file that is neither old nor new, or half of a result; None if all is well."""
    known = results(old) | results(new)
    there = visible(root)
    now, drawn = units(there, known)
    (before, drawn_before), (after, drawn_after) = units(old, known), units(new, known)
    for key in {*now, *before, *after}:
        states = [now.get(key) == one.get(key) for one in (before, after)]
        if not any(states):
            return f"{key or 'files'} is neither old nor new: {sorted(now.get(key, {}))}"
        pages = [drawn_before.get(key, {})] * states[0] + [drawn_after.get(key, {})] * states[1]
        for name, content in drawn.get(key, {}).items():
            if all(content != page.get(name) for page in pages):
                return f"{name} is not of the result beside it"
    for key in after:
        if now.get(key) == after[key] != before.get(key):
            inner = [one for one in after if one.startswith(f"{key}/") and one not in now]
            if inner:
                return f"{key} is new, and {inner} are missing"
    for name in results(there):
        listed = inventory.read(root / name)
        if listed is None:
            return f"{name}: its list is damaged"
        if listed.kind in replacing.REPLACED and (unknown := inventory.unknown(root / name)):
            return f"{name}: {unknown} are not on its list"
    for name in known:
        if now.get(name) and name not in results(there):
            return f"{name} has no list"
    return None


def settle(root: Path) -> None:
    """Open every directory, as commands that read it do."""
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        if folder.is_dir():
            scratch.settle(folder)


@dataclass
class Tried:
    """A case on a healthy disk.

    Attributes:
        old: Files that were there before.
        new: Files that are there afterwards.
        calls: Number of calls.
        copies: Copies of the directory before calls that find something changed.
        renamed: Those of them right after a rename.
    """

    case: Case
    root: Path
    old: dict[str, bytes | None]
    new: dict[str, bytes | None]
    calls: int
    copies: dict[int, tuple[Path, Unflushed]]
    renamed: list[int]

    def problem(self, code: int | None) -> str | None:
        """The fault after a crash or a failure, or after the same command once more."""
        with on(Disk(self.root, has_exchange=self.case.has_exchange)):
            return self._problem(code)

    def _problem(self, code: int | None) -> str | None:
        settle(self.root)
        if found := wrong(self.root, self.old, self.new):
            return found
        if code == 0 and visible(self.root) != self.new:
            return "it exited with 0, and not all is there"
        if self.case.is_once and visible(self.root) == self.new:
            return None
        again, text = said(self.case.command)
        if again != 0:
            return f"the same command again exits with {again}: {text[-300:]}"
        if (left := tree(self.root)) != self.new:
            changed = {name for name in {*left, *self.new} if left.get(name) != self.new.get(name)}
            odd = sorted(changed | (left.keys() ^ self.new.keys()))
            return f"the same command again leaves something else: {odd[:5]}"
        return None


def tried(case: Case, root: Path) -> Tried:
    """Run a case on a healthy disk, and keep what is there before each call."""
    if case.before is not None:
        code, text = said(case.before)
        assert code == 0, text
    old = tree(root)
    copies: dict[int, tuple[Path, Unflushed]] = {}
    keep = root.parent / "copies"
    last: list[object] = [None]

    def before(number: int) -> None:
        state = (tree(root), tuple(sorted(watched.dirty)), tuple(watched.undo))
        if state != last[0]:
            last[0] = state
            place = keep / str(number)
            shutil.copytree(root, place, symlinks=True)
            copies[number] = (place, Unflushed(*state[1:]))

    watched = Disk(root, before=before, has_exchange=case.has_exchange)
    with on(watched):
        code, text = said(case.command)
    assert code == 0, text
    assert watched.bypassed == []
    assert sorted(watched.dirty) == []  # all of it is flushed
    before(watched.count)
    shutil.copytree(copies[0][0], keep / "old", symlinks=True)
    renamed = [
        number + 1
        for number, name in enumerate(watched.names)
        if name == "rename" and number + 1 in copies
    ]
    return Tried(case, root, old, tree(root), watched.count, copies, renamed)


def sampled(all_of_them: list[Any], begin: float) -> list[Any]:
    """Some of many, spread over all of them from a part of a step on; or all."""
    if SAMPLE == "all" or len(all_of_them) <= int(SAMPLE):
        return all_of_them
    step = len(all_of_them) / int(SAMPLE)
    first = (begin + ROUND * GOLDEN_RATIO) % 1
    return [all_of_them[int((i + first) * step)] for i in range(int(SAMPLE))]


def killed(healthy: Tried) -> Iterator[str]:
    """Faults after the process has died before a call."""
    numbers = sampled(sorted(healthy.copies), 0.9)
    if not healthy.case.has_exchange:  # between two renames, nothing has that name
        numbers += healthy.renamed
    for number in numbers:
        restore(healthy.copies[number][0], healthy.root)
        if problem := healthy.problem(None):
            yield f"killed before call {number}: {problem}"


def without_power(healthy: Tried) -> Iterator[str]:
    """Faults after a power cut before a call."""
    for number in sampled(sorted(healthy.copies), 0.6):
        for takes_names_back in (False, True):
            copy, lost = healthy.copies[number]
            restore(copy, healthy.root)
            power_cut(lost, takes_names_back=takes_names_back)
            if problem := healthy.problem(None):
                yield f"power cut before call {number}, {takes_names_back}: {problem}"


def failing(healthy: Tried) -> Iterator[str]:
    """Faults after a call has failed."""
    case, root = healthy.case, healthy.root
    pairs = [(number, kind) for number in range(healthy.calls) for kind in FAILURES]
    for number, kind in sampled(pairs, 0.7):
        restore(root.parent / "copies" / "old", root)
        with on(Disk(root, fail=one_call(number, kind), has_exchange=case.has_exchange)):
            code, text = said(case.command)
        if code not in (0, 2, 4) or "Traceback" in text or "internal" in text:
            yield f"call {number} is {kind}: exit code {code}: {text[-500:]}"
        elif problem := healthy.problem(code):
            yield f"call {number} is {kind}: {problem}"


@pytest.mark.parametrize("name", CASES)
def test_the_old_result_or_the_new_one_is_there_whatever_fails(root, name, files):
    case = CASES[name]
    files(case)
    healthy = tried(case, root)
    found = [one for way in (killed, without_power, failing) for one in way(healthy)]
    assert not found, f"{len(found)}:\n" + "\n".join(found[:10])
