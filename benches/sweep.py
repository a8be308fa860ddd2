"""What a sweep of many small runs takes beyond their simulation.

    .venv/bin/python benches/sweep.py [--json] [--runs N] [--keep runs|summaries] [--dask]

Two flows over 10 Mbit/s for 0.2 s, N times with other seeds: once on one core, once on two, and
with `--dask` on two local workers, each in a process of its own that has loaded its libraries.
Simulation is the processor time of the compiled simulator, measured before, of as many runs by
themselves. The rest is the sweep's own: planning, summaries, files, tables and the report. As
processor time it hardly depends on what else the machine does; by the clock it is the time of the
whole sweep less simulation shared out among the cores.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import fairway
from fairway import _core
from fairway.experiment.plan import plan
from fairway.sweep.result import load_sweep

#: Runs of which simulation is measured, at the most.
ALONE = 2000
#: Runs of a sweep that loads libraries.
FIRST = 20

EXPERIMENT = """
title = "Small runs"
duration = "200 ms"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"

[[flow]]
cc = "cubic"

[[flow]]
cc = "reno"

[sweep]
repetitions = {runs}
"""


def simulation_s(runs: int) -> float:
    """Processor time of a run in the simulator alone, once it is warm."""
    points = plan(EXPERIMENT.format(runs=min(runs, ALONE))).points
    for point in points:
        _core.run(point.asked)
    started = time.process_time()
    for point in points:
        _core.run(point.asked)
    return (time.process_time() - started) / len(points)


def on_cores(cores: int, options: list[str]) -> dict[str, Any]:
    """A row that a process measures which may use so many cores."""
    command = [sys.executable, __file__, "--cores", str(cores), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def measure(runs: int, threads: int, keep: str | None, dask: str | None) -> dict[str, Any]:
    """Run the sweep, go on with it; what both took."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    alone = simulation_s(runs)
    with tempfile.TemporaryDirectory() as place:
        fairway.run(EXPERIMENT.format(runs=FIRST), Path(place) / "first", keep=keep)  # type: ignore[arg-type]
        out, text = Path(place) / "sweep", EXPERIMENT.format(runs=runs)
        wall, cpu = time.perf_counter(), time.process_time()
        fairway.run(text, out, threads=threads, keep=keep, dask=dask)  # type: ignore[arg-type]
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        again = time.perf_counter()
        fairway.run(text, out, threads=threads, keep=keep)  # type: ignore[arg-type]
        again = time.perf_counter() - again
        back = time.perf_counter()
        load_sweep(out)
        back = time.perf_counter() - back
        files = sum(1 for _ in out.rglob("*"))
    return {
        "who": "two local Dask workers" if dask else f"{threads} core{'s' * (threads > 1)}",
        "runs": runs,
        "wall_s": wall,
        "simulation_ms": alone * 1e3,
        "beyond_cpu_ms": (cpu / runs - alone) * 1e3,
        "beyond_wall_ms": (wall / runs - alone / threads) * 1e3,
        "again_s": again,
        "back_s": back,
        "files": files,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }


def told(row: dict[str, Any]) -> str:
    """A row for people."""
    return (
        f"{row['who']}: {row['runs']} runs in {row['wall_s']:.1f} s, "
        f"{row['runs'] / row['wall_s']:.0f} a second; simulation {row['simulation_ms']:.2f} ms a "
        f"run; beyond it {row['beyond_cpu_ms']:.2f} ms of processor and "
        f"{row['beyond_wall_ms']:.2f} ms of the clock; the same command again "
        f"{row['again_s']:.1f} s, reading back {row['back_s']:.1f} s; {row['files']} files, peak "
        f"{row['peak_mb']:.0f} MB\n"
    )


def main() -> int:
    """Measure on one and on two cores, and on workers if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--keep", choices=("runs", "summaries"), default=None)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cores", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cores:
        dask = "local" if options.dask else None
        json.dump(measure(options.runs, options.cores, options.keep, dask), sys.stdout)
        return 0
    asked = ["--runs", str(options.runs), *(["--keep", options.keep] if options.keep else [])]
    ways = [(1, asked), (2, asked), *([(2, [*asked, "--dask"])] if options.dask else [])]
    rows = []
    for cores, given in ways:
        rows.append(on_cores(cores, given))
        if not options.json:
            sys.stdout.write(told(rows[-1]))
            sys.stdout.flush()
    if options.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
