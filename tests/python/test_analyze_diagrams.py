"""The time–sequence diagram: what is drawn of each packet, and what thinning leaves out."""

import polars as pl
import pytest

from fairway.capture.analysis.sequence import ack_lines, between, marks, time_sequence
from fairway.capture.analysis.series import PACKET_SCHEMA
from fairway.plot.figures import drawn
from made_packets import MSS, RTT_S, transfer


def kinds(rows):
    return dict(rows.group_by("k").len().iter_rows())


def test_every_packet_of_a_short_transfer_is_a_mark():
    packets = transfer(4, lost={130, 140})
    found = marks(packets, most=4000)
    # 4 rounds of 60, of which two segments were dropped: they are data, and marked too. Each
    # selective acknowledgement is one segment of news.
    assert kinds(found) == {"data": 240, "SACK retransmission": 2, "dropped or lost": 2,
                            "SACK": kinds(found)["SACK"]}  # fmt: skip
    assert set(found["c"]) == {1}
    again = found.filter(pl.col("k") == "SACK retransmission")
    assert again["a"].to_list() == [130 * MSS, 140 * MSS]


def test_news_of_a_block_is_what_it_has_grown_by():
    rows = [
        {"t_s": t, "flow": "1", "packet": n, "what": what, "from_byte": low, "to_byte": high}
        for t, n, what, low, high in (
            (1.0, 1, "sack", 2000, 3000),
            (1.1, 2, "sack", 2000, 4000),
            (1.1, 2, "sack", 9000, 9500),  # the second block of a header says nothing new
            (1.2, 3, "sack", 2000, 4000),  # nor does the same block again
            (1.3, 4, "sack", 6000, 7000),
        )
    ]
    found = marks(pl.DataFrame(rows, schema_overrides=PACKET_SCHEMA).with_columns(
        pl.lit(None, dtype=kind).alias(name) for name, kind in PACKET_SCHEMA.items()
        if name not in rows[0]
    ).select(*PACKET_SCHEMA), most=100)  # fmt: skip
    assert found.select("a", "b").rows() == [(2000, 3000), (3000, 4000), (6000, 7000)]


def test_thinning_keeps_all_bytes_and_everything_that_was_lost():
    lost = set(range(500, 100_000, 97))
    packets = transfer(1000, 100, lost=lost)
    found = marks(packets, most=1000)
    count = kinds(found)
    assert count["SACK retransmission"] == len(lost)
    assert count["dropped or lost"] == len(lost)
    assert count["data"] <= 4 * 1000
    data = found.filter(pl.col("k") == "data")
    assert data["c"].sum() == 100_000
    assert (data["a"].min(), data["b"].max()) == (0, 100_000 * MSS)


def test_lines_of_acknowledgements_end_where_they_end():
    packets = transfer(200, 100)
    lines = ack_lines(packets, most=50)
    for name, last in (("acknowledged", 20_000 * MSS), ("receive window", 20_100 * MSS)):
        line = lines.filter(pl.col("k") == name)
        assert line.height <= 51
        assert line["a"].is_sorted()
        assert line["a"][-1] == last


def test_a_part_of_the_time_is_shown_in_full():
    packets = transfer(1000, 100)
    part = between(packets, 1.0, 1.0 + 2 * RTT_S)
    found = marks(part, most=1000)
    assert 190 <= kinds(found)["data"] <= 201
    assert set(found["c"]) == {1}


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_it_is_drawn(kind):
    assert len(drawn(time_sequence(transfer(3, lost={70})), kind)) > 10_000


def test_nothing_is_drawn_of_nothing():
    assert len(drawn(time_sequence(pl.DataFrame(schema=PACKET_SCHEMA)), "svg")) > 100
