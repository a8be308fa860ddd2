"""Tables of points: what is run, and what each point sets."""

import pytest

from fairway.errors import InputError
from fairway.study.files import load_study

EXPERIMENT = """
duration = "10 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "5 ms" }
[[flow]]
cc = "reno"
[measure]
window = ["1 s", "10 s"]
"""

STUDY = """
title = "Mine"
source = "Nowhere"
experiment = "flow.toml"
repetitions = 3

[axes]
"flow.0.cc" = ["reno", "cubic"]
"topology.bottleneck.delay" = ["5 ms", "10 ms"]

[points]
file = "points.csv"
match = { "flow.0.cc" = "cc", "topology.bottleneck.delay" = "delay" }

[quick]
note = "2 repetitions"
repetitions = 2
"""


def written(directory, points, study=STUDY):
    for name, text in (("flow.toml", EXPERIMENT), ("study.toml", study), ("points.csv", points)):
        (directory / name).write_text(text)
    return load_study(directory).part


def test_only_points_of_the_table_are_run_with_what_they_set(tmp_path):
    study = written(
        tmp_path,
        "cc,delay,repetitions,duration,measure.window.1\n"
        "reno,5 ms,1,4 s,4 s\n"
        "cubic,10 ms,,20 s,20 s\n",
    )
    runs = study.plan(quick=False).points
    found = [(p.axes["flow.0.cc"], p.repetition, p.experiment["duration"]) for p in runs]
    assert found == [
        ("reno", 0, "4 s"),
        ("cubic", 0, "20 s"),
        ("cubic", 1, "20 s"),
        ("cubic", 2, "20 s"),
    ]
    assert [p.experiment["measure"]["window"][1] for p in runs[:2]] == ["4 s", "20 s"]
    assert len(list(study.points())) == 2
    assert len(study.plan(quick=True).points) == 3


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ("cc,duration\nreno,4 s\n", "has no column delay; it has cc, duration"),
        ("cc,delay\nreno,5 ms\nreno,5 ms\n", "line 3: reno, 5 ms is there already"),
        ("cc,delay,repetitions\nreno,5 ms,0\n", "repetitions: 0; expected 1 or more"),
        ("cc,delay,repetitions\nreno,5 ms,many\n", "repetitions: 'many'; expected 1 or more"),
    ],
)
def test_tables_that_make_no_sense(tmp_path, points, message):
    with pytest.raises(InputError, match=message):
        written(tmp_path, points)


def test_an_axis_that_the_study_lacks(tmp_path):
    wrong = STUDY.replace('{ "flow.0.cc" = "cc"', '{ "flow.1.cc" = "cc"')
    with pytest.raises(InputError, match=r"points.match: no axis flow.1.cc; the study has flow.0"):
        written(tmp_path, "cc,delay\nreno,5 ms\n", wrong)


def test_a_table_without_a_point(tmp_path):
    with pytest.raises(InputError, match=r"points.csv: no line is a point of the axes"):
        written(tmp_path, "cc,delay\nvegas,5 ms\n").plan(quick=False)


def test_repetitions_that_end_by_an_interval_are_not_for_a_table(tmp_path):
    wrong = STUDY.replace("repetitions = 3", "repetitions = { within = 0.1 }")
    with pytest.raises(InputError, match="repetitions: with a table of points, write a number"):
        written(tmp_path, "cc,delay\nreno,5 ms\n", wrong)
