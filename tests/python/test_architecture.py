"""The page on architecture names every crate and every part of the package, in their order."""

import fnmatch
import re
from pathlib import Path

import pytest

from fairway.experiment.plan import parse_toml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="this is not a source tree")


def named(heading):
    """Names in the first column of the table with this heading."""
    table = (
        PAGE.read_text().partition(f"| {heading} | knows |\n|---|---|\n")[2].partition("\n\n")[0]
    )
    return [
        name for row in table.splitlines() for name in re.findall(r"`(.+?)`", row.split("|")[1])
    ]


def test_crates_stand_in_an_order_in_which_each_needs_only_those_above_it():
    known = set()
    order = named("crate")
    manifests = [
        path for place in ("crates", "transfer") for path in ROOT.glob(f"{place}/*/Cargo.toml")
    ]
    crates = {path.parent.name: path for path in manifests}
    assert sorted(order) == sorted(crates)
    for name in order:
        path = crates[name]
        needed = parse_toml(path.read_text(), str(path)).get("dependencies", {})
        own = {crate.removeprefix("fairway-") for crate in needed if crate.startswith("fairway-")}
        assert own <= known, f"{name} needs {own - known}, below it in the table"
        known.add(name)


def test_every_part_of_the_package_has_one_row():
    package = ROOT / "python" / "fairway"
    parts = {
        path.stem
        for path in package.iterdir()
        if path.suffix in (".py", "") and not path.name.startswith(("_", "bin", "py.typed"))
    }
    patterns = named("in `python/fairway`")
    fits = {part: [p for p in patterns if fnmatch.fnmatch(part, p)] for part in parts}
    assert {part: found for part, found in fits.items() if len(found) != 1} == {}
    assert [p for p in patterns if not fnmatch.filter(parts, p)] == []


def test_every_file_of_tests_is_in_a_binary_of_its_crate():
    """Of a crate with `tests/main.rs` Cargo looks for no other."""
    for main in ROOT.glob("crates/*/tests/main.rs"):
        manifest = main.parents[1] / "Cargo.toml"
        found = set(re.findall(r"^mod (\w+);", main.read_text(), re.M)) | {"main"}
        found |= {one["name"] for one in parse_toml(manifest.read_text(), str(manifest))["test"]}
        rust = {path.stem for path in main.parent.glob("*.rs")}
        rust |= {path.parent.name for path in main.parent.glob("*/mod.rs")}
        assert rust <= found, f"{main}: mod {', '.join(rust - found)} is missing"


def test_no_file_of_code_is_longer_than_800_lines():
    places = (
        "crates",
        "transfer",
        "python",
        "tools",
        "tests",
        "benches",
        "examples",
        "fuzz/fuzz_targets",
    )
    code = [
        path
        for place in places
        for path in (ROOT / place).rglob("*")
        if path.suffix in (".rs", ".py", ".pyi", ".js", ".ts", ".c")
    ]
    assert len(code) > 1000
    lines = {path: path.read_bytes().count(b"\n") for path in code}
    assert {str(path): count for path, count in lines.items() if count > 800} == {}
