"""The window of runs that are compared, found by MSER-5."""

from types import SimpleNamespace

import polars as pl
import pytest

import fairway
from conftest import SMALL
from fairway.errors import InputError
from fairway.experiment import plan as experiment
from fairway.ground.columns import Columns
from fairway.stats import mser5
from fairway.sweep import warm_up

AUTO = {"measure.window": "auto", "measure.sample": "100 ms", "duration": "20 s"}


def outcome(goodputs, finished=None):
    """A run with the goodput of one flow, sampled every second."""
    series = pl.DataFrame({"flow": ["a"] * len(goodputs), "goodput_bps": goodputs})
    columns = Columns.of(series)
    changes = {"duration": "90 s", "measure.sample": "1 s"}
    return SimpleNamespace(
        point=experiment.plan(SMALL, overrides=changes).points[0],
        run=SimpleNamespace(sampled=lambda _: columns),
        summary={"flows": [{"id": "a", "fct_s": finished}]},
    )


def test_the_end_of_the_beginning_by_hand():
    # Batch means 2, 7.6 and then 10: two batches of five samples of a second are left out. The
    # sums of squares over (m − d)² are 56.24/64 = 0.87875, 4.9371/49 = 0.100758 and 0.
    goodputs = [2.0] * 5 + [7.6] * 5 + [10.0] * 30
    assert mser5(goodputs).batches == 2
    (found,) = warm_up.ends_of(outcome(goodputs))
    assert (found.flow, found.ends_ns, found.too_short) == ("a", 10_000_000_000, False)


def test_a_run_that_goes_on_rising_is_too_short():
    (found,) = warm_up.ends_of(outcome([float(t) for t in range(100)]))
    assert found.too_short and found.ends_ns == 50_000_000_000


def test_a_flow_that_ends_has_no_steady_state():
    assert warm_up.ends_of(outcome([1.0] * 50, finished=3.0)) == []


def test_slow_start_is_left_out():
    run = fairway.run(SMALL, overrides=AUTO)
    found = run.summary["warm_up"]
    start, end = run.experiment["measure"]["window"]
    assert end == "20 s"
    assert float(start.removesuffix(" s")) == found["window_from_s"]
    # Half a second is five samples, of which a batch is made.
    assert found["window_from_s"] % 0.5 == 0
    assert 0 < found["window_from_s"] <= 10
    assert found["flows"] == len(run.summary["flows"])
    # The second run is the run of an experiment in which the window is written.
    written = fairway.run(SMALL, overrides={**AUTO, "measure.window": [start, end]})
    assert written.metrics == run.metrics
    assert written.content_hash == run.content_hash
    assert fairway.run(SMALL, overrides=AUTO).summary["warm_up"] == found


def test_the_latest_of_all_variants_is_for_all(tmp_path):
    overrides = {**AUTO, "sweep": {"flow.0.cc": ["reno", "cubic"], "repetitions": 2}}
    sweep = fairway.run(SMALL, tmp_path / "sweep", overrides=overrides)
    windows = {tuple(o.point.experiment["measure"]["window"]) for o in sweep.outcomes}
    assert len(sweep) == 4 and len(windows) == 1
    alone = []
    for cc in ("reno", "cubic"):
        one = fairway.run(SMALL, overrides={**AUTO, "sweep": {"flow.0.cc": [cc]}})
        alone.append(one.warm_up["window_from_s"])
    assert sweep.warm_up["window_from_s"] == max(alone)
    assert sweep.summary["warm_up"] == sweep.warm_up
    kept = fairway.load(tmp_path / "sweep")
    assert kept.outcomes[0].run.experiment["measure"]["window"] == list(windows.pop())
    assert kept.warm_up == sweep.warm_up


def test_a_short_run_says_so(monkeypatch):
    short = warm_up.Found({}, "reno#0", 1_000_000_000, too_short=True)
    monkeypatch.setattr(warm_up, "ends_of", lambda _: [short])
    sweep = fairway.run(SMALL, overrides={**AUTO, "sweep": {"flow.0.cc": ["reno"]}})
    assert "too short" in sweep.warnings[0]
    run = fairway.run(SMALL, overrides={**AUTO, "duration": "2 s"})
    assert "too short to tell where the warm-up ends" in run.warnings[0]


def test_what_has_no_steady_state_is_refused(monkeypatch):
    finite = {"flow.0.bytes": "10 kB", "flow.1.bytes": "10 kB"}
    with pytest.raises(InputError, match="a flow that lasts to the end"):
        fairway.run(SMALL, overrides={**AUTO, **finite})
    with pytest.raises(InputError, match="--backend model has none"):
        fairway.run(SMALL, overrides=AUTO, backend="model")
    with pytest.raises(fairway.ExperimentError, match='start and end or "auto"'):
        fairway.run(SMALL, overrides={"measure.window": "later"})
    late = warm_up.Found({}, "reno#0", 2_000_000_000, too_short=False)
    monkeypatch.setattr(warm_up, "ends_of", lambda _: [late])
    with pytest.raises(InputError, match="write a longer duration"):
        fairway.run(SMALL, overrides={**AUTO, "duration": "2 s"})


def test_an_experiment_that_does_not_ask_is_left_alone():
    planned = experiment.plan(SMALL)
    backend = object()
    assert warm_up.settle(planned, backend, lambda _: []) == (planned, None)
