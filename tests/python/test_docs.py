"""Examples of the documentation do what they say, in a directory like the source tree."""

import re
import shlex
from pathlib import Path

import pytest

from conftest import command
from fairway import ExperimentError
from fairway.experiment import plan

ROOT = Path(__file__).parents[2]
#: Pages whose examples are run from top to bottom, as a newcomer would.
WALKS = ("README.md", "docs/getting-started.md")
#: What a walk leaves out: set-up, which has happened, and what takes minutes.
LEFT_OUT = re.compile(r"make |\S+fairway reproduce ")

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="no documentation here: this is not a source tree"
)


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", WALKS)
def test_a_walk_through(page, tree):
    for text in blocks(page, "toml"):
        name = re.match(r"# (\S+\.toml)\n", text)
        assert name, "an experiment of a walk begins with the name of its file"
        (tree / name[1]).write_text(text)
    ran = 0
    for block in blocks(page, "console"):
        for line in block.splitlines():
            assert line.startswith("$ "), line
            if LEFT_OUT.match(line[2:]):
                continue
            program, *arguments = shlex.split(line[2:], comments=True)
            assert program == ".venv/bin/fairway"
            done = command(*arguments)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            ran += 1
    assert ran >= 1
    names = {}
    for block in blocks(page, "python"):
        exec(block, names)
    assert len(names) > 2


@pytest.mark.parametrize(
    ("page", "index", "text"),
    [
        (page, index, text)
        for page in [
            "README.md",
            *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
        ]
        for index, text in enumerate(blocks(page, "toml"))
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)
def test_every_experiment_is_valid(page, index, text):
    # A part of a file is tried as an addition to the README's experiment.
    whole = text if "[topology" in text else blocks("README.md", "toml")[0] + text
    assert plan(whole).points


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.name)
def test_an_example_is_valid_or_says_what_this_version_lacks(path):
    try:
        assert plan(path).points
    except ExperimentError as error:
        # docs/getting-started.md promises these two.
        assert path.name not in ("single.toml", "pair.toml")
        for line in str(error).splitlines():
            assert "not in this version of Fairway" in line


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"
