"""Phases of a sender, found in series that are drawn by hand."""

import itertools

import numpy as np
import polars as pl
import pytest

import fairway
from conftest import SMALL
from fairway.errors import InputError
from fairway.metrics import measure
from fairway.metrics.phases import epochs, of_samples
from fairway.results.phase_charts import phase_chart, phase_tables
from fairway.results.run import Run

NONE = float("nan")


def found(window, ssthresh, srtt=0.1, state=None, step=0.1):
    """Phases of samples a round trip apart, as (kind, first sample, sample after the last)."""
    count = len(window)
    arrays = [np.array(v, dtype=float) for v in (window, ssthresh)]
    return of_samples(
        step * np.arange(count),
        *arrays,
        np.full(count, srtt),
        None if state is None else np.array(state, dtype=float),
    )


def spans(phases, step=0.1):
    return [(p.kind, round(p.start_s / step), round(p.end_s / step)) for p in phases]


def test_slow_start_is_below_the_threshold_and_avoidance_from_it_on():
    # 2, 4, 8 double towards 16; from there one segment a round trip.
    phases = found([2, 4, 8, 16, 17, 18], [16] * 6)
    assert spans(phases) == [("slow start", 0, 3), ("avoidance", 3, 5)]
    first, second = phases
    assert (first.start_segments, first.end_segments) == (2, 8)
    assert (second.start_segments, second.end_segments, second.peak_segments) == (16, 18, 18)
    assert second.peak_s == pytest.approx(0.5)
    assert first.duration_s == pytest.approx(0.3)
    assert first.ssthresh_segments == 16


def test_without_a_threshold_it_is_slow_start_and_has_none():
    (only,) = found([10, 20, 40], [NONE] * 3)
    assert (only.kind, only.ssthresh_segments) == ("slow start", None)


def test_a_loss_halves_the_window_and_recovery_lasts_until_it_grows():
    # A loss at 32: the window is 16 for three samples, then 17 and 18.
    phases = found([8, 16, 32, 16, 16, 16, 17, 18], [NONE] * 3 + [16] * 5)
    assert spans(phases) == [("slow start", 0, 3), ("recovery", 3, 6), ("avoidance", 6, 7)]
    assert phases[1].ssthresh_segments == 16


def test_growth_within_a_round_trip_is_of_recovery_itself():
    # Proportional rate reduction: down to 12, then up to the threshold within a round trip of
    # 0.3 s, which is three samples.
    window = [40, 41, 12, 16, 20, 20, 21, 22]
    phases = found(window, [NONE] * 2 + [20] * 6, srtt=0.3)
    assert spans(phases) == [("slow start", 0, 2), ("recovery", 2, 6), ("avoidance", 6, 7)]


def test_recovery_that_ends_below_the_threshold_is_followed_by_slow_start():
    phases = found([40, 10, 10, 15, 20, 21], [NONE] + [20] * 5)
    assert spans(phases) == [
        ("slow start", 0, 1),
        ("recovery", 1, 3),
        ("slow start", 3, 4),
        ("avoidance", 4, 5),
    ]


def test_a_timeout_is_one_segment_until_it_is_acknowledged():
    # 20 segments, a timeout: one segment for two samples, then 2, 4, 8 and the half of 20.
    window = [18, 19, 20, 1, 1, 2, 4, 8, 10, 11]
    phases = found(window, [5] * 3 + [10] * 7)
    assert spans(phases) == [
        ("avoidance", 0, 3),
        ("timeout", 3, 5),
        ("slow start", 5, 8),
        ("avoidance", 8, 9),
    ]
    assert [p.ssthresh_segments for p in phases] == [5, 10, 10, 10]


def test_a_recovery_that_ends_in_a_timeout_is_both():
    window = [38, 39, 40, 20, 20, 20, 1, 2, 4, 8, 10]
    phases = found(window, [5] * 3 + [20] * 3 + [10] * 5)
    assert [p.kind for p in phases] == [
        "avoidance", "recovery", "timeout", "slow start", "avoidance",
    ]  # fmt: skip
    assert spans(phases)[1:3] == [("recovery", 3, 6), ("timeout", 6, 7)]


def test_two_segments_at_their_threshold_are_no_timeout():
    # Half of four is two, which is the least threshold (RFC 5681, equation 4).
    phases = found([2, 3, 4, 2, 2, 3], [2] * 6)
    assert [p.kind for p in phases] == ["avoidance", "recovery", "avoidance"]


def test_steps_of_a_segment_a_round_trip_are_no_reductions():
    # As Vegas takes them back: 30, 29, 28.
    assert [p.kind for p in found([30, 30, 29, 28, 27, 28], [10] * 6)] == ["avoidance"]


def test_the_table_says_what_ends_a_recovery():
    # Vegas loses packets at the end of slow start, and then keeps its window.
    flow = {"id": "only", "cc": "vegas"}
    changed = {"flow": [flow], "duration": "10 s", "measure.window": ["0 s", "10 s"], "stack": {}}
    run = fairway.run(SMALL, overrides=changed)
    assert run.summary["flows"][0]["window_reductions"] == 1
    (table,) = phase_tables(run)
    assert float(table.rows[0][-2].removesuffix(" %")) > 80
    assert table.caption.endswith("recovery lasts until the window grows")


def test_a_window_that_never_grows_again_stays_in_recovery():
    phases = found([16, 32, 16, 16, 16], [NONE] * 2 + [16] * 3)
    assert spans(phases) == [("slow start", 0, 2), ("recovery", 2, 4)]


def test_what_the_kernel_says_of_its_state_decides():
    # Recovery (3) while the window is the same throughout; a timeout (4) that ends with growth.
    window = [40, 40, 40, 40, 40, 1, 1, 2, 4, 8]
    state = [0, 1, 3, 3, 0, 4, 4, 4, 4, 0]
    phases = found(window, [20] * 5 + [20] * 5, state=state)
    assert spans(phases) == [
        ("avoidance", 0, 2),
        ("recovery", 2, 4),
        ("avoidance", 4, 5),
        ("timeout", 5, 7),
        ("slow start", 7, 9),
    ]


def test_epochs_go_from_reduction_to_reduction():
    window = [2, 4, 8, 16, 17, 8, 8, 9, 10, 11, 12, 6, 6]
    phases = found(window, [16] * 5 + [8] * 6 + [6] * 2)
    first, second = epochs(phases)
    assert (first.start_s, first.end_s) == pytest.approx((0.0, 0.5))
    assert (first.peak_segments, first.peak_s) == pytest.approx((17, 0.4))
    assert first.ssthresh_segments == 8  # what the loss at 17 set
    assert (second.start_segments, second.peak_segments, second.ssthresh_segments) == (9, 12, 6)


def test_no_samples_no_phases_and_one_sample_is_one():
    assert found([], []) == []
    (only,) = found([10], [NONE])
    assert (only.kind, only.duration_s, only.peak_segments) == ("slow start", 0, 10)


def series():
    window = [2.0, 4.0, 8.0, 16.0, 8.0, 8.0, 9.0, 10.0]
    count = len(window)
    return pl.DataFrame(
        {
            "t_s": [0.1 * i for i in range(count)],
            "flow": ["a.b"] * count,
            "cwnd_segments": window,
            "ssthresh_segments": [None] * 4 + [8.0] * 4,
            "srtt_s": [None] + [0.1] * (count - 1),
        }
    )


def run_of(samples):
    return Run(experiment={}, summary={}, series=samples, queues=pl.DataFrame(), version="")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slow_start_1_end_s", 0.4),
        ("slow_start_1_peak_segments", 16.0),
        ("slow_start_1_ssthresh_segments", None),
        ("recovery_1_duration_s", 0.2),
        ("avoidance_1_start_segments", 9.0),
        ("epoch_1_ssthresh_segments", 8.0),
        ("epoch_count", 2.0),
        ("timeout_count", 0.0),
        ("timeout_1_start_s", None),
    ],
)
def test_metrics_of_phases(name, expected):
    summary = {"flows": [{"id": "a.b"}], "links": [], "metrics": {}}
    for flow in ("a.b", "0"):
        value = measure(summary, f"phases.{flow}.{name}", lambda: run_of(series))
        assert value == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "name", ["slow_start", "slow_start_1", "start_1_end_s", "recovery_1_kind", "recovery_0_end"]
)
def test_other_names_are_refused(name):
    summary = {"flows": [{"id": "a"}], "links": [], "metrics": {}}
    with pytest.raises(InputError, match="expected <phase>_count or <phase>_<number>_<figure>"):
        measure(summary, f"phases.a.{name}", lambda: run_of(series))
    with pytest.raises(InputError, match="needs the run's time series"):
        measure(summary, "phases.a.epoch_count")


def test_phases_of_a_run_cover_it_and_losses_are_reductions():
    overrides = {
        "flow": [{"id": "only", "cc": "reno"}],
        "measure": {"window": ["0 s", "3 s"], "sample": "20 ms"},
    }
    run = fairway.run(SMALL, overrides=overrides)
    phases = fairway.phases(run, "only")
    assert phases == fairway.phases(run)
    assert all(a.end_s == b.start_s for a, b in itertools.pairwise(phases))
    assert phases[-1].end_s == run.series["t_s"].max()
    reduced = sum(p.kind in ("recovery", "timeout") for p in phases)
    assert reduced == run.flows["window_reductions"][0] + run.flows["timeouts"][0] > 0
    with pytest.raises(InputError, match="no flow 'other'; there is only"):
        fairway.phases(run, "other")
    (table,) = phase_tables(run)
    shares = [float(cell.split()[0]) for cell in table.rows[0][3:] if cell != "0 %"]
    assert sum(shares) == pytest.approx(100, abs=1)
    drawn = phase_chart(run.series, phases).to_dict()
    assert [layer["mark"]["type"] for layer in drawn["layer"]] == ["rect", "line"]


@pytest.mark.parametrize("cc", ["bbr", "bbr3", "copa"])
def test_a_report_has_no_phases_of_flows_that_go_by_no_threshold(cc):
    overrides = {"flow": [{"id": "other", "cc": cc}, {"id": "known", "cc": "reno"}]}
    run = fairway.run(SMALL, overrides=overrides)
    assert any(phase.kind == "recovery" for phase in fairway.phases(run, "other"))
    (table,) = phase_tables(run)
    assert [row[0] for row in table.rows] == ["known"]


def test_a_report_of_a_capture_has_the_phases_of_its_analysis_alone(tmp_path):
    overrides = {
        "flow": [{"id": "only", "cc": "reno"}],
        "topology.bottleneck.queue.limit": "10000 packets",
        "capture": {"at": "hosts"},
    }
    fairway.run(SMALL, overrides=overrides).save(tmp_path / "run")
    (capture,) = (tmp_path / "run" / "captures").glob("s0.pcapng")
    fairway.analyze(capture).save(tmp_path / "seen")
    page = (tmp_path / "seen" / "report.html").read_text("utf-8")
    assert "Phases of the window" in page
    assert "Phases, over the whole run" not in page
