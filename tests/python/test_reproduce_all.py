"""Several studies run again into one directory with an index."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import command
from fairway import api
from fairway.cli import main as cli
from fairway.errors import InputError
from fairway.study import all as study_all
from fairway.study.all import PAPERS, all_keys, reproduce_each
from fairway.study.files import find, keys
from small_studies import claim, compare, in_range, study_of, write


def made(directory: Path, name: str, high: float, part: str = "") -> Path:
    text = study_of(f"Study {name}", compare(), keys=f'question = "Is {name} fair?"')
    write(directory / name / part, text, published="cc,a\nbic,0.51\n")
    if part:
        (directory / name / "study.toml").write_text(
            f'title = "Whole {name}"\nsource = "Nobody, 2026"\nparts = ["{part}"]\n'
        )
    test = in_range("asymmetry", -2, high, f'part = "{part}"' if part else "")
    (directory / name / "claims.toml").write_text(
        claim(f"{name}1", test, statement="Asymmetry is below two")
    )
    return directory / name


@pytest.fixture
def studies(tmp_path):
    # An asymmetry is at most 1 and at least −1: one claim holds, the other does not.
    return [str(made(tmp_path, "fair", 2)), str(made(tmp_path, "whole", -1.5, "inner"))]


def run(key, directory):
    return api.reproduce(key, directory, threads=1)


def test_one_index_of_several_studies(studies, tmp_path):
    out = tmp_path / "out"
    result = reproduce_each(studies, out, run, quick=False, quiet=True)
    answer = json.loads((out / "reproduction.json").read_text())
    assert answer == result.to_json()
    assert [study["study"] for study in answer["studies"]] == ["fair", "whole"]
    assert [study["claims"][0]["verdict"] for study in answer["studies"]] == [
        "supported",
        "refuted",
    ]
    assert [study["cost"]["runs"] for study in answer["studies"]] == [2, 2]
    assert answer["cost"]["runs"] == 4
    assert answer["cost"]["wall_s"] >= 0
    page = (out / "index.html").read_text()
    for said in (
        "Study fair",
        "Whole whole",
        "Is fair fair?",
        "refuted",
        "fair1",
        "whole1",
        "0.51",
    ):
        assert said in page
    # Whatever it leads to is there, and every anchor once.
    links = re.findall(r'href="([^"#:]+)(?:#([^"]+))?"', page)
    assert {file for file, _ in links} == {"fair/report.html", "whole/report.html"}
    assert {anchor for _, anchor in links} == {
        "", "claim-fair1", "claim-whole1", "runs", "part-inner-runs",
    }  # fmt: skip
    for file, anchor in links:
        assert f' id="{anchor}"' in (out / file).read_text() or not anchor
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert len(anchors) == len(set(anchors))
    # Given again, nothing is run again.
    kept = [path for path in out.rglob("manifest.json") if "points" in path.parts]
    times = {path: path.stat().st_mtime_ns for path in kept}
    assert len(times) == 4
    again = reproduce_each(studies, out, run, quick=False, quiet=True)
    assert {path: path.stat().st_mtime_ns for path in kept} == times
    assert again.to_json()["studies"][0]["claims"] == answer["studies"][0]["claims"]


def test_other_files_are_not_replaced(studies, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        reproduce_each(studies, tmp_path / "out", run, quick=False, quiet=True)


def test_options_reach_every_study(studies, tmp_path, monkeypatch):
    asked, really = [], api.reproduce

    def reproduce(key, directory, **options):
        asked.append((Path(key).name, options))
        return really(key, directory, threads=1)

    monkeypatch.setattr(study_all, "all_keys", lambda **_: studies)
    monkeypatch.setattr(api, "reproduce", reproduce)
    arguments = ["reproduce", "all", "--dask", "tcp://there:8786", "--threads", "3", "--quiet"]
    done = CliRunner().invoke(cli.program(), [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    options = {"quick": False, "threads": 3, "dask": "tcp://there:8786", "quiet": True}
    assert asked == [("fair", options), ("whole", options)]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_every_cell_is_printed_on_demand(studies, tmp_path):
    done = command("reproduce", studies[1], "--cells", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("bic")]
    (cell,) = [c for c in json.loads((tmp_path / "out" / "reproduction.json").read_text())["cells"]
               if c["point"]["flow.0.cc"] == "bic"]  # fmt: skip
    name, published, measured, difference = line.split()
    assert (name, published, measured) == ("bic", "0.510", f"{cell['measured']:.3f}")
    assert float(difference) == pytest.approx(cell["measured"] - 0.51, abs=5.1e-4)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_every_study_asks_a_question():
    questions = {key: find(key).question for key in keys()}
    assert all(asked.endswith("?") for asked in questions.values()), questions


@pytest.mark.parametrize("key", keys())
def test_every_study_can_be_run_whole_and_shortened(key):
    study = find(key)
    for part in study.parts.values():
        assert part.plan(quick=False).points
        assert part.quick is None or part.plan(quick=True).points


def test_which_studies_are_all():
    papers, every = all_keys(every=False), all_keys(every=True)
    assert set(papers) <= set(PAPERS)
    assert every[: len(papers)] == papers
    assert "wlan" in every
    assert "wlan" not in papers
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("all", "--part", "bench"), "--part is of one study"),
        (("gelle2008", "--every"), "goes with `fairway reproduce all`"),
    ],
)
def test_options_that_do_not_go_together(arguments, says, tmp_path):
    done = command("reproduce", *arguments, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert says in done.stderr
    assert not (tmp_path / "out").exists()
