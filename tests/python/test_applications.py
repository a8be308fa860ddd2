"""Applications with several connections, as tables and metrics have them."""

import pytest

import fairway
from fairway.errors import InputError
from fairway.metrics import measure
from fairway.report import application_tables

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
