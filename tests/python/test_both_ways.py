"""Data both ways on one connection, as tables, figures and reports have them."""

import fairway
from fairway.metrics import measure
from fairway.results.report import flow_tables

EXPERIMENT = """
duration = "5 s"
[stack]
preset = "full-tcp"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
[[flow]]
id = "talk"
cc = "reno"
bytes = "500 kB"
both_ways = true
"""


def test_each_direction_has_its_figures():
    run = fairway.run(EXPERIMENT)
    assert run.flows["id"].to_list() == ["talk", "talk/reverse"]
    # 500 kB in 5 s.
    assert measure(run.summary, "flow.talk.goodput_bps") == 800_000
    assert measure(run.summary, "flow.talk/reverse.goodput_bps") == 800_000
    assert run.metrics["jain_index"] == 1
    assert set(run.series["flow"]) == {"talk", "talk/reverse"}
    assert [row[0] for row in flow_tables(run)[0].rows] == ["talk", "talk/reverse"]
    assert "1 flow" in repr(run)


def test_results_are_read_as_they_were_written(tmp_path):
    run = fairway.run(EXPERIMENT)
    run.save(tmp_path / "run")
    assert fairway.load(tmp_path / "run").flows.equals(run.flows)
