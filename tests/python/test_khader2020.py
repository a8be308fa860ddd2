"""The study khader2020: numbers met to the printed digit, and claims judged on numbers by hand."""

import csv
from importlib.resources import files
from pathlib import Path

import pytest

import fairway
from fairway.study.cells import expected_cells
from fairway.study.data import cells_of, measured_cells
from fairway.study.files import find
from fairway.study.reproduce import findings
from fairway.sweep.outcome import Outcome
from khader_cells import MONITOR, Printed, numbers

DIRECTORY = Path(str(files("fairway"))) / "studies" / "khader2020"
LOSS = "topology.bottleneck.loss.probability"
THROUGHPUT = MONITOR + "tx_kbps"
#: Part -> how many numbers of the thesis it is held against, for each of five readings of DCM+.
NUMBERS = {
    # Six tables of eleven rates: four algorithms, and DCM+ for each reading.
    "tables": 6 * 11 * (4 + 5),
    # Eleven rows of three numbers, six of five for both algorithms, twelve of three, and four drops
    # of the window in figures 5-9, 5-14 and 5-15.
    "rows": 5 * (11 * 3 + 6 * 5 + 12 * 3 + 4) + 6 * 5,
    "errors": 5 * 6 * 11 * 5,
    # Vegas beside each reading.
    "settings": 5 * (11 * 3 + 12 * 5 + 12 * 3),
    "files": 0,
    # Transmission time and timeouts of figures 4-4 and 4-5, for each of five readings.
    "windows": 2 * 5,
}
#: A dozen runs of the tables: algorithm, error rate, and the tables that it does not meet.
RUNS = [
    ("newreno", 1e-3, []),
    # A misprint.
    ("newreno", 7.5e-3, ["C-3"]),
    ("newreno", 0.05, []),
    ("bic", 1e-3, []),
    # The last digit.
    ("bic", 7.5e-3, ["C-3"]),
    ("bic", 0.05, []),
    ("ledbat", 1e-4, []),
    ("ledbat", 0.02, []),
    ("hybla", 1e-4, []),
    ("hybla", 0.01, []),
    ("hybla", 0.05, []),
    ("dcm+", 1e-5, []),
]


@pytest.fixture(scope="module")
def study():
    return find("khader2020")


def published(study, part, metric, **point):
    columns = {column.name: column for column in study.parts[part].compared}
    return columns[metric].at({"flow.0.cc": "dcm+", **point})


@pytest.fixture(scope="module")
def planned(study):
    """Part -> its runs."""
    return {name: part.plan(quick=False).points for name, part in study.parts.items()}


def point_of(planned, part, **axes):
    """The first run of the part with these values of its axes."""
    return next(p for p in planned[part] if axes.items() <= p.axes.items())


def measured(study, point):
    """The numbers of all tables that a run of the part "tables" is held against."""
    outcome = Outcome(point, fairway.run(point.experiment).summary, None)
    cells = measured_cells(study.parts["tables"], [outcome])
    return numbers(
        study,
        [
            {"part": "tables", "point": c.point, "metric": c.metric, "measured": c.measured}
            for c in cells
        ],
    )


def test_every_number_of_the_thesis_is_held_against_a_measurement(study):
    found = {
        name: sum(
            cell.published is not None for cell in expected_cells(part.points(), part.compared)
        )
        for name, part in study.parts.items()
    }
    assert found == NUMBERS


@pytest.mark.parametrize(("cc", "rate", "missed"), RUNS)
def test_a_run_of_the_thesis_is_met_to_the_printed_digit(study, planned, cc, rate, missed):
    scenario = "frozen window" if cc == "dcm+" else "ns-3's own"
    axes = {"scenario": scenario, "flow.0.cc": cc, LOSS: rate}
    found = measured(study, point_of(planned, "tables", **axes))
    assert len(found) == 6
    assert [one.table for one in found if not one.is_met] == missed


def test_digits_are_compared_as_printed():
    def is_met(text, value, slack=0.0):
        return Printed("C-1", "", "", text, value, slack).is_met

    assert is_met("85424.7", 85424.742)
    assert not is_met("85424.7", 85424.76)
    assert is_met("7.29E+09", 7.2932e9)
    assert not is_met("7.29E+09", 7.296e9)
    assert is_met("8165", 8165.4)
    # Half of the last digit of 18787.4 is 2.7e-6 of it.
    assert is_met("29148.93576", 29148.93, slack=2.7e-6)
    assert not is_met("29148.93576", 29148.7, slack=2.7e-6)


def test_the_misprint_is_named_beside_the_number(study):
    point = {"scenario": "ns-3's own", "flow.0.cc": "newreno", LOSS: 7.5e-3}
    part = study.parts["tables"]
    (cell,) = (
        c
        for c in expected_cells([point], part.compared, part.references)
        if c.metric == MONITOR + "lost_of_sent"
    )
    # What table C-2 leaves of 100 %: 99.28837.
    assert cell.published == pytest.approx(0.007711632)
    assert cell.references == {"misprint corrected": pytest.approx(1 - 0.9928837, rel=1e-5)}


def test_numbers_are_in_the_units_of_their_metrics(study):
    # Tables C-1, C-2, C-3, C-7, C-8 and C-10 by eye.
    assert published(study, "errors", THROUGHPUT, **{LOSS: 4e-3}) == pytest.approx(20_713.5)
    rate = {LOSS: 0.01}
    assert published(study, "errors", MONITOR + "lost_of_sent", **rate) == pytest.approx(0.00981903)
    delivered = published(study, "tables", MONITOR + "packet_delivery_ratio", **rate)
    assert delivered == pytest.approx(0.990181)
    assert published(study, "rows", THROUGHPUT, title="C-7: 512 KiB") == pytest.approx(16_571.7)
    index = published(study, "rows", MONITOR + "nai_per_s", title="C-8: case 1")
    assert index == pytest.approx(95.715166909)
    assert published(study, "rows", THROUGHPUT, title="C-10: 100 Mbit/s") == pytest.approx(7511.29)


def test_every_claim_of_the_thesis_is_judged(study):
    ids = [claim.id for claim in study.claims]
    assert [f"k{i}" for i in range(1, 13)] == [i for i in ids if i[1:].isdecimal() and i[0] == "k"]
    # What DCM+ does depends on how it is read; k12 is about the older protocols.
    by_reading = {claim.id for claim in study.claims if "scenario" in claim.unknown}
    assert by_reading >= {f"k{i}" for i in range(1, 12)}
    assert "k12" not in by_reading


def test_readings_of_dcm_plus_change_nothing_else(planned):
    by_reading = {}
    for point in planned["errors"]:
        if point.repetition == 0 and point.axes[LOSS] == 0.01:
            cc = point.axes["flow.0.cc"]
            by_reading.setdefault(cc, []).append(point.experiment)
    assert len(by_reading["dcm+"]) == len(by_reading["bic"]) == 5
    assert all(one == by_reading["bic"][0] for one in by_reading["bic"])
    params = [one["flow"][0]["cc_params"] for one in by_reading["dcm+"]]
    assert [one["reading"] for one in params] == [0, 0, 1, 1, 2]


def test_there_is_one_set_up(planned):
    for points in planned.values():
        for point in points:
            one = point.experiment
            loss = one["topology"]["bottleneck"]["loss"]
            assert (one["stack"]["preset"], one["topology"]["timing"]) == ("ns3-3.29", "ns3")
            # The seed says which run of ns-3 it is: that of the thesis first, then further ones.
            assert (loss["replay"], "run" in loss, "seed" in loss) == ("ns3", False, False)
            assert (one["seed"] == 1) == (point.repetition == 0)


def test_queues_hold_what_fits_into_the_path(planned):
    # ns-3's example: ⌊⌊slower rate / 8 · 0.09002 s⌋ / MTU⌋, a device queue of 100 and one more in
    # transmission.
    limits = {
        "C-9: 1 Mbit/s": 11_252 // 1500 + 101,
        "C-9: 1 Gbit/s": 11_252_500 // 1500 + 101,
        "C-10: 10 Mbit/s": 112_525 // 1500 + 101,
        "C-8: case 1": 1_125_250 // 1500 + 101,
        "C-8: case 2": 1_125_250 // 1000 + 101,
    }
    for title, limit in limits.items():
        topology = point_of(planned, "rows", title=title).experiment["topology"]
        for link in ("access", "bottleneck"):
            assert topology[link]["queue"]["limit"] == f"{limit} packets"


def summary(point, tx_kbps):
    """What a run would say that loses its error rate of 70 000 packets."""
    sent = 70_000
    lost = max(1, round(sent * point.axes[LOSS]))
    monitor = {
        "tx_kbps": tx_kbps,
        "rx_kbps": tx_kbps,
        "ctt_s": sent * 1492 * 8 / tx_kbps / 1000,
        "mean_delay_ms": 45.2,
        "lost": lost,
        "tx_packets": sent,
    }
    return {"flows": [{"id": "0", "flow_monitor": monitor}], "links": [], "metrics": {}}


def test_claims_on_numbers_of_the_thesis(study):
    part = study.parts["errors"]
    column = next(c for c in part.compared if c.name == THROUGHPUT)
    outcomes = [
        Outcome(point, summary(point, found * (1 + point.repetition / 1e4)), None)
        for point in part.plan(quick=False).points
        if (found := column.at(point.axes)) is not None and point.repetition < 3
    ]
    cells = cells_of({"errors": list(measured_cells(part, outcomes))})
    skipped = dict.fromkeys(set(study.parts) - {"errors"}, "not here")
    verdicts = findings(study, cells, skipped)
    found = {claim.id: one for claim, one in zip(study.claims, verdicts, strict=True)}
    # 20713.5 / 1660.08 = 12.5, / 5653.28 = 3.66, / 4698.02 = 4.41.
    assert found["k9"].verdict == "supported"
    # Its own tables say otherwise: BIC has 18787 at 1e-3 and Hybla 784 at 0.05, DCM+ 16191 and 587.
    assert found["k1"].verdict == "refuted"
    against = {c.label for c in found["k1"].by_value[0][1].comparisons if c.verdict == "refuted"}
    assert against == {"0.001", "0.05"}
    # Its own table of the index, too: 29149 of BIC at 1e-3, 22300 of DCM+.
    assert found["k4"].verdict == "refuted"
    assert found["k8"].verdict == "not run"


def test_what_is_printed_stays_as_it_is_printed():
    # The digits of the tables are what is compared: no spreadsheet may have touched them.
    with (DIRECTORY / "published" / "c1_throughput_kbps.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [rows[0]["dcm+"], rows[6]["dcm+"], rows[10]["hybla"]] == ["85424.7", "8165", "784.448"]
