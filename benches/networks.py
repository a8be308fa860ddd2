"""Speed of big networks, beside htsim: transmissions of packets over links in a second.

    .venv/bin/python benches/networks.py [--json] [--rounds N] [--quick]

`examples/fat-tree-permutation.toml` with switches of 8 ports (128 hosts) and of 16 (1,024 hosts):
every host sends so many segments of 1500 bytes to another at 10 Gbit/s over links of 1 us with
queues of 100 packets, and receives as many. Each program runs in a process of its own, in turn.

A transmission is one packet on one link. Both programs acknowledge every segment, and an
acknowledgement crosses as many links as its segment: a segment that is delivered over six links
stands for twelve transmissions. The numbers come from what each program says was delivered, and
the lengths of the paths. Packets that were dropped are left out, for both programs.

htsim (https://github.com/Broadcom/csg-htsim) runs its Swift, because its program with TCP sends
acknowledgements past the network. FAIRWAY_HTSIM names the program `htsim_swift`, unless it is on
the PATH. Its permutation is another of the same kind. It drops next to nothing; Fairway's Reno
fills queues, and what it retransmits is not counted.

Rates are of the processor time of the whole process, the start of Python included, and for Fairway
also of the simulation alone (`wall_s`). Fairway uses one core, and in turn two: what the second one
gains is by the clock, of the simulation alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomli_w
from run import measure, ranged, say, spread

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPERIMENT = Path(__file__).resolve().parent.parent / "examples" / "fat-tree-permutation.toml"

#: Ports of a switch, and the segments that each host sends.
TREES = ((8, 4000), (16, 500))
PACKET_BYTES = 1500
#: Payload of a packet with 40 bytes of headers.
SEGMENT_BYTES = 1460
QUEUE_PACKETS = 100
#: Time for the last transfer, which may wait for timeouts of a second.
SIMULATED_S = 20


def document(arity: int, segments: int) -> dict[str, Any]:
    """The permutation with all hosts, as an experiment document."""
    experiment = tomllib.loads(EXPERIMENT.read_text(encoding="utf-8"))
    experiment["duration"] = f"{SIMULATED_S} s"
    experiment["measure"] = {"sample": "1 s"}
    experiment["stack"] = {"preset": "rfc5681", "delayed_ack": False}
    queue = {"limit": f"{QUEUE_PACKETS} packets"}
    experiment["topology"]["access"] = {"rate": "10 Gbit/s", "delay": "1 us", "queue": queue}
    experiment["topology"]["arity"] = arity
    flow = {"cc": "reno", "bytes": f"{segments * SEGMENT_BYTES} bytes", "count": hosts(arity)}
    experiment["flow"][0].update(flow)
    return experiment


def hosts(arity: int) -> int:
    """Hosts of a fat tree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008, section 2.2)."""
    return arity**3 // 4


def run_fairway(arity: int, segments: int, cores: int = 1) -> dict[str, float]:
    """One run of the `fairway` command."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bench.toml"
        path.write_text(tomli_w.dumps(document(arity, segments)), encoding="utf-8")
        command = [sys.executable, "-m", "fairway", "run", str(path), "--json", "--quiet"]
        command += ["--threads", str(cores)]
        output, wall_s, cpu_s, peak_mb = measure(command)
    summary = json.loads(output)
    if any(flow["fct_s"] is None for flow in summary["flows"]):
        sys.exit(f"Fairway: transfers did not end within {SIMULATED_S} s")
    links = sum(links_of(flow["route"]) for flow in summary["flows"])
    return {
        "transmissions": 2 * segments * links,
        "wall_s": wall_s,
        "simulation_s": summary["wall_s"],
        "cpu_s": cpu_s,
        "peak_memory_mb": peak_mb,
    }


def links_of(route: str | None) -> int:
    """Links of a path: the hosts' two, which no result names, and those that were chosen."""
    return 2 + (0 if route is None else route.count(" > ") + 1)


def htsim() -> str | None:
    """The program `htsim_swift`, if it is there."""
    return os.environ.get("FAIRWAY_HTSIM") or shutil.which("htsim_swift")


def run_htsim(program: str, arity: int, segments: int) -> dict[str, float]:
    """One run of htsim."""
    order = list(range(hosts(arity)))
    random.Random(1).shuffle(order)
    pairs = list(zip(order, order[1:] + order[:1], strict=True))
    lines = [f"Nodes {len(order)}", f"Connections {len(pairs)}"]
    lines += [f"{a}->{b} id {n} start 0" for n, (a, b) in enumerate(pairs, 1)]
    with tempfile.TemporaryDirectory() as directory:
        matrix = Path(directory) / "permutation.cm"
        matrix.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [program, "-nodes", str(len(order)), "-tm", str(matrix)]
        command += ["-linkspeed", "10000", "-mtu", str(PACKET_BYTES), "-q", str(QUEUE_PACKETS)]
        command += ["-flowsize", str(segments), "-cwnd", "10", "-end", str(SIMULATED_S * 1_000_000)]
        # Its log has nothing to say of a sampling period that is as long as the run.
        command += ["-tsample", str(SIMULATED_S * 1_000_000), "-o", f"{directory}/log"]
        output, wall_s, cpu_s, peak_mb = measure(command)
    done = re.findall(r"_(\d+)_(\d+) finished at \S+ total bytes (\d+)", output)
    if len(done) != len(pairs):
        sys.exit(f"htsim: {len(done)} of {len(pairs)} transfers ended within {SIMULATED_S} s")
    delivered = [(links_between(int(a), int(b), arity), int(size)) for a, b, size in done]
    return {
        "transmissions": 2 * sum(links * (size // PACKET_BYTES) for links, size in delivered),
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "peak_memory_mb": peak_mb,
    }


def links_between(one: int, other: int, arity: int) -> int:
    """Links between two hosts, which are counted pod by pod and switch by switch."""
    below = arity // 2
    if one // below == other // below:
        return 2
    return 4 if one // below**2 == other // below**2 else 6


def bench(rounds: int, shorter: int) -> list[dict[str, Any]]:
    """Every tree, as JSON-ready dictionaries."""
    program = htsim()
    return [bench_tree(arity, segments // shorter, rounds, program) for arity, segments in TREES]


def bench_tree(arity: int, segments: int, rounds: int, program: str | None) -> dict[str, Any]:
    """One tree in both programs, in turn."""
    own, both, other = [], [], []
    for turn in range(1, rounds + 1):
        say(f"fat tree of {hosts(arity)} hosts: round {turn} of {rounds}")
        own.append(run_fairway(arity, segments))
        both.append(run_fairway(arity, segments, cores=2))
        if program is not None:
            other.append(run_htsim(program, arity, segments))
    result: dict[str, Any] = {
        "hosts": hosts(arity),
        "segments": segments,
        "fairway": own,
        "fairway_per_cpu_s": rates(own, "cpu_s"),
        "fairway_per_wall_s": rates(own, "wall_s"),
        "fairway_per_simulation_s": rates(own, "simulation_s"),
    }
    times = zip(own, both, strict=True)
    result["second_core"] = spread([a["simulation_s"] / b["simulation_s"] for a, b in times])
    if other:
        turns = zip(own, other, strict=True)
        ratios = [rate(a, "cpu_s") / rate(b, "cpu_s") for a, b in turns]
        result["htsim"] = other
        result["htsim_per_cpu_s"] = rates(other, "cpu_s")
        result["htsim_per_wall_s"] = rates(other, "wall_s")
        result["ratio_to_htsim"] = spread(ratios)
    return result


def rate(cost: dict[str, float], time: str) -> float:
    """Transmissions a second."""
    return cost["transmissions"] / cost[time]


def rates(costs: list[dict[str, float]], time: str) -> dict[str, float]:
    """Their median and range."""
    return spread([rate(cost, time) for cost in costs])


def table(result: list[dict[str, Any]]) -> str:
    """The measurements for a reader."""
    lines = ["Permutation in a fat tree, million transmissions/s. Median (range)."]
    for row in result:
        lines += ["", f"  {row['hosts']} hosts, {row['segments']} segments each"]
        for key, title in (
            ("fairway_per_cpu_s", "Fairway, processor"),
            ("fairway_per_wall_s", "Fairway, clock"),
            ("fairway_per_simulation_s", "Fairway, simulation only"),
            ("htsim_per_cpu_s", "htsim, processor"),
            ("htsim_per_wall_s", "htsim, clock"),
        ):
            if key in row:
                lines.append(f"    {title:26} {ranged(row[key], 2, 1e6)}")
        lines.append(f"    {'times one core, with two':26} {ranged(row['second_core'], 2)}")
        if "htsim" in row:
            lines.append(f"    {'times htsim, processor':26} {ranged(row['ratio_to_htsim'], 2)}")
        for key, title in (("fairway", "Fairway"), ("htsim", "htsim")):
            if key in row:
                peak = max(cost["peak_memory_mb"] for cost in row[key])
                lines.append(f"    {title + ', peak memory':26} {peak:.0f} MB")
    if htsim() is None:
        lines += ["", "  htsim skipped: set FAIRWAY_HTSIM to its program htsim_swift"]
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    parser.add_argument("--quick", action="store_true", help="a quarter of the segments")
    options = parser.parse_args()
    result = bench(max(1, options.rounds), 4 if options.quick else 1)
    print(json.dumps(result, indent=2) if options.json else table(result))  # noqa: T201


if __name__ == "__main__":
    main()
