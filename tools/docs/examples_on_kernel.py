"""Writes the table of linux.md that holds every example on the simulator against the kernel.

    .venv/bin/python tools/docs/examples_on_kernel.py DIRECTORY [EXAMPLE...]

Runs every experiment of `examples/` on the simulator and twice on the kernel, or goes on with what
is there, and compares both runs of the kernel byte for byte. It takes 20 minutes on two
cores. With names of examples it prints their rows and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from markdown_text import table
from reference import DOCS

from fairway.backends import backend
from fairway.errors import ExperimentError, InputError
from fairway.experiment.plan import Plan, plan
from fairway.ground.permission import permitting
from fairway.ground.progress import reporter
from fairway.sweep.outcome import Outcome
from fairway.sweep.run import run_plan

EXAMPLES = DOCS.parent / "examples"
PAGE = DOCS / "commands" / "linux.md"
PLACE = re.compile(r"(<!-- examples -->\n).*?(<!-- end -->)", re.DOTALL)
HEADER = [
    "example", "runs", "goodput, simulator", "kernel", "apart",
    "delay, simulator", "kernel", "lost, simulator", "kernel",
]  # fmt: skip
#: Of a summary, what is no result: how long the run took on this machine.
ELAPSED = "wall_s"


@dataclass(frozen=True)
class Compared:
    """One example on both sides.

    Attributes:
        differing: Files in which the second run on the kernel differs from the first.
    """

    name: str
    simulated: list[Outcome]
    real: list[Outcome]
    differing: list[str]

    def row(self) -> list[str]:
        """Its line of the table."""
        sides = [self.simulated, self.real]
        goodputs = [[_goodput(one) for one in side] for side in sides]
        apart = max(
            abs(ours - real) / real for ours, real in zip(*goodputs, strict=True) if real > 0
        )
        delays = [fmean(filter(None, map(_delay, side))) for side in sides]
        lost = [sum(map(_lost, side)) for side in sides]
        return [
            f"`{self.name}`", str(len(self.real)), *(f"{fmean(one) / 1e6:.3f}" for one in goodputs),
            f"{100 * apart:.1f} %", *(f"{1e3 * one:.2f}" for one in delays), *map(str, lost),
        ]  # fmt: skip


def _goodput(outcome: Outcome) -> float:
    return float(sum(flow["goodput_bps"] or 0 for flow in outcome.summary["flows"]))


def _delay(outcome: Outcome) -> float | None:
    """Mean one-way delay of the flows, in seconds; none where nothing arrived."""
    known = [flow["mean_one_way_delay_s"] for flow in outcome.summary["flows"]]
    return fmean(one for one in known if one is not None) if any(known) else None


def _lost(outcome: Outcome) -> int:
    return sum(flow["lost_segments"] or 0 for flow in outcome.summary["flows"])


def compared(path: Path, directory: Path) -> Compared | str:
    """An example on both sides; why not, if one of them cannot run it."""
    try:
        with permitting(programs=True, backend="linux"):
            planned = plan(path)
            for point in planned.points:
                backend("linux").check(point.experiment)
        simulated = _run(planned, "sim", directory / "sim")
    except (ExperimentError, InputError) as error:
        return str(error)
    real = _run(planned, "linux", directory / "linux")
    _run(planned, "linux", directory / "again")
    return Compared(path.name, simulated, real, list(_differing(directory)))


def _run(planned: Plan, name: str, directory: Path) -> list[Outcome]:
    progress = reporter(f"{directory.parent.name} {directory.name}", quiet=False)
    return list(run_plan(planned, backend(name), directory=directory, progress=progress).outcomes)


def _differing(directory: Path) -> Iterator[str]:
    first, second = directory / "linux", directory / "again"
    names = {
        str(path.relative_to(side)) for side in (first, second) for path in side.rglob("*.*")
        if path.is_file()
    }  # fmt: skip
    for name in sorted(names):
        sides = [side / name for side in (first, second)]
        if not all(side.is_file() for side in sides) or _content(sides[0]) != _content(sides[1]):
            yield name


def _content(path: Path) -> object:
    content = path.read_bytes()
    if path.name != "summary.json":
        return content
    summary = json.loads(content)
    summary.pop(ELAPSED, None)
    return summary


def main() -> int:
    """Write the page; the exit code is 1 if a repeated run differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("examples", nargs="*")
    options = parser.parse_args()
    chosen = [EXAMPLES / f"{name}.toml" for name in options.examples]
    rows, refused, differing = [], {}, {}
    for path in chosen or sorted(EXAMPLES.glob("*.toml")):
        found = compared(path, options.directory / path.stem)
        if isinstance(found, str):
            refused[path.name] = found
            continue
        rows.append(found.row())
        if found.differing:
            differing[path.name] = found.differing
    written = table(HEADER, rows)
    sys.stdout.write(f"{written}\n")
    for name, why in refused.items():
        sys.stderr.write(f"{name}: {why}\n")
    for name, files in differing.items():
        sys.stderr.write(f"{name}: a repeated run differs in {', '.join(files)}\n")
    if not chosen:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(PLACE.sub(lambda m: f"{m[1]}\n{written}\n{m[2]}", page), encoding="utf-8")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
