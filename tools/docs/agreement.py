"""Writes the tables of fidelity.md that need a Linux kernel: further paths, and intervals.

    .venv/bin/python tools/docs/agreement.py DIRECTORY [--seeds N]

Runs `fairway agree kernel`, `further` and `networks` in the directory, or goes on with what is
there, and writes what came of them. It takes half an hour on two cores.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from reference import DOCS, table

import fairway
from fairway.backends import backend
from fairway.compare.agree.data import PointAgreement
from fairway.compare.agree.quantities import VERDICTS, Judgement
from fairway.compare.agree.run import Agreement, comparison_plan
from fairway.compare.fidelity.data import FEWEST_REDUCTIONS, JUDGED, TOLERANCES, measured
from fairway.compare.fidelity.kernel_traces import of_run
from fairway.ground import text
from fairway.stats import paired_difference, welch_interval
from fairway.sweep.outcome import Outcome
from fairway.sweep.run import run_plan

PAGE = DOCS / "fidelity.md"
FURTHER = re.compile(r"(<!-- further -->\n).*?(<!-- end -->)", re.DOTALL)
NETWORKS = re.compile(r"(<!-- networks -->\n).*?(<!-- end -->)", re.DOTALL)
AGREED = re.compile(r"(<!-- agreed -->\n).*?(<!-- end -->)", re.DOTALL)
#: What is shown of each flow, and its unit.
SHOWN = {"goodput": "goodput (Mbit/s)", "cwnd": "cwnd (segments)", "srtt": "srtt (ms)"}
CONFIDENCE = 0.95
#: What stands in a cell for a quantity that is out.
SHORT = {
    "goodput_bps": "goodput", "mean_cwnd_segments": "cwnd", "mean_srtt_s": "srtt",
    "reduction_interval_s": "interval", "exit_window_segments": "exit",
}  # fmt: skip

Measured = list[dict[str, float | None]]


def agreed(result: Agreement) -> str:
    """A table for each path: both means of each quantity, their difference and its interval."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in result.counts.items())
    parts = [f"**{counts}**, {result.seeds} seeds a side.\n"]
    for path in dict.fromkeys(point.axes["path"] for point in result.points):
        points = [point for point in result.points if point.axes["path"] == path]
        header = ["algorithm", *SHOWN.values(), "= * ?", "different"]
        parts += [f"### {path}: {points[0].title}\n", table(header, map(_agreed_row, points))]
    return "\n".join(parts)


def _agreed_row(point: PointAgreement) -> list[str]:
    flow = point.flows[0]
    cells = [f"`{point.axes['cc']}`"]
    for name in SHOWN:
        finding = point.finding(name, flow)
        cells.append(_with_interval(finding.judgement, finding.quantity.scale) if finding else "–")
    cells.append(" ".join(str(count) for count in point.counts.values()))
    names = [f.quantity.name for f in point.findings if f.judgement.verdict == "different"]
    names += ["curves" for area in point.areas if area.verdict == "different"]
    return [*cells, ", ".join(dict.fromkeys(names)) or "–"]


def _with_interval(found: Judgement, scale: float) -> str:
    """Such as "9.55 / 9.56, −0.1 % [−0.3, +0.1]"; no interval where no seed changed anything."""
    ours, real = found.ours, found.reference
    both = f"{text.number(ours.mean * scale)} / {text.number(real.mean * scale)}"
    mark = {"equivalent": "", "different": " **\\***", "undecided": " ?"}[found.verdict]
    shown = f"{both}, {text.percent(found.relative(found.difference.mean))}"
    if ours.range == 0 and real.range == 0:
        return shown + mark
    interval = paired_difference if found.method == "pairs" else welch_interval
    apart = interval(ours.values, real.values, CONFIDENCE)
    low, high = found.relative(apart.low), found.relative(apart.high)
    if low is None or high is None:
        return shown + mark
    return f"{shown} [{text.with_sign(100 * low, 1)}, {text.with_sign(100 * high, 1)}]{mark}"


def networks(result: Agreement) -> str:
    """A row for each network: verdicts on the algorithms' flows, and what is different."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in result.counts.items())
    header = ["network", *(f"{name} = \\* ?" for name in SHOWN), "all = \\* ?", "different"]
    rows = []
    for path in dict.fromkeys(point.axes["path"] for point in result.points):
        points = [point for point in result.points if point.axes["path"] == path]
        cells = [f"*{path}*: {points[0].title}"]
        for name in SHOWN:
            found = [point.finding(name, point.flows[0]) for point in points]
            verdicts = [one.judgement.verdict for one in found if one]
            cells.append(" ".join(str(verdicts.count(verdict)) for verdict in VERDICTS))
        whole = [sum(point.counts[verdict] for point in points) for verdict in VERDICTS]
        different = (f"`{point.axes['cc']}`: {', '.join(names)}" for point in points
                     if (names := _different(point)))  # fmt: skip
        rows.append([*cells, " ".join(map(str, whole)), "; ".join(different) or "–"])
    return f"**{counts}**, {result.seeds} seeds a side.\n\n{table(header, rows)}"


def _different(point: PointAgreement) -> list[str]:
    """Such as "goodput −3 %", and of other flows "drops of bottleneck"."""
    names = []
    for found in point.findings:
        if found.judgement.verdict == "different":
            share = found.judgement.relative(found.judgement.difference.mean)
            apart = "" if share is None else f" {text.percent(share)}"
            owner = "" if found.owner == point.flows[0] else f" of {found.owner}"
            names.append(f"{found.quantity.name}{owner}{apart}")
    names += [f"curves of {area.flow}" for area in point.areas if area.verdict == "different"]
    return names


def further(directory: Path) -> str:
    """A row for each algorithm and a column for each path: what is out of tolerance there."""
    plan = comparison_plan("further")
    sides = [
        run_plan(plan, backend(name), directory=directory / name).outcomes
        for name in ("sim", "linux")
    ]
    cells: dict[str, dict[str, str]] = {}
    titles: dict[str, str] = {}
    within = count = 0
    for (path, cc), ours, real in _points(*sides):
        titles[path] = str(ours[0].summary["title"])
        misses = []
        for index in range(len(ours[0].summary["flows"])):
            out = list(_misses(_measured(ours, index), _measured(real, index)))
            misses += [f"{'rival: ' if index else ''}{miss}" for miss in out]
            count += 1
            within += not out
        cells.setdefault(cc, {})[path] = "<br>".join(misses) or "within"
    rows = ([f"`{cc}`", *(row[path] for path in titles)] for cc, row in cells.items())
    lines = "\n".join(f"- *{path}*: {title}" for path, title in titles.items())
    return (
        f"**{within} of {count} flows within tolerance**, means over two seeds.\n\n{lines}\n\n"
        f"{table(['algorithm', *titles], rows)}"
    )


def _points(
    ours: Sequence[Outcome], real: Sequence[Outcome]
) -> Iterator[tuple[tuple[str, str], list[Outcome], list[Outcome]]]:
    """Outcomes of every point on both sides, one a seed."""
    points: dict[tuple[str, str], tuple[list[Outcome], list[Outcome]]] = {}
    for one, other in zip(ours, real, strict=True):
        key = (str(one.point.axes["path"]), str(one.point.axes["cc"]))
        of_point = points.setdefault(key, ([], []))
        of_point[0].append(one)
        of_point[1].append(other)
    for key, (first, second) in points.items():
        yield key, first, second


def _measured(outcomes: Sequence[Outcome], index: int) -> Measured:
    return [measured(of_run(outcome.run, index)) for outcome in outcomes]


def _misses(ours: Measured, real: Measured) -> Iterator[str]:
    """Such as "cwnd +7 %", for every quantity that is out of tolerance."""
    for quantity in JUDGED:
        name = quantity.name
        if name == "reduction_interval_s" and _mean(real, "reductions") < FEWEST_REDUCTIONS:
            continue
        known = [side for side in (ours, real) if any(run[name] is not None for run in side)]
        if len(known) == 1:
            yield f"{SHORT[name]} on one side"
        elif known:
            relative = _mean(ours, name) / _mean(real, name) - 1
            if abs(relative) > TOLERANCES[name]:
                yield f"{SHORT[name]} {text.percent(relative)}"


def _mean(runs: Sequence[Mapping[str, float | None]], name: str) -> float:
    return fmean(value for run in runs if (value := run[name]) is not None)


def main() -> int:
    """Write the page; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seeds", type=int)
    options = parser.parse_args()
    result = fairway.agree("kernel", options.directory / "kernel", seeds=options.seeds, quiet=False)
    fairway.agree("further", options.directory / "further", quiet=False)
    found = further(options.directory / "further")
    every = fairway.agree("networks", options.directory / "networks", quiet=False)
    page = PAGE.read_text(encoding="utf-8")
    page = AGREED.sub(lambda m: f"{m[1]}\n{agreed(result)}\n{m[2]}", page)
    page = NETWORKS.sub(lambda m: f"{m[1]}\n{networks(every)}\n{m[2]}", page)
    page = FURTHER.sub(lambda m: f"{m[1]}\n{found}\n{m[2]}", page)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
