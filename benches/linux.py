"""Speed of the Linux backend: packets a second, and what it takes before the first one.

    .venv/bin/python benches/linux.py [--json] [--rounds N]

One CUBIC flow over 10 Mbit/s and over 100 Mbit/s, as golden traces have it, in turn with a run of
10 ms, which is boot, set-up and end alone. A packet is a data packet that was delivered; the time
is that of the whole run, boot included.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
from typing import Any

import fairway
from fairway.backends.linux import cache
from fairway.compare.fidelity.kernel_traces import scenarios


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if cache.find() is None:
        sys.exit("no kernel has been built: run `fairway linux build` first")
    cases = {"set-up": _short(scenarios()[0].document)}
    cases |= {scenario.name: scenario.document for scenario in scenarios()}
    measured: dict[str, list[tuple[float, int]]] = {name: [] for name in cases}
    for _ in range(options.rounds):
        for name, document in cases.items():
            run = fairway.run(document, backend="linux")
            assert isinstance(run, fairway.Run)
            measured[name].append((run.summary["wall_s"], run.summary["packets"]))
    rows = []
    for name, results in measured.items():
        seconds = statistics.median(wall_s for wall_s, _ in results)
        rate = statistics.median(packets / wall_s for wall_s, packets in results)
        rows.append(
            {"run": name, "wall_s": seconds, "packets": results[0][1], "packets_per_s": rate}
        )
    if options.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    for row in rows:
        told = f", {row['packets']} packets, {row['packets_per_s']:.0f} packets/s"
        sys.stdout.write(f"{row['run']:18} {row['wall_s']:6.2f} s{told}\n")


def _short(document: dict[str, Any]) -> dict[str, Any]:
    short = copy.deepcopy(document)
    short["duration"] = "10 ms"
    short["measure"] = {"sample": "10 ms"}
    return short


if __name__ == "__main__":
    main()
