"""Repeating until intervals are narrow enough."""

import json
import random
import time

import pytest

import fairway
from conftest import SMALL, ScriptedBackend, run_of
from fairway._core import ExperimentError
from fairway.compare.agree.run import comparison_plan
from fairway.errors import InputError
from fairway.experiment.plan import plan
from fairway.stats import mean_interval
from fairway.study.data import measured_cells
from fairway.study.files import find
from fairway.study.reproduce import findings
from fairway.sweep.repetitions import sentence
from fairway.sweep.result import load_sweep
from fairway.sweep.run import run_plan
from small_studies import claim, compare, in_range, study_of, write

UNTIL = '{ until = "±5 %", at_most = 40, metric = "utilisation" }'


def swept(repetitions=UNTIL):
    return SMALL + f'\n[sweep]\nrepetitions = {repetitions}\n"flow.0.cc" = ["bic", "htcp"]\n'


def scattered(experiment, control):
    """Utilisation of 0.9: of bic ± 1 % from seed to seed, of htcp ± 15 %."""
    run = run_of(experiment, [3.0, 1.0])
    spread = 0.01 if experiment["flow"][0]["cc"] == "bic" else 0.15
    run.summary["metrics"]["utilisation"] = random.Random(experiment["seed"]).gauss(0.9, spread)
    return run


def test_it_ends_where_the_interval_is_narrow_enough():
    backend = ScriptedBackend(scattered)
    sweep = run_plan(plan(swept()), backend)
    quiet, noisy = sweep.stops
    assert (quiet.axes, quiet.repetitions) == ({"flow.0.cc": "bic"}, 10)
    # Half of the interval is about 2.1 × .15/√n of .9: below 4.76 % beyond n = 54 for the whole
    # deviation, so somewhere above ten; and a multiple of five.
    assert noisy.repetitions > 10
    assert noisy.repetitions % 5 == 0
    assert len(backend.ran) == len(sweep) == 10 + noisy.repetitions
    for stop in sweep.stops:
        values = [
            o.summary["metrics"]["utilisation"]
            for o in sweep.outcomes
            if o.point.axes == stop.axes
        ]  # fmt: skip
        found = mean_interval(values)
        share = (found.high - found.low) / 2 / found.mean
        assert stop.half_widths["utilisation"] == pytest.approx(share)
        assert (share <= 0.05 / 1.05) == (not stop.unsettled)
        # Not earlier: at the look before, it was too wide.
        if stop.repetitions > 10:
            before = mean_interval(values[: stop.repetitions - 5])
            assert (before.high - before.low) / 2 / before.mean > 0.05 / 1.05


def test_a_stopped_sweep_is_the_beginning_of_a_longer_one():
    stopped = run_plan(plan(swept()), ScriptedBackend(scattered))
    longer = run_plan(plan(swept("40")), ScriptedBackend(scattered))
    by_point = {
        (o.point.axes["flow.0.cc"], o.point.repetition): o.point.experiment for o in longer.outcomes
    }
    for outcome in stopped.outcomes:
        key = (outcome.point.axes["flow.0.cc"], outcome.point.repetition)
        assert by_point[key] == outcome.point.experiment
    # In the order of the file: one value after the other, repetitions within.
    order = [(o.point.axes["flow.0.cc"], o.point.repetition) for o in stopped.outcomes]
    assert order == sorted(order)


def test_it_does_not_depend_on_the_number_of_threads():
    def late(experiment, control):
        time.sleep(random.Random(experiment["seed"] + 1).random() / 200)
        return scattered(experiment, control)

    one = run_plan(plan(swept()), ScriptedBackend(late), threads=1)
    many = run_plan(plan(swept()), ScriptedBackend(late), threads=8)
    assert one.stops == many.stops
    assert one.table.equals(many.table)


def test_reaching_the_limit_is_said():
    few = UNTIL.replace("40", "12")
    sweep = run_plan(plan(swept(few)), ScriptedBackend(scattered))
    assert [stop.repetitions for stop in sweep.stops] == [10, 12]
    assert [stop.unsettled for stop in sweep.stops] == [(), ("utilisation",)]
    (warning,) = sweep.warnings
    assert warning.startswith("htcp: 12 repetitions were not enough for 5 %: utilisation is ± ")
    shown = sentence(sweep.until, sweep.stops)
    assert shown == (
        "Repeated until half of the 95 % interval of utilisation is within 5 % of the true mean, "
        "at most 12 times: 10 to 12 runs each."
    )


def test_a_metric_without_a_mean_to_be_a_share_of():
    def zero(experiment, control):
        run = run_of(experiment, [1.0, 1.0])
        sign = 1 if experiment["seed"] % 2 else -1
        run.summary["metrics"]["asymmetry"] = None if sign > 0 else 0.0
        return run

    few = UNTIL.replace("40", "10").replace("utilisation", "asymmetry")
    sweep = run_plan(plan(swept(few)), ScriptedBackend(zero))
    # Zero each time it is known: as narrow as can be.
    assert all(not stop.unsettled for stop in sweep.stops)
    none = few.replace("asymmetry", "jain_index")
    sweep = run_plan(plan(swept(none)), ScriptedBackend(zero))
    assert all(stop.unsettled == ("jain_index",) for stop in sweep.stops)
    json.dumps(sweep.summary["stops"], allow_nan=False)
    with pytest.raises(InputError, match="metric nothing: there is"):
        run_plan(plan(swept(few.replace("asymmetry", "nothing"))), ScriptedBackend(zero))


def test_it_is_kept_and_goes_on(tmp_path):
    backend = ScriptedBackend(scattered)
    sweep = run_plan(plan(swept()), backend, directory=tmp_path / "s")
    sweep.save_overview(tmp_path / "s")
    assert "Repeated until half" in (tmp_path / "s" / "report.html").read_text()
    again = load_sweep(tmp_path / "s")
    assert (again.stops, again.until) == (sweep.stops, sweep.until)
    assert again.summary == sweep.summary
    ran = len(backend.ran)
    assert run_plan(plan(swept()), backend, directory=tmp_path / "s").stops == sweep.stops
    assert len(backend.ran) == ran
    # More precision runs only what is new.
    finer = run_plan(plan(swept(UNTIL.replace("5 %", "4 %"))), backend, directory=tmp_path / "s")
    assert len(backend.ran) == len(finer) >= ran


def test_in_the_simulator(tmp_path):
    text = swept(UNTIL.replace(', metric = "utilisation"', "")).replace(
        'delay = "10 ms"', 'delay = "10 ms"\nloss = { probability = 0.01 }'
    )
    sweep = fairway.run(text, out=tmp_path / "s", threads=2)
    assert [set(stop.half_widths) for stop in sweep.stops] == [{"goodput_bps"}] * 2
    assert all(stop.repetitions >= 10 for stop in sweep.stops)
    with pytest.raises(ExperimentError, match='write it like "±2 %"'):
        plan(swept('{ until = "2" }'))


def test_backends_are_compared_over_a_number_of_seeds():
    planned = comparison_plan(swept(UNTIL.replace("40", "10")))
    assert planned.until is None


STUDY = study_of(
    "Tiny",
    compare("utilisation", "u"),
    keys='repetitions = { until = "±5 %", at_most = 12 }',
)
CLAIMS = claim("c", in_range("utilisation", 0.5, 1.5, 'at = { "flow.0.cc" = "CC" }'))


def test_what_is_not_settled_decides_no_claim(tmp_path):
    for cc, verdict in (("bic", "supported"), ("htcp", "undecided")):
        write(tmp_path, STUDY, CLAIMS.replace("CC", cc), "cc,u\nbic,0.9\nhtcp,0.9\n")
        study = find(str(tmp_path))
        assert study.part.repeats
        planned = study.part.plan(quick=False)
        assert planned.until.metrics == ("utilisation",)
        sweep = run_plan(planned, ScriptedBackend(scattered))
        cells = list(measured_cells(study.part, sweep.outcomes, sweep.stops))
        (found,) = findings(study, cells)
        assert found.verdict == verdict
