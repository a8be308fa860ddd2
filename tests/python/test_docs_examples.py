"""Every example of the documentation is accounted for: it is run, or it is said why not."""

import re
import shlex
from pathlib import Path

import pytest
import typer
import typer.main

from conftest import SMALL, SWEEP, command
from fairway.cli.main import program

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md")))]

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="no documentation here: this is not a source tree"
)

#: What arguments that a command does not take are.
USAGE_ERROR = typer.BadParameter.__bases__[0]
#: Pages that a test of their own goes through: every block of theirs, or says there which not.
ELSEWHERE = {
    "README.md": "test_docs.py",
    "docs/tour.md": "test_tour.py",
    "docs/commands/tune.md": "test_docs.py",
    "docs/your-own-algorithm.md": "test_docs.py",
    "docs/commands/analyze.md": "test_analyze_docs.py",
}
#: Languages of blocks that show no command, and who reads them.
SHOWN = {
    "toml": "test_docs.py plans every experiment",
    "pkt": "crates/script/tests/documentation.rs runs every script",
    "rust": "crates/sim/tests/own_algorithm.rs compiles it",
    "text": "output, a formula or a file, as the page says",
    "json": "a form, with invented numbers",
    "yaml": "test_workflows.py runs the steps of the files that it is from",
    "": "a tree of files, or an extract",
}
#: Blocks of Python that are run, in the order of their page, beside `pair.toml` and `runs/sweep`.
PYTHON = ["docs/metrics.md", "docs/statistics.md", "docs/models.md"]
#: Other blocks of Python, by a word in them.
PYTHON_NOT_RUN = {
    ("docs/commands/agree.md", "fairway.agree"): "needs a kernel; test_agree.py",
    ("docs/commands/agree.md", "first_difference"): "needs a kernel; test_agree_parting.py",
    ("docs/commands/fidelity.md", "fairway.fidelity"): "every cell, a minute; test_fidelity.py",
    ("docs/commands/doctor.md", "192.0.2.7"): "a path to a host; test_doctor.py",
    ("docs/commands/run.md", "SLURMCluster"): "needs Slurm; test_sweep_slurm.py",
    ("docs/commands/run.md", "duckdb"): "a package that Fairway does not need",
    ("docs/commands/run.md", "scan_parquet"): "test_the_table_of_a_sweep_is_read_as_shown, below",
    ("docs/commands/generate.md", "Xfer"): "needs a collector; test_generate_collect.py",
}
#: Commands that are run, by the beginnings of their lines; all others are only parsed, for they
#: need a kernel, another host, a capture or files of yours, or take longer than seconds.
RUN = (
    "fairway model laws",
    "fairway model law ",
    "fairway model streams",
    "fairway model queue",
    "fairway model wlan",
    "fairway presets",
    "fairway study list",
    "fairway study show",
    "fairway study new",
    "fairway algorithms",
)


def blocks():
    """Page, language and text of every fenced block, indented or not."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        for found in re.finditer(r"^( *)```[ ]?(\w*)\n(.*?)^\1```$", text, re.M | re.S):
            yield page, found[2], found[3]


def lines(language):
    """Page and every command of Fairway in blocks of a language, continued lines as one."""
    for page, of, text in blocks():
        if of == language:
            for line in text.replace("\\\n", " ").splitlines():
                shown = line.strip().removeprefix("$ ").removeprefix(".venv/bin/")
                if shown.startswith("fairway "):
                    yield page, shown


COMMANDS = [*lines("console"), *lines("sh")]
TEXTS = list(dict.fromkeys(line for _, line in COMMANDS))


def test_no_block_is_forgotten():
    for page, language, text in blocks():
        if page in ELSEWHERE:
            assert (ROOT / "tests" / "python" / ELSEWHERE[page]).is_file()
        elif language == "python":
            reasons = [why for (of, word), why in PYTHON_NOT_RUN.items()
                       if of == page and word in text]  # fmt: skip
            assert page in PYTHON or len(reasons) == 1, f"{page}: nobody runs\n{text}"
        else:
            assert language in {*SHOWN, "console", "sh", "pycon"}, f"{page}: {language}"


def test_no_reason_outlives_its_block():
    texts = {(page, text) for page, language, text in blocks() if language == "python"}
    for page, word in PYTHON_NOT_RUN:
        assert [1 for of, text in texts if of == page and word in text] == [1], (page, word)
    for start in RUN:
        assert any(line.startswith(start) for line in TEXTS), start


@pytest.mark.parametrize("line", TEXTS)
def test_every_command_is_one_with_its_arguments(line):
    _, *words = shlex.split(line, comments=True)
    found = typer.main.get_command(program())
    context = found.make_context("fairway", [], resilient_parsing=True)
    while hasattr(found, "commands") and words and words[0] in found.commands:
        name, *words = words
        found = found.commands[name]
        if not hasattr(found, "commands"):
            found.make_context(name, words, parent=context)
            return
    assert words in (["--help"], ["--install-completion"], ["--version"]), line


def test_a_command_that_is_none_is_found():
    for wrong in ("fairway run pair.toml --ouput x", "fairway rum pair.toml", "fairway compare"):
        with pytest.raises((AssertionError, USAGE_ERROR)):
            test_every_command_is_one_with_its_arguments(wrong)


@pytest.mark.parametrize("line", [line for line in TEXTS if line.startswith(RUN)])
def test_commands_that_take_no_time_run(line, tmp_path):
    _, *words = shlex.split(line, comments=True)
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("page", PYTHON)
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pair.toml").write_text(SMALL.replace('"3 s"', '"20 s"').replace('"3 s"]', '"20 s"]'))
    names = {}
    for of, language, text in blocks():
        if (of, language) == (page, "python"):
            exec(text, names)
    assert len(names) > 2


def test_the_table_of_a_sweep_is_read_as_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(SWEEP)
    done = command("run", "sweep.toml", "--out", "runs/sweep", "--quiet")
    assert done.returncode == 0, done.stderr
    shown = [text for page, _, text in blocks() if page == "docs/commands/run.md"]
    exec(next(text for text in shown if "scan_parquet" in text), {})
