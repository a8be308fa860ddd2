"""Speed of the analytic models: one call of each throughput law over arrays.

    .venv/bin/python benches/model.py [--points N] [--rounds N]

Every parameter that has to be given is an array of its own, so that nothing is computed once for
all points. What is printed is the fastest of the rounds, the median, and the processors' time of
the fastest: on a machine that does nothing else it is what all cores share.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.model.laws import ask, describe

#: Where the parameters of paths are drawn from: the ends, in logarithms.
BETWEEN = {
    "loss": (1e-7, 1e-1),
    "mark_probability": (1e-5, 1e-1),
    "rtt_s": (1e-2, 0.5),
    "rto_s": (0.2, 3.0),
    "queueing_s": (1e-4, 1e-2),
    "capacity_pps": (1e2, 1e6),
    "line_bps": (1e6, 1e10),
    "offered_bps": (1e6, 1e10),
    "data_packets": (1.0, 1e5),
    "threshold_packets": (2.0, 1e3),
    "alpha_packets": (1.0, 10.0),
    "sum_of_alphas_packets": (10.0, 100.0),
    "flows": (1.0, 100.0),
    "earlier_flows": (1.0, 100.0),
    "buffer_bdp": (0.5, 30.0),
    "time_s": (0.01, 10.0),
}


def arrays(law: str, points: int) -> dict[str, NDArray[np.float64]]:
    """An array for each parameter of a law that has to be given."""
    draw = np.random.default_rng(1)
    required = [p["name"] for p in describe()[law]["parameters"] if p["is_required"]]
    return {name: np.exp(draw.uniform(*np.log(BETWEEN[name]), size=points)) for name in required}


def seconds(law: str, given: dict[str, Any], rounds: int) -> list[tuple[float, float]]:
    """How long each of so many calls takes, by the clock and by processors."""
    found = []
    for _ in range(rounds):
        begin, used = time.perf_counter(), time.process_time()
        ask(law, **given)
        found.append((time.perf_counter() - begin, time.process_time() - used))
    return found


def main() -> None:
    """Print a row for each law."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    write = sys.stdout.write
    write(f"One call over {asked.points:,} points, best of {asked.rounds} (ms)\n\n")
    write(f"{'law':16} {'arrays':>6} {'best':>8} {'median':>8} {'processors':>11}\n")
    for law in describe():
        given = arrays(law, asked.points)
        times = seconds(law, given, asked.rounds)
        best, median = min(t for t, _ in times), statistics.median(t for t, _ in times)
        used = min(t for _, t in times)
        row = f"{best * 1e3:8.1f} {median * 1e3:8.1f} {used * 1e3:11.1f}"
        write(f"{law:16} {len(given):6} {row}\n")


if __name__ == "__main__":
    main()
