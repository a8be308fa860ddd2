"""What a sweep of many small runs takes beyond their simulation.

    .venv/bin/python benches/sweep.py [--runs N] [--keep runs|summaries] [--dask]

Two flows over 10 Mbit/s for 0.2 s, N times with other seeds: once with one thread, once with two,
and with `--dask` on two local workers. Simulation is the processor time of the compiled simulator,
measured around its call. The rest is the sweep's own: planning, summaries, files, tables and the
report. As processor time it hardly depends on what else the machine does; by the clock it is the
time of the whole sweep less simulation shared out among the threads.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import fairway
from fairway import _core
from fairway.backends import sim
from fairway.sweep import load_sweep

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


class Timed:
    """The compiled module, with a clock around `run`."""

    def __init__(self) -> None:
        """Start at zero."""
        self.simulated_s = 0.0
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(_core, name)

    def run(self, *arguments: Any) -> Any:
        """As `_core.run`."""
        started = time.thread_time()
        data = _core.run(*arguments)
        with self._lock:
            self.simulated_s += time.thread_time() - started
        return data


def measure(runs: int, threads: int, keep: str | None, dask: str | None) -> None:
    """Run the sweep, go on with it, and print what both took."""
    timed = Timed()
    sim._core = timed  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as place:
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
    own_cpu_ms = (cpu - timed.simulated_s) / runs * 1e3
    own_wall_ms = (wall - timed.simulated_s / threads) / runs * 1e3
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    who = "two local Dask workers" if dask else f"{threads} thread{'s' if threads > 1 else ''}"
    simulated_ms = timed.simulated_s / runs * 1e3
    sys.stdout.write(
        f"{who}: {runs} runs in {wall:.1f} s, {runs / wall:.0f} a second; simulation "
        f"{simulated_ms:.2f} ms a run; beyond it {own_cpu_ms:.2f} ms of processor and "
        f"{own_wall_ms:.2f} ms of the clock; the same command again {again:.1f} s, reading back "
        f"{back:.1f} s; {files} files, peak {peak_mb:.0f} MB\n"
    )


def main() -> int:
    """Measure with one and with two threads, and on workers if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--keep", choices=("runs", "summaries"), default=None)
    parser.add_argument("--dask", action="store_true")
    options = parser.parse_args()
    for threads in (1, 2):
        measure(options.runs, threads, options.keep, None)
    if options.dask:
        measure(options.runs, 2, options.keep, "local")
    return 0


if __name__ == "__main__":
    sys.exit(main())
