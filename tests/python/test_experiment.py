"""Reading experiment files and setting values in them."""

import math
import re

import pytest

from conftest import SMALL
from fairway import ExperimentError, _core
from fairway.errors import InputError
from fairway.experiment.plan import parse_override, parse_toml, plan


def test_a_file_its_text_and_its_mapping_are_one_experiment(small):
    points = plan(small).points
    assert points == plan(SMALL).points == plan(parse_toml(SMALL, "small")).points
    assert len(points) == 1
    assert points[0].experiment["seed"] == 7


def test_overrides_reach_tables_lists_and_ids_and_create_what_is_missing():
    changes = {
        "flow.0.cc": "cubic",
        "flow.0.cc_params.beta": 0.7,
        "measure.losses": True,
        "seed": 3,
    }
    experiment = plan(SMALL, overrides=changes).points[0].experiment
    assert experiment["flow"][0]["cc"] == "cubic"
    assert experiment["flow"][0]["cc_params"] == {"beta": 0.7}
    assert experiment["measure"]["losses"] is True
    assert experiment["seed"] == 3


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("topology.bottlenek.rate", 'topology.bottlenek: unknown key; did you mean "bottleneck"?'),
        ("flow.7.cc", "flow.7: no such entry; there are 2, addressed by index from 0"),
        ("seed.x", "seed.x: leads to no key"),
        ('sweep."flow.0.cc', "quotes stand around a whole part"),
    ],
)
def test_an_override_that_leads_nowhere_is_refused(path, message):
    with pytest.raises(ExperimentError, match=re.escape(message)):
        plan(SMALL, overrides={path: "1 ms"})


def test_a_quoted_part_of_a_path_has_dots_in_it():
    override = parse_override('sweep."flow.0.cc"=["bbr", "reno"]')
    assert override == ('sweep."flow.0.cc"', ["bbr", "reno"])
    found = plan(SMALL, overrides=dict([override]))
    assert found.axes == ("flow.0.cc",)
    assert [point.experiment["flow"][0]["cc"] for point in found.points] == ["bbr", "reno"]


def test_a_table_that_one_override_sets_is_not_changed_by_the_next():
    # A study sets the same flows in every scenario, and keys of them in some.
    flows = {"flow": [{"cc": "reno", "start": "1 s"}]}
    first = plan(parse_toml(SMALL, "small"), overrides={**flows, "flow.0.start": "2 s"})
    second = plan(parse_toml(SMALL, "small"), overrides=flows)
    assert first.points[0].experiment["flow"][0]["start"] == "2 s"
    assert second.points[0].experiment["flow"][0]["start"] == "1 s"
    assert flows == {"flow": [{"cc": "reno", "start": "1 s"}]}


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
    for value, message in [
        (object(), "title: holds something that is not plain data: object"),
        (None, "title: is None, which TOML cannot write; leave the key out"),
        (math.nan, "title: expected a finite number, got NaN"),
        (2**63, "title: the number is too large"),
        ({1: 2}, "title: 1 is not a key"),
        ("\ud800", "title: is no text in Unicode"),
    ]:
        with pytest.raises(InputError, match=message):
            plan({"title": value})
        with pytest.raises(InputError, match=message):
            plan(SMALL, overrides={"title": value})
    deep = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InputError, match="nested"):
        plan({"title": deep})


def test_a_planned_experiment_answers_its_quantities():
    changes = {
        "duration": "3 s",
        "topology.bottleneck.rate": "8 Mbit/s", "topology.bottleneck.delay": "25 ms",
        "topology.frame_overhead": "38 bytes", "flow.1.start": "1.5 s", "flow.0.bytes": "1 MB",
        "measure": {"window": ["1 s", "2 s"], "sample": "20 ms"},
    }  # fmt: skip
    (point,) = plan(SMALL, overrides=changes).points
    found = point.resolved
    assert found.document == point.experiment
    assert (found.duration_ns, found.sample_ns) == (3 * 10**9, 20 * 10**6)
    assert found.window_s == (1.0, 2.0)
    assert found.last_start_ns == found.flow_times_ns[1][0] == 1_500_000_000
    # 8 Mbit/s for 50 ms are 400 000 bits.
    assert (found.base_rtt_ns, found.bdp_bytes) == (50 * 10**6, 50_000)
    assert found.link_rate_bps("bottleneck") == found.shared_rate_bps == 8_000_000
    assert found.link_rate_bps("bottleneck/reverse") == 8_000_000
    assert found.frame_overhead_bytes == 38
    assert found.transfer_bytes("bic#0") == 1_000_000
    assert found.transfer_bytes("cubic#1") is None
    with pytest.raises(ValueError, match="there is no link core; there is bottleneck"):
        found.link_rate_bps("core")


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
