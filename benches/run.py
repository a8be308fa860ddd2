"""Speed and memory of the simulator, beside ns-2 on the same experiment.

    .venv/bin/python benches/run.py [--json] [--rounds N] [--quick]

`examples/pair.toml` for 100 simulated seconds, each program in its own process and in turn
(Fairway, ns-2, Fairway, ns-2, …), so that whatever else the machine does falls on both. Then
the processor time per packet as the same link is shared by more flows.

A packet here is a data packet that was delivered (in ns-2: that left the bottleneck, 1 ms
before). Time is that of the whole process, start-up included, and memory is its peak resident
set, the Python interpreter included.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
EXPERIMENT = HERE.parent / "examples" / "pair.toml"
NS2_SCRIPT = HERE / "ns2" / "pair.tcl"

PAIR_SECONDS = 100
SCALING_SECONDS = 20
SCALING_FLOWS = (2, 10, 100, 1000)
#: Beyond this, ns-2's time is not that of packets: it computes a route for every pair of nodes.
NS2_MAX_FLOWS = 100


@dataclass(frozen=True)
class Cost:
    """What one process cost."""

    packets: int
    wall_s: float
    cpu_s: float
    peak_memory_mb: float

    @property
    def packets_per_s(self) -> float:
        """Data packets for each second of wall clock."""
        return self.packets / self.wall_s

    @property
    def cpu_ns_per_packet(self) -> float:
        """Nanoseconds of processor time for each data packet."""
        return self.cpu_s / self.packets * 1e9


def measure(command: list[str], stdin: str = "") -> tuple[str, float, float, float]:
    """Run a command: its standard output, wall seconds, processor seconds, peak megabytes."""
    begin = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.close()
        output = process.stdout.read()
        # wait4 and not wait: it tells what this child used, not all children together.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - begin
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with exit code {process.returncode}:\n{output}")
    # ru_maxrss is in kilobytes of 1024 bytes on Linux, in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return output, wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6


def document(flows: int, seconds: int) -> dict[str, Any]:
    """The pair experiment with its two flows multiplied, as an experiment document."""
    experiment = copy.deepcopy(tomllib.loads(EXPERIMENT.read_text(encoding="utf-8")))
    experiment["duration"] = f"{seconds} s"
    experiment["measure"] = {"window": ["0 s", f"{seconds} s"], "sample": "100 ms"}
    experiment["flow"][1]["start"] = f"{seconds / 2:g} s"
    if flows > 2:
        for flow in experiment["flow"]:
            flow["count"] = flows // 2
    return experiment


def run_fairway(flows: int, seconds: int) -> Cost:
    """One run of Fairway in a process of its own."""
    output, wall_s, cpu_s, peak_mb = measure(
        [sys.executable, __file__, "--worker"], json.dumps(document(flows, seconds))
    )
    return Cost(int(output), wall_s, cpu_s, peak_mb)


def run_ns2(flows: int, seconds: int) -> Cost:
    """One run of ns-2 in a process of its own."""
    # No samples, whose interval then does not matter, and no packet traces.
    arguments = ["bic", "cubic", f"{seconds}", f"{seconds / 2:g}", "-", "0.1", "-", f"{flows // 2}"]
    output, wall_s, cpu_s, peak_mb = measure(["ns", str(NS2_SCRIPT), *arguments])
    # ns-2's own messages share the pipe and may end in the middle of a line.
    found = re.search(r"data_packets (\d+)", output)
    if found is None:
        sys.exit(f"ns-2 printed no number of data packets:\n{output}")
    return Cost(int(found[1]), wall_s, cpu_s, peak_mb)


def worker() -> None:
    """Simulate the document on standard input and print the data packets delivered."""
    from fairway import _core  # noqa: PLC0415  (only the worker needs the compiled module)

    print(json.loads(_core.run(sys.stdin.read()).summary)["packets"])  # noqa: T201


def spread(values: list[float]) -> dict[str, float]:
    """Median and range."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def bench(rounds: int, seconds: int, scaling_seconds: int) -> dict[str, Any]:
    """Every measurement, as a JSON-ready dictionary."""
    ns2_missing = None if shutil.which("ns") else "ns is not installed (Debian package ns2)"
    fairway: list[Cost] = []
    ns2: list[Cost] = []
    for turn in range(1, rounds + 1):
        say(f"pair, {seconds} s simulated: round {turn} of {rounds}")
        fairway.append(run_fairway(2, seconds))
        if not ns2_missing:
            ns2.append(run_ns2(2, seconds))
    result: dict[str, Any] = {
        "pair": {
            "simulated_s": seconds,
            "fairway": [asdict(cost) for cost in fairway],
            "fairway_packets_per_s": spread([cost.packets_per_s for cost in fairway]),
        },
        "scaling": [],
        "ns2_skipped": ns2_missing,
    }
    if ns2:
        result["pair"]["ns2"] = [asdict(cost) for cost in ns2]
        result["pair"]["ns2_packets_per_s"] = spread([cost.packets_per_s for cost in ns2])
        result["pair"]["ratio"] = spread(
            [a.packets_per_s / b.packets_per_s for a, b in zip(fairway, ns2, strict=True)]
        )
    for flows in SCALING_FLOWS:
        say(f"{flows} flows, {scaling_seconds} s simulated")
        row: dict[str, Any] = {
            "flows": flows,
            "fairway": asdict(run_fairway(flows, scaling_seconds)),
        }
        if not ns2_missing and flows <= NS2_MAX_FLOWS:
            row["ns2"] = asdict(run_ns2(flows, scaling_seconds))
        for name in ("fairway", "ns2"):
            if name in row:
                row[name]["cpu_ns_per_packet"] = Cost(**row[name]).cpu_ns_per_packet
        result["scaling"].append(row)
    return result


def say(message: str) -> None:
    """Progress, on standard error."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def table(result: dict[str, Any]) -> str:
    """The measurements for a reader."""
    pair = result["pair"]
    lines = [f"Pair experiment, {pair['simulated_s']} s simulated, {len(pair['fairway'])} rounds:"]
    for name in ("fairway", "ns2"):
        if name in pair:
            speed = pair[f"{name}_packets_per_s"]
            peak = max(cost["peak_memory_mb"] for cost in pair[name])
            lines.append(
                f"  {name:8} {speed['median'] / 1e6:6.2f} million packets/s"
                f" ({speed['min'] / 1e6:.2f} to {speed['max'] / 1e6:.2f}), peak {peak:.0f} MB"
            )
    if "ratio" in pair:
        ratio = pair["ratio"]
        lines.append(
            f"  ratio    {ratio['median']:6.1f} ({ratio['min']:.1f} to {ratio['max']:.1f})"
        )
    else:
        lines.append(f"  ns2 skipped: {result['ns2_skipped']}")
    lines += ["", "Processor time per packet:", "  flows   fairway         peak       ns2"]
    first = result["scaling"][0]["fairway"]["cpu_ns_per_packet"]
    for row in result["scaling"]:
        own = row["fairway"]
        other = f"{row['ns2']['cpu_ns_per_packet']:7.0f} ns" if "ns2" in row else "-"
        lines.append(
            f"  {row['flows']:5} {own['cpu_ns_per_packet']:6.0f} ns"
            f" ({own['cpu_ns_per_packet'] / first:.2f})"
            f" {own['peak_memory_mb']:6.0f} MB {other:>10}"
        )
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Speed and memory of Fairway, beside ns-2.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the simulated time")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker()
        return
    shorter = 10 if options.quick else 1
    result = bench(max(1, options.rounds), PAIR_SECONDS // shorter, SCALING_SECONDS // shorter)
    print(json.dumps(result, indent=2) if options.json else table(result))  # noqa: T201


if __name__ == "__main__":
    main()
