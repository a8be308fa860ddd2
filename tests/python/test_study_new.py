"""A study of one's own: what is made runs at once, and says what to do next."""

import csv
import json
import re
from pathlib import Path

import pytest

import fairway
from conftest import SMALL, SWEEP
from fairway.cli.main import guarded
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml
from fairway.study.files import keys, load_study
from fairway.study.new import new_study

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def made(**options):
    files = new_study(Path("mine"), **options)
    return load_study(Path("mine")), files


def table():
    with Path("mine/published/values.csv").open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="no documentation here")
def test_the_walk_of_the_guide(capsys):
    page = (ROOT / "docs/commands/study.md").read_text()
    section = page.partition("## Your own study\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S)
    assert [language for language, _ in blocks] == ["console", "text", "text", "console"]
    lines = [line.split("$ fairway ")[1] for line in blocks[0][1].splitlines()]
    new, reproduce = (re.findall(r'"[^"]*"|\S+', line) for line in lines)
    assert guarded([part.strip('"') for part in new]) == 0
    capsys.readouterr()
    assert guarded([*reproduce, "--json"]) == 0
    first = capsys.readouterr().out
    cells = json.loads(first)["cells"]
    assert [cell["published"] for cell in cells] == [None, None]
    values = Path("backoff/published/values.csv")
    assert [line.partition(",")[0] for line in values.read_text().splitlines()] == [
        line.partition(",")[0] for line in blocks[1][1].splitlines()
    ]
    values.write_text(blocks[1][1])
    assert blocks[2][1] in Path("backoff/claims.toml").read_text()
    assert guarded([*reproduce, "--json", "-q"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [cell["published"] for cell in answer["cells"]] == [0.0, 0.3]
    assert [cell["measured"] for cell in answer["cells"]] == [c["measured"] for c in cells]
    # More increase and less back-off than Reno on the same queue.
    assert answer["claims"][0]["verdict"] == "supported"


def test_an_experiment_of_ones_own_with_axes_and_metrics():
    Path("own.toml").write_text(SMALL)
    study, files = made(
        experiment=Path("own.toml"),
        axes=[
            "flow.0.cc=bic,htcp", "topology.bottleneck.delay=10 ms,20 ms", "stack.sack=true,false",
        ],
        metrics=["jain_index", "flow.0.goodput_bps"],
    )  # fmt: skip
    assert Path("mine/experiment.toml").read_text() == SMALL
    assert list(map(str, files)) == [
        "mine/experiment.toml", "mine/study.toml", "mine/claims.toml", "mine/published/values.csv",
    ]  # fmt: skip
    assert study.part.axes == {
        "flow.0.cc": ["bic", "htcp"],
        "topology.bottleneck.delay": ["10 ms", "20 ms"],
        "stack.sack": [True, False],
    }
    rows = table()
    assert rows[:3] == [
        ["cc", "delay", "sack", "jain_index", "flow.0.goodput_bps"],
        ["bic", "10 ms", "1", "", ""], ["bic", "10 ms", "0", "", ""],
    ]  # fmt: skip
    assert len(rows) == 1 + 2 * 2 * 2
    # What is written into a line is held against its point.
    rows[4][3] = "0.75"
    Path("mine/published/values.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    result = fairway.reproduce("mine", quick=True)
    known = {tuple(cell.point.values()): cell.published
             for cell in result.cells if cell.published is not None}  # fmt: skip
    assert known == {("bic", "20 ms", False): 0.75}
    assert all(cell.measured is not None for cell in result.cells)
    assert len(result.sweep) == 8 * 2
    assert "over cc" in result.report.read_text()


def test_axes_of_the_experiments_own_sweep():
    Path("sweep.toml").write_text(SWEEP)
    study, _ = made(experiment=Path("sweep.toml"))
    assert study.part.axes == {"flow.0.cc": ["bic", "htcp"]}
    assert study.claims[0].tests[0]["order"] == [["htcp"], ["bic"]]


def test_what_is_the_same_is_not_called_higher():
    made(axes=["measure.sample=100 ms,200 ms"])
    result = fairway.reproduce("mine", quick=True)
    # How often a run is sampled does not change it.
    assert result.cells[0].values == result.cells[1].values
    assert result.findings[0].verdict == "refuted"


def test_a_trace_goes_with_its_experiment():
    Path("cell.trace").write_text("".join(f"{time}\n" for time in range(1, 2000)))
    Path("own.toml").write_text(SMALL.replace('rate  = "5 Mbit/s"', 'trace = "cell.trace"'))
    made(experiment=Path("own.toml"))
    assert Path("mine/cell.trace").read_text() == Path("cell.trace").read_text()


def test_every_key_is_explained():
    made()
    for file in ("study.toml", "claims.toml", "experiment.toml"):
        text = Path("mine", file).read_text()
        assert text.startswith("# ")
        parse_toml(text, file)
        # A comment above every table but those within one that has one.
        for heading in re.finditer(r"(.*)\n\[+(\w[\w.]*)\]+", text):
            is_own = heading[2] not in ("topology", "topology.bottleneck", "flow")
            assert heading[1].startswith("#") or not is_own, (file, heading[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axes": ["flow.0.cc"]}, "expected PATH=VALUE,VALUE"),
        ({"axes": ["flow.0.cc=reno"]}, "two or more values"),
        ({"axes": ["flow.0.cc=reno,reno"]}, "two or more values"),
        ({"axes": ["flow.0.cc=reno,cubic"] * 2}, "each path once"),
        ({"axes": ['topology.bottleneck.queue={kind="codel"},{kind="pie"}']}, "scenarios"),
        ({"axes": ["flow.0.cc=reno,cubix"]}, "cubix"),
        ({"axes": ["nothing.here=1,2"]}, "nothing"),
        ({"metrics": ["two words"]}, "name of a metric"),
        ({"experiment": Path("missing.toml")}, "no such experiment file"),
    ],
)
def test_what_cannot_be_used_leaves_nothing_behind(options, message):
    with pytest.raises((InputError, fairway.ExperimentError), match=message):
        new_study(Path("mine"), **options)
    assert not list(Path().iterdir())


def test_nothing_is_overwritten():
    made()
    before = Path("mine/study.toml").read_text()
    Path("mine/study.toml").write_text(before + "# mine\n")
    with pytest.raises(InputError, match="exists already"):
        new_study(Path("mine"))
    assert Path("mine/study.toml").read_text() == before + "# mine\n"
    with pytest.raises(InputError, match="comes with Fairway"):
        new_study(Path("gelle2008"))
    with pytest.raises(InputError, match="means all studies"):
        new_study(Path("all"))
    for name in ("a b", "..", "-x", "é"):
        with pytest.raises(InputError, match=r"expected a name|exists already"):
            new_study(Path(name))


def test_the_commands(capsys):
    assert guarded(["study", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["key"] for entry in listed] == keys()
    assert guarded(["study", "show", "gelle2008"]) == 0
    shown = capsys.readouterr().out
    assert "flow.0.cc" in shown
    assert "g1" in shown
    (whole,) = [entry for entry in listed if entry["key"] == "gelle2008"]
    # 25 ordered pairs of five algorithms, with each of two agents.
    assert whole["parts"]["gelle2008/pairs"]["points"] == 50
    assert guarded(["study", "new", "gelle2008"]) == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "Traceback" not in refused.err
