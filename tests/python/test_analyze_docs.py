"""What the documentation shows of `fairway analyze` is what it prints."""

import re
import shlex
from pathlib import Path

import pytest

from conftest import command

PAGE = Path(__file__).parents[2] / "docs" / "commands" / "analyze.md"

pytestmark = pytest.mark.skipif(
    not PAGE.is_file(), reason="no documentation here: this is not a source tree"
)


def test_what_is_shown_is_what_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text("utf-8")
    experiment = re.search(r"```toml\n# seen\.toml\n(.*?)```", page, re.S)
    (tmp_path / "seen.toml").write_text(experiment[1])
    compared = ran = 0
    shown = re.finditer(r"```console\n(.*?)```\n(?:\n```text\n(.*?)```)?", page, re.S)
    for block in shown:
        lines = [line.removeprefix("$ ") for line in block[1].splitlines()]
        if not any("seen" in line for line in lines):
            continue
        for line in lines:
            program, *arguments = shlex.split(line)
            assert program == "fairway"
            done = command(*arguments)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            ran += 1
        if block[2]:
            printed = "\n".join(map(str.rstrip, done.stdout.splitlines())).rstrip()
            assert printed == block[2].rstrip()
            compared += 1
    assert (ran, compared) == (5, 2)
    python = re.search(r"```python\n(import fairway\n\nseen = .*?)```", page, re.S)
    exec(python[1], {})
