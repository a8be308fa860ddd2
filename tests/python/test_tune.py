"""Tuning: what is searched, what a search finds, and what fresh seeds say of it."""

import json
import math
import random
import sys

import pytest

import fairway
from conftest import SMALL, ScriptedBackend, run_of
from fairway.cli.main import guarded
from fairway.compare.tune import tune
from fairway.compare.tune.bench import Goal, Score
from fairway.compare.tune.fresh import judge
from fairway.compare.tune.objective import parse_constraint, parse_objective
from fairway.compare.tune.search import Trial, best, spread
from fairway.compare.tune.space import known_parameter, parse_parameter
from fairway.errors import InputError, Interrupted
from fairway.experiment.plan import parse_toml, plan

pytest.importorskip("optuna")

#: Linux's default of BIC: 819/1024.
BETA = 0.7998046875


def bowl(peak, height=10.0, noise=0.0):
    """A backend where the first flow's goodput is a bowl over beta, with noise from the seed."""

    def act(experiment, control):
        beta = experiment["flow"][0].get("cc_params", {}).get("beta", BETA)
        shaken = random.Random(experiment["seed"]).gauss(0, noise) if noise else 0.0
        return run_of(experiment, [height - (beta - peak) ** 2 + shaken, 5.0])

    return ScriptedBackend(act)


def tuned(path, backend, *parameters, **options):
    options = {"algorithm": "bic", "trials": 24, "repetitions": 2, "threads": 1} | options
    objectives = options.pop("objectives", ["flow.0.goodput_bps"])
    return tune(path, objectives, parameters=parameters, backend=backend, **options)


def score(*rows):
    return Score({}, {"a": tuple(map(tuple, rows))}, tuple(map(tuple, rows)))


@pytest.mark.parametrize(
    ("text", "terms", "minimise"),
    [
        ("jain_index", ((1.0, "jain_index"),), False),
        ("-flow.down-*.fct_s", ((1.0, "flow.down-*.fct_s"),), True),
        ("a.b - 0.5*c + 2e-1*d", ((1.0, "a.b"), (-0.5, "c"), (0.2, "d")), False),
        ("-a + b", ((-1.0, "a"), (1.0, "b")), False),
    ],
)
def test_an_objective_as_it_is_written(text, terms, minimise):
    found = parse_objective(text)
    assert (found.formula.terms, found.minimise) == (terms, minimise)


@pytest.mark.parametrize(
    "text", ["", "a b", "a +", "+ a", "2*", "0.5*-a", "3", "a * b", "1.2.3*a", "1e999*a"]
)
def test_what_is_no_objective_is_refused(text):
    with pytest.raises(InputError, match="--objective"):
        parse_objective(text)


def test_a_constraint_and_how_far_it_is_broken():
    least = parse_constraint("link.bottleneck.utilisation >= 0.8")
    assert least.violation(0.6) == pytest.approx(0.25)  # a quarter of 0.8
    assert least.violation(0.8) == 0
    most = parse_constraint("loss_ratio<=0")
    assert most.violation(0.01) == pytest.approx(0.01)
    for text in ("jain_index", "jain_index > 0.9", "jain_index >= much", "a >= nan", ">= 1"):
        with pytest.raises(InputError, match="--subject-to"):
            parse_constraint(text)


def test_a_parameter_as_it_is_written():
    beta = parse_parameter("beta=0.5..0.9")
    assert (beta.low, beta.high, beta.log, beta.whole) == (0.5, 0.9, False, False)
    assert beta.setting(0.712345) == 0.7123
    assert beta.setting(0.9) == 0.9
    count = parse_parameter("flow.0.count=1..30")
    assert (count.whole, count.setting(7), count.is_path) == (True, 7, True)
    delay = parse_parameter("topology.bottleneck.delay=1..100 ms log")
    assert (delay.setting(20), delay.drawn("20 ms"), delay.log) == ("20 ms", 20, True)
    assert delay.drawn("20 us") is None
    assert delay.drawn("200 ms") is None
    assert parse_parameter("fast_convergence=0,1").setting(1) == 1
    for text in (
        "",
        "=1..2",
        "beta=2..1",
        "c=0..1 log",
        "c=1",
        "a=x,x",
        "a=,",
        "a=1..2..3",
        "a=1..",
    ):
        with pytest.raises(InputError, match="--param"):
            parse_parameter(text)


def test_ranges_from_the_algorithm():
    (cubic,) = [entry for entry in fairway.algorithms() if entry["name"] == "cubic"]
    entries = {param["name"]: param for param in cubic["params"]}
    beta = known_parameter(entries["beta"], 0.7)
    assert (beta.low, beta.high, beta.log) == (0.1, 0.95, False)
    # 0.001 to 100 is wide: within a factor of ten of the default.
    c = known_parameter(entries["c"], 0.4)
    assert (c.low, c.high, c.log) == (pytest.approx(0.04), 4.0, True)
    assert known_parameter(entries["fast_convergence"], 1.0).choices == (0, 1)
    assert known_parameter(entries["max_ssthresh"], 0.0) is None


def test_what_is_known_to_be_best_is_found(small):
    backend = bowl(0.62)
    found = tuned(small, backend, "beta=0.2..0.95", fresh=3)
    only = found.finalists[0]
    # Within 0.05 of the peak the bowl is less than 0.0025 deep.
    assert only.trial.score.settings["beta"] == pytest.approx(0.62, abs=0.05)
    (comparison,) = only.comparisons
    # Seeds change nothing here, so more of them prove nothing.
    best_beta = only.trial.score.settings["beta"]
    assert found.parameters[0].default == BETA
    depth = (BETA - 0.62) ** 2 - (best_beta - 0.62) ** 2
    assert comparison.effect.mean == pytest.approx(depth)
    assert (comparison.verdict, comparison.low, comparison.p) == ("not shown", None, None)
    assert any("nothing in this experiment is random" in remark for remark in found.warnings)


def test_every_trial_has_the_same_seeds_and_the_proof_has_others(small):
    backend = bowl(0.6, noise=0.1)
    found = tuned(small, backend, "beta=0.2..0.95", trials=6, fresh=4)
    chosen = found.finalists[0].trial.score.settings["beta"]
    by_beta = {}
    for text in backend.ran:
        run = json.loads(text)
        beta = run["flow"][0].get("cc_params", {}).get("beta")
        by_beta.setdefault(beta, []).append(run["seed"])
    searched = {tuple(seeds[:2]) for seeds in by_beta.values()}
    assert len(searched) == 1
    for beta, seeds in by_beta.items():
        assert len(seeds) == len(set(seeds)) == (6 if beta in (None, chosen) else 2)
    assert by_beta[None] == by_beta[chosen]


def test_small_can_be_good_and_sums_are_weighted(small):
    found = tuned(small, bowl(0.6), "beta=0.2..0.95", objectives=["-flow.0.goodput_bps"], fresh=2)
    assert found.finalists[0].trial.score.settings["beta"] < 0.25
    found = tuned(
        small, bowl(0.6), "beta=0.2..0.95", trials=1, fresh=2,
        objectives=["flow.0.goodput_bps - 0.5*flow.1.goodput_bps"],
    )  # fmt: skip
    assert found.default.mean(0) == pytest.approx(10 - (BETA - 0.6) ** 2 - 2.5)


def test_constraints_are_kept_and_checked_again(small):
    # 10 − (β − 0.9)² ≥ 9.96 where |β − 0.9| ≤ 0.2; the least goodput there is at its ends.
    found = tuned(
        small, bowl(0.9), "beta=0.2..0.95", trials=40, fresh=2,
        objectives=["-flow.0.goodput_bps"], constraints=["flow.0.goodput_bps >= 9.96"],
    )  # fmt: skip
    (only,) = found.finalists
    assert 0.7 <= only.trial.score.settings["beta"] < 0.75
    assert only.checks[0].kept == "kept"
    found = tuned(
        small, bowl(0.9), "beta=0.2..0.5", trials=4, fresh=2,
        constraints=["flow.0.goodput_bps >= 11"],
    )  # fmt: skip
    assert found.finalists[0].checks[0].kept == "not kept"
    assert any("no trial kept" in warning for warning in found.warnings)


def test_a_constraint_that_only_held_on_the_seeds_of_the_search_is_told(small):
    # Goodput is 10 whatever β is, but for noise of the seeds: half of all trials keep "≥ 10".
    def act(experiment, control):
        noise = random.Random(f"{experiment['seed']} {experiment['flow'][0]}").gauss(0, 0.1)
        return run_of(experiment, [10 + noise, 5.0])

    found = tuned(
        small, ScriptedBackend(act), "beta=0.2..0.95", trials=12,
        constraints=["flow.0.goodput_bps >= 10"],
    )  # fmt: skip
    assert found.finalists[0].checks[0].kept != "kept"
    assert any("fresh seeds do not confirm" in warning for warning in found.warnings)


def test_of_several_objectives_there_is_a_front():
    goal = Goal((parse_objective("a"), parse_objective("-b")), (parse_constraint("c >= 0"),))
    rows = [(1, 1, 0), (2, 2, 0), (3, 3, 0), (2, 3, 0), (9, 0, -1), (1, 1, 0)]
    trials = [Trial(i + 1, score(*([value] for value in row))) for i, row in enumerate(rows)]
    # Trial 4 is worse than 2, trial 5 breaks the constraint, trial 6 is the same as 1.
    assert [trial.number for trial in best(trials, goal)] == [3, 2, 1]
    assert [t.number for t in spread([Trial(i, score([0])) for i in range(11)], 3)] == [0, 5, 10]


def test_the_front_is_run_again(small):
    found = tuned(
        small, bowl(0.5), "beta=0.2..0.95", trials=12, fresh=2,
        objectives=["flow.0.goodput_bps", "-asymmetry"],
    )  # fmt: skip
    # A larger first goodput is a larger asymmetry, so that everything tried is on the front.
    assert len(found.front) > len(found.finalists) == 6
    assert all(len(finalist.comparisons) == 2 for finalist in found.finalists)


def test_of_nothing_fewer_than_a_twentieth_is_called_better():
    goal = Goal((parse_objective("a"),), ())
    generator = random.Random(1)

    def noise(count):
        return [generator.gauss(0, 1) for _ in range(count)]

    better = cursed = 0
    searches = 1000
    for _ in range(searches):
        default, trials = score(noise(3)), [Trial(i, score(noise(3))) for i in range(1, 21)]
        (chosen,) = best(trials, goal)
        cursed += chosen.score.mean(0) > default.mean(0)
        (finalist,) = judge(goal, [(chosen, score(noise(10)))], score(noise(10)), default)
        better += finalist.comparisons[0].verdict == "better"
    # Two-sided at 5 %, so 2.5 % for the better, and three standard deviations of 1000 searches.
    assert better / searches < 0.025 + 3 * math.sqrt(0.025 * 0.975 / searches)
    # The seeds of the search would nearly always have said so.
    assert cursed / searches > 0.9


def test_comparisons_of_a_front_are_corrected_together():
    goal = Goal((parse_objective("a"),), ())
    default = score([0.0] * 5)
    # Their mean is 1.
    values = [0.2, 0.6, 1.0, 1.4, 1.8]
    chosen = [(Trial(i, score(values)), score(values)) for i in range(1, 7)]
    (alone,) = judge(goal, chosen[:1], default, default)
    # s = √0.4, so t = 1/(√0.4/√5) = 3.5355 with 4 degrees of freedom; R: 2 * pt(-3.5355, 4).
    assert alone.comparisons[0].p == pytest.approx(0.02411, abs=1e-4)
    assert alone.comparisons[0].verdict == "better"
    together = judge(goal, chosen, default, default)
    assert together[0].comparisons[0].p == pytest.approx(6 * 0.02411, abs=6e-4)
    assert together[0].comparisons[0].verdict == "not shown"


def test_a_sweep_and_further_experiments_are_cases_of_their_own(tmp_path):
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text(SMALL + '\n[sweep]\n"topology.bottleneck.delay" = ["10 ms", "20 ms"]\n')
    two.write_text(SMALL)
    found = tuned(one, bowl(0.6, noise=0.1), "beta=0.2..0.95", also=[two], trials=4, fresh=3)
    cases = found.finalists[0].comparisons[0].by_case
    assert list(cases) == [
        "one, topology.bottleneck.delay = 10 ms", "one, topology.bottleneck.delay = 20 ms", "two",
    ]  # fmt: skip
    assert set(found.files()) == {"tuned-one.toml", "tuned-two.toml"}
    again = parse_toml(found.files()["tuned-one.toml"], "tuned")
    assert again["sweep"] == {"topology.bottleneck.delay": ["10 ms", "20 ms"]}
    assert len(found.case_table().rows) == 3


def test_stopped_and_called_again_it_runs_only_what_is_missing(small, tmp_path):
    first = bowl(0.6)
    limit = 3

    def act(experiment, control):
        if len(first.ran) == limit:
            raise KeyboardInterrupt
        return bowl(0.6)._act(experiment, control)

    first._act = act
    options = {"trials": 4, "fresh": 2, "repetitions": 1, "batch": 2, "out": tmp_path / "out"}
    with pytest.raises(Interrupted, match="kept"):
        tuned(small, first, "beta=0.2..0.95", **options)
    assert not (tmp_path / "out" / "tune.json").exists()
    second, whole = bowl(0.6), bowl(0.6)
    found = tuned(small, second, "beta=0.2..0.95", **options)
    in_one = tuned(small, whole, "beta=0.2..0.95", **(options | {"out": None}))
    assert found.to_json() == in_one.to_json()
    assert len(second.ran) == len(whole.ran) - limit
    with pytest.raises(InputError, match="of a different experiment"):
        tuned(small, second, "beta=0.2..0.95", **options, overrides={"duration": "4 s"})


def test_importance_is_of_what_keeps_the_constraints(small):
    # The later the second flow starts, the better; after 0.3 s the constraint is broken.
    def act(experiment, control):
        start = float(experiment["flow"][1]["start"].split()[0])
        beta = experiment["flow"][0].get("cc_params", {}).get("beta", BETA)
        return run_of(experiment, [10 + start - (beta - 0.5) ** 2, 5.0 + start])

    found = tuned(
        small, ScriptedBackend(act), "beta=0.2..0.95", "flow.1.start=0.1..1.0 s", trials=60,
        repetitions=1, constraints=["flow.1.goodput_bps <= 5.3"],
    )  # fmt: skip
    (shares,) = found.found.importances
    best_start = found.finalists[0].trial.score.settings["flow.1.start"]
    assert 0.2 < float(best_start.split()[0]) <= 0.3
    assert sum(shares.values()) == pytest.approx(1)
    # As what is best is at the bound, the start matters more than a β worth a tenth of it.
    assert shares["flow.1.start"] > shares["beta"]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A search in the simulator, by two threads."""
    place = tmp_path_factory.mktemp("tune")
    (place / "small.toml").write_text(SMALL)
    found = tune(
        place / "small.toml", ["flow.0.goodput_bps"], place / "out", algorithm="cubic", fresh=2,
        parameters=["beta", "c", "fast_convergence"], trials=24, repetitions=2, threads=2,
    )  # fmt: skip
    return place, found


def test_threads_change_nothing(real):
    place, found = real
    other = tune(
        place / "small.toml", ["flow.0.goodput_bps"], algorithm="cubic", fresh=2,
        parameters=["beta", "c", "fast_convergence"], trials=24, repetitions=2, threads=1,
    )  # fmt: skip
    assert other.to_json() == found.to_json()


def test_the_tuned_file_runs_and_measures_what_was_found(real):
    place, found = real
    trial = found.finalists[0].trial
    (point,) = plan(place / "out" / "tuned.toml").points
    settings = point.experiment["flow"][1]["cc_params"]
    assert settings == trial.score.settings
    assert "cc_params" not in point.experiment["flow"][0]
    run = fairway.run(place / "out" / "tuned.toml")
    # Its seed is that of the first repetition.
    assert run.flows["goodput_bps"][0] == trial.score.means[0][0]
    assert run.summary["seed"] == 7


def test_the_report_and_the_plain_data(real):
    place, _ = real
    page = (place / "out" / "report.html").read_text()
    for title in ("Verdicts", "Importance", "Course", "winner&#39;s curse", "tuned.toml"):
        assert title in page
    data = json.loads((place / "out" / "tune.json").read_text())
    assert len(data["trials"]) == 24
    assert sum(data["importances"][0].values()) == pytest.approx(1)
    assert data["finalists"][0]["comparisons"][0]["objective"] == "flow.0.goodput_bps"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "cubix"}, "did you mean cubic"),
        ({"parameters": ["gamma"]}, "gamma: cubic has no such parameter"),
        ({"parameters": ["beta=0.5..2"]}, "expected numbers from 0.1 to 0.95"),
        ({"parameters": ["max_ssthresh"]}, "has no such parameter here"),
        ({"parameters": ["flow.0.count"]}, "give a path a range"),
        ({"parameters": ["beta", "beta=0.5..0.6"]}, "each parameter once"),
        ({"parameters": ["beta"], "algorithm": None}, "of which algorithm"),
        ({"algorithm": None}, "say what to search"),
        ({"flows": ["x"]}, "no such flow of TCP; there is 0 \\(bic\\), 1 \\(cubic\\)"),
        ({"trials": 0}, "trials: 0"),
        ({"objectives": []}, "say what shall be large"),
        ({"objectives": ["speed"]}, "metric speed"),
        ({"objectives": ["jain_index", "-jain_index"]}, "each once"),
        ({"objectives": ["flow.1.fct_s"]}, "cannot be measured: flow.1.fct_s has no value"),
        ({"parameters": ["stack.nothing=1..2"]}, "stack.nothing"),
        ({"overrides": {"sweep.repetitions": 2}}, "write the sweep into"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_says_why(small, options, message):
    options = {
        "algorithm": "cubic",
        "objectives": ["jain_index"],
        "trials": 1,
        "fresh": 2,
    } | options
    with pytest.raises((InputError, fairway.ExperimentError), match=message):
        tune(small, options.pop("objectives"), **options)


def test_a_sweep_of_what_is_tuned_is_refused(sweep_file):
    with pytest.raises(InputError, match=r"'flow.0.cc' varies already"):
        tune(sweep_file, ["jain_index"], algorithm="bic", flows=["0"])


def test_a_sweep_that_draws_is_a_case_for_each_point(small):
    # Two points at random, and one path that is tuned already.
    drawn = '"topology.bottleneck.delay" = { low = "10 ms", high = "20 ms" }'
    small.write_text(f"{SMALL}\n[sweep.random]\npoints = 2\n{drawn}\n")
    found = tuned(small, bowl(0.6), "beta=0.2..0.95", trials=1, fresh=2)
    assert len(found.finalists[0].comparisons[0].by_case) == 2
    with pytest.raises(InputError, match="delay' varies already"):
        tuned(small, bowl(0.6), "topology.bottleneck.delay=1..9 ms", trials=1)


def test_without_optuna_it_says_how_to_get_it(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"needs Optuna: pip install 'fairway\[full\]'"):
        tune(small, ["jain_index"], algorithm="cubic", trials=1)


def test_the_command(small, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = [
        "tune", "small.toml", "--algorithm", "cubic", "--objective", "-loss_ratio",
        "--param", "beta=0.5..0.9", "--trials", "1", "--repetitions", "1", "--fresh", "2", "-q",
    ]  # fmt: skip
    assert guarded([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objectives"] == [
        {"name": "loss_ratio", "direction": "minimize"}
    ]
    assert (tmp_path / "runs" / "small-tune" / "tuned.toml").is_file()
    assert guarded(arguments) == 0
    assert "on 2 fresh seeds" in capsys.readouterr().out
    assert guarded(["tune", "small.toml", "--objective", "a b"]) == 2
    assert capsys.readouterr().err.startswith("fairway: --objective a b: expected + or -")
