"""Throughput laws, window laws under random losses, and the study of both."""

import csv
import math

import pytest

from fairway.errors import InputError
from fairway.study.claims import Cell, judge
from fairway.study.data import PartResult
from fairway.study.figures import response_charts
from fairway.study.files import find, load_study
from fairway.study.ratios import ratio_charts
from response_tables import (
    OTHERS,
    SCENARIOS,
    answer,
    bottleneck_bps,
    law_table,
    other_table,
    point_table,
    window_path,
)
from window_laws import Path, mean_window

LOSS = "topology.bottleneck.loss.probability"
DELAY = "topology.bottleneck.delay"
WINDOW = "flow.0.mean_cwnd_segments"
RANDOM = "window law under random losses"


def table(name):
    text = (find("response").directory / name).read_text()
    return list(csv.DictReader(text.splitlines()))


def as_text(rows):
    return [{key: str(value) for key, value in row.items()} for row in rows]


def test_reno_under_random_losses_that_cost_nothing_else():
    # Ott, Kemperman and Mathis 1996: the mean over time is 1.3098/√p.
    found = mean_window("reno", 1e-3, flows=300, rounds=2000, ideal=True)
    assert found * math.sqrt(1e-3) == pytest.approx(1.3098, rel=0.02)


def test_additive_growth_scales_the_window():
    # With growth a and the same back-off the window scales as √a: Hybla at 100 ms has a = 16.
    found = mean_window("hybla", 1e-4, flows=300, rounds=2000, ideal=True)
    assert found * math.sqrt(1e-4) == pytest.approx(4 * 1.3098, rel=0.03)


def test_a_balance_of_means_is_the_mean_where_the_window_hardly_varies():
    # Westwood+ loses little of a window that is near what the path holds: w² − 30·w = 99, so
    # 15 + √(225 + 99) = 33.
    path = Path(rtt_s=0.1, pipe=30)
    found = mean_window("westwood+", 1e-2, path, flows=300, rounds=2000, ideal=True)
    assert found == pytest.approx(33, rel=0.02)


def test_the_path_with_a_queue_by_hand():
    # 100·1488 bytes in 0.1 s and the time of 52 + 52: (148,800 − 104)·8/0.1 = 11,895,680 bit/s.
    # Data and acknowledgement, 1528 bytes, take 1.0276 ms: 101.0276 ms hold 100.96 packets.
    assert bottleneck_bps("50 ms") == pytest.approx(11_895_680)
    path = window_path(SCENARIOS["westwood+ random"], "50 ms")
    assert path.rtt_s == pytest.approx(0.1010276, abs=1e-7)
    assert path.pipe == pytest.approx(100.957, abs=1e-3)
    assert path.pipe * path.shortest == pytest.approx(100)
    # The balance: w² − 100·w = 999 at p = 10⁻³, so 50 + √(2500 + 999) = 109.152.
    found = answer(SCENARIOS["westwood+ random"], 1e-3, "50 ms").window_packets
    assert found == pytest.approx(109.152, abs=1e-3)


def test_the_tables_of_the_study_are_those_of_the_laws():
    assert table("published/laws.csv") == as_text(law_table())
    for name in OTHERS:
        assert table(f"published/{name}.csv") == as_text(other_table(name))
    assert table("points.csv") == as_text(point_table())


def test_laws_of_the_study_by_hand():
    rows = {(row["loss"], row["delay"]): row for row in table("published/laws.csv")}
    # √1500; 12·√1500; 0.08/10⁻³; 0.01/ln(8/7)/10⁻³; (0.4·3.7/1.2)^¼·(10³)^¾ at 0.1 s.
    for key, scenario, expected in [
        (("0.001", "50 ms"), "reno periodic", 38.7298),
        (("0.001", "150 ms"), "hybla periodic", 12 * 38.7298),
        (("0.001", "5 ms"), "scalable random", 80),
        (("0.001", "5 ms"), "scalable periodic", 74.889),
        (("0.0001", "50 ms"), "cubic periodic", 187.40),
    ]:
        assert float(rows[key][scenario]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["reno", "scalable", "bic", "cubic", "htcp"])
def test_random_losses_of_the_study_are_those_of_the_module(name):
    (row,) = [
        row
        for row in table("published/random_losses.csv")
        if (row["loss"], row["delay"]) == ("0.001", "50 ms")
    ]
    again = mean_window(name, 1e-3, flows=150, rounds=1500, seed=2)
    assert again == pytest.approx(float(row[f"{name} random"]), rel=0.05)


def test_every_point_has_its_law():
    study = find("response").part
    points = list(study.points())
    assert len(points) == len(SCENARIOS) * 9 * 3
    assert list(study.scenarios) == list(SCENARIOS)
    for point in points:
        columns = [column for column in study.compared if column.covers(point)]
        assert len(columns) == 1
        assert columns[0].at(point) > 0


def test_points_last_as_long_as_their_losses_take():
    plan = find("response").part.plan(quick=True)
    # A periodic scenario is run once, a random one twice in the quick form, at 4·3 points.
    periodic = [scenario for scenario in SCENARIOS.values() if not scenario.is_random]
    runs = 12 * (len(periodic) + 2 * (len(SCENARIOS) - len(periodic)))
    assert len(plan.points) == runs
    (point,) = [
        run
        for run in plan.points
        if run.axes == {"scenario": "reno periodic", DELAY: "50 ms", LOSS: 1e-3}
    ]
    # 10 losses of 1000 packets at 387.298 packets a second, and then 50,000 packets.
    assert point.experiment["measure"]["window"] == ["25.820 s", "154.919 s"]
    assert point.experiment["duration"] == "154.919 s"
    assert point.experiment["stack"]["initial_ssthresh"] == "39 segments"
    assert point.experiment["topology"]["bottleneck"]["loss"]["kind"] == "periodic"


def test_claims_speak_of_the_whole_range_of_their_law():
    study = find("response")
    of_laws = {test["at"]["scenario"]: test for claim in study.claims for test in claim.tests
               if test["kind"] == "errors" and "reference" not in test}  # fmt: skip
    # Every law is claimed under the losses that it is stated for, and at each of its points there.
    assert {SCENARIOS[name].law for name in of_laws} == {s.law for s in SCENARIOS.values()}
    for name, test in of_laws.items():
        assert test["at"].keys() == {"scenario", LOSS}
        for point in study.part.points():
            if point["scenario"] == name:
                said = answer(SCENARIOS[name], point[LOSS], point[DELAY])
                assert said.in_range == (point[LOSS] in test["at"][LOSS]), point


def measured(study, factor):
    """Cells as if everything had been `factor` of the law, random losses `factor` of theirs."""
    for point in study.points():
        (column,) = [column for column in study.compared if column.covers(point)]
        references = {
            other.title: other.at(point)
            for other in study.references
            if other.metric == column.metric
        }
        value = factor * (references.get(RANDOM) or column.at(point))
        yield Cell(point, column.metric, column.at(point), value, value * 0.99, value * 1.01,
                   (value,), references)  # fmt: skip


def test_verdicts_if_the_laws_were_measured():
    study = find("response")
    for factor, verdict in ((0.95, "supported"), (0.85, "refuted")):
        cells = list(measured(study.part, factor))
        found = {c.id: judge(c, cells, cells).verdict for c in study.claims}
        assert {found[name] for name in found if name.endswith("-random")} == {verdict}
        # What is stated for periodic losses, and so has no window law beside it.
        stated = ("mathis", "highspeed", "bic", "bic-linux", "cubic", "htcp", "hybla")
        assert {found[name] for name in stated} == {verdict}


def test_a_reference_that_the_study_lacks(tmp_path):
    source = find("response").directory
    for path in source.rglob("*.*"):
        copy = tmp_path / "mine" / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        if path.name == "claims.toml":
            text = text.replace('reference = "bic-small"', 'reference = "bic"')
        copy.write_text(text)
    with pytest.raises(InputError, match=r"reference: 'bic'; the study has window law"):
        load_study(tmp_path / "mine")


def test_the_figure_has_ratios_with_and_without_a_claim(tmp_path):
    study = find("response")
    result = PartResult(
        study.part, None, tuple(measured(study.part, 1.0)), None, tmp_path, study.claims
    )
    charts = ratio_charts(result, study.part.figures[0])
    assert list(charts) == list(SCENARIOS)
    spec = charts["reno periodic"].to_dict()
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    # A band, the line at 1, intervals, points in the law's range and out of it; no window law.
    assert marks == ["rect", "rule", "rule", "point", "point"]
    inside, outside = (spec["datasets"][layer["data"]["name"]] for layer in spec["layer"][-2:])
    assert (len(inside.splitlines()), len(outside.splitlines())) == (1 + 21, 1 + 6)
    assert outside.splitlines()[1].split(",")[1:3] == ["5 ms", "1.0"]
    dashed = charts["reno random"].to_dict()["layer"][2]
    assert dashed["mark"]["type"] == "line"


def test_windows_over_loss_have_lines_for_models_and_points_for_measurements(tmp_path):
    study = find("response")
    cells = [cell for cell in measured(study.part, 1.0) if cell.point[DELAY] == "50 ms"]
    result = PartResult(study.part, None, tuple(cells), None, tmp_path, study.claims)
    figure = {"kind": "response", "metric": WINDOW, "axis": LOSS, "panel": "scenario"}
    spec = response_charts(result, figure)["bic random"].to_dict()
    line, interval, point = spec["layer"]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "rule", "point"]
    assert line["encoding"]["x"]["scale"]["type"] == line["encoding"]["y"]["scale"]["type"] == "log"
    assert line["encoding"]["strokeDash"]["scale"]["domain"] == ["law", RANDOM, "measured"]
    assert spec["datasets"][line["data"]["name"]].splitlines()[1].split(",")[:2] == ["law", "0.1"]
    assert (interval["encoding"]["y"]["field"], point["encoding"]["y"]["field"]) == ("low", "mean")
