"""The study of the threshold: its numbers are the model's, and how its claims are judged."""

import sys
from pathlib import Path

import pytest

from fairway.study.claims import Cell, Claim, judge
from fairway.study.files import find

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "docs"))


def test_the_numbers_of_the_study_are_the_models():
    from threshold import claims, model_csv

    study = find("threshold")
    assert (study.directory / "published" / "model.csv").read_text() == model_csv(study.part)
    assert (study.directory / "claims.toml").read_text() == claims(study.part)


def test_what_the_model_says_of_some_of_the_paths():
    from threshold import asked, deliverable_bps

    study = find("threshold")
    # 0.95 · 166.7 packets in windows of 65536/1448 = 45.26: 3.5; 0.95 · 416.7 / 45.26 = 8.7.
    assert asked(study.part, "window-reno").threshold == 4
    assert asked(study.part, "window-cubic").threshold == 9
    # 0.95 · 20 Mbit/s · 1448/1500 / 2 Mbit/s = 9.2.
    assert asked(study.part, "application-reno").threshold == 10
    # 0.95 · 166.7 / sqrt(1.5/0.001) = 4.1.
    assert asked(study.part, "loss-reno").threshold == 5
    assert deliverable_bps(study.part, "loss-reno") == pytest.approx(10e6 * 1448 / 1500)


def test_a_scenario_has_values_of_its_own_for_an_axis():
    study = find("threshold")
    counts = {
        name: [p["flow.0.count"] for p in study.part.points() if p["scenario"] == name]
        for name in ("window-reno", "window-cubic")
    }
    assert counts == {"window-reno": [1, 2, 3, 4, 5, 6], "window-cubic": [6, 7, 8, 9, 10, 11]}
    planned = study.part.plan(quick=False).points
    assert len(planned) == 12 * 6 * 5
    assert {p.axes["flow.0.count"] for p in planned if p.axes["scenario"] == "window-cubic"} == {
        6, 7, 8, 9, 10, 11
    }  # fmt: skip


@pytest.mark.parametrize(
    ("intervals", "low", "high", "verdict"),
    [
        # Reached at 3 by the mean, its interval and all.
        ([(8, 8, 8), (9, 9, 9), (10, 9.8, 10.2)], 2, 4, "supported"),
        ([(8, 8, 8), (9, 9, 9), (10, 9.8, 10.2)], 1, 2, "refuted"),
        # The upper end reaches it at 2, the lower at 3.
        ([(8, 8, 8), (9, 8, 9.8), (10, 9.8, 10.2)], 3, 4, "undecided"),
        ([(8, 8, 8), (9, 8, 9.8), (10, 9.8, 10.2)], 2, 4, "supported"),
        # The lower end never reaches it.
        ([(8, 8, 8), (9, 8, 9.8), (10, 9, 11)], 2, 4, "undecided"),
        ([(8, None, None), (9.6, None, None)], 2, 2, "supported"),
        # Not reached in what was run: beyond 3 in any case.
        ([(8, 8, 8), (8, 8, 8), (9, 9, 9)], 1, 3, "refuted"),
        ([(8, 8, 8), (8, 8, 8), (9, 9, 9)], 2, 5, "undecided"),
    ],
)
def test_the_smallest_value_that_reaches(intervals, low, high, verdict):
    cells = [
        Cell({"flow.0.count": n}, "goodput_bps", None, mean, least, most, (mean,))
        for n, (mean, least, most) in enumerate(intervals, start=1)
    ]
    test = {"kind": "reaches", "metric": "goodput_bps", "axis": "flow.0.count", "at_least": 9.5}
    claim = Claim("c", "", "", ({**test, "low": low, "high": high},))
    assert judge(claim, cells, cells).verdict == verdict
