"""Which commit built the program: recorded by builds, kept beside results, cited by reports."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairway
from conftest import SMALL
from fairway.ground import program
from fairway.plot.citation import Source, citation

ROOT = Path(__file__).parents[2]
ONE, OTHER = "0123456789" * 4, "abcdef0123" * 4 + "+"


def test_commits_tell_builds_of_one_version_apart():
    commits = [ONE, None, OTHER]
    cited = citation([Source("a", "1.0.0", "0" * 64, [7], commit) for commit in commits])
    assert cited.sentence.startswith(
        "Computed with Fairway 1.0.0 of commit 012345678901 and 1.0.0 and "
        "1.0.0 of commit abcdef0123ab with changes (The"
    )
    assert [row[2] for row in cited.table.rows] == [ONE, "–", OTHER]
    entries = cited.bibtex.split("\n\n")
    assert entries[0].startswith("@software{fairway-1.0.0-01234567,\n")
    assert "  version = {1.0.0},\n  note    = {commit 012345678901},\n" in entries[0]
    assert "note" not in entries[1]


@pytest.fixture
def built_of(tmp_path, monkeypatch):
    """What makes this program one that a build of some commit made."""
    monkeypatch.setattr(program, "_PACKAGE", tmp_path / "a" / "b")

    def build(commit):
        monkeypatch.setattr(program, "_BUILT_OF", commit or None)
        program.commit.cache_clear()

    yield build
    program.commit.cache_clear()


def contents(directory):
    """The files of results but for commits, reports, the time taken, and the list of files."""
    return {
        str(path.relative_to(directory)): re.sub(rb'"wall_s": [^,\n]+', b"", path.read_bytes())
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in (".commit", "report.html", ".fairway")
    }


@pytest.mark.parametrize("more", [{}, {"sweep": {"repetitions": 2}}], ids=["run", "sweep"])
def test_a_commit_changes_no_other_file_of_results(tmp_path, built_of, more):
    found = {}
    for name, commit in (("one", ONE), ("other", OTHER), ("none", "")):
        built_of(commit)
        fairway.run(SMALL, tmp_path / name, overrides=more)
        found[name] = contents(tmp_path / name)
        files = list((tmp_path / name).rglob(".commit"))
        assert {file.read_text() for file in files} == ({f"{commit}\n"} if commit else set())
        page = (tmp_path / name / "report.html").read_text()
        assert ("of commit 012345678901 (" in page) == (name == "one")
        assert ("of commit abcdef0123ab with changes (" in page) == (name == "other")
    assert found["one"] == found["other"] == found["none"]
    # The commit is that of the program that computed them, whoever draws.
    for name in found:
        page = (tmp_path / name / "report.html").read_text()
        assert fairway.load(tmp_path / name).report() == page


def git(clone, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", clone, *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def clone(tmp_path):
    """A clone that has nothing but what names its commit, and that commit."""
    if shutil.which("git") is None or not (ROOT / "tools" / "commit.py").is_file():
        pytest.skip("needs git and a source tree")
    clone = tmp_path / "clone"
    for file in ("tools/commit.py", ".gitattributes", "python/fairway/ground/program.py"):
        (clone / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, clone / file)
    (clone / ".gitignore").write_text("bin/\narchive*\n")
    git(clone, "init", "--quiet")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message", "first")
    return clone, git(clone, "rev-parse", "HEAD")


def recorded(tree, *arguments):
    """What a build of that tree records."""
    subprocess.run([sys.executable, tree / "tools" / "commit.py", *arguments], check=True)
    file = tree / "python" / "fairway" / "bin" / "commit"
    return file.read_text().strip() if file.exists() else None


def test_a_build_records_the_commit_of_its_clone(clone):
    tree, first = clone
    assert recorded(tree) == first
    assert recorded(tree, ONE) == first
    # A file that decides nothing of what the program does, and one that does.
    (tree / "notes").touch()
    assert recorded(tree) == first
    (tree / "crates").mkdir()
    (tree / "crates" / "new.rs").touch()
    assert recorded(tree) == f"{first}+"
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "second")
    assert recorded(tree) == git(tree, "rev-parse", "HEAD") != first


def test_a_build_without_git_records_what_the_archive_or_the_caller_says(clone):
    tree, first = clone
    git(tree, "archive", f"--output={tree / 'archive.tar'}", "HEAD")
    # Inside of a clone, of which it is no part.
    shutil.unpack_archive(tree / "archive.tar", tree / "archive")
    assert recorded(tree / "archive") == first
    shutil.rmtree(tree / ".git")
    assert recorded(tree, ONE) == ONE
    assert recorded(tree, "no commit") is None
    assert recorded(tree) is None


def test_sources_that_changed_after_the_build_are_told(clone, monkeypatch):
    tree, first = clone
    recorded(tree)
    package = tree / "python" / "fairway"
    monkeypatch.setattr(program, "_PACKAGE", package)
    monkeypatch.setattr(program, "_BUILT_OF", program.read(package / "bin" / "commit"))
    now = program.commit.__wrapped__
    assert now() == first
    (package / "ground" / "program.py").write_text("")
    assert now() == f"{first}+"
    # An installed package has no git beside it.
    shutil.rmtree(tree / ".git")
    assert now() == first
    (package / "bin" / "commit").write_text("<script>")
    assert program.read(package / "bin" / "commit") is None
