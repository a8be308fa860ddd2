"""Applications with several connections, as tables and metrics have them."""

from pathlib import Path

import pytest

import fairway
from fairway.errors import InputError
from fairway.metrics import measure
from fairway.results.report import application_tables, completion_table, flow_tables

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

PARALLEL = """
duration = "5 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
[[flow]]
id = "p"
cc = "reno"
bytes = "500 kB"
connections = 2
"""


def test_an_application_has_an_entry_and_a_table():
    run = fairway.run(PARALLEL)
    assert run.flows["id"].to_list() == ["p/0", "p/1"]
    # 500 kB in 5 s.
    assert measure(run.summary, "application.p.goodput_bps") == 800_000
    assert measure(run.summary, "application.0.peak_reassembly_bytes") > 0
    [table] = application_tables(run)
    assert table.caption == "Applications: striped"
    assert list(table.columns) == ["", "p"]
    assert ["goodput", "800 kbit/s"] in [list(row) for row in table.rows]
    with pytest.raises(InputError, match="there is p"):
        measure(run.summary, "application.q.goodput_bps")


def test_of_many_applications_the_spread_is_shown():
    run = fairway.run(PARALLEL + "count = 5\n")
    [table] = application_tables(run)
    assert table.caption == "Applications: striped: 5 applications"
    assert list(table.columns) == ["", "mean", "least", "most"]


def test_runs_without_applications_have_none():
    run = fairway.run(PARALLEL.replace("connections = 2", ""))
    assert "applications" not in run.summary
    assert application_tables(run) == []


ARRIVALS = """
duration = "5 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
[[flow]]
id = "short"
kind = "arrivals"
cc = "reno"
flow_rate = 20
size = { distribution = "exponential", mean = "20 kB" }
[[flow]]
id = "long"
cc = "reno"
"""


def test_many_flows_share_a_line_and_have_a_table_of_completion_times():
    run = fairway.run(ARRIVALS)
    arrived = len(run.summary["flows"]) - 1
    assert 60 < arrived < 140
    assert set(run.series["flow"]) == {"long"}
    [table] = flow_tables(run)
    assert [row[0] for row in table.rows] == [f"short/… ({arrived})", "long"]
    [completions] = completion_table(run)
    rows = [row[0] for row in completions.rows]
    assert rows[:3] == ["short", "  below 10 kB", "  from 10 kB"]
    counts = [entry["count"] + entry["unfinished"] for entry in run.summary["completions"]]
    assert counts[0] == arrived == sum(counts[1:])


def test_the_example_of_short_flows_is_right():
    text = (EXAMPLES / "short-flows.toml").read_text("utf-8")
    run = fairway.run(text.replace("= 10000", "= 300").replace('"20 s"', '"2 s"'))
    [table] = completion_table(run)
    assert list(table.rows[0])[:2] == ["search", "300"]
    assert run.metrics["jain_index"] is not None


def test_the_example_of_workloads_is_right():
    run = fairway.run(EXAMPLES / "workloads.toml")
    kinds = [entry["kind"] for entry in run.summary["applications"]]
    assert kinds == ["ftp", "telnet", "request", "web", "video", "bursts"]
    assert measure(run.summary, "application.browser.pages") > 5
    assert measure(run.summary, "application.film.stalls") == 0
    captions = [table.caption for table in application_tables(run)]
    assert captions == [f"Applications: {kind}" for kind in kinds]


def test_the_example_of_incast_has_rounds():
    text = (EXAMPLES / "incast.toml").read_text("utf-8").partition("[sweep]")[0]
    run = fairway.run(text)
    assert measure(run.summary, "application.client.rounds") == 50
    # 32 answers of 32 KiB at 1 Gbit/s take 8.4 ms and more.
    assert measure(run.summary, "application.client.median_round_time_s") > 0.0084
