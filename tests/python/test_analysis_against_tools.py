"""Analyses of captures, number by number beside tcptrace and tshark."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import captured
from analysis_rules import (
    TCPTRACE,
    TCPTRACE_DIFFERENCES,
    TSHARK,
    TSHARK_DIFFERENCES,
    Case,
    Difference,
    Field,
    is_number,
)
from fairway import _core
from fairway.backends.linux import cache
from waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]

EXPERIMENT = """
title = "Transfers that lose"
duration = "8 s"
seed = 5

[topology]
kind = "dumbbell"
frame_overhead = "14 bytes"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "15 ms"
queue = { kind = "droptail", limit = "15 packets" }
loss = { probability = 0.005 }

[[flow]]
cc = "cubic"
bytes = "3 MB"

[[flow]]
cc = "reno"
start = "0.5 s"

[measure]
window = ["1 s", "8 s"]
"""

#: A small buffer: what is dropped has been captured before.
SHAPER = "rate 40mbit burst 16k limit 40k"


def analyse(path: Path) -> dict[str, Any]:
    return json.loads(_core.analyse(path, "{}").report)


def on_a_kernel(directory: Path) -> list[Path]:
    kernel = cache.find()
    if kernel is None or not kernel.virtual_time:
        pytest.skip("no kernel with virtual time: `fairway linux build` makes one")
    return of_a_run(directory, "linux")


def in_the_simulator(directory: Path) -> list[Path]:
    return of_a_run(directory, "sim")


def of_a_run(directory: Path, backend: str) -> list[Path]:
    """What the hosts of senders and receivers have captured."""
    experiment = directory / "experiment.toml"
    experiment.write_text(f'{EXPERIMENT}\n[capture]\nat = "hosts"\nformat = "pcap"\n')
    out = directory / "run"
    fairway("run", str(experiment), "--backend", backend, "--out", str(out))
    return sorted(out.rglob("*.pcap"))


def fairway(*arguments: str) -> None:
    command = [sys.executable, "-m", "fairway", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr


MAKERS = {
    "by-hand": lambda directory: [captured.by_hand(directory / "by-hand.pcap")],
    "loopback": lambda directory: [captured.over_loopback(directory / "loopback.pcap")],
    "namespaces": lambda directory: [
        captured.between_namespaces(directory / "namespaces.pcap", SHAPER)
    ],
    "linux": on_a_kernel,
    "simulator": in_the_simulator,
}


@pytest.fixture(scope="module", params=MAKERS)
def captures(request, tmp_path_factory) -> list[tuple[Path, dict[str, Any]]]:
    """Captures of a kind, and what is found in them."""
    directory = tmp_path_factory.mktemp(request.param)
    paths = MAKERS[request.param](directory)
    assert paths, "nothing was captured"
    return [(path, analyse(path)) for path in paths]


def cases(report: dict[str, Any]) -> Iterator[tuple[int, int, Case]]:
    for index, connection in enumerate(report["connections"]):
        one, other = connection["directions"]
        yield index, 0, Case(connection, one, other)
        yield index, 1, Case(connection, other, one)


def unexplained(
    fields: list[Field],
    differences: list[Difference],
    case: Case,
    theirs: dict[str, str],
    path: Path,
) -> list[str]:
    """Fields that differ, and why that is not known; pytest keeps the capture."""
    found = []
    for field in fields:
        says, ours = theirs[field.name], field.ours(case)
        if field.agrees(says, ours) or (
            is_number(says)
            and any(
                difference.explains(case, float(says), float(ours))
                for difference in differences
                if field.name in difference.fields
            )
        ):
            continue
        ends = f"{case.this['from']} > {case.this['to']}"
        found.append(f"{path}: {ends} {field.name}: {says}, ours {ours}")
    return found


def test_the_page_has_every_reason():
    page = (ROOT / "docs" / "commands" / "analyze.md").read_text()
    for difference in (*TCPTRACE_DIFFERENCES, *TSHARK_DIFFERENCES):
        assert difference.reason in page


def needs(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"needs {program}")


def tcptrace(path: Path) -> list[dict[str, str]]:
    command = ["tcptrace", "-lrWn", "--csv", str(path)]
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout
    lines = [line for line in told.splitlines() if line and not line.startswith("#")]
    head, *rows = csv.reader(lines)
    names = [name.strip() for name in head]
    return [
        dict(zip(names, (signed(value.strip()) for value in row), strict=False)) for row in rows
    ]


def signed(value: str) -> str:
    """A number of 64 bits below zero with its sign, which tcptrace prints it without."""
    return str(int(value) - 2**64) if value.isdecimal() and int(value) >= 2**63 else value


def test_beside_tcptrace(captures):
    needs("tcptrace")
    found = []
    for path, report in captures:
        theirs = tcptrace(path)
        assert len(theirs) == len(report["connections"])
        for index, side, case in cases(report):
            suffix = ("_a2b", "_b2a")[side]
            says = {
                name.removesuffix(suffix): value
                for name, value in theirs[index].items()
                if name.endswith(suffix)
            }
            found += unexplained(TCPTRACE, TCPTRACE_DIFFERENCES, case, says, path)
    assert not found, "\n".join(found)


#: Of each packet.
COLUMNS = {
    "stream": "tcp.stream",
    "source": "ip.src",
    "port": "tcp.srcport",
    "frame_bytes": "frame.len",
    "data_bytes": "tcp.len",
    "retransmission": "tcp.analysis.retransmission",
    "out_of_order": "tcp.analysis.out_of_order",
    "duplicate": "tcp.analysis.duplicate_ack_num",
    "zero_window": "tcp.analysis.zero_window",
    "ack_rtt_s": "tcp.analysis.ack_rtt",
    "initial_rtt_s": "tcp.analysis.initial_rtt",
}


def tshark(path: Path) -> dict[tuple[int, str], dict[str, str]]:
    """What it says of packets, summed up by connection and sender."""
    options = [option for column in COLUMNS.values() for option in ("-e", column)]
    command = [
        "tshark",
        "-r",
        str(path),
        "-Y",
        "tcp",
        "-T",
        "fields",
        "-E",
        "separator=;",
        *options,
    ]
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout
    sums: dict[tuple[int, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    ends: dict[int, list[str]] = defaultdict(list)
    for row in csv.reader(io.StringIO(told), delimiter=";"):
        packet = dict(zip(COLUMNS, row, strict=True))
        stream, sender = int(packet["stream"]), f"{packet['source']}:{packet['port']}"
        if sender not in ends[stream]:
            ends[stream].append(sender)
        add(sums[stream, sender], packet)
    for (stream, sender), one in sums.items():
        # A round trip stands with the packet that ends it; a duplicate is one for the data.
        others = [end for end in ends[stream] if end != sender]
        other = sums.get((stream, others[0])) if others else None
        for name in ("ack_rtts", "ack_rtt_min_ms", "duplicate_acks"):
            one[name] = other[f"back_{name}"] if other else 0
    return {key: {name: str(value) for name, value in one.items()} for key, one in sums.items()}


def add(one: dict[str, float], packet: dict[str, str]) -> None:
    one["packets"] += 1
    one["frame_bytes"] += int(packet["frame_bytes"])
    one["data_bytes"] += int(packet["data_bytes"])
    one["sent_again"] += bool(packet["retransmission"]) or bool(packet["out_of_order"])
    one["zero_windows"] += bool(packet["zero_window"])
    one["back_duplicate_acks"] += bool(packet["duplicate"])
    one["initial_rtt_ms"] = max(one["initial_rtt_ms"], float(packet["initial_rtt_s"] or 0) * 1e3)
    if packet["ack_rtt_s"]:
        rtt_ms = float(packet["ack_rtt_s"]) * 1e3
        least = one["back_ack_rtt_min_ms"] if one["back_ack_rtts"] else rtt_ms
        one["back_ack_rtt_min_ms"] = min(least, rtt_ms)
        one["back_ack_rtts"] += 1


def test_beside_tshark(captures):
    needs("tshark")
    found = []
    for path, report in captures:
        theirs = tshark(path)
        assert len({stream for stream, _ in theirs}) == len(report["connections"])
        for index, _, case in cases(report):
            if says := theirs.get((index, case.this["from"])):
                found += unexplained(TSHARK, TSHARK_DIFFERENCES, case, says, path)
    assert not found, "\n".join(found)
