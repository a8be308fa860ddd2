"""The tour prints what it shows; its notebook runs from top to bottom."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from conftest import command
from transfer_ends import Waiting

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tour.md"
#: Set-up, which has happened; a kernel, which takes minutes to build; and what the tests of
#: studies run.
LEFT_OUT = re.compile(r"make |\S+fairway (linux|reproduce) |.*(--backend linux|runs/kernel)")

pytestmark = pytest.mark.skipif(
    not PAGE.is_file(), reason="no documentation here: this is not a source tree"
)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown_lines(block):
    """What is shown of what is printed: every line but those that stand for others."""
    return [line.rstrip() for line in block.splitlines() if line.strip() != "…"]


def missing(shown, printed):
    """The lines that are not printed in this order."""
    rest = iter([line.rstrip() for line in printed.splitlines()])
    return [line for line in shown if line not in rest]


def sections():
    for part in PAGE.read_text().split("\n## ")[1:]:
        yield part.partition("\n")[0], part


@pytest.mark.parametrize(
    ("title", "section"),
    [(t, s) for t, s in sections() if "```console" in s] if PAGE.is_file() else [],
    ids=lambda value: value if "\n" not in value else "",
)
def test_what_is_shown_is_what_is_printed(title, section, tree):
    if title == "Change it":  # it begins with what the section before has run
        assert command("run", "examples/single.toml", "--out", "runs/first").returncode == 0
    for block in re.finditer(r"```console\n(.*?)```\n(?:\n```text\n(.*?)```)?", section, re.S):
        lines = [line.removeprefix("$ ") for line in block[1].splitlines()]
        printed = ""
        for line in (line for line in lines if not LEFT_OUT.match(line)):
            program, *arguments = shlex.split(line)
            assert program == ".venv/bin/fairway"
            done = command(*arguments)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            printed = done.stdout
        if block[2] and not LEFT_OUT.match(lines[-1]):
            assert missing(shown_lines(block[2]), printed) == [], printed


def test_what_is_missing_is_found():
    assert missing(["a", "c"], "a\nb\nc \n") == []
    assert missing(["a", "d"], "a\nb\nc\n") == ["d"]
    assert missing(["c", "a"], "a\nb\nc\n") == ["a"], "out of order"


def test_the_sweep_is_shown_as_it_is():
    shown = re.search(r"```toml\n# shares\.toml\n(.*?)```", PAGE.read_text(), re.S)
    assert shown[1] == (ROOT / "examples" / "shares.toml").read_text()


def test_the_file_is_sent(tree):
    receive, send = (
        shlex.split(line)
        for line in re.findall(
            r"^(?:server|laptop)\$ \.venv/bin/fairway (.*)$", PAGE.read_text(), re.M
        )
    )
    Path("runs/first").mkdir(parents=True)
    Path("runs/first/report.html").write_text("a report")
    with Waiting(*receive) as server:
        here = {"…": server.token(), "localhost": server.address}
        done = command(*(here.get(word, word) for word in send))
        assert done.returncode == 0, done.stderr
        assert server.ended() == 0
    assert Path("runs/incoming/first/report.html").read_text() == "a report"
    assert Path("runs/sent/report.html").is_file()


def test_the_lines_of_python_run(tree):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
        exec(block, names)
    assert names["sweep"].table.height == 2


def test_the_cells_of_the_notebook_run_in_order(monkeypatch):
    book = json.loads((ROOT / "examples" / "first.ipynb").read_text())
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.delitem(sys.modules, "my_reno", raising=False)
    names = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert names["sweep"].table.height == 3
    assert names["own"].summary["flows"][0]["cc"] == "mine"
