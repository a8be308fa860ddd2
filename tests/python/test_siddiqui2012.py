"""The study siddiqui2012: its numbers, its claims on numbers by hand, and ns-2 beside it."""

import csv
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairway.backends import backend
from fairway.claims import Cell
from fairway.study import SCENARIO, find
from fairway.study_parts import cells_of, whole_findings
from fairway.sweep import run_plan
from fairway.window_phases import epochs, of_samples, of_series
from fairway.wlan_study import MARK, PART_MEASURED_S, scenarios, siddiqui_cells, table
from waiting import PATIENCE_S

STUDY = find("siddiqui2012")
LTE, WLAN = STUDY.parts["lte"], STUDY.parts["wlan"]
TCL = Path(__file__).parents[2] / "benches" / "ns2" / "lte.tcl"
#: window_ and payload of the scenario "as plotted".
PLOTTED = {"TCP-Linux": (100, 1500), "FullTCP": (100, 536), "HSTCP": (80, 1500)}

#: What figures 4 to 6 show, of packets: end of slow start, first peak, threshold, growth again,
#: second peak, second reduction, times of growth.
FIGURES = {
    "TCP-Linux": (1.25, 100.0, 50.0, 1.5, 50.0, 5.0, 5.0),
    "FullTCP": (0.5, 100.0, 50.0, 1.0, 60.0, 7.0, 5.0),
    "HSTCP": (1.0, 80.0, 40.0, 2.0, 53.0, 10.0, 5.0),
}


def cells(values_of):
    """Cells of the whole part from what a sender's phases are said to be in a scenario."""
    metrics = [column.metric for column in LTE.compared]
    return [
        Cell(point, metric, None, value, None, None, (value,), (0,))
        for point in LTE.points()
        for metric, value in zip(
            metrics, values_of(point[SCENARIO], point["flow.0.id"]), strict=True
        )
    ]


def verdicts(values_of):
    found = whole_findings(STUDY, cells_of({"lte": cells(values_of)}), {"wlan": "not run here"})
    return {claim.id: one.verdict for claim, one in zip(STUDY.claims, found, strict=True)}


def in_kilobytes(scenario, sender):
    """The figures in a scenario, with kB of 1000 bytes; in the last scenarios with packets."""
    end, peak, threshold, again, second, last, times = FIGURES[sender]
    if scenario in ("as plotted", "window_ 100"):
        return FIGURES[sender]
    return (end, peak / 1.5, threshold / 1.5, again, second / 1.5, last, times)


def test_every_claim_of_the_paper_is_judged():
    assert [claim.id for claim in STUDY.claims][:5] == ["s1", "s2", "s3", "s4", "s5"]


def test_figures_as_published_support_the_claims_but_the_order():
    found = verdicts(in_kilobytes)
    for claim in ("s1", "s2", "s3", "r1", "r2", "r3", "r4", "r5"):
        assert found[claim] == "supported", claim
    # 100 kB of TCP-Linux are not less than 100 kB of FullTCP.
    assert found["s4"] == "refuted"
    # Nothing carries 100 kB within half a second at 1 Mbit/s.
    assert found["x1"] == "refuted"
    assert found["s5"] == "not run"


@pytest.mark.parametrize(
    ("claim", "sender", "place", "value"),
    [
        ("s1", "TCP-Linux", 0, 1.4),
        ("s1", "TCP-Linux", 3, 2.5),
        ("s1", "TCP-Linux", 4, 40.0),
        ("s1", "TCP-Linux", 6, 1.0),
        ("s2", "FullTCP", 0, 0.84),
        ("s2", "FullTCP", 4, 53.0),
        ("s3", "HSTCP", 1, 66.7),
        ("s3", "HSTCP", 5, 20.0),
    ],
)
def test_one_number_that_is_off_refutes_its_claim(claim, sender, place, value):
    def off(scenario, name):
        values = list(in_kilobytes(scenario, name))
        if name == sender:
            values[place] = value
        return values

    assert verdicts(off)[claim] == "refuted"


def test_published_numbers_are_in_packets_of_1500_bytes():
    peak = next(c for c in LTE.compared if c.metric == "phases.0.epoch_1_peak_segments")
    # 100 kB / 1500 bytes; 80 kB / 1500 bytes.
    assert peak.at({"flow.0.id": "FullTCP"}) == pytest.approx(66.667, abs=1e-3)
    assert peak.at({"flow.0.id": "HSTCP"}) == pytest.approx(53.333, abs=1e-3)


def test_every_sender_runs_in_every_scenario():
    points = LTE.plan(quick=False).points
    assert len(points) == 10 * 3
    by_sender = {p.axes["flow.0.id"]: p.experiment for p in points if p.axes[SCENARIO] == "CUBIC"}
    assert {name: e["flow"][0]["cc"] for name, e in by_sender.items()} == {
        "TCP-Linux": "cubic",
        "FullTCP": "reno",
        "HSTCP": "highspeed",
    }


def test_the_part_of_the_wlan_is_what_it_is_written_from():
    text = (WLAN.directory / "study.toml").read_text(encoding="utf-8")
    chosen = siddiqui_cells()
    assert text.partition(MARK)[2].lstrip("\n") == scenarios(chosen, PART_MEASURED_S).lstrip("\n")
    with (WLAN.directory / "published" / "model.csv").open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    expected = [
        {k: "" if v is None else str(v) for k, v in row.items()} for row in table(chosen, (False,))
    ]
    assert written == expected
    assert len({cell.name for cell in chosen}) == 15
    assert {len(cell.flows) for cell in chosen} == {2, 4, 6, 10, 20}


@pytest.fixture(scope="module")
def as_plotted():
    """The simulator's phases of the three senders."""
    plan = LTE.plan(quick=False)
    points = tuple(p for p in plan.points if p.axes[SCENARIO] == "as plotted")
    sweep = run_plan(replace(plan, points=points), backend("sim"))
    return {
        o.point.axes["flow.0.id"]: of_series(o.series(), o.point.axes["flow.0.id"])
        for o in sweep.outcomes
    }


def test_slow_start_is_clocked_by_the_bottleneck(as_plotted):
    """A packet more for each acknowledgement: W(t) = 2 + t · rate of packets, to a few packets.

    536 + 40 bytes at 1 Mbit/s are 217 packets a second, so 100 after (100 − 2) / 217 = 0.45 s and
    two round trips of 20 ms before. 1552 bytes are 80.5 a second: 1.22 s for 100, 0.97 s for 80.
    """
    ends = {name: phases[0].end_s for name, phases in as_plotted.items()}
    assert ends["FullTCP"] == pytest.approx(0.47, abs=0.05)
    assert ends["TCP-Linux"] == pytest.approx(1.24, abs=0.05)
    assert ends["HSTCP"] == pytest.approx(0.99, abs=0.05)


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
@pytest.mark.parametrize("sender", list(PLOTTED))
def test_ns_2_turns_where_the_simulator_does(as_plotted, sender):
    window, segment = PLOTTED[sender]
    done = subprocess.run(
        ["ns", str(TCL), sender, str(window), str(segment), "50", "1Mb", "10Mb", "12"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    # At its end TCP-Linux writes a line of its own.
    rows = [line.split() for line in done.stdout.splitlines()]
    t, cwnd, ssthresh, srtt = np.array([row for row in rows if len(row) == 4], dtype=float).T
    there = of_samples(t, np.floor(cwnd), ssthresh, srtt)
    here = as_plotted[sender]
    first, ours = epochs(there)[0], epochs(here)[0]
    assert ours.peak_segments == pytest.approx(first.peak_segments, abs=1)
    assert ours.end_s == pytest.approx(first.end_s, abs=0.05)
    assert here[0].end_s == pytest.approx(there[0].end_s, abs=0.05)
    rerun = next(c for c in LTE.references if c.metric == "phases.0.slow_start_1_end_s")
    point = {SCENARIO: "as plotted", "flow.0.id": sender}
    assert rerun.at(point) == pytest.approx(there[0].end_s, abs=0.005)
    if sender == "HSTCP":
        second, our_second = epochs(there)[1], epochs(here)[1]
        assert our_second.end_s == pytest.approx(second.end_s, abs=0.1)
        assert our_second.peak_segments == second.peak_segments
