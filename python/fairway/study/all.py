"""Every paper's study run again, with one index of papers, claims and verdicts."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.ground import store
from fairway.plot.drawing import SAME_COMMAND, drawing
from fairway.study.parts import WholeReproduction
from fairway.study.reproduce import Reproduction, keys

#: The papers that Fairway's studies began with, by the year of each.
PAPERS = ("gelle2008", "alrshah2009", "prukpaiboon2012", "siddiqui2012", "khader2020")


@dataclass(frozen=True)
class Cost:
    """What something took.

    Attributes:
        runs: Runs behind it.
        cpu_s: Processor time of this process and those that it started, in seconds: for what was
            not there already.
        wall_s: Time that went by, in seconds.
    """

    runs: int
    cpu_s: float
    wall_s: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.runs + other.runs,
            self.cpu_s + other.cpu_s,
            self.wall_s + other.wall_s,
        )

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {name: round(value, 1) for name, value in vars(self).items()}


@dataclass(frozen=True)
class All:
    """Several studies run again.

    Attributes:
        results: Key -> what came of that study.
        costs: Key -> what it took.
        directory: Where everything is kept, each study in a directory of its key.
    """

    results: Mapping[str, Reproduction | WholeReproduction]
    costs: Mapping[str, Cost]
    directory: Path

    @property
    def report(self) -> Path:
        """The index."""
        return self.directory / "index.html"

    @property
    def cost(self) -> Cost:
        """What all of them took."""
        return sum(self.costs.values(), Cost(0, 0, 0))

    def to_json(self) -> dict[str, Any]:
        """The machine-readable answer: that of every study, and what it took."""
        return {
            "studies": [
                {**result.to_json(), "cost": self.costs[key].to_json()}
                for key, result in self.results.items()
            ],
            "cost": self.cost.to_json(),
        }


def parts_of(result: Reproduction | WholeReproduction) -> Mapping[str, Reproduction]:
    """The parts that were run; a study without parts is one without a name."""
    return result.parts if isinstance(result, WholeReproduction) else {"": result}


def by_verdict(result: Reproduction | WholeReproduction) -> Counter[str]:
    """Verdict -> how many claims have it."""
    return Counter(finding.verdict for finding in result.findings)


def all_keys(*, every: bool) -> list[str]:
    """The studies of the papers, and with `every` the others after them."""
    there = keys()
    papers = [key for key in PAPERS if key in there]
    return papers + ([key for key in there if key not in papers] if every else [])


def reproduce_each(
    chosen: Sequence[str],
    out: str | Path | None,
    reproduce: Callable[[str, Path], Reproduction | WholeReproduction],
    *,
    quick: bool,
    quiet: bool,
) -> All:
    """Run studies one after the other, or finish what was stopped, and write the index.

    Args:
        chosen: Keys of the studies, or their directories.
        out: Directory for everything; `runs/all` if not given.
        reproduce: Runs a study into a directory.
        quick: Whether it runs shortened forms.
        quiet: Whether to show no progress.

    Raises:
        InputError: If the directory holds something else.
    """
    from fairway.study.all_report import index

    directory = store.study_directory(out, "all", quick=quick)
    store.check_writable(directory, "set of studies")
    store.mark(directory, "set of studies")
    results: dict[str, Reproduction | WholeReproduction] = {}
    costs: dict[str, Cost] = {}
    for number, key in enumerate(chosen, start=1):
        if not quiet:
            sys.stderr.write(f"study {number} of {len(chosen)}: {key}\n")
        started, busy = time.monotonic(), _cpu_s()
        name = Path(key).name
        results[name] = reproduce(key, directory / name)
        runs = sum(len(part.sweep) for part in parts_of(results[name]).values())
        costs[name] = Cost(runs, _cpu_s() - busy, time.monotonic() - started)
    result = All(results, costs, directory)
    store.write_file(directory / "reproduction.json", store.to_json(result.to_json()))
    with drawing("index", SAME_COMMAND):
        store.write_file(result.report, index(result))
    return result


def _cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
