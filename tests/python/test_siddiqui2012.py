"""The study siddiqui2012: its numbers, its claims on numbers by hand, and ns-2 beside it."""

import csv
import shutil
from dataclasses import replace

import numpy as np
import pytest

import fairway
from fairway.backends import backend
from fairway.metrics.phases import epochs, of_series
from fairway.model.wlan import Access, Flow, wlan
from fairway.study.claims import Cell
from fairway.study.data import cells_of
from fairway.study.files import find
from fairway.study.model import SCENARIO
from fairway.study.reproduce import findings
from fairway.sweep.run import run_plan
from ns2_lte import RECORDED_S, SENDERS, WINDOWS, figures, phases, samples
from wlan_cell import download_share
from wlan_study import (
    ATTEMPTS,
    MARK,
    PART_MEASURED_S,
    equal_windows,
    scenarios,
    siddiqui_cells,
    table,
)

STUDY = find("siddiqui2012")
LTE, WLAN = STUDY.parts["lte"], STUDY.parts["wlan"]
#: Where windows are in packets.
IN_PACKETS = ("window_ 100", "as plotted", "both ways")

#: What figures 4 to 6 show, of packets: end of slow start, first peak, without and with what
#: recovery inflates, threshold, growth again, second peak, without and with, second reduction.
FIGURES = {
    "TCP-Linux": (1.25, 100.0, 100.0, 50.0, 1.5, 50.0, 50.0, 5.0),
    "FullTCP": (0.5, 100.0, 102.0, 50.0, 1.0, 53.0, 60.0, 7.0),
    "HSTCP": (1.0, 80.0, 80.0, 40.0, 2.0, 50.0, 50.0, 10.0),
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
    found = findings(STUDY, cells_of({"lte": cells(values_of)}), {"wlan": "not run here"})
    return {claim.id: one.verdict for claim, one in zip(STUDY.claims, found, strict=True)}


def in_kilobytes(scenario, sender):
    """The figures in a scenario, with kB of 1000 bytes; in the last scenarios with packets."""
    end, peak, inflated, threshold, again, second, second_inflated, last = FIGURES[sender]
    if scenario in IN_PACKETS:
        return FIGURES[sender]
    peaks = (peak / 1.5, inflated / 1.5, threshold / 1.5)
    return (end, *peaks, again, second / 1.5, second_inflated / 1.5, last)


def test_every_claim_of_the_paper_is_judged():
    assert [claim.id for claim in STUDY.claims][:5] == ["s1", "s2", "s3", "s4", "s5"]


def test_figures_as_published_support_the_paper_and_leave_every_reading():
    found = verdicts(in_kilobytes)
    for claim in ("s1", "s2", "s3", "s4", "r1", "r2", "r5"):
        assert found[claim] == "supported", claim
    # Nothing carries 100 kB within half a second at 1 Mbit/s, and so on.
    for claim in ("x1", "x2", "x3", "x4", "x5"):
        assert found[claim] == "refuted", claim
    assert found["s5"] == "not run"


@pytest.mark.parametrize(
    ("claim", "sender", "place", "value"),
    [
        ("s1", "TCP-Linux", 0, 1.4),
        ("s1", "TCP-Linux", 4, 2.5),
        ("s1", "TCP-Linux", 6, 60.0),
        ("s2", "FullTCP", 0, 0.84),
        ("s2", "FullTCP", 6, 78.0),
        ("s3", "HSTCP", 2, 100.0),
        ("s3", "HSTCP", 7, 20.0),
        ("s4", "FullTCP", 2, 100.0),
        ("s4", "HSTCP", 2, 100.0),
        ("r5", "FullTCP", 6, 50.0),
        ("r5", "HSTCP", 6, 55.0),
    ],
)
def test_one_number_that_is_off_refutes_its_claim(claim, sender, place, value):
    def off(scenario, name):
        values = list(in_kilobytes(scenario, name))
        if name == sender:
            values[place] = value
        return values

    assert verdicts(off)[claim] == "refuted"


def test_published_numbers_are_in_packets():
    peak = next(c for c in LTE.compared if c.metric == "phases.0.epoch_1_peak_segments")
    # 100 kB / 1500 bytes; 80 kB / 1500 bytes.
    in_kb = {SCENARIO: "50 packets"}
    assert peak.at({**in_kb, "flow.0.id": "FullTCP"}) == pytest.approx(66.667, abs=0.01)
    assert peak.at({**in_kb, "flow.0.id": "HSTCP"}) == pytest.approx(53.333, abs=0.01)
    assert peak.at({SCENARIO: "as plotted", "flow.0.id": "HSTCP"}) == 80


def test_every_sender_runs_in_every_scenario():
    points = LTE.plan(quick=False).points
    assert len(points) == 11 * 3
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
    for name, rows in (
        ("model.csv", table(chosen, (False,))),
        ("equal_windows.csv", equal_windows(chosen)),
    ):
        with (WLAN.directory / "published" / name).open(encoding="utf-8") as file:
            written = list(csv.DictReader(file))
        expected = [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
        assert written == expected
    assert len({cell.name for cell in chosen}) == 15
    assert {len(cell.flows) for cell in chosen} == {2, 4, 6, 10, 20}


def simulated(scenario):
    """Time series of the three senders."""
    plan = LTE.plan(quick=False)
    points = tuple(p for p in plan.points if p.axes[SCENARIO] == scenario)
    sweep = run_plan(replace(plan, points=points), backend("sim"))
    return {o.point.axes["flow.0.id"]: o.series() for o in sweep.outcomes}


@pytest.fixture(scope="module")
def as_plotted():
    return simulated("as plotted")


def test_slow_start_is_clocked_by_the_bottleneck(as_plotted):
    """A packet more for each acknowledgement: W(t) = 2 + t · rate of packets, to a few packets.

    536 + 40 bytes at 1 Mbit/s are 217 packets a second, so 100 after (100 − 2) / 217 = 0.45 s and
    two round trips of 20 ms before. 1540 bytes are 81.2 a second: 1.21 s for 100, 0.96 s for 80.
    """
    ends = {name: of_series(rows, name)[0].end_s for name, rows in as_plotted.items()}
    assert ends["FullTCP"] == pytest.approx(0.47, abs=0.05)
    assert ends["TCP-Linux"] == pytest.approx(1.23, abs=0.05)
    assert ends["HSTCP"] == pytest.approx(0.98, abs=0.05)


def recorded(sender):
    """ns-2's windows, whole packets, each 10 ms."""
    with WINDOWS.open(encoding="utf-8") as file:
        rows = [(float(r["t_s"]), int(r["cwnd"])) for r in csv.DictReader(file)
                if r["sender"] == sender]  # fmt: skip
    times = np.arange(1, 100 * RECORDED_S) / 100
    at = np.searchsorted([t for t, _ in rows], times + 1e-6) - 1
    return np.array([cwnd for _, cwnd in rows])[at]


@pytest.mark.parametrize("sender", SENDERS)
def test_windows_are_those_of_ns_2_sample_by_sample(as_plotted, sender):
    """Slow start, recovery and avoidance: the same to a packet, 20 ms earlier or later.

    TCP-Linux' first packet of data leaves with the SYN in ns-2, a round trip earlier than here.
    """
    rows = as_plotted[sender]
    column = "cwnd_segments" if sender == "HSTCP" else "inflated_cwnd_segments"
    ours, there = np.floor(rows[column].to_numpy()), recorded(sender)
    assert rows["t_s"][0] == 0.01
    end = len(there) - 9
    near = [np.abs(ours[9:end] - there[9 + late : end + late]) for late in range(-2, 3)]
    off = np.min(near, axis=0)
    assert (off <= 1).all(), np.flatnonzero(off > 1)
    assert (off == 0).mean() > 0.97


def test_recovery_inflates_the_windows_that_ns_2_inflates(as_plotted):
    assert "inflated_cwnd_segments" not in as_plotted["HSTCP"].columns
    full = epochs(of_series(as_plotted["FullTCP"], "FullTCP"))
    # 50 and a segment for each of 52 duplicates: 102 of 100 in flight and the three that limited
    # transmit does not send. The second time 53 in flight: 26 and 51.
    assert [epoch.inflated_peak_segments for epoch in full[:2]] == [102, 77]
    assert [epoch.peak_segments for epoch in full[:2]] == [100, 53]
    linux = epochs(of_series(as_plotted["TCP-Linux"], "TCP-Linux"))
    assert [epoch.inflated_peak_segments for epoch in linux[:2]] == [100, 52]


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
@pytest.mark.parametrize("sender", SENDERS)
def test_ns_2_says_what_was_recorded(sender):
    rows = samples("as plotted", sender, RECORDED_S)
    assert (np.floor(rows[: 100 * RECORDED_S - 1, 1]) == recorded(sender)).all()
    point = {SCENARIO: "as plotted", "flow.0.id": sender}
    found = figures(phases(rows, sender))
    for reference in LTE.references:
        figure = reference.metric.removeprefix("phases.0.")
        assert reference.at(point) == pytest.approx(found[figure], abs=0.005), figure


@pytest.mark.parametrize(
    ("standard", "off"), [("802.11b", (0.92, 0.99)), ("802.11g", (1.07, 1.13))]
)
def test_the_worst_cell_is_what_waits_after_collisions_make_it(standard, off):
    """A download with a window of 4 beside an upload with 32, frame by frame.

    The oracle has what the simulator has. With the same wait for all after a collision, which is
    what the model takes, it is the model's in 802.11g; in 802.11b back-offs are remembered, too.
    """
    flows = [Flow("download", 4), Flow("upload", 32)]
    found = wlan(flows, Access(standard, attempts=ATTEMPTS))
    model = found.flow_bps[0] / found.goodput_bps
    oracle = download_share((4, 32), standard)
    assert off[0] < oracle / model < off[1]
    points = WLAN.plan(quick=False).points
    point = next(p for p in points if p.axes[SCENARIO] == "1 down, 1 up, mixed windows"
                 and p.axes["topology.standard"] == standard)  # fmt: skip
    longer = {"duration": "220 s", "measure.window": ["20 s", "220 s"]}
    goodputs = fairway.run(point.experiment, overrides=longer).flows["goodput_bps"]
    assert goodputs[0] / goodputs.sum() == pytest.approx(oracle, rel=0.03)
    equal = download_share((4, 32), standard, equal_waits=True)
    assert equal < 0.97 * oracle
    if standard == "802.11g":
        assert equal == pytest.approx(model, rel=0.03)
