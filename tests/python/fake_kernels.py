"""Shell scripts that are booted as if they were kernels, and do one thing each."""

from __future__ import annotations

import json
import os
import stat
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE_S

#: Says its run directory in `$dir`, and that it is alive.
_HEAD = """#!/bin/sh
for argument in "$@"; do
    case "$argument" in fairway.dir=*) dir="${argument#fairway.dir=}" ;; esac
done
echo "Linux version of a shell script"
"""


def fake_kernel(place: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `script` the kernel that runs are booted on."""
    place.mkdir(exist_ok=True)
    kernel = place / "linux"
    kernel.write_text(_HEAD + script)
    kernel.chmod(kernel.stat().st_mode | stat.S_IXUSR)
    description = {
        "release": "0.1",
        "virtual_time": True,
        "repeatable": True,
        "has_network": True,
        "modules": [],
        "digest": "",
        "source": "a test",
        "built": "",
        "compiler": "",
        "build_s": 0.0,
        "warnings": [],
    }
    (place / "kernel.json").write_text(json.dumps(description))
    monkeypatch.setenv("FAIRWAY_KERNEL", str(kernel))
    return kernel


def processes_with(word: str) -> list[int]:
    """Processes whose command line or environment has a word; not this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            texts = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if word.encode() in texts and state != "Z":
            found.append(int(entry.name))
    return found


def assert_nothing_left(temporary: Path) -> None:
    """No process that has the directory in its environment or command line, and no file in it."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if not processes_with(str(temporary)) and not list(temporary.iterdir()):
            return
        time.sleep(0.02)
    left = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes_with(str(temporary))]
    raise AssertionError(f"left: {left} {list(temporary.rglob('*'))}")


def write_records(place: Path, flows: int, queues: int, samples: int) -> None:
    """Write what a guest leaves behind: samples every second, a window that grows by one."""
    place.mkdir(exist_ok=True)
    flow_rows, queue_rows = bytearray(), bytearray()
    for sample in range(1, samples + 1):
        t_ns = sample * 10**9
        for flow in range(flows):
            info = bytearray(232)
            struct.pack_into("<I", info, 68, 20_000)  # tcpi_rtt in microseconds
            struct.pack_into("<I", info, 76, 0x7FFFFFFF)  # tcpi_snd_ssthresh: infinite
            struct.pack_into("<I", info, 80, 10 + sample)  # tcpi_snd_cwnd
            flow_rows += struct.pack("<QIIQ", t_ns, flow, len(info), 1000 * sample) + info
        for queue in range(queues):
            queue_rows += struct.pack("<QII5Q", t_ns, queue, 3, 3 * 1514, 10, 15140, 1, 0)
    (place / "flows.bin").write_bytes(flow_rows)
    (place / "queues.bin").write_bytes(queue_rows)
    (place / "totals.json").write_text(json.dumps(_totals(flows, queues)))


def _totals(flows: int, queues: int) -> dict[str, Any]:
    counters = (
        "delivered_bytes", "segments", "retransmissions", "reductions", "timeouts", "arrivals",
        "wire_bytes", "delay_ns", "missing",
    )  # fmt: skip
    before: Mapping[str, int] = dict.fromkeys(counters, 0)
    after = {**before, "delivered_bytes": 250_000, "segments": 200, "arrivals": 190}
    flow = {"window": [before, after], "arrivals": 300, "completed_ns": None, "error": None}
    flow |= {"established_ns": 20_000_000, "given_up": None}
    mark = dict.fromkeys(("packets", "bytes", "drops", "losses"), 0)
    queue = {"window": [mark, {**mark, "drops": 4}], "waiting_ns": 10**9, "p99_sojourn_ns": None}
    return {
        "kernel": "0.1",
        "watched": True,
        "states_told": True,
        "flows": [flow] * flows,
        "queues": [queue] * queues,
        "unseen_packets": 0,
    }
