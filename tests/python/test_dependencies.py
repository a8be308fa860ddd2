"""The page of dependencies names what is asked for, and nothing is asked for that is not used."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fairway.experiment.plan import parse_toml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dependencies.md"
#: Programs, and what another package loads: pandas `pyarrow`, and pytest `pytest-xdist`.
NOT_IMPORTED = {"maturin", "mypy", "pip-audit", "pyarrow", "pytest-xdist", "ruff"}
#: Crates that are named for their features: `test_the_agent_shares_…` says what for.
NAMED_FOR_FEATURES = {"indexmap", "once_cell"}
#: Names of modules that are not those of their packages.
MODULES = {"mkdocs-material": "mkdocs", "vl-convert-python": "vl_convert"}

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="this is not a source tree")

ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", re.M)


def rows(section):
    """Name -> who asks for it, as the page has it."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    assert all(why.strip() for _, _, why in ROW.findall(text))
    return {name: set(users.split(", ")) for name, users, _ in ROW.findall(text)}


def read(path):
    return parse_toml(path.read_text(), str(path))


def crates():
    """Directory of each crate -> sections of dependencies in its manifest."""
    manifests = [*ROOT.glob("crates/*/Cargo.toml"), *ROOT.glob("transfer/*/Cargo.toml")]
    for path in sorted([*manifests, ROOT / "fuzz" / "Cargo.toml"]):
        manifest = read(path)
        yield path.parent, manifest.get("dependencies", {}), manifest.get("dev-dependencies", {})


def asked_for():
    """Python package -> by which extras, or "users"."""
    project = read(ROOT / "pyproject.toml")["project"]
    groups = {"users": project["dependencies"], **project["optional-dependencies"]}
    found = {}
    for group, requirements in groups.items():
        for requirement in requirements:
            name = re.match(r"[A-Za-z0-9_-]+", requirement)[0]
            if name != "fairway":  # an extra of extras
                found.setdefault(name, set()).add(group)
    return found


def test_the_page_names_every_crate_and_who_uses_it():
    users = {}
    for place, needed, tested in crates():
        for name in {*needed, *tested}:
            if not name.startswith("fairway-"):
                users.setdefault(name, set()).add(place.name)
    assert rows("Rust") == users


def test_the_page_names_every_python_package_and_whom_it_is_for():
    assert rows("Python") == asked_for()


def test_every_crate_that_a_manifest_names_is_used_and_named_once():
    named = set()
    for place, needed, tested in crates():
        assert not needed.keys() & tested.keys(), place
        named |= {*needed, *tested}
        # What tests alone need may stand in `src` too; what all need has to.
        source = place / "src" if (place / "src").is_dir() else place
        for where, names in ((source, needed), (place, tested)):
            code = "\n".join(path.read_text() for path in where.rglob("*.rs"))
            if "fuzz/corpus.rs" in code:  # included from there
                code += (ROOT / "fuzz" / "corpus.rs").read_text()
            words = set(re.findall(r"\w+", code))
            unused = {name for name in names if name.replace("-", "_") not in words}
            assert unused <= NAMED_FOR_FEATURES, place
    for workspace in ("Cargo.toml", "transfer/Cargo.toml"):
        for name in read(ROOT / workspace)["workspace"]["dependencies"]:
            assert name in named, f"{workspace}: no crate uses {name}"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here")
def test_the_agent_shares_what_is_compiled_with_the_module():
    def features(package):
        tree = ["cargo", "tree", "--locked", "--offline", "--edges", "normal,build", "--prefix"]
        command = [*tree, "none", "--format", "{p} {f}", "--no-dedupe", "--package", package]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return set(done.stdout.splitlines())

    # A crate with other features is compiled again, with all that use it.
    assert features("fairway-guest") <= features("fairway-py")


def locked(path):
    """Name and version of every package in a lock file."""
    return {(one["name"], one.get("version")) for one in read(path)["package"]}


def test_transfer_is_tested_with_the_versions_that_are_shipped():
    assert locked(ROOT / "transfer" / "Cargo.lock") <= locked(ROOT / "Cargo.lock")


def test_both_workspaces_declare_alike_what_both_have():
    ours, theirs = (read(ROOT / place / "Cargo.toml") for place in (".", "transfer"))
    packages = ours["profile"]["dev"]["package"]
    # The crates that simulate are none of the transfer tools'.
    for name in packages.keys() - theirs["profile"]["dev"]["package"].keys():
        assert name.startswith("fairway-") and packages.pop(name), name
    # Of `make build` and `make lab`, which compile no other program of `transfer`.
    del ours["profile"]["quick"], ours["profile"]["page"]
    assert ours["profile"] == theirs["profile"]
    assert ours["workspace"]["lints"] == theirs["workspace"]["lints"]
    assert ours["workspace"]["package"] == theirs["workspace"]["package"]
    needed, also = (one["workspace"]["dependencies"] for one in (ours, theirs))
    for name in needed.keys() & also.keys():
        assert needed[name] == also[name] or name.startswith("fairway-"), name


def test_every_python_package_is_imported():
    code = "\n".join(
        path.read_text()
        for folder in ("python", "tests/python", "tools", "examples")
        for path in (ROOT / folder).rglob("*.py")
    )
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", code, re.M))
    for name in asked_for().keys() - NOT_IMPORTED:
        assert MODULES.get(name, name.replace("-", "_")) in imported, name
