"""`fairway agree`: statistics by hand, verdicts, runs on two backends, tables, the command."""

import json
import math

import pytest

import fairway
from conftest import SMALL, SWEEP, ScriptedBackend, run_of
from fairway.cli import main as cli
from fairway.compare.agree import quantities, run
from fairway.compare.agree.curves import Curves, area_between
from fairway.compare.agree.quantities import Tolerance, decide, judge
from fairway.errors import InputError, RunFailed
from fairway.experiment.plan import parse_toml
from fairway.results.run import Run
from fairway.stats import mean_and_deviation, welch_interval

KERNEL = {
    "reno", "scalable", "highspeed", "htcp", "bic", "cubic", "westwood+", "hybla", "veno",
    "tcp-lp", "vegas", "yeah", "illinois", "nv", "cdg", "bbr", "dctcp",
}  # fmt: skip


# Statistics.


def test_welch_by_hand():
    # Means 2 and 5, both variances 1, three values each: 1/3 + 1/3 has a root of 0.81650, four
    # degrees of freedom, for which tables have t(0.95) = 2.1318: ± 1.7406.
    found = welch_interval([1, 2, 3], [4, 5, 6])
    assert found.mean == -3
    assert found.low == pytest.approx(-4.7406, abs=1e-4)
    assert found.high == pytest.approx(-1.2594, abs=1e-4)


def test_welch_where_one_side_has_no_variance():
    # Only the second side varies: √(1/3) = 0.57735 and two degrees of freedom, t = 2.9200.
    found = welch_interval([5, 5, 5], [1, 2, 3])
    assert (found.low, found.high) == pytest.approx((3 - 1.6859, 3 + 1.6859), abs=1e-4)


def test_welch_as_another_program_has_it():
    from scipy.stats import ttest_ind

    first, second = [9.1, 8.7, 9.9, 9.3], [10.2, 13.4, 9.0]
    theirs = ttest_ind(first, second, equal_var=False).confidence_interval(0.9)
    found = welch_interval(first, second)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def test_one_value_has_no_interval_and_equal_ones_no_deviation():
    assert welch_interval([1.0], [1, 2, 3]).low is None
    # 0.1 + 0.1 + 0.1 is not 0.3 in binary.
    assert mean_and_deviation([0.1] * 3) == (0.1, 0.0)
    assert mean_and_deviation([0.1]) == (0.1, None)
    assert mean_and_deviation([1, 3]) == (2, pytest.approx(math.sqrt(2)))
    with pytest.raises(ValueError, match="no values"):
        mean_and_deviation([])


# Verdicts.


def test_an_interval_inside_outside_and_across_the_tolerance():
    assert decide(-2, 2, 2) == "equivalent"
    assert decide(2.1, 3, 2) == decide(-9, -2.1, 2) == "different"
    assert decide(1, 3, 2) == decide(-3, 3, 2) == decide(2, 3, 2) == "undecided"


@pytest.mark.parametrize(
    ("ours", "tolerance", "verdict"),
    [
        # ± 1.7406 around 0, 10 and 2 from a mean of 100.
        ([99, 100, 101], 0.02, "equivalent"),
        ([109, 110, 111], 0.02, "different"),
        ([101, 102, 103], 0.02, "undecided"),
    ],
)
def test_judged_by_the_interval(ours, tolerance, verdict):
    found = judge(ours, [99, 100, 101], Tolerance(tolerance))
    assert (found.verdict, found.method) == (verdict, "interval")
    assert found.margin == pytest.approx(2)


def test_more_seeds_by_hand():
    # With n seeds a side the interval is ± t(0.95, 2n − 2) · √(2/n): 1.741 of 3, 1.374 of 4 and
    # 1.176 of 5.
    found = judge([99, 100, 101], [99, 100, 101], Tolerance(0.012))
    assert (found.verdict, found.more_seeds) == ("undecided", 2)
    # What is as far off as the tolerance will not be decided.
    assert judge([98, 99, 100], [99, 100, 101], Tolerance(0.01)).more_seeds is None
    assert judge([99, 100, 101], [99, 100, 101], Tolerance(0.02)).more_seeds is None


def test_pairs_by_hand():
    # Differences 1, 2 and 3: mean 2, deviation 1, t(0.95) of two degrees 2.9200, so ± 1.6859. By
    # Welch the interval would be ± 20 or so, as each side varies by 20.
    ours, reference = [101, 122, 143], [100, 120, 140]
    found = judge(ours, reference, Tolerance(0.02), is_paired=True)
    assert (found.difference.low, found.difference.high) == pytest.approx(
        (0.3141, 3.6859), abs=1e-4
    )
    assert (found.verdict, found.method, found.margin) == ("undecided", "pairs", pytest.approx(2.4))
    # 2 ± t(0.95, n − 1)/√n is within 2.4 for t/√n < 0.4: 1.7396/√18 = 0.4100, 1.7341/√19 = 0.3978.
    assert found.more_seeds == 16
    assert judge(ours, reference, Tolerance(0.04), is_paired=True).verdict == "equivalent"
    assert judge(ours, reference, Tolerance(0.04)).verdict == "undecided"
    # The same difference with every seed, as where both send the same packets.
    same = judge([5, 7, 9], [5, 7, 9], Tolerance(0.0), is_paired=True)
    assert (same.verdict, same.method) == ("equivalent", "values")


@pytest.mark.parametrize(
    ("against", "network", "is_paired"),
    [
        (("sim", "linux"), {}, True),
        (("sim", "linux"), {"linux": {"network": "fairway"}}, True),
        (("sim", "linux"), {"linux": {"network": "tc"}}, False),
        (("model", "linux"), {}, False),
    ],
)
def test_sides_are_paired_where_both_draw_the_same_numbers(small, against, network, is_paired):
    ours, reference = pair()
    ours.name, reference.name = against
    document = {**parse_toml(small.read_text(), "small"), **network}
    found = fairway.agree(document, against=[ours, reference], seeds=3, threads=1)
    assert found.points[0].is_paired == is_paired


def test_without_variance_values_are_compared():
    same = judge([98.5] * 3, [100] * 3, Tolerance(0.02))
    assert (same.verdict, same.method, same.difference.low) == ("equivalent", "values", None)
    assert judge([97] * 3, [100] * 3, Tolerance(0.02)).verdict == "different"


def test_zero_on_both_sides_is_equivalent_and_zero_on_one_is_not():
    both = judge([0, 0], [0, 0], Tolerance(0))
    assert (both.verdict, both.method, both.relative(0)) == ("equivalent", "zero", 0)
    one = judge([5, 5], [0, 0], Tolerance(0.15))
    assert (one.verdict, one.relative(5)) == ("different", None)
    # An event more is of no account where the floor is one.
    assert judge([1, 1], [0, 0], Tolerance(0.15, 1)).verdict == "equivalent"
    assert judge([2], [2, 2], Tolerance(0.15)).method == "single"


def test_differences_are_shares_of_the_reference():
    found = judge([11, 11], [10, 10], Tolerance(0.2))
    assert found.relative(found.difference.mean) == pytest.approx(0.1)
    assert judge([-11, -11], [-10, -10], Tolerance(0.2)).relative(-1) == pytest.approx(-0.1)


def test_tolerances():
    chosen = quantities.tolerances({"timeouts": 0.5})
    assert chosen["timeouts"] == Tolerance(0.5, 0.0)
    assert (chosen["goodput"].relative, chosen["drops"].floor) == (0.02, 1.0)
    assert quantities.parse_tolerance("goodput = 0.5 %") == ("goodput", 0.005)
    with pytest.raises(InputError, match="did you mean goodput"):
        quantities.tolerances({"godput": 0.1})
    with pytest.raises(InputError, match="not a share"):
        quantities.tolerances({"goodput": -0.1})
    for wrong in ("goodput", "goodput=", "goodput=much", "=1%", "goodput=nan"):
        with pytest.raises(InputError, match="expected metric=share"):
            quantities.parse_tolerance(wrong)


# Windows over time.


def test_areas_by_hand():
    import numpy as np

    times = np.array([0.0, 1.0, 2.0])
    ten = Curves(times, np.array([[10.0, 10, 10]]))
    # 8, 10 and 12 are a triangle of 1 on each side of 10: 2 of 20.
    slope = Curves(times, np.array([[8.0, 10, 12]]))
    found = area_between("f", slope, ten, Tolerance(0.05))
    assert (found.area, found.noise, found.verdict) == (pytest.approx(0.1), 0, "different")
    # 9 and 11 have a variance of 2, their mean one of 1, and √(2/π) = 0.79788 of 10.
    pair = Curves(times, np.array([[9.0] * 3, [11.0] * 3]))
    found = area_between("f", slope, pair, Tolerance(0.05))
    assert found.noise == pytest.approx(0.079788, abs=1e-6)
    # 0.1 less 0.08 may be chance.
    assert found.verdict == "undecided"
    assert area_between("f", pair, ten, Tolerance(0.05)).verdict == "equivalent"
    assert area_between("f", ten, Curves(times, np.zeros((1, 3))), Tolerance(0.1)) is None


# Runs on two backends.


def side(name, goodput, scale=1.0):
    """A backend whose first flow has the goodput that `goodput` says for the n-th seed seen."""
    seeds = []

    def act(experiment, control):
        if experiment["seed"] not in seeds:
            seeds.append(experiment["seed"])
        found = run_of(experiment, [goodput(seeds.index(experiment["seed"])), 1e6])
        series = found.series.with_columns(found.series["cwnd_segments"] * scale)
        summary = {**found.summary, "backend": name}
        return Run(experiment=experiment, summary=summary, series=series, queues=found.queues,
                   version=found.version)  # fmt: skip

    backend = ScriptedBackend(act)
    backend.name = name
    return backend


def pair(scale=1.0):
    """ "sim" is 10 % faster than "linux", whose seeds differ by 1 %."""
    return [
        side("sim", lambda _: 2.2e6, scale),
        side("linux", lambda n: 2e6 + 1e4 * (n - 1)),
    ]


def test_an_experiment_on_two_backends(small):
    found = fairway.agree(small, against=pair(1.5), seeds=3, threads=1)
    data = found.to_json()
    json.dumps(data, allow_nan=False)
    assert (data["sides"], data["reference"], data["seeds"]) == (["sim"], "linux", 3)
    point = data["points"][0]
    assert point["axes"] == {}
    metrics = {(row["metric"], row["id"]): row for row in point["metrics"]}
    goodput = metrics["goodput", "bic#0"]
    assert goodput["side"]["values"] == [2.2e6] * 3
    assert goodput["reference"]["values"] == [1.99e6, 2e6, 2.01e6]
    assert goodput["reference"]["spread"] == pytest.approx(0.01)
    # Deviation 10⁴ of three: 5773.5 · 2.9200 = 16,859 around 200,000, of 2·10⁶.
    assert goodput["interval"] == pytest.approx([200_000 - 16_859, 200_000 + 16_859], abs=1)
    assert goodput["relative_difference"] == pytest.approx(0.1)
    assert goodput["relative_interval"] == pytest.approx([0.09157, 0.10843], abs=1e-5)
    assert (goodput["verdict"], goodput["method"]) == ("different", "pairs")
    assert metrics["goodput", "cubic#1"]["method"] == "values"
    assert metrics["timeouts", "bic#0"]["method"] == "zero"
    assert ("jain", "run") not in metrics  # the summary says null
    assert set(point["counts"]) == set(data["counts"]) == {"equivalent", "different", "undecided"}
    # Half as much again everywhere.
    assert [curve["area"] for curve in point["curves"]] == pytest.approx([0.5, 0.5])
    assert found.counts["different"] == 3
    assert not found.agrees


def test_what_a_side_lacks_is_said(small):
    def act(experiment, control):
        found = run_of(experiment, [1e6, 1e6])
        found.summary["flows"][0]["mean_one_way_delay_s"] = None
        return found

    poor = ScriptedBackend(act)
    poor.name = "poor"
    found = fairway.agree(small, against=[poor, pair()[1]], seeds=2, threads=1)
    assert "delay of bic#0: poor" in found.points[0].missing
    assert any("for want of values: delay of bic#0: poor" in line for line in found.remarks())


def test_a_sweep_is_compared_point_by_point(tmp_path):
    sides = pair()
    found = fairway.agree(SWEEP, tmp_path / "out", against=sides, threads=1, figures=["svg"])
    # The file's own two repetitions.
    assert found.seeds == 2
    assert [point.axes for point in found.points] == [{"flow.0.cc": "bic"}, {"flow.0.cc": "htcp"}]
    assert [len(backend.ran) for backend in sides] == [4, 4]
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        ".fairway", "agreement.json", "figures", "linux", "report.html", "sim",
    ]  # fmt: skip
    assert json.loads((out / "agreement.json").read_text()) == found.to_json()
    assert len(fairway.load(out / "linux").outcomes) == 4
    assert "Not equivalent" in (out / "report.html").read_text()
    assert {path.name for path in (out / "figures").iterdir()} == {
        "sim-windows.svg", "sim-differences.svg",
    }  # fmt: skip


def test_it_goes_on_where_it_stopped(tmp_path):
    sides = pair()

    def fail(experiment, control):
        raise fairway.SimulationError("out of order")

    broken = ScriptedBackend(fail)
    broken.name = "sim"
    with pytest.raises(RunFailed):
        fairway.agree(SWEEP, tmp_path, against=[broken, sides[1]], threads=1)
    assert not (tmp_path / "agreement.json").exists()
    first = fairway.agree(SWEEP, tmp_path, against=sides, threads=1)
    # The reference had been run before the other side failed.
    assert [len(backend.ran) for backend in sides] == [4, 4]
    again = fairway.agree(SWEEP, tmp_path, against=sides, threads=1)
    assert [len(backend.ran) for backend in sides] == [4, 4]
    assert again.to_json() == first.to_json()
    more = fairway.agree(SWEEP, tmp_path, against=sides, seeds=3, threads=1)
    assert [len(backend.ran) for backend in sides] == [6, 6]
    assert more.seeds == 3


def test_nothing_is_run_if_one_side_refuses(tmp_path):
    commands = [{"id": "mine", "cc": "reno", "program": ["true"]}]
    kernel = side("linux", lambda _: 1e6)
    with pytest.raises(fairway.ExperimentError, match="only a real Linux kernel runs commands"):
        fairway.agree(
            SWEEP, tmp_path / "out", against=["sim", kernel], overrides={"flow": commands}
        )
    assert (kernel.ran, (tmp_path / "out").exists()) == ([], False)


def test_no_run_is_repeated_for_its_curves(tmp_path, monkeypatch):
    # Sweeps beyond this size keep summaries alone, and compute a run again where it is asked for.
    monkeypatch.setattr("fairway.sweep.run.MAX_DIRECTORIES", 3)
    sides = pair()
    found = fairway.agree(SWEEP, tmp_path, against=sides, threads=1)
    assert all(point.areas for point in found.points)
    assert [len(backend.ran) for backend in sides] == [4, 4]


def test_other_results_are_not_replaced(tmp_path, small):
    fairway.run(small, tmp_path / "run")
    with pytest.raises(InputError, match="it holds a run"):
        fairway.agree(small, tmp_path / "run", against=pair())
    fairway.agree(small, tmp_path / "agree", against=pair(), seeds=2)
    with pytest.raises(InputError, match="it holds a comparison"):
        fairway.run(small, tmp_path / "agree")
    with pytest.raises(InputError, match="of a different comparison"):
        fairway.agree(small, tmp_path / "agree", against=pair(), overrides={"seed": 8})
    fairway.agree(small, tmp_path / "agree", against=pair(), seeds=3)


def test_three_backends(small):
    sides = [side("model", lambda _: 2e6), *pair()]
    found = fairway.agree(small, against=sides, seeds=2)
    assert (found.sides, found.reference) == (("model", "sim"), "linux")
    assert [point.side for point in found.points] == ["model", "sim"]
    for wrong in (["sim"], ["sim", "sim"]):
        with pytest.raises(InputError, match="two or more that are not the same"):
            fairway.agree(small, against=wrong)
    with pytest.raises(InputError, match="no such backend"):
        fairway.agree(small, against=["sim", "linus"])


# What is compared.


def test_seeds():
    assert len(run.comparison_plan(SMALL).points) == run.DEFAULT_SEEDS
    assert len(run.comparison_plan(SMALL, seeds=2).points) == 2
    assert len(run.comparison_plan(SWEEP).points) == 4
    assert len(run.comparison_plan(SWEEP, seeds=5).points) == 10
    with pytest.raises(InputError, match="one has no variance"):
        run.comparison_plan(SMALL, seeds=1)


def test_the_set_of_the_kernel():
    planned = run.comparison_plan("kernel", seeds=2)
    assert planned.axes == ("path", "cc")
    assert {point.axes["cc"] for point in planned.points} == KERNEL | {"westwood+:paper", "dcm+"}
    assert len({point.axes["path"] for point in planned.points}) == 3
    assert len(planned.points) == 19 * 3 * 2
    variants = {entry["name"]: entry["variants"] for entry in fairway.algorithms()}
    assert all("linux-6.1" in variants[name] for name in KERNEL)
    for point in planned.points:
        flow, (cc, _, variant) = point.experiment["flow"][0], point.axes["cc"].partition(":")
        assert (flow["cc"], flow.get("cc_variant", "")) == (cc, variant)
        assert point.experiment["stack"]["preset"] == "linux-6.1"


def test_the_set_of_further_paths():
    planned = run.comparison_plan("further", seeds=2)
    assert {point.axes["cc"] for point in planned.points} == KERNEL
    assert len(planned.points) == 17 * 8 * 2
    rivals = [p for p in planned.points if len(p.experiment["flow"]) == 2]
    assert {p.axes["path"] for p in rivals} == {"against-reno"}
    assert all(p.experiment["flow"][1]["cc"] == "reno" for p in rivals)


def test_a_set_of_ones_own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        'title = "Own"\nseeds = 2\nalgorithms = ["reno"]\n[base]\nduration = "1 s"\n'
        '[base.topology]\nkind = "dumbbell"\nbottleneck = { rate = "1 Mbit/s", delay = "1 ms" }\n'
        '[[base.flow]]\ncc = "bic"\n[scenario.far]\ntitle = "Far"\n'
        'topology.bottleneck.delay = "9 ms"\n'
    )
    planned = run.comparison_plan(path, overrides={"duration": "2 s"})
    assert len(planned.points) == 2
    found = planned.points[0].experiment
    assert (found["title"], found["duration"], found["flow"][0]["cc"]) == ("Far", "2 s", "reno")
    assert found["topology"]["bottleneck"] == {"rate": "1 Mbit/s", "delay": "9 ms"}
    path.write_text('title = "Own"\n[scenario.far]\ntitle = "Far"\n')
    with pytest.raises(InputError, match="not a set of scenarios: seeds is missing"):
        run.comparison_plan(path)
    with pytest.raises(InputError, match="there is further, kernel"):
        run.comparison_plan("kernels")


# The command.


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """The command in this process, on two backends that a test decides."""
    sides = {backend.name: backend for backend in pair()}
    monkeypatch.setattr(run, "find_backend", sides.__getitem__)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        code = cli.guarded(["agree", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_the_table_of_one_experiment(command, small, tmp_path):
    code, out, err = command(small, "--seeds", 3)
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.startswith("goodput"))
    assert row.split() == [
        *("goodput", "(Mbit/s)", "2.200", "2", "+10.0", "%"),
        *("[+9.2,", "+10.8]", "2", "%", "different"),
    ]  # fmt: skip
    assert "Every seed gave the same on sim" in out
    assert "Seeds differ on linux by 1 % of the mean" in out
    assert "Each verdict is of one metric by itself" in " ".join(out.split())
    assert err.strip().endswith("Report: runs/agree/small/report.html")
    assert (tmp_path / "runs/agree/small/report.html").exists()


def test_the_table_of_a_sweep(command, sweep_file):
    code, out, _ = command(sweep_file, "--quiet")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.splitlines() if line.startswith(("bic", "htcp"))]
    assert [row[:2] for row in rows] == [
        ["bic", "bic#0"], ["bic", "cubic#1"], ["htcp", "htcp#0"], ["htcp", "cubic#1"],
    ]  # fmt: skip
    # 2.2 less the mean of 1.99 and 2.00, over it.
    assert rows[0][2:5] == ["2.200", "1.995", "+10.3*"]


def test_json_and_check(command, small):
    code, out, err = command(small, "--seeds", 3, "--json", "--quiet", "--check")
    assert (code, err) == (1, "")
    assert json.loads(out)["counts"]["different"] == 1
    relaxed = ("--tolerance", "goodput=20%")
    code, out, _ = command(small, "--seeds", 3, "--json", "--quiet", "--check", *relaxed)
    assert code == 0
    assert json.loads(out)["tolerances"]["goodput"] == {"relative": 0.2, "floor": 0.0}


def test_what_cannot_be_used(command, small):
    assert command(small, "--tolerance", "goodput=lots")[0] == 2
    assert command(small, "--seeds", 1)[0] == 2
    assert command("nothing.toml")[0] == 2
    assert command(small, "--figures", "gif")[0] == 2


def test_a_kernel_is_of_the_linux_backend(command, small):
    code, _, err = command(small, "--against", "sim,model", "--kernel", "6.12")
    assert (code, "--kernel: only with the backend linux, not with sim, model" in err) == (2, True)
