"""Algorithms explained and on show: the list, one in full, pictures, and the gallery."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import fairway
from conftest import command
from fairway.cli import algorithms as explain
from fairway.compare.gallery.run import Portrait
from fairway.errors import InputError
from fairway.experiment import scenarios
from fairway.experiment.plan import plan
from fairway.ground.columns import Columns

ROOT = Path(__file__).parents[2]
MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg"}
KNOWN = fairway.algorithms()


def entry_of(**changes):
    """An algorithm that does not exist."""
    entry = {
        "name": "imaginary", "title": "Imaginary TCP", "summary": "Does nothing.",
        "family": "classic", "signal": "loss", "year": 1999, "source": "Nobody, Nowhere 1999",
        "variants": ["paper"], "params": [], "vectors": [], "header": "Nothing.", "file": "x.rs",
    }  # fmt: skip
    return {**entry, **changes}


# The list and its JSON.


def test_json_has_everything_about_every_algorithm():
    listed = json.loads(command("algorithms", "--json").stdout)
    assert [entry["name"] for entry in listed] == [entry["name"] for entry in KNOWN]
    assert len({entry["name"] for entry in listed}) == len(listed)
    for entry in listed:
        for key in ("title", "summary", "family", "signal", "source", "header"):
            assert entry[key].strip(), (entry["name"], key)
        assert 1970 < entry["year"] < 2100
        assert entry["variants"]
        assert entry["file"].endswith(".rs")
        for param in entry["params"]:
            assert param["meaning"]
            assert set(param["default"]) <= set(entry["variants"])
            for value in param["default"].values():
                assert param["min"] <= value <= param["max"], (entry["name"], param["name"])
        for vector in entry["vectors"]:
            assert set(vector) == {"sum", "expected", "computed", "holds"}
            assert vector["holds"] is True, (entry["name"], vector["sum"])
    one = json.loads(command("algorithms", "cubic", "--json").stdout)
    assert one == next(entry for entry in listed if entry["name"] == "cubic")


def test_the_list_shows_every_algorithm_under_its_family():
    done = command("algorithms")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for family, entries in explain.by_family(KNOWN):
        start = lines.index(next(line for line in lines if line.strip().lower() == family.lower()))
        names = [entry["name"] for entry in entries]
        under = [line.split()[0] for line in lines[start + 1 :] if re.match(r"\S+ +\d{4} ", line)]
        assert under[: len(names)] == names


# One in full.


@pytest.mark.parametrize("entry", KNOWN, ids=lambda entry: entry["name"])
def test_one_is_explained_in_80_columns(entry):
    parts = [
        *explain.introduction(entry), *explain.header(entry).splitlines(),
        *explain.parameters(entry), *explain.sums(entry),
    ]  # fmt: skip
    text = "\n".join(parts)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "`" not in explain.header(entry), "Markdown is shown as text"
    for param in entry["params"]:
        assert f"{param['name']}: " in text
    assert text.count("✓") >= len(entry["vectors"])


def test_the_command_explains_and_draws():
    done = command("algorithms", "cubic")
    assert done.returncode == 0, done.stderr
    for part in ("CUBIC (cubic, 2005)", "RFC 9438", "fast_convergence", "✓ ", "cwnd of cubic", "█"):
        assert part in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_sum_that_does_not_hold_is_marked():
    vector = {"sum": "1 + 1", "expected": 2.0, "computed": 3.0, "holds": False}
    assert list(explain.sums(entry_of(vectors=[vector])))[1] == "✗ 1 + 1 → 2, but the code gives 3"


def test_a_header_of_rust_becomes_markdown():
    text = "Uses [`Rule`] and [`x`](crate::x), not [this](https://example.org): W<3, `a<b`."
    assert explain.markdown(text) == (
        "Uses `Rule` and `x`, not [this](https://example.org): W&lt;3, `a<b`."
    )
    assert explain.header(entry_of(header="If W<3:\n- *one*\n- `a<b`")).splitlines() == [
        "If W<3:", "", " • one", " • a<b",
    ]  # fmt: skip


def test_an_unknown_name_is_refused_with_near_matches():
    for name, meant in (("cubick", "cubic"), ("H-TCP", "htcp"), ("CUBIC", "cubic")):
        done = command("algorithms", name)
        assert done.returncode == 2
        assert f"did you mean {meant}" in done.stderr
        assert done.stdout == ""
    done = command("gallery", "cubic", "xyzzy")
    assert done.returncode == 2
    assert "'xyzzy'; there is" in done.stderr


def test_figures_of_one_algorithm(tmp_path):
    for kind, magic in MAGIC.items():
        path = tmp_path / f"window.{kind}"
        done = command("algorithms", "reno", "--figure", path, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["name"] == "reno"
        assert path.read_bytes().startswith(magic)
    for arguments, says in (
        (["reno", "--figure", tmp_path / "a.gif"], ".pdf, .png, .svg"),
        (["--figure", tmp_path / "a.svg"], "needs the name"),
        (["reno", "--figure", tmp_path / "window.svg" / "a.svg"], "cannot write"),
    ):
        done = command("algorithms", *arguments)
        assert done.returncode == 2, arguments
        assert says in done.stderr


def steps():
    """A portrait whose window is 1 for 50 s and 8 for 50 s, and a flow that is there at 60 s."""
    times = [float(t) for t in range(100)]
    series = pl.DataFrame(
        {
            "t_s": times * 2,
            "flow": ["imaginary"] * 100 + ["other"] * 100,
            "cwnd_segments": [1.0] * 50 + [8.0] * 50 + [3.0] * 100,
            "pipe_segments": [1.0] * 100 + [0.0] * 60 + [1.0] * 10 + [0.0] * 30,
        }
    )
    queues = pl.DataFrame({"t_s": times, "link": ["l"] * 100, "backlog_packets": times})

    class Run:
        experiment = scenarios.scenario("shared").of(entry_of())
        summary = {"flows": [{"id": "imaginary"}, {"id": "other"}]}  # noqa: RUF012

        def sampled(self, _):
            return Columns.of(series)

    Run.series, Run.queues = series, queues
    return Portrait(entry_of(), scenarios.scenario("shared"), Run())


def test_the_chart_of_characters_shows_the_window():
    lines = explain.chart(steps(), height=4).splitlines()
    assert lines[0].startswith("cwnd of imaginary (segments): beside one flow of CUBIC")
    plot = [line for line in lines if "│" in line]
    assert [line.split("│")[0].strip() for line in plot] == ["8", "", "4", ""]
    # 73 columns for 99 s: the samples at 49 s and 50 s are both in column ⌊50 · 73/99⌋ = 36, whose
    # mean is (1 + 8)/2 = 4.5, more than half. A window of 1 of 8 is half a line of four.
    assert plot[0].endswith("│" + " " * 37 + "█" * 36)
    assert plot[3].endswith("│" + "▄" * 36 + "█" * 37)
    assert lines[-1].endswith("99 s")
    plain = explain.chart(steps(), height=4, plain=True)
    assert plain.isascii()
    assert "#" in plain


def test_a_portrait_shows_flows_only_while_they_send():
    assert steps().flows == ["imaginary"]
    assert steps().others == ["other"]
    spec = steps().figure().to_dict()
    rows = "".join(spec["datasets"].values()).splitlines()
    times = [float(row.split(",")[0]) for row in rows if ",other," in row]
    assert (min(times), max(times)) == (60, 69)


# Scenarios.


@pytest.mark.parametrize("entry", KNOWN, ids=lambda entry: entry["name"])
def test_every_scenario_is_valid_with_every_algorithm(entry):
    for scenario in [scenarios.canonical(entry), *scenarios.gallery_paths()]:
        planned = plan(scenario.of(entry))
        assert len(planned.points) == 1
        assert planned.title == f"{entry['title']}: {scenario.title}"
        first = planned.points[0].experiment["flow"][0]
        assert (first["id"], first["cc"]) == (entry["name"], entry["name"])


def test_scenarios_are_chosen_by_name_then_family():
    aggregate = entry_of(family="aggregates")
    assert scenarios.canonical(entry_of()).key == "alone"
    assert scenarios.canonical(aggregate).key == "pair-beside-reno"
    assert scenarios.canonical({**aggregate, "name": "multcp"}).key == "beside-reno"
    assert scenarios.canonical(entry_of(family="of a new kind")).key == "alone"


def test_the_scenarios_file_names_nothing_that_is_not_there():
    raw = scenarios.raw()
    named = [raw["canonical"], *raw["gallery"], *raw["family"].values(), *raw["algorithm"].values()]
    assert set(named) <= set(raw["scenario"])
    assert set(raw["scenario"]) == set(named), "a scenario that nothing is shown in"
    assert set(raw["family"]) <= {entry["family"] for entry in KNOWN}
    assert {*raw["algorithm"], *raw["variant"]} <= {entry["name"] for entry in KNOWN}


def test_a_scenario_changes_only_what_it_names():
    marking = scenarios.scenario("marking").of(entry_of(name="reno"))
    bottleneck = marking["topology"]["bottleneck"]
    assert bottleneck["rate"] == "10 Mbit/s"
    assert bottleneck["queue"]["kind"] == "red"
    assert scenarios.scenario("alone").of(entry_of())["topology"]["bottleneck"]["queue"] == {
        "kind": "droptail", "limit": "1.0 bdp",
    }  # fmt: skip


# The gallery.


def test_the_gallery_shows_three_paths(tmp_path):
    names = ["reno", "cubic"]
    done = command("gallery", *names, "--out", tmp_path / "g", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [entry["name"] for entry in answer["algorithms"]] == names
    assert len(answer["paths"]) == 3
    for entry in answer["algorithms"]:
        assert set(entry["paths"]) == set(answer["paths"])
        for numbers in entry["paths"].values():
            assert numbers["goodput_bps"] > 0
            assert 0 < numbers["share"] <= 1
    # Reno alone keeps 10 Mbit/s busy: 1448 of 1500 bytes are payload.
    alone = answer["algorithms"][0]["paths"]["alone"]["goodput_bps"]
    assert alone == pytest.approx(10e6 * 1448 / 1500, rel=0.01)
    for kind, magic in MAGIC.items():
        assert (tmp_path / "g" / f"gallery.{kind}").read_bytes().startswith(magic)
    assert json.loads((tmp_path / "g" / "gallery.json").read_text()) == answer
    assert "<figure>" in (tmp_path / "g" / "report.html").read_text()
    page = (tmp_path / "g" / "report.html").read_bytes()
    refused = command("report", tmp_path / "g")
    assert refused.returncode == 2
    assert "holds results of `fairway gallery`" in refused.stderr
    assert (tmp_path / "g" / "report.html").read_bytes() == page
    # Again: nothing is run, and the same comes out.
    again = command("gallery", *names, "--out", tmp_path / "g", "--quiet", "--figures", "svg")
    assert again.returncode == 0, again.stderr
    assert again.stderr == ""
    assert max(map(len, again.stdout.splitlines())) <= 80
    assert [line.split()[0] for line in again.stdout.splitlines()[-3:] if line.strip()] == names


def test_the_gallery_is_the_same_with_any_number_of_threads():
    one, two = (fairway.gallery(["cubic", "reno"], threads=n) for n in (1, 2))
    assert one.to_json() == two.to_json()
    assert one.figure().to_dict() == two.figure().to_dict()
    assert one.outcome("cubic", "shared").summary["flows"][1]["id"] == "CUBIC"
    assert "2 algorithms" in repr(one)
    with pytest.raises(InputError, match="figure format"):
        fairway.gallery(["reno"], figures=["gif"])


def test_a_portrait_in_python():
    portrait = fairway.portrait("htcp")
    assert portrait.flows == ["htcp"]
    assert portrait.figure().to_dict()["title"]["text"] == "H-TCP, linux-6.1"
