"""Runs of real ns-3.29 (tests/ns3/reruns.csv), met to the printed digit.

`python tests/python/test_ns3_runs.py` compares all of them and prints those that differ.
"""

import csv
import sys
from pathlib import Path

import pytest

import fairway

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ns3-lossy.toml"
#: What the driver of ns-3 printed, and to how many digits behind the point.
PRINTED = {"rx_kbps": 2, "tx_kbps": 2, "ctt_s": 5, "mean_delay_ms": 4, "lost": 0, "tx_packets": 0}


def runs_of_ns3():
    """One row for each run, those of algorithms that are ns-3's own."""
    with (ROOT / "tests" / "ns3" / "reruns.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["protocol"] != "dcm+ frozen"]


def monitored(row):
    """The same run here: what a FlowMonitor would say of its data."""
    loss = "topology.bottleneck.loss."
    run = fairway.run(
        EXAMPLE,
        overrides={
            # The slowest take longer than the example runs.
            "duration": "6000 s",
            "flow.0.cc": row["protocol"],
            loss + "probability": float(row["error_rate"]),
            loss + "run": int(row["run"]),
        },
    )
    return run.summary["flows"][0]["flow_monitor"]


def differences(row):
    """Each number that is not the printed one: name, ns-3's, ours."""
    found = monitored(row)
    return [
        (name, row[name], found[name])
        for name, digits in PRINTED.items()
        if f"{found[name]:.{digits}f}" != row[name]
    ]


def test_there_are_three_runs_of_each_algorithm_at_each_rate():
    rows = runs_of_ns3()
    assert len(rows) == 13 * 11 * 3
    assert len({tuple(row[k] for k in ("protocol", "error_rate", "run")) for row in rows}) == 429


#: One row in thirteen: each algorithm two or three times, each rate and each run.
SAMPLE = runs_of_ns3()[::13]


@pytest.mark.parametrize("row", SAMPLE, ids="{protocol} {error_rate} {run}".format_map)
def test_a_run_is_the_one_of_ns3(row):
    assert differences(row) == []


def main():
    rows = runs_of_ns3()
    different = [(row, found) for row in rows if (found := differences(row))]
    for row, found in different:
        name = "{protocol} {error_rate} {run}".format_map(row)
        sys.stdout.writelines(f"{name} {key}: {old}, here {new}\n" for key, old, new in found)
    same = len(rows) - len(different)
    sys.stdout.write(f"{same} of {len(rows)} runs are those of ns-3.29\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
