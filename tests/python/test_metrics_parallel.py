"""Figures of several flows together, by hand."""

import polars as pl
import pytest

from fairway.errors import InputError
from fairway.metrics import (
    aggregate_reduction,
    loss_of_received,
    loss_of_sent,
    measure,
    retransmission_ratio,
)

FLOWS = [
    {"id": f"parallel/{i}", "goodput_bps": float(i + 1), "sent_segments": 250,
     "lost_segments": 25, "retransmitted_segments": 30}
    for i in range(4)
] + [
    {"id": "cross", "goodput_bps": 100.0, "sent_segments": 9000,
     "lost_segments": 0, "retransmitted_segments": None}
]  # fmt: skip
SUMMARY = {"flows": FLOWS}


def test_the_readings_of_loss():
    # 1000 sent, 100 lost, so 900 received: 0.1 of what was sent, 1/9 of what arrived.
    assert loss_of_sent(1000, 100) == pytest.approx(0.1)
    assert loss_of_received(1000, 100) == pytest.approx(1 / 9)
    assert retransmission_ratio(1000, 120) == pytest.approx(0.12)


def test_nothing_sent_and_nothing_received_have_no_loss_ratio():
    assert loss_of_sent(0, 0) is None
    assert loss_of_received(0, 0) is None
    assert loss_of_received(5, 5) is None
    assert retransmission_ratio(0, 0) is None


def test_a_group_leaves_other_flows_out():
    # (1+2+3+4)² / (4·(1+4+9+16)) = 100/120
    assert measure(SUMMARY, "group.parallel*.jain_index") == pytest.approx(0.8333333)
    assert measure(SUMMARY, "group.parallel*.loss_of_sent") == pytest.approx(0.1)
    assert measure(SUMMARY, "group.parallel*.retransmission_ratio") == pytest.approx(0.12)
    # All five: 100 of 10,000 lost.
    assert measure(SUMMARY, "group.*.loss_of_sent") == pytest.approx(0.01)
    assert measure(SUMMARY, "group.nobody.loss_of_sent") is None


def test_an_unknown_figure_says_what_there_is():
    with pytest.raises(InputError, match="there is throughput_bps, goodput_bps"):
        measure(SUMMARY, "group.parallel*.speed")
    with pytest.raises(InputError, match="time series"):
        measure(SUMMARY, "group.parallel*.aggregate_reduction")


def series(windows, thresholds):
    """Windows and thresholds of each flow, sample by sample."""
    rows = [
        {"t_s": float(t), "flow": f"parallel/{flow}", "cwnd_segments": w, "ssthresh_segments": s}
        for flow, (ws, ss) in enumerate(zip(windows, thresholds, strict=True))
        for t, (w, s) in enumerate(zip(ws, ss, strict=True))
    ]
    return pl.DataFrame(rows, schema_overrides={"ssthresh_segments": pl.Float64})


def test_one_of_three_equal_windows_halved_is_a_sixth():
    found = aggregate_reduction(
        series(
            [[30.0, 16.0, 17.0], [30.0, 31.0, 32.0], [30.0, 31.0, 32.0]],
            [[None, 15.0, 15.0], [None] * 3, [None] * 3],
        ),
        {f"parallel/{flow}" for flow in range(3)},
    )
    assert found == pytest.approx(15 / 90)


def test_two_back_offs_at_once_are_not_one_and_the_rest_is_a_mean():
    # From sample 0 to 1 both back off, which does not count. Then (20 − 10)/40 = 1/4, and
    # (30 − 15)/(30 + 10) = 3/8: the mean is 5/16.
    found = aggregate_reduction(
        series(
            [[40.0, 20.0, 10.0, 10.0], [40.0, 20.0, 30.0, 15.0]],
            [[None, 20.0, 10.0, 10.0], [None, 20.0, 20.0, 15.0]],
        ),
        {f"parallel/{flow}" for flow in range(3)},
    )
    assert found == pytest.approx(5 / 16)


def test_without_a_back_off_there_is_no_reduction():
    assert aggregate_reduction(series([[1.0, 2.0]], [[None, None]]), ["parallel/0"]) is None
    assert aggregate_reduction(series([[1.0]], [[None]]), ["parallel/0"]) is None
    assert aggregate_reduction(series([[1.0, 2.0]], [[None, None]]), ["other"]) is None
