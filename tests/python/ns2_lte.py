"""The LTE chain of siddiqui2012 in ns-2.35: `python tests/python/ns2_lte.py` records it.

Writes what phases say of ns-2's windows beside the published numbers of the study, and the windows
of the scenario "as plotted", which `test_siddiqui2012.py` holds the simulator's against.
"""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np

from fairway.metrics.phases import Phase, epochs, of_samples
from waiting import PATIENCE_S

HERE = Path(__file__).parent
TCL = HERE.parents[1] / "benches" / "ns2" / "lte.tcl"
STUDY = HERE.parents[1] / "python" / "fairway" / "studies" / "siddiqui2012"
WINDOWS = HERE / "ns2_lte_windows.csv"
#: How long the recorded windows are, in seconds: FullTCP has its second congestion point before.
RECORDED_S = 12
SENDERS = ("TCP-Linux", "FullTCP", "HSTCP")
#: Scenario -> window_, queue (packets), rates of radio and backhaul.
SCENARIOS = {
    "50 packets": (67, 50, "1Mb", "10Mb"),
    "10 packets": (67, 10, "1Mb", "10Mb"),
    "20 packets": (67, 20, "1Mb", "10Mb"),
    "100 packets": (67, 100, "1Mb", "10Mb"),
    "10 Mbit/s": (67, 50, "10Mb", "10Mb"),
    "100 Mbit/s": (67, 50, "100Mb", "100Mb"),
    "window_ 100": (100, 50, "1Mb", "10Mb"),
    "as plotted": (100, 50, "1Mb", "10Mb"),
    "both ways": (100, 50, "1Mb", "10Mb"),
}
FIGURES = (
    "epoch_1_peak_segments",
    "epoch_1_inflated_peak_segments",
    "epoch_1_ssthresh_segments",
    "epoch_2_start_s",
    "epoch_2_peak_segments",
    "epoch_2_inflated_peak_segments",
    "epoch_2_end_s",
)


def samples(scenario: str, sender: str, duration_s: float = 50) -> np.ndarray:
    """Samples of ns-2: time (s), cwnd_, ssthresh_, smoothed round trip (s) and dupacks_."""
    window, queue, radio, backhaul = SCENARIOS[scenario]
    plotted = scenario in ("as plotted", "both ways")
    if plotted and sender == "HSTCP":
        window = 80
    segment = 536 if plotted and sender == "FullTCP" else 1500
    name = "FullTCP-both" if scenario == "both ways" and sender == "FullTCP" else sender
    arguments = [name, window, segment, queue, radio, backhaul, duration_s]
    done = subprocess.run(
        ["ns", str(TCL), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    # At its end TCP-Linux writes a line of its own.
    rows = [line.split() for line in done.stdout.splitlines()]
    return np.array([row for row in rows if len(row) == 5], dtype=float)


def phases(rows: np.ndarray, sender: str) -> list[Phase]:
    """Phases of ns-2's windows, whole packets, without what FullTcp inflates them by."""
    t, cwnd, ssthresh, srtt, duplicates = rows.T
    inflated = np.floor(cwnd)
    recovers = (sender == "FullTCP") & (duplicates >= 3) & (cwnd == ssthresh + duplicates)
    window = np.where(recovers, ssthresh, inflated)
    return of_samples(t, window, ssthresh, srtt, inflated=inflated)


def figures(found: list[Phase]) -> dict[str, float | None]:
    """The numbers that the study shows beside its own."""
    grown = epochs(found)
    values: dict[str, float | None] = {"slow_start_1_end_s": found[0].end_s}
    for name in FIGURES:
        number, figure = int(name[6]), name[8:]
        value = getattr(grown[number - 1], figure) if len(grown) >= number else None
        # An epoch that nothing ends has no end.
        ended = len(grown) > number or figure != "end_s"
        values[name] = value if ended else None
    return values


def main() -> None:
    """Run all of it, a minute, and write both files."""
    with (STUDY / "published" / "ns2_rerun.csv").open("w", newline="", encoding="utf-8") as file:
        head = ["scenario", "sender", "slow_start_1_end_s", *FIGURES]
        writer = csv.DictWriter(file, head, lineterminator="\n")
        writer.writeheader()
        for scenario in SCENARIOS:
            for sender in SENDERS:
                found = figures(phases(samples(scenario, sender), sender))
                shown = {k: None if v is None else f"{v:g}" for k, v in found.items()}
                writer.writerow({"scenario": scenario, "sender": sender, **shown})
    with WINDOWS.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["sender", "t_s", "cwnd"])
        for sender in SENDERS:
            before = None
            for t, cwnd, *_ in samples("as plotted", sender, RECORDED_S):
                if int(cwnd) != before:
                    lines.writerow([sender, f"{t:.2f}", int(cwnd)])
                before = int(cwnd)


if __name__ == "__main__":
    main()
