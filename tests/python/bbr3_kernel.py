"""BBRv3 of a real kernel on eight networks: what was recorded, and how.

    python tests/python/bbr3_kernel.py

writes `bbr3_kernel.json` from runs on the kernel that `FAIRWAY_KERNEL` names, whose `bbr` is BBRv3.
The recording is of Google's code (github.com/google/bbr, branch v3) as ported to Linux 6.12 by
github.com/CachyOS/kernel-patches, `6.12/0002-bbr3.patch` of commit b3d684160f64, on Debian's
linux-source-6.12, 6.12.117.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fairway

RECORDED = Path(__file__).with_suffix(".json")
#: Random numbers, and so losses and jitter, are those of the simulator with the same seed.
SEEDS = range(1, 7)
#: What is compared of the flow.
COLUMNS = ("goodput_bps", "mean_cwnd_segments", "mean_srtt_s", "retransmitted_segments")


def _droptail(rate: str, delay: str, packets: int, **more: Any) -> dict[str, Any]:
    queue = {"kind": "droptail", "limit": f"{packets} packets"}
    return {"rate": rate, "delay": delay, "queue": queue, **more}


def _loss(probability: float) -> dict[str, Any]:
    return {"kind": "bernoulli", "probability": probability}


#: Bottlenecks by name; in "rival" a CUBIC flow is beside it.
NETWORKS = {
    "narrow": _droptail("10 Mbit/s", "25 ms", 42),
    "wide": _droptail("100 Mbit/s", "20 ms", 333),
    "deep": _droptail("10 Mbit/s", "25 ms", 210),
    "shallow": _droptail("10 Mbit/s", "25 ms", 10),
    "lossy": _droptail("20 Mbit/s", "40 ms", 133, loss=_loss(0.001)),
    "heavy": _droptail("20 Mbit/s", "40 ms", 133, loss=_loss(0.01)),
    "codel": {"rate": "10 Mbit/s", "delay": "25 ms", "queue": {"kind": "codel"}},
    "rival": _droptail("20 Mbit/s", "25 ms", 83),
}


def experiment(network: str, cc: str, seed: int) -> dict[str, Any]:
    """One run, with ties of arrivals and departures broken by jitter."""
    jitter = {"mean": "0.3 ms", "deviation": "0.3 ms", "distribution": "uniform",
              "keep_order": True}  # fmt: skip
    bottleneck = {**NETWORKS[network], "jitter": jitter}
    flows = [{"id": "bbr3", "cc": cc}]
    if network == "rival":
        flows.append({"id": "cubic", "cc": "cubic"})
    return {
        "duration": "60 s",
        "seed": seed,
        "stack": {"preset": "linux-6.12", "header_room": "192 bytes"},
        "topology": {"kind": "dumbbell", "bottleneck": bottleneck},
        "flow": flows,
        "measure": {"window": ["20 s", "60 s"]},
    }


def values(network: str, cc: str, backend: str) -> dict[str, list[float]]:
    """Each column of the flow, for each seed."""
    runs = [fairway.run(experiment(network, cc, seed), backend=backend) for seed in SEEDS]
    return {name: [run.summary["flows"][0][name] for run in runs] for name in COLUMNS}


if __name__ == "__main__":
    found = {network: values(network, "linux:bbr", "linux") for network in NETWORKS}
    RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
