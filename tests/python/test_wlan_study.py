"""The study "wlan": its cells, the model's numbers beside them, and the parts that it brought."""

import csv

import pytest

from fairway import metrics
from fairway.errors import InputError
from fairway.study.claims import Cell, Claim, judge
from fairway.study.data import PartResult
from fairway.study.files import find
from fairway.study.residuals import residual_charts
from wlan_study import MARK, MEASURED_S, cells, scenarios, table

STUDY = find("wlan")


def test_cells_cover_what_they_shall():
    found = cells()
    assert {len(cell.flows) for cell in found} == set(range(1, 21))
    equal = [cell for cell in found if "windows" in cell.name]
    for share in (1, 0, 0.5):
        stations = {len(c.flows) for c in equal if c.downloads == int(share * len(c.flows))}
        assert stations >= set(range(2, 21))
    windows = {flow.window_packets for cell in found for flow in cell.flows}
    assert min(windows) == 1 and max(windows) == 64
    assert len({cell.name for cell in found}) == len(found)


def test_the_files_are_what_they_are_written_from():
    text = (STUDY.directory / "study.toml").read_text(encoding="utf-8")
    assert text.partition(MARK)[2].lstrip("\n") == scenarios(cells(), MEASURED_S).lstrip("\n")
    with (STUDY.directory / "published" / "model.csv").open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    expected = [
        {k: "" if v is None else str(v) for k, v in row.items()}
        for row in table(cells(), (False, True))
    ]
    assert written == expected


def test_every_cell_of_the_study_has_a_prediction():
    goodput = next(column for column in STUDY.part.compared if column.metric == "goodput_bps")
    points = list(STUDY.part.points())
    assert len(points) == 4 * len(cells())
    assert all(goodput.at(point) for point in points)
    plan = STUDY.part.plan(quick=True)
    assert len(plan.points) == 48


def summary_of(**goodputs):
    flows = [{"id": name.replace("_", "-"), "goodput_bps": v} for name, v in goodputs.items()]
    return {"flows": flows, "links": [], "metrics": {}}


def test_a_star_stands_for_flows_together():
    summary = summary_of(down_0=1.0, down_1=2.0, up_2=4.0)
    assert metrics.measure(summary, "flow.down-*.goodput_bps") == 3
    assert metrics.measure(summary, "flow.*.goodput_bps") == 7
    assert metrics.measure(summary, "flow.other-*.goodput_bps") is None
    assert metrics.measure(summary_of(a=1.0, b=None), "flow.*.goodput_bps") is None
    with pytest.raises(InputError, match=r"flow\.down-0\.speed"):
        metrics.measure(summary, "flow.down-*.speed")


def cell(n, measured, published=100.0):
    return Cell({"n": n}, "goodput", published, measured, None, None, references={"other": 50.0})


def errors(found, expected=None, **bounds):
    test = {"kind": "errors", "metric": "goodput", **bounds}
    return judge(Claim("c", "", "", (test,)), found, expected or found)


def test_errors_are_judged_by_their_median_and_the_worst():
    # 1, 2 and 6 % off.
    found = [cell(1, 101.0), cell(2, 98.0), cell(3, 106.0)]
    assert errors(found, median=0.02001, max=0.06001).verdict == "supported"
    assert errors(found, median=0.019, max=0.1).verdict == "refuted"
    judged = errors(found, median=0.03, max=0.05)
    assert judged.verdict == "refuted"
    assert judged.measured == pytest.approx(0.02)
    assert "6.00 % at 3" in judged.reason
    # Against a reference of 50: 102 % off.
    assert errors(found[:1], median=2, max=1.03, reference="other").verdict == "supported"
    assert errors(found[:1], median=2, max=1.01, reference="other").verdict == "refuted"


def test_errors_of_some_cells_decide_only_if_one_is_too_large():
    ran = [cell(1, 101.0), cell(2, None)]
    assert errors(ran, median=0.03, max=0.08).verdict == "not run"
    assert errors([cell(1, 110.0), cell(2, None)], median=0.03, max=0.08).verdict == "refuted"
    assert errors([cell(1, 1.0, None)], median=0.03, max=0.08).verdict == "undecided"


def csv_texts(drawn):
    return [data for data in drawn["datasets"].values() if isinstance(data, str)]


def test_residuals_are_drawn_for_each_panel():
    point = {"scenario": "3 down, 0 up, windows 2", "topology.standard": "802.11g"}
    found = []
    for delayed, measured in ((False, 99.0), (True, 103.0)):
        at = {**point, "stack.delayed_ack": delayed}
        found.append(Cell(at, "goodput_bps", 100.0, measured, None, None))
    result = PartResult(STUDY.part, None, tuple(found), None, STUDY.directory)
    charts = residual_charts(result, STUDY.part.figures[0])
    assert list(charts) == ["802.11g, no delayed ACKs", "802.11g, delayed ACKs"]
    drawn = charts["802.11g, delayed ACKs"].to_dict()
    (points,) = [
        lines for lines in map(str.splitlines, csv_texts(drawn)) if lines[0].startswith("cell,")
    ]
    assert points[1].endswith(",3.0,3.0,downloads")
