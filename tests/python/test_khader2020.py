"""The study khader2020: its numbers are whole, and its claims are judged on numbers by hand."""

import csv
from importlib.resources import files
from pathlib import Path

import pytest

from fairway.study import find, measured_cells
from fairway.study_cells import expected_cells
from fairway.study_parts import cells_of, whole_findings
from fairway.sweep import Outcome

DIRECTORY = Path(str(files("fairway"))) / "studies" / "khader2020"
LOSS = "topology.link.bottleneck.loss.probability"
THROUGHPUT = "transfer.0.throughput_bps"
#: Part -> how many numbers of the thesis it is held against.
NUMBERS = {
    # Four tables of eleven rates and five algorithms.
    "replayed": 4 * 11 * 5,
    # Seven tables of eleven rates and five algorithms, for each of four readings.
    "errors": 4 * 7 * 11 * 5,
    # Two tables of seven rates: DCM+ for four readings, four algorithms once.
    "seeds": 2 * 7 * (4 + 4),
    "tail": 4 * 4,
    # Two tables of three rates: five algorithms in four scenarios, one in four more.
    "causes": 2 * 3 * (4 * 5 + 4),
    # Three columns of eleven sizes, and one number of drops in figure 5-9.
    "buffers": 4 * (3 * 11 + 1),
    "vegas": 4 * 5 * 12,
    # Unwanted drops in figures 5-14 and 5-15.
    "mtu": 4 * 3,
    "bottleneck": 4 * 3 * 6,
    "access": 4 * 3 * 6,
    "files": 0,
    # Transmission time and timeouts of figures 4-4 and 4-5, for each of five readings.
    "windows": 2 * 5,
}


@pytest.fixture(scope="module")
def study():
    return find("khader2020")


def published(study, part, metric, **point):
    columns = {column.name: column for column in study.parts[part].compared}
    return columns[metric].at({"flow.0.cc": "dcm+", **point})


def test_every_number_of_the_thesis_is_held_against_a_measurement(study):
    found = {
        name: sum(
            cell.published is not None for cell in expected_cells(part.points(), part.compared)
        )
        for name, part in study.parts.items()
    }
    assert found == NUMBERS


def test_numbers_are_in_the_units_of_their_metrics(study):
    # Tables C-1, C-3, C-5, C-7, C-8 and C-10 by eye.
    assert published(study, "errors", THROUGHPUT, **{LOSS: 4e-3}) == pytest.approx(20_713_500)
    assert published(study, "errors", "group.*.loss_of_sent", **{LOSS: 0.01}) == pytest.approx(
        0.00981903
    )
    delay = published(study, "errors", "flow.0.mean_one_way_delay_s", **{LOSS: 1e-6})
    assert delay == pytest.approx(0.124785)
    size = {"stack.send_buffer": "512 KiB"}
    assert published(study, "buffers", THROUGHPUT, **size) == pytest.approx(16_571_700)
    index = published(study, "vegas", "transfer.0.nai_per_s", title="case 1")
    assert index == pytest.approx(95.715166909)
    rate = {"topology.link.access.rate": "100 Mbit/s"}
    assert published(study, "access", THROUGHPUT, **rate) == pytest.approx(7_511_290)


def test_utilisation_is_that_of_the_transmission_time(study):
    # Equation 3.20: 800 over the time in seconds, in percent; 800 / 9.82705 = 81.41.
    used = published(study, "errors", "transfer.0.utilisation", **{LOSS: 1e-6})
    assert used == pytest.approx(0.81408, abs=1e-5)
    with (DIRECTORY / "published" / "c6_complete_transmission_time_s.csv").open() as lines:
        for row in csv.DictReader(lines):
            at = {LOSS: float(row["packet_error_rate"]), "flow.0.cc": "hybla"}
            found = published(study, "errors", "transfer.0.utilisation", **at)
            assert found * float(row["hybla"]) == pytest.approx(8, rel=1e-5)


def test_what_was_sent_follows_from_the_losses(study):
    # One of 100 / 0.0014283 = 70 013 packets; all rows of 1e-6 and 1e-5 have one loss.
    tail = {column.name: column for column in study.parts["tail"].compared}
    assert tail["flow.0.sent_segments"].at({"flow.0.cc": "dcm+"}) == 70_013
    assert tail["flow.0.sent_segments"].at({"flow.0.cc": "newreno"}) == 69_730


def test_every_claim_of_the_thesis_is_judged(study):
    ids = [claim.id for claim in study.claims]
    assert [f"k{i}" for i in range(1, 13)] == [i for i in ids if i[1:].isdecimal() and i[0] == "k"]
    # What DCM+ does depends on how it is read; k12 is about the older protocols.
    by_reading = {claim.id for claim in study.claims if "scenario" in claim.unknown}
    assert by_reading >= {f"k{i}" for i in range(1, 12)}
    assert "k12" not in by_reading


def test_readings_of_dcm_plus_change_nothing_else(study):
    points = study.parts["errors"].plan(quick=False).points
    by_reading = {}
    for point in points:
        if point.repetition == 0 and point.axes[LOSS] == 0.01:
            cc = point.axes["flow.0.cc"]
            by_reading.setdefault(cc, []).append(point.experiment)
    assert len(by_reading["dcm+"]) == len(by_reading["bic"]) == 4
    assert all(one == by_reading["bic"][0] for one in by_reading["bic"])
    params = [one["flow"][0]["cc_params"] for one in by_reading["dcm+"]]
    assert [one["reading"] for one in params] == [0, 0, 1, 1]


def summary(point, throughput_bps):
    """What a run of 100 MB would say that loses its error rate of packets of 1500 bytes."""
    seconds, arrived = 8e8 / throughput_bps, 66_667
    flow = {
        "id": "0",
        "fct_s": seconds,
        "ctt_s": seconds + 0.045,  # the last acknowledgement's way back
        # Over the 40 000 s of the experiment.
        "throughput_bps": throughput_bps * seconds / 40_000,
        "sent_segments": round(arrived / (1 - point.axes[LOSS])),
        "lost_segments": round(arrived / (1 - point.axes[LOSS])) - arrived,
        "mean_one_way_delay_s": 0.0452,
    }
    return {"flows": [flow], "links": [], "metrics": {}}


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
    verdicts = whole_findings(study, cells, skipped)
    found = {claim.id: one for claim, one in zip(study.claims, verdicts, strict=True)}
    # 20713.5 / 1660.08 = 12.5, / 5653.28 = 3.66, / 4698.02 = 4.41.
    assert found["k9"].verdict == "supported"
    # Its own tables say otherwise: BIC has 18787 at 1e-3 and Hybla 784 at 0.05, DCM+ 16191 and 587.
    assert found["k1"].verdict == "refuted"
    reason = found["k1"].by_value[0][1].reason
    assert "bic > dcm+ > hybla > newreno > ledbat at 0.001" in reason
    assert "hybla > dcm+ > bic" in reason
    # Its own table of the index, too: 29149 of BIC at 1e-3, 22300 of DCM+.
    assert found["k4"].verdict == "refuted"
    assert found["k8"].verdict == "not run"
