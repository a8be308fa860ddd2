"""All that is measured beside other programs, in one table.

    .venv/bin/python benches/table.py [--quick]

Each row is from a benchmark of its own in this directory, which tells more: `run.py` (ns-2, ns-3,
number of flows), `networks.py` (htsim), `analyze.py` (tcptrace, tshark), `xfer.py` (iperf3),
`linux.py` (the Linux backend) and `sweep.py` (1 and 2 cores). Programs that are not installed are
left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

#: What was measured, here, beside what, there, how many times.
Row = tuple[str, str, str, str, str]
WIDTHS = (52, 20, 26, 8, 0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less of everything")
    quick = parser.parse_args().quick
    benches: list[tuple[Callable[[Any], list[Row]], str, list[str]]] = [
        (simulator, "run.py", ["--quick", "--rounds", "1"]),
        (networks, "networks.py", ["--quick", "--rounds", "1"]),
        (captures, "analyze.py", ["--rounds", "2"]),
        (sweeps, "sweep.py", ["--runs", "1000"]),
        (kernel, "linux.py", ["--rounds", "1"]),
        (transfers, "xfer.py", ["--quick", "--rounds", "1"]),
    ]
    show([("measured", "Fairway", "beside", "there", "times")])
    for rows_of, script, less in benches:
        show(rows_of(asked(script, less if quick else [])))


def show(rows: list[Row]) -> None:
    """Print rows as soon as they are there: the whole takes long."""
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, WIDTHS, strict=True)]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    sys.stdout.flush()


def asked(script: str, options: list[str]) -> Any:
    """What a benchmark prints as JSON; None if it cannot be run here."""
    sys.stderr.write(f"{script}\n")
    command = [sys.executable, str(HERE / script), "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None


def simulator(found: dict[str, Any] | None) -> list[Row]:
    """Packets a second of whole processes, and the cost of a packet by the number of flows."""
    if found is None:
        return []
    pair, what = found["pair"], "two flows, million packets/s"
    own = f"{pair['fairway_packets_per_s']['median'] / 1e6:.2f}"
    rows: list[Row] = []
    for key, name in (("ns2", "ns-2.35, measuring alike"), ("ns2_bare", "ns-2.35, bare")):
        if f"{key}_packets_per_s" in pair:
            there = f"{pair[f'{key}_packets_per_s']['median'] / 1e6:.2f}"
            rows.append((what, own, name, there, ranged(pair[f"ratio_to_{key}"], 1)))
    if ns3 := found["ns3"]:
        there = f"{ns3['ns3_packets_per_s']['median'] / 1e6:.4f}"
        name = f"ns-3, {ns3['build']}"
        rows.append((what, own, name, there, ranged(ns3["ratio_to_ns3"], 0)))
    first = found["scaling"][0]["fairway_ns_per_packet"]["median"]
    for row in found["scaling"]:
        cost = row["fairway_ns_per_packet"]["median"]
        ns2 = row.get("ns2_ns_per_packet")
        beside = ("ns-2.35", f"{ns2:.0f}", f"{ns2 / cost:.1f}") if ns2 else ("", "", "")
        grown = f"{cost:.0f} ({cost / first:.2f} of two flows')"
        rows.append((f"{row['flows']} flows, ns a packet", grown, *beside))
    short = found["short_flows"]["fairway_ns_per_packet"]["median"]
    flows = found["short_flows"]["flows"]
    rows.append((f"{flows} short flows, ns a packet", f"{short:.0f}", "", "", ""))
    return rows


def networks(found: list[dict[str, Any]] | None) -> list[Row]:
    """Transmissions of packets over links for each second of processor time, in fat trees."""
    rows: list[Row] = []
    for row in found or []:
        what = f"fat tree of {row['hosts']} hosts, million transmissions/s"
        own = f"{row['fairway_per_cpu_s']['median'] / 1e6:.2f}"
        beside = ("", "", "")
        if "htsim" in row:
            there = f"{row['htsim_per_cpu_s']['median'] / 1e6:.2f}"
            beside = ("htsim, Swift", there, ranged(row["ratio_to_htsim"], 2))
        rows.append((what, own, *beside))
        what = f"fat tree of {row['hosts']} hosts, a second core, times one"
        rows.append((what, ranged(row["second_core"], 2), "", "", ""))
    return rows


def captures(found: list[dict[str, Any]] | None) -> list[Row]:
    """Seconds for a capture of a million packets."""
    if not found:
        return []
    own, *others = found
    return [
        (
            "a capture read, s",
            f"{own['wall_s']:.2f}",
            other["program"],
            f"{other['wall_s']:.2f}",
            f"{other['wall_s'] / own['wall_s']:.1f}",
        )
        for other in others
    ]


def transfers(found: list[dict[str, Any]] | None) -> list[Row]:
    """Gbit/s from file to file, beside iperf3, which moves memory."""
    return [
        (
            f"transfer over {row['pair']}, streams: {row['streams']}, {row['kind']}, Gbit/s",
            f"{middle(row['gbps']):.2f}",
            "iperf3",
            f"{middle(row['gbps']) / middle(row['ratio']):.2f}",
            f"{middle(row['ratio']):.2f}",
        )
        for row in found or []
        if row["kind"] in ("plain", "encrypted")
    ]


def kernel(found: list[dict[str, Any]] | None) -> list[Row]:
    """Packets a second of runs on a Linux kernel."""
    return [
        (f"Linux backend, {row['run']}, packets/s", f"{row['packets_per_s']:.0f}", "", "", "")
        for row in found or []
        if row["packets"] > 1000
    ]


def sweeps(found: list[dict[str, Any]] | None) -> list[Row]:
    """Runs a second of a sweep on one core and on two."""
    rows: list[Row] = []
    for row in found or []:
        rate = row["runs"] / row["wall_s"]
        first = found[0]["runs"] / found[0]["wall_s"] if found else rate
        beside = ("1 core", f"{first:.0f}", f"{rate / first:.2f}") if rows else ("", "", "")
        rows.append((f"sweep of {row['runs']}, {row['who']}, runs/s", f"{rate:.0f}", *beside))
        told = f"{row['beyond_cpu_ms']:.2f}"
        rows.append(("  beyond simulation, ms of processor a run", told, "", "", ""))
    return rows


def middle(values: list[float]) -> float:
    """The median."""
    return sorted(values)[len(values) // 2]


def ranged(found: dict[str, float], places: int) -> str:
    """A median with its range."""
    median, low, high = (f"{found[key]:.{places}f}" for key in ("median", "min", "max"))
    return f"{median} ({low} to {high})"


if __name__ == "__main__":
    main()
