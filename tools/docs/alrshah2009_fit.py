"""Fits what the thesis of the study alrshah2009 leaves open to its printed traces.

    .venv/bin/python tools/docs/alrshah2009_fit.py

Figures 4.5 and 4.6 show the first 156 ms of a run of thirty connections. A candidate is a pause of
the generator and a RED queue. Each is run with a few seeds, and what the traces show is compared
with the same figures of the runs. Figures 5.1 to 5.5 are no part of the fit. The table is written
into the page of the study. One core takes about a minute.
"""

from __future__ import annotations

import csv
import itertools
import math
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from markdown_text import table

import fairway
from fairway.experiment.plan import parse_toml

DOCS = Path(__file__).resolve().parents[2] / "docs"
STUDY = DOCS.parent / "python" / "fairway" / "studies" / "alrshah2009"
#: A tick of both clocks: 250 Hz, as in the kernels of openSUSE 11.1.
TICK_MS = 4.0
#: The receiver's tick of the first SYN, from which figure 4.6 counts.
FIRST_TICK = 4294955888
SEEDS = (1, 2, 3, 4)
#: Pauses of the generator between two writes of 1000 bytes.
PAUSES_MS = (3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25)
#: Time in which thirty threads open their connections.
OPENING_MS = (5, 10, 15, 20, 25)
#: Slow-start threshold: Linux keeps that of the last connection to a host (tcp_no_metrics_save).
THRESHOLDS = ("unlimited", "2 segments")
#: Limit, thresholds and burst of RED in the words of RouterOS, in packets of 1000 bytes.
QUEUES = (
    (60, 10, 50, 20),  # defaults of RouterOS 2.9
    (150, 10, 50, 20),
    (300, 10, 50, 20),  # the buffer of table 3.1
    (300, 5, 15, 20),  # thresholds of Floyd 1997
    (300, 50, 100, 60),
    (150, 10, 50, 100),
    (300, 10, 50, 100),
    (300, 50, 150, 100),
    (300, 100, 250, 150),
)
#: From an arrival in figure 4.6 to that of the connection's next flight, of ports 45397 and 59341,
#: which is the queue that this flight met (73.2 and 74.8 ms); with the error of that reading.
LATER_QUEUE_MS, LATER_ERROR_MS = 74.0, 4.0
#: A packet dropped until then would be missed among those printed until 156 ms, a queue later.
DROPS_UNTIL_MS = 83.0


@dataclass(frozen=True)
class Window:
    """Some printed milliseconds since the first SYN, and the bytes in order at their end.

    Those of each connection that has received in them.
    """

    start_ms: float
    end_ms: float
    reached: tuple[int, ...]


@dataclass(frozen=True)
class Candidate:
    """The pause, the time of opening, the slow-start threshold, and the queue."""

    pause_ms: float
    opening_ms: float
    threshold: str
    queue: tuple[int, int, int, int]


def rows(name: str) -> list[dict[str, float]]:
    """A printed trace."""
    with (STUDY / "traces" / name).open(encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def window(trace: list[dict[str, float]], times_ms: list[float]) -> Window:
    """A part of a trace."""
    reached = {row["port"]: int(row["to_byte"]) - 1 for row in trace}
    return Window(min(times_ms), max(times_ms), tuple(reached.values()))


def printed() -> list[Window]:
    """The three parts of the printed traces, by the clock of figure 4.6."""
    first, second = rows("figure_4_5.csv"), rows("figure_4_6.csv")
    pairs = itertools.pairwise(first)
    changes_s = next(b["time_s"] for a, b in pairs if a["receiver_ticks"] < b["receiver_ticks"])
    ticks = first[-1]["receiver_ticks"] - FIRST_TICK
    # The first SYN comes in the tick in which it is answered: in its middle.
    syn_s = changes_s - (ticks - 0.5) * TICK_MS / 1e3
    parts = [
        [row for row in second if row["time_ms"] < 100],
        # The last row is the first half of a flight, and its offset is damaged in print.
        [row for row in second if 100 <= row["time_ms"] < 156],
    ]
    windows = [window(first, [(row["time_s"] - syn_s) * 1e3 for row in first])]
    return windows + [window(part, [row["time_ms"] for row in part]) for part in parts]


def round_trips_ms() -> list[float]:
    """From an acknowledgement in figure 4.5 to the arrival of the segment that it released."""
    released = [row for row in rows("figure_4_5.csv") if row["from_byte"] == 2449]
    return [(row["receiver_ticks"] - row["echoed_ticks"]) * TICK_MS for row in released]


def document(candidate: Candidate, seed: int) -> dict[str, Any]:
    """The study's experiment with thirty connections and, as in the traces, no cross traffic."""
    bench = STUDY / "bench" / "bench.toml"
    base: dict[str, Any] = parse_toml(bench.read_text(encoding="utf-8"), str(bench))
    limit, low, high, burst = (f"{packets} packets" for packets in candidate.queue)
    queue = {"kind": "routeros-red", "limit": limit, "allowed_burst": burst}
    queue |= {"min_threshold": low, "max_threshold": high}
    generator = next(flow for flow in base["flow"] if flow["id"] == "parallel")
    generator |= {
        "count": 30,
        "stagger": f"{round(candidate.opening_ms * 1e3 / 29)} us",
        "think": f"{round(candidate.pause_ms * 1e3)} us",
        "cc": "cubic",  # the default of openSUSE 11.1; no algorithm has reduced its window yet
    }
    base["topology"]["bottleneck"]["queue"] = queue
    base["stack"]["initial_ssthresh"] = candidate.threshold
    base |= {"duration": "200 ms", "seed": seed, "flow": [generator]}
    return base | {"measure": {"sample": "1 ms"}}


def at(ms: float) -> pl.Expr:
    """The sample of a time."""
    return (pl.col("t_s") - round(ms) / 1e3).abs() < 1e-4


def reached(run: fairway.Run, part: Window, late_ms: float) -> float | None:
    """Bytes in order, on average, of the connections that receive in these milliseconds."""
    got = run.series.sort("flow", "t_s").with_columns(
        (pl.col("goodput_bps") / 8e3).cum_sum().over("flow").alias("bytes")
    )
    times_ms = (part.start_ms + late_ms, part.end_ms + late_ms)
    before, after = (got.filter(at(ms)).sort("flow")["bytes"] for ms in times_ms)
    values = [end for start, end in zip(before, after, strict=True) if end > start]
    return statistics.fmean(values) if values else None


def queue_at(run: fairway.Run, ms: float) -> tuple[float, int]:
    """The bottleneck's queue in ms of its rate, and the packets that it has dropped."""
    row = run.queues.filter((pl.col("link") == "bottleneck") & at(ms)).row(0, named=True)
    return row["backlog_bytes"] * 8 / 1e4, row["drops"]


def simulated(candidate: Candidate) -> list[fairway.Run]:
    """A run for each seed."""
    runs = [fairway.run(document(candidate, seed)) for seed in SEEDS]
    return [run for run in runs if isinstance(run, fairway.Run)]


def terms(candidate: Candidate, windows: list[Window]) -> list[float]:
    """Squared deviations from the traces in standard errors; of drops, -2 log likelihood."""
    runs = simulated(candidate)
    # The simulated application pauses before its first write too.
    late_ms = candidate.pause_ms
    found = []
    for part in windows:
        means = [one for run in runs if (one := reached(run, part, late_ms)) is not None]
        error = statistics.stdev(part.reached) / math.sqrt(len(part.reached))
        deviation = statistics.fmean(means or [math.inf]) - statistics.fmean(part.reached)
        found.append((deviation / error) ** 2)
    trip_ms = statistics.fmean(round_trips_ms())
    # What arrives at the end of figure 4.5 has met the queue of a round trip before.
    first_ms, second_ms = windows[0].end_ms - trip_ms, windows[1].start_ms
    queues = [
        statistics.fmean(queue_at(run, ms + late_ms)[0] for run in runs)
        for ms in (first_ms, second_ms)
    ]
    found.append(((queues[0] - trip_ms) / (TICK_MS / 2)) ** 2)
    found.append(((queues[1] - LATER_QUEUE_MS) / LATER_ERROR_MS) ** 2)
    drops = statistics.fmean(queue_at(run, DROPS_UNTIL_MS + late_ms)[1] for run in runs)
    offered = drops + DROPS_UNTIL_MS * 1.25e3 / 1538  # full frames at 10 Mbit/s
    shown = len(rows("figure_4_5.csv")) + len(rows("figure_4_6.csv"))
    return [*found, -2 * shown * math.log(1 - drops / offered)]


def best(queue: tuple[int, int, int, int], pause_ms: float, windows: list[Window]) -> float:
    """The smallest misfit with a queue and a pause."""
    options = itertools.product(OPENING_MS, THRESHOLDS)
    candidates = [Candidate(pause_ms, opening, slow, queue) for opening, slow in options]
    return min(sum(terms(candidate, windows)) for candidate in candidates)


def shown(value: float) -> str:
    """A misfit for the table."""
    return f"{value:.0f}" if value < 1000 else "over 1000"


def main() -> None:
    """Write, for each queue and pause, how well the best fits."""
    windows = printed()
    lines = []
    for queue in QUEUES:
        limit, low, high, burst = queue
        found = [shown(best(queue, pause, windows)) for pause in PAUSES_MS]
        lines.append([f"{limit}, {low} to {high}, {burst}", *found])
    header = ["limit, thresholds, burst", *(f"{pause} ms" for pause in PAUSES_MS)]
    page = DOCS / "alrshah2009.md"
    text, count = re.subn(
        r"(<!-- fit -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{table(header, lines)}\n{found[2]}",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"{page}: no <!-- fit --> to write to")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
