"""Speed and memory of Fairway, beside ns-2 and ns-3 on the same experiment.

    .venv/bin/python benches/run.py [--json] [--rounds N] [--quick]

`examples/pair.toml` for 100 simulated seconds, each program in its own process and in turn
(Fairway, ns-2, ns-2 bare, Fairway, …), so that whatever else the machine does falls on both. Then
the time per packet as the same link is shared by more flows, and that of ten thousand short flows
(`examples/short-flows.toml`). ns-3 is so much slower that it simulates 10 s,
and Fairway those again beside it.

A packet here is a data packet that was delivered (in ns-2: that left the bottleneck, 1 ms
before). Two times are told apart:

- whole process: `fairway run FILE --json`, from the start of the interpreter to its end, against
  all of ns-2's process. This is the ratio that Fairway claims.
- simulation only: `wall_s` of the summary, which leaves out the start of Python, against all of
  ns-2's process. It is what a sweep gains, which starts Python once for all its runs.

The time per packet by number of flows is of the simulation only, because the start of Python,
shared out among the packets, would hide how it grows. Memory is the process's peak resident set,
the Python interpreter included.
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
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tomli_w

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
EXPERIMENT = HERE.parent / "examples" / "pair.toml"
SHORT_FLOWS = HERE.parent / "examples" / "short-flows.toml"
NS2_SCRIPT = HERE / "ns2" / "pair.tcl"
NS3_PROGRAM = HERE / "ns3" / "pair.cc"
#: What it is linked with: not by pkg-config, whose flags Debian's package has wrong.
NS3_MODULES = (
    "applications", "flow-monitor", "internet", "bridge", "traffic-control", "point-to-point",
    "network", "stats", "core",
)  # fmt: skip

PAIR_SECONDS = 100
SCALING_SECONDS = 20
SCALING_FLOWS = (2, 10, 100, 1000, 10_000)
#: Beyond this, ns-2's time is not that of packets: it computes a route for every pair of nodes.
NS2_MAX_FLOWS = 100
NS3_SECONDS = 10
#: A round takes minutes: it searches its scoreboard from the beginning for each acknowledgement.
NS3_MAX_ROUNDS = 2


@dataclass(frozen=True)
class Cost:
    """What one process cost.

    Attributes:
        packets: Data packets delivered.
        wall_s: Wall clock of the whole process.
        simulation_s: Wall clock of the simulation alone; of the whole process where it is not
            known apart.
        cpu_s: Processor time of the whole process.
        peak_memory_mb: Peak resident set.
    """

    packets: int
    wall_s: float
    simulation_s: float
    cpu_s: float
    peak_memory_mb: float

    @property
    def packets_per_s(self) -> float:
        """Data packets for each second of the whole process."""
        return self.packets / self.wall_s

    @property
    def simulated_packets_per_s(self) -> float:
        """Data packets for each second of the simulation alone."""
        return self.packets / self.simulation_s

    @property
    def ns_per_packet(self) -> float:
        """Nanoseconds of the simulation alone for each data packet."""
        return self.simulation_s / self.packets * 1e9


def measure(command: list[str]) -> tuple[str, float, float, float]:
    """Run a command: its standard output, wall seconds, processor seconds, peak megabytes."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
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
    """One run of the `fairway` command."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bench.toml"
        path.write_text(tomli_w.dumps(document(flows, seconds)), encoding="utf-8")
        command = [sys.executable, "-m", "fairway", "run", str(path), "--json", "--quiet"]
        output, wall_s, cpu_s, peak_mb = measure(command)
    summary = json.loads(output)
    return Cost(summary["packets"], wall_s, summary["wall_s"], cpu_s, peak_mb)


def run_ns2(flows: int, seconds: int, *, measured: bool) -> Cost:
    """One run of ns-2 in a process of its own.

    Measured, it takes what Fairway takes: samples every 0.1 s, and the flow monitors by which the
    paper's script counts each flow's packets and drops. Bare, it only simulates.
    """
    samples, monitors = (os.devnull, "1") if measured else ("-", "0")
    arguments = ["bic", "cubic", f"{seconds}", f"{seconds / 2:g}", samples, "0.1", "-"]
    arguments += [f"{flows // 2}", "1", monitors]
    output, wall_s, cpu_s, peak_mb = measure(["ns", str(NS2_SCRIPT), *arguments])
    # ns-2's own messages share the pipe and may end in the middle of a line.
    found = re.search(r"data_packets (\d+)", output)
    if found is None:
        sys.exit(f"ns-2 printed no number of data packets:\n{output}")
    return Cost(int(found[1]), wall_s, wall_s, cpu_s, peak_mb)


def build_ns3(directory: Path) -> Path | None:
    """The program of ns-3, or None where ns-3 or a compiler is not installed.

    FAIRWAY_NS3 is a prefix with `include` and `lib64`, as the package `ns3` of PyPI is one. Without
    it, that is Debian's.
    """
    prefix = Path(os.environ.get("FAIRWAY_NS3", "/usr"))
    if shutil.which("g++") is None or not (prefix / "include/ns3").exists():
        return None
    # libns3-core.so is Debian's form, libns3.44-core.so that of releases.
    found = [
        next(iter(sorted((prefix / "lib64").glob(f"libns3*-{m}.so"))), None) for m in NS3_MODULES
    ]
    libraries = [
        str(file) if file else f"-lns3-{m}" for file, m in zip(found, NS3_MODULES, strict=True)
    ]
    program = directory / "pair"
    command = [
        "g++", "-O2", "-std=c++20", f"-I{prefix / 'include'}", "-o", str(program), str(NS3_PROGRAM),
        *libraries, f"-Wl,-rpath,{prefix / 'lib64'}",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return program


def run_ns3(program: Path, flows: int, seconds: int) -> Cost:
    """One run of ns-3, with a monitor of flows."""
    output, wall_s, cpu_s, peak_mb = measure(
        [str(program), f"{seconds}", f"{seconds / 2:g}", f"{flows // 2}", "1"]
    )
    return Cost(int(output.split()[1]), wall_s, wall_s, cpu_s, peak_mb)


def bench_ns3(rounds: int) -> dict[str, Any] | None:
    """A shorter pair experiment in ns-3 and here, in turn; None where ns-3 is not installed."""
    with tempfile.TemporaryDirectory() as directory:
        program = build_ns3(Path(directory))
        if program is None:
            return None
        turns = []
        for turn in range(1, rounds + 1):
            say(f"pair in ns-3, {NS3_SECONDS} s simulated: round {turn} of {rounds}")
            turns.append((run_fairway(2, NS3_SECONDS), run_ns3(program, 2, NS3_SECONDS)))
    return {
        "simulated_s": NS3_SECONDS,
        "build": "optimised" if "FAIRWAY_NS3" in os.environ else "of Debian, with its logging",
        "ns3_packets_per_s": spread([other.packets_per_s for _, other in turns]),
        "ratio_to_ns3": spread([own.packets_per_s / other.packets_per_s for own, other in turns]),
        "ns3_peak_memory_mb": max(other.peak_memory_mb for _, other in turns),
    }


def spread(values: list[float]) -> dict[str, float]:
    """Median and range."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def bench(rounds: int, seconds: int, scaling_seconds: int) -> dict[str, Any]:
    """Every measurement, as a JSON-ready dictionary."""
    ns2_missing = None if shutil.which("ns") else "ns is not installed (Debian package ns2)"
    result: dict[str, Any] = {"pair": bench_pair(rounds, seconds, ns2_missing is None)}
    result["scaling"] = [
        bench_flows(flows, rounds, scaling_seconds, ns2_missing is None) for flows in SCALING_FLOWS
    ]
    result["short_flows"] = bench_short_flows(rounds)
    result["ns3"] = bench_ns3(min(rounds, NS3_MAX_ROUNDS))
    result["ns2_skipped"] = ns2_missing
    return result


def bench_pair(rounds: int, seconds: int, with_ns2: bool) -> dict[str, Any]:
    """The pair experiment in both programs, in turn."""
    fairway: list[Cost] = []
    ns2: list[Cost] = []
    bare: list[Cost] = []
    for turn in range(1, rounds + 1):
        say(f"pair, {seconds} s simulated: round {turn} of {rounds}")
        fairway.append(run_fairway(2, seconds))
        if with_ns2:
            ns2.append(run_ns2(2, seconds, measured=True))
            bare.append(run_ns2(2, seconds, measured=False))
    result: dict[str, Any] = {
        "simulated_s": seconds,
        "fairway": [asdict(cost) for cost in fairway],
        "fairway_packets_per_s": spread([cost.packets_per_s for cost in fairway]),
        "fairway_simulated_packets_per_s": spread([c.simulated_packets_per_s for c in fairway]),
    }
    if ns2:
        result["ns2"] = [asdict(cost) for cost in ns2]
        for name, others in (("ns2", ns2), ("ns2_bare", bare)):
            turns = list(zip(fairway, others, strict=True))
            result[f"{name}_packets_per_s"] = spread([cost.packets_per_s for cost in others])
            result[f"ratio_to_{name}"] = spread(
                [a.packets_per_s / b.packets_per_s for a, b in turns]
            )
            result[f"simulation_only_ratio_to_{name}"] = spread(
                [a.simulated_packets_per_s / b.packets_per_s for a, b in turns]
            )
    return result


def bench_flows(flows: int, rounds: int, seconds: int, with_ns2: bool) -> dict[str, Any]:
    """The same path shared by more flows: time per packet, and peak memory."""
    say(f"{flows} flows, {seconds} s simulated")
    own = [run_fairway(flows, seconds) for _ in range(rounds)]
    row: dict[str, Any] = {
        "flows": flows,
        "fairway_ns_per_packet": spread([cost.ns_per_packet for cost in own]),
        "fairway_peak_memory_mb": max(cost.peak_memory_mb for cost in own),
    }
    if with_ns2 and flows <= NS2_MAX_FLOWS:
        row["ns2_ns_per_packet"] = run_ns2(flows, seconds, measured=True).ns_per_packet
    return row


def bench_short_flows(rounds: int) -> dict[str, Any]:
    """Ten thousand connections, each of which opens, carries a little and closes."""
    say("short flows")
    command = [sys.executable, "-m", "fairway", "run", str(SHORT_FLOWS), "--json", "--quiet"]
    own = []
    for _ in range(rounds):
        output, wall_s, cpu_s, peak_mb = measure(command)
        summary = json.loads(output)
        own.append(Cost(summary["packets"], wall_s, summary["wall_s"], cpu_s, peak_mb))
    return {
        "flows": len(summary["flows"]),
        "fairway_ns_per_packet": spread([cost.ns_per_packet for cost in own]),
        "fairway_peak_memory_mb": max(cost.peak_memory_mb for cost in own),
    }


def say(message: str) -> None:
    """Progress, on standard error."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def table(result: dict[str, Any]) -> str:
    """The measurements for a reader."""
    pair = result["pair"]
    lines = [
        f"Pair experiment, {pair['simulated_s']} s simulated, {len(pair['fairway'])} rounds."
        " Median (range).",
        "",
        "  million data packets/s",
    ]
    for name, title in (
        ("fairway_packets_per_s", "Fairway, whole process"),
        ("fairway_simulated_packets_per_s", "Fairway, simulation only"),
        ("ns2_packets_per_s", "ns-2, measuring as we do"),
        ("ns2_bare_packets_per_s", "ns-2, bare"),
    ):
        if name in pair:
            lines.append(f"    {title:26} {ranged(pair[name], 2, 1e6)}")
    if "ns2" in pair:
        lines += [
            "  times ns-2, whole process each",
            f"    {'measuring alike (the claim)':26} {ranged(pair['ratio_to_ns2'], 1)}",
            f"    {'ns-2 bare':26} {ranged(pair['ratio_to_ns2_bare'], 1)}",
            "  times ns-2, ours without Python's start",
            f"    {'measuring alike':26} {ranged(pair['simulation_only_ratio_to_ns2'], 1)}",
            f"    {'ns-2 bare':26} {ranged(pair['simulation_only_ratio_to_ns2_bare'], 1)}",
        ]
    lines.append("  peak memory")
    for name, title in (("fairway", "Fairway"), ("ns2", "ns-2")):
        if name in pair:
            peak = max(cost["peak_memory_mb"] for cost in pair[name])
            lines.append(f"    {title:26} {peak:.0f} MB")
    if result["ns2_skipped"]:
        lines.append(f"  ns-2 skipped: {result['ns2_skipped']}")
    if result["ns3"]:
        times = ranged(result["ns3"]["ratio_to_ns3"], 0)
        lines.append(f"  times ns-3, {NS3_SECONDS} s simulated, whole process each: {times}")
    else:
        lines.append("  ns-3 skipped: not installed (FAIRWAY_NS3, or Debian's libns3-dev; and g++)")
    lines += ["", "Time per packet, simulation only:", ""]
    lines.append("  flows   Fairway (range)       times 2 flows   peak memory   ns-2")
    first = result["scaling"][0]["fairway_ns_per_packet"]["median"]
    for row in [*result["scaling"], result["short_flows"]]:
        own = row["fairway_ns_per_packet"]
        other = f"{row['ns2_ns_per_packet']:.0f} ns" if "ns2_ns_per_packet" in row else "-"
        lines.append(
            f"  {row['flows']:5}   {ranged(own, 0)} ns".ljust(33)
            + f"{own['median'] / first:8.2f}"
            + f"{row['fairway_peak_memory_mb']:15.0f} MB   {other}"
        )
    return "\n".join(lines)


def ranged(found: dict[str, float], places: int, unit: float = 1.0) -> str:
    """A median with its range."""
    median, low, high = (f"{found[key] / unit:.{places}f}" for key in ("median", "min", "max"))
    return f"{median} ({low} to {high})"


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Speed and memory of Fairway, beside ns-2.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    parser.add_argument("--quick", action="store_true", help="a quarter of the simulated time")
    options = parser.parse_args()
    shorter = 4 if options.quick else 1
    result = bench(max(1, options.rounds), PAIR_SECONDS // shorter, SCALING_SECONDS // shorter)
    print(json.dumps(result, indent=2) if options.json else table(result))  # noqa: T201


if __name__ == "__main__":
    main()
