"""Connections side by side: what `fairway analyze` shows of how they share."""

import polars as pl
import pytest

from fairway.capture.analysis.charts import shares, shares_over_time
from fairway.capture.analysis.tables import group_tables
from fairway.plot.figures import drawn


def report(goodputs, *, is_together=True, begin_s=100.0, seconds=10):
    """Members with steady goodputs for so many seconds, on a clock that the capture begins at."""
    whole = sum(goodputs)
    members = [
        {"connection": number, "from": f"192.0.2.{number}:1", "to": "198.51.100.7:80",
         "goodput_bps": goodput, "share": goodput / whole}
        for number, goodput in enumerate(goodputs, start=1)
    ]  # fmt: skip
    series = {
        "interval_s": 1.0,
        "t_s": [begin_s + i for i in range(seconds)],
        "goodput_bps": [whole] * seconds,
        "cwnd_bytes": [1000 * (i + 1) for i in range(seconds)],
        "flight_bytes": [500] * seconds,
        "jain_index": [None] * seconds,
        "shares": [[one["share"]] * seconds for one in members],
    }
    group = {
        "members": members,
        "left_out": 0,
        "from_s": begin_s + 2.0,
        "until_s": begin_s + 5.0,
        "is_together": is_together,
        "goodput_bps": whole,
        "jain_index": 0.8,
        "asymmetry": -0.5 if len(goodputs) == 2 else None,
        "unfairness": 2.0,
        "series": series,
    }
    return {"capture": {"started_s": begin_s}, "group": group}


def test_the_tables_have_shares_and_the_whole():
    members, whole = group_tables(report([1e6, 3e6]), 20)
    assert members.caption == "2 connections side by side, 2.000 s to 5.000 s"
    assert [(row[0], row[-1]) for row in members.rows] == [("2", "75 %"), ("1", "25 %")]
    values = {row[0]: row[1] for row in whole.rows}
    assert values["goodput"] == "4 Mbit/s"
    assert (values["Jain's index"], values["asymmetry, 1 against 2"]) == ("0.8000", "-0.5000")
    # The intervals at 2, 3 and 4 s: 3000, 4000 and 5000 bytes.
    assert values["windows, mean of the sum"] == "4 kB"
    assert values["in flight, mean of the sum"] == "500 bytes"


def test_of_many_the_largest_are_shown():
    members, whole = group_tables(report([1e6, 3e6, 2e6], is_together=False), 2)
    assert members.caption.endswith("; never all at once; the 2 with the highest goodput")
    assert [row[0] for row in members.rows] == ["2", "3"]
    assert not any("asymmetry" in row[0] for row in whole.rows)


@pytest.mark.parametrize("group", [None, {}])
def test_one_connection_is_not_put_beside_any(group):
    assert group_tables({"capture": {"started_s": 0.0}, "group": group}, 20) == []


def test_shares_over_time_begin_with_the_capture_and_add_up():
    found = shares_over_time(report([1e6, 3e6]))
    first = found.filter(pl.col("t") == 0.0)
    assert dict(first.select("k", "v").iter_rows()) == {"1": 25.0, "2": 75.0}
    assert (found["t"].min(), found["u"].max()) == (0.0, 10.0)


def test_short_intervals_are_added_up_to_a_hundred_steps():
    found = shares_over_time(report([1e6, 3e6], seconds=1000))
    assert found["t"].n_unique() == 100
    assert set(found["v"]) == {25.0, 75.0}


def test_nothing_is_shared_where_nothing_is_delivered():
    idle = report([1e6, 3e6])
    series = idle["group"]["series"]
    series["goodput_bps"][3] = 0.0
    for parts in series["shares"]:
        parts[3] = None
    assert 3.0 not in set(shares_over_time(idle)["t"])


def test_members_without_a_colour_are_taken_together():
    found = shares_over_time(report([float(n) for n in range(1, 9)]))
    first = dict(found.filter(pl.col("t") == 0.0).select("k", "v").iter_rows())
    # Of 36: 8, 7, 6, 5 and 4 by themselves; 1, 2 and 3 together.
    assert set(first) == {"8", "7", "6", "5", "4", "the others"}
    assert first["the others"] == pytest.approx(100 * 6 / 36, rel=1e-4)


@pytest.mark.parametrize("members", [2, 8])
def test_the_chart_is_drawn(members):
    assert drawn(shares(report([1e6] * members)), "png").startswith(b"\x89PNG")
