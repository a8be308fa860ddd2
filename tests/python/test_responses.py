"""Response functions: closed forms, window laws under random losses, and the studies of both."""

import csv
import math

import pytest

from fairway.claims import Cell, Claim, check_test, judge
from fairway.closed_forms import CLOSED_FORMS, westwood_plus
from fairway.errors import InputError
from fairway.study import Reproduction, find, load_study
from fairway.study_report import response_charts
from fairway.window_laws import QUEUE_PATH, QUEUE_PIPE, Path, closed_form_tables, mean_window

STUDIES = ("responses", "responses-queue")
METRIC = "flow.0.mean_cwnd_segments"
LOSS = "topology.bottleneck.loss.probability"


@pytest.mark.parametrize(
    ("name", "loss", "rtt_s", "expected"),
    [
        # √150; √1500.
        ("reno", 1e-2, 0.1, 12.2474),
        ("reno", 1e-3, 0.1, 38.7298),
        # 0.08/10⁻⁴; 8 is not above 16, so √150.
        ("scalable", 1e-4, 0.1, 800),
        ("scalable", 1e-2, 0.1, 12.2474),
        # RFC 3649 table 1: 38, 263, 1795 and 83981 are of its rounded 0.12/p^0.835; the line
        # itself gives 38·10^0.834824, 38·10^1.669648 and 83000.
        ("highspeed", 1e-3, 0.1, 38),
        ("highspeed", 1e-4, 0.1, 259.78),
        ("highspeed", 1e-5, 0.1, 1775.95),
        ("highspeed", 1e-7, 0.1, 83_000),
        # A window of 85.1 is reduced by 10.6; that is halved ten times until half is below 0.01:
        # with the first round trip, and that at the maximum, 12 of them for 1000 packets.
        ("bic", 1e-3, 0.1, 1000 / 12),
        # Below 14 it is Reno.
        ("bic", 1e-2, 0.1, 12.2474),
        # RFC 9438: (0.4·3.7/1.2)^¼ = 1.0538; (10³)^¾ = 177.83; (10⁵)^¾ = 5623.4.
        ("cubic", 1e-4, 0.1, 187.40),
        ("cubic", 1e-6, 0.1, 5926.1),
        ("cubic", 1e-6, 0.01, 1224.74),  # Reno's
        # Up to a second H-TCP is AIMD(2(1 − r), r): √((1 + r)/p); beyond, the epoch solved by hand.
        ("htcp", 1e-2, 0.1, math.sqrt(1.8 / 1e-2)),
        ("htcp", 1e-6, 0.1, 9413.7),
        # ρ = 12; ρ = 1.
        ("hybla", 1e-3, 0.3, 12 * 38.7298),
        ("hybla", 1e-4, 0.02, 122.474),
    ],
)
def test_closed_forms_by_hand(name, loss, rtt_s, expected):
    assert CLOSED_FORMS[name](loss, rtt_s) == pytest.approx(expected, rel=1e-4)


def test_westwood_plus_with_a_queue_by_hand():
    # 50² − 30·50 = 1000 = 1/p; the 1 of (1 − p)/p takes 1/√(30² + 4000) = 0.014.
    assert westwood_plus(1e-3, 30) == pytest.approx(49.986, rel=1e-4)


def test_bic_approaches_its_limit():
    # Additive all the way, Wmax·β ≫ Smax: √((Smax/2)·((2 − β)/β)/p) = √(240/10⁻⁷) = 48990.
    assert CLOSED_FORMS["bic"](1e-7, 0.1) == pytest.approx(48_990, rel=0.03)


def test_reno_under_random_losses_that_cost_nothing_else():
    # Ott, Kemperman and Mathis 1996: the mean over time is 1.3098/√p.
    found = mean_window("reno", 1e-3, flows=300, rounds=2000, ideal=True)
    assert found * math.sqrt(1e-3) == pytest.approx(1.3098, rel=0.02)


def test_additive_growth_scales_the_window():
    # With growth a and the same back-off the window scales as √a: Hybla at 100 ms has a = 16.
    found = mean_window("hybla", 1e-4, flows=300, rounds=2000, ideal=True)
    assert found * math.sqrt(1e-4) == pytest.approx(4 * 1.3098, rel=0.03)


def test_a_balance_of_means_is_the_mean_where_the_window_hardly_varies():
    # Westwood+ loses little of a window that is near what the path holds.
    path = Path(rtt_s=0.1, pipe=30)
    found = mean_window("westwood+", 1e-2, path, flows=300, rounds=2000, ideal=True)
    assert found == pytest.approx(westwood_plus(1e-2, 30), rel=0.02)


def test_the_path_with_a_queue_by_hand():
    # 1488 + 40 bytes at 3.563 Mbit/s are 3.431 ms, 52 + 52 are 0.234 ms; 3.563·10⁶/11904 = 299.31
    # packets a second: 30.96 in 103.431 ms and 30.00 in 100.234 ms.
    assert QUEUE_PATH.rtt_s == pytest.approx(0.103431, abs=1e-6)
    assert QUEUE_PATH.pipe == pytest.approx(30.958, abs=1e-3)
    assert abs(QUEUE_PIPE - 30) < 2e-3


def table(study, name):
    text = (find(study).directory / "published" / name).read_text()
    return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(text.splitlines())]


@pytest.mark.parametrize("study", STUDIES)
def test_the_closed_forms_of_a_study_are_those_of_the_module(study):
    assert table(study, "closed_forms.csv") == closed_form_tables()[study]


@pytest.mark.parametrize("name", ["reno", "scalable", "bic", "cubic", "htcp"])
def test_random_losses_of_the_study_are_those_of_the_module(name):
    (row,) = [row for row in table("responses", "random_losses.csv") if row["loss"] == 1e-3]
    again = mean_window(name, 1e-3, flows=150, rounds=1500, seed=2)
    assert again == pytest.approx(row[name], rel=0.05)


@pytest.mark.parametrize(("study", "points"), [("responses", 28), ("responses-queue", 5)])
def test_a_study_has_numbers_for_each_of_its_points(study, points):
    found = find(study)
    assert len(found.plan(quick=False).points) == points * found.repetitions
    assert found.plan(quick=True).points
    for point in found.points():
        for column in (*found.compared, *found.references):
            assert column.at(point) > 1


def measured(study, factor):
    """Cells as if everything had been `factor` of the model of random losses."""
    for point in study.points():
        expected = study.references[0].at(point)
        value = expected * factor
        references = {study.references[0].title: expected}
        yield Cell(point, METRIC, study.compared[0].at(point), value, value * 0.99, value * 1.01,
                   (value,), references)  # fmt: skip


def test_verdicts_if_the_window_laws_were_measured():
    study = find("responses")
    for factor, verdict in ((0.95, "supported"), (0.8, "refuted")):
        cells = list(measured(study, factor))
        found = {c.id: judge(c, cells, cells).verdict for c in study.claims}
        assert all(found[name] == verdict for name in found if name.endswith("-random"))
    # Of the closed forms, Reno's is within 10 % of the law under random losses, and BIC's not.
    cells = list(measured(study, 1.0))
    found = {c.id: judge(c, cells, cells).verdict for c in study.claims}
    assert (found["reno-closed"], found["bic-closed"]) == ("supported", "refuted")


def follows(value, low, high, **keys):
    test = {"kind": "follows", "metric": METRIC, "within": 0.1, **keys}
    check_test(test, "here")
    cells = [
        Cell({"x": 1}, METRIC, 100.0, 104.0, 103.0, 105.0, references={"other": 200.0}),
        Cell({"x": 2}, METRIC, 100.0, value, low, high, references={"other": 210.0}),
    ]
    run = [cell for cell in cells if cell.measured is not None]
    return judge(Claim("c", "s", "w", (test,)), run, cells)


def test_a_measurement_follows_a_number_within_a_share_or_within_its_interval():
    assert follows(109.0, 108.0, 110.0).verdict == "supported"
    assert follows(115.0, 99.0, 131.0).verdict == "supported"
    off = follows(115.0, 114.0, 116.0)
    assert off.verdict == "refuted"
    assert off.reason == "Measured / expected: 1.040 at 1; 1.150 at 2. Off: 2."
    assert follows(200.0, 199.0, 201.0, at={"x": 2}, reference="other").verdict == "supported"
    assert follows(None, None, None).verdict == "undecided"


def test_a_reference_that_the_study_lacks(tmp_path):
    source = find("responses-queue").directory
    for path in source.rglob("*.*"):
        copy = tmp_path / "mine" / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text().replace('reference = "random losses"',
                                                 'reference = "random"'))  # fmt: skip
    with pytest.raises(InputError, match=r"reference: 'random'; the study has random losses"):
        load_study(tmp_path / "mine")


def test_the_figure_has_lines_for_models_and_points_for_measurements(tmp_path):
    study = find("responses")
    result = Reproduction(study, None, tuple(measured(study, 1.0)), (), None, tmp_path)
    charts = response_charts(result, study.figures[0])
    assert list(charts) == study.axes["flow.0.cc"]
    spec = charts["bic"].to_dict()
    line, interval, point = spec["layer"]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "rule", "point"]
    assert line["encoding"]["x"]["scale"]["type"] == line["encoding"]["y"]["scale"]["type"] == "log"
    assert line["encoding"]["strokeDash"]["scale"]["domain"] == ["closed form", "random losses"]
    assert spec["datasets"][line["data"]["name"]].splitlines()[1] == "closed form,0.01,12.247"
    assert (interval["encoding"]["y"]["field"], point["encoding"]["y"]["field"]) == ("low", "mean")
