"""Reading experiment files and setting values in them."""

import math
import re

import pytest

from conftest import SMALL
from fairway import ExperimentError, _core
from fairway.errors import InputError
from fairway.experiment.plan import parse_override, parse_toml, plan, set_path


def test_a_file_its_text_and_its_mapping_are_one_experiment(small):
    points = plan(small).points
    assert points == plan(SMALL).points == plan(parse_toml(SMALL, "small")).points
    assert len(points) == 1
    assert points[0].experiment["seed"] == 7


def test_overrides_reach_tables_lists_and_ids():
    document = {"flow": [{"cc": "bic"}, {"id": "x", "cc": "bic"}], "stack": {}}
    set_path(document, "flow.0.cc", "cubic")
    set_path(document, "flow.x.cc", "htcp")
    set_path(document, "stack.sack", False)
    set_path(document, "seed", 3)
    assert document == {
        "flow": [{"cc": "cubic"}, {"id": "x", "cc": "htcp"}],
        "stack": {"sack": False},
        "seed": 3,
    }


def test_overrides_create_the_tables_on_their_way():
    loss = "topology.bottleneck.loss.probability"
    planned = plan(SMALL, overrides={loss: 0.01, "flow.0.cc_params.beta": 0.7})
    experiment = planned.points[0].experiment
    assert experiment["topology"]["bottleneck"]["loss"] == {"probability": 0.01}
    assert experiment["flow"][0]["cc_params"] == {"beta": 0.7}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("topology.bottlenek.rate", 'topology.bottlenek: unknown key; did you mean "bottleneck"?'),
        ("topology.bottleneck.jitter.mean", "topology.bottleneck.jitter.deviation: missing"),
        ("nothing.x", "nothing: unknown key; an experiment has title"),
        ("topology.link.0.rate", 'topology.link: belongs to kind = "chain"'),
    ],
)
def test_what_a_created_table_lacks_is_for_the_reader_to_say(path, message):
    with pytest.raises(ExperimentError, match=re.escape(message)):
        plan(SMALL, overrides={path: "1 ms"})


@pytest.mark.parametrize("path", ['sweep."flow.0.cc"', "sweep.'flow.0.cc'"])
def test_a_quoted_part_of_a_path_has_dots_in_it(path):
    override = parse_override(f'{path}=["bbr", "reno"]')
    assert override == (path, ["bbr", "reno"])
    found = plan(SMALL, overrides=dict([override]))
    assert found.axes == ("flow.0.cc",)
    assert [point.experiment["flow"][0]["cc"] for point in found.points] == ["bbr", "reno"]
    document = parse_toml(SMALL, "small")
    set_path(document, 'flow."0".cc', "htcp")
    assert document["flow"][0]["cc"] == "htcp"


@pytest.mark.parametrize("path", ['sweep."flow.0.cc', 'sweep.""flow.0.cc""', '"a"=1\nb'])
def test_a_path_with_stray_quotes_is_refused(path):
    with pytest.raises(InputError, match="quotes stand around a whole part"):
        set_path({}, path, 1)


def test_a_table_that_one_override_sets_is_not_changed_by_the_next():
    # A study sets the same flows in every scenario, and keys of them in some.
    flows = {"flow": [{"cc": "reno", "start": "1 s"}]}
    first = plan(parse_toml(SMALL, "small"), overrides={**flows, "flow.0.start": "2 s"})
    second = plan(parse_toml(SMALL, "small"), overrides=flows)
    assert first.points[0].experiment["flow"][0]["start"] == "2 s"
    assert second.points[0].experiment["flow"][0]["start"] == "1 s"
    assert flows == {"flow": [{"cc": "reno", "start": "1 s"}]}


def test_an_override_of_a_swept_path_replaces_the_axis():
    document = {"sweep": {"flow.0.cc": ["bic", "htcp"]}, "flow": [{"cc": "bic"}]}
    set_path(document, "flow.0.cc", "cubic")
    assert document["sweep"] == {"flow.0.cc": ["cubic"]}


@pytest.mark.parametrize("path", ["flow.7.cc", "flow.y.cc", "seed.x", "flow.5"])
def test_an_override_that_addresses_nothing_is_refused(path):
    with pytest.raises(InputError, match=path.split(".", maxsplit=1)[0]):
        set_path({"flow": [{"cc": "bic"}], "seed": 1}, path, 1)


def test_an_entry_named_as_in_results_is_told_its_index():
    document = {"flow": [{"cc": "bic"}, {"cc": "reno"}, {"id": "web", "cc": "bbr"}]}
    known = "there are 3, addressed by index from 0 or by id: web"
    for part, hint in (
        ("reno#1", "; write flow.1"),
        ("reno#1/3", "; write flow.1"),
        ("reno#3", ""),
        ("wbe", "; write flow.web"),
        ("other", ""),
    ):
        with pytest.raises(InputError) as raised:
            set_path(document, f"flow.{part}.cc", "cubic")
        assert str(raised.value) == f"flow.{part}: no such entry; {known}{hint}"


def test_override_values_are_toml_or_text():
    assert parse_override("seed=3") == ("seed", 3)
    assert parse_override("flow.0.start = 5 s") == ("flow.0.start", "5 s")
    assert parse_override("x={ a = 1 }") == ("x", {"a": 1})
    for bad in ("seed", "=3"):
        with pytest.raises(InputError, match="path=value"):
            parse_override(bad)


def test_a_sweep_repeats_with_other_seeds(sweep_file):
    planned = plan(sweep_file)
    assert planned.axes == ("flow.0.cc",)
    assert [(p.axes["flow.0.cc"], p.repetition) for p in planned.points] == [
        ("bic", 0), ("bic", 1), ("htcp", 0), ("htcp", 1),
    ]  # fmt: skip
    seeds = [p.experiment["seed"] for p in planned.points]
    assert seeds[0] == 7
    assert seeds[0] == seeds[2]
    assert seeds[0] != seeds[1]


def test_an_unknown_key_is_the_simulators_error(tmp_path):
    with pytest.raises(ExperimentError, match="topolgy"):
        plan(SMALL.replace("[topology]", "[topolgy]"))


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"\xff\xfe", "UTF-8"), (b"x" * ((1 << 20) + 1), "larger"), (None, "no such")],
)
def test_unreadable_files(tmp_path, content, says):
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=says):
        plan(path)


def test_a_mapping_must_be_plain_data():
    with pytest.raises(InputError, match="plain data"):
        plan({"title": object()})
    with pytest.raises(InputError, match="TOML"):
        plan({"title": None})


DRAWN = """
[sweep.latin_hypercube]
points = 20
"topology.bottleneck.rate" = { low = "1 Mbit/s", high = "100 Mbit/s", scale = "log" }
"topology.bottleneck.delay" = { low = "1 ms", high = "41 ms" }

[[sweep.list]]
"flow.0.cc" = "bic"
"flow.1.cc" = "htcp"

[[sweep.list]]
"flow.0.cc" = "cubic"
"flow.1.cc" = "reno"
"""


def test_a_latin_hypercube_covers_every_part_of_each_range_once():
    from scipy.stats import qmc

    planned = plan(SMALL + DRAWN)
    assert len(planned.points) == 40
    assert planned.axes == (
        "topology.bottleneck.rate", "topology.bottleneck.delay", "flow.0.cc", "flow.1.cc",
    )  # fmt: skip
    drawn = [
        (
            math.log10(_core.quantity(point.axes["topology.bottleneck.rate"], "rate") / 1e6) / 2,
            (_core.quantity(point.axes["topology.bottleneck.delay"], "duration") / 1e6 - 1) / 40,
        )
        for point in planned.points[::2]
    ]
    for axis in (0, 1):
        assert sorted(int(point[axis] * 20) for point in drawn) == list(range(20))
    # Together they fill the square about as well as SciPy's own.
    theirs = [qmc.discrepancy(qmc.LatinHypercube(2, rng=seed).random(20)) for seed in range(100)]
    assert min(theirs) < qmc.discrepancy(drawn) < max(theirs)
    pairs = {(point.axes["flow.0.cc"], point.axes["flow.1.cc"]) for point in planned.points}
    assert pairs == {("bic", "htcp"), ("cubic", "reno")}


def test_a_value_set_takes_its_path_out_of_those_that_change_together():
    planned = plan(SMALL + DRAWN, overrides={"flow.0.cc": "bbr"})
    assert {point.axes["flow.0.cc"] for point in planned.points} == {"bbr"}
    assert {point.axes["flow.1.cc"] for point in planned.points} == {"htcp", "reno"}
    changes = {"topology.bottleneck.rate": "9 Mbit/s", "topology.bottleneck.delay": ["2 ms"]}
    assert len(plan(SMALL + DRAWN, overrides=changes).points) == 2
    few = plan(SMALL + DRAWN, overrides={"sweep.latin_hypercube.points": 3})
    assert len(few.points) == 6
