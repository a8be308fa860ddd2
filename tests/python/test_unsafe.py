"""Code that needs `unsafe`: the lints that hold it, and the tests that sanitizers run on it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.experiment.plan import parse_toml

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "unsafe_tests.py"

if not TOOL.is_file():
    pytest.skip("this is not a source tree", allow_module_level=True)

import unsafe_tests  # noqa: E402

CODE = re.compile(r"\bunsafe\b(?! *\(no_mangle)")
#: Files whose `unsafe` no test of the tool reaches -> what else watches it.
ELSEWHERE = {
    "fuzz/fuzz_targets/parquet.rs": "an allocator of `make fuzz`, with AddressSanitizer",
    "crates/sweep/tests/refused/main.rs": "an allocator that passes on or refuses, of a test alone",
}


def sources():
    """Every Rust file of the repository."""
    for place in ("crates", "transfer", "fuzz"):
        for path in (ROOT / place).rglob("*.rs"):
            if "target" not in path.relative_to(ROOT).parts:
                yield path


def without_comments(text):
    """Code alone: no comments, no strings of one line."""
    return re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)


def package(place):
    """The name of the crate in a directory."""
    return parse_toml((place / "Cargo.toml").read_text(), str(place))["package"]["name"]


def test_every_file_with_unsafe_code_has_tests_under_a_sanitizer():
    watched = {one.crate for one in unsafe_tests.OF_THE_KERNEL}
    found = set()
    for path in sources():
        if CODE.search(without_comments(path.read_text("utf-8"))):
            name = path.relative_to(ROOT).as_posix()
            place = next(one for one in path.parents if (one / "Cargo.toml").is_file())
            found.add(package(place))
            assert package(place) in watched or name in ELSEWHERE, name
    assert found == watched | {"fairway-fuzz", "fairway-sweep"}
    assert {one.crate for one in unsafe_tests.OF_MEMORY} == watched


@pytest.mark.parametrize("one", [*unsafe_tests.OF_MEMORY, *unsafe_tests.OF_THE_KERNEL])
def test_the_tool_asks_for_tests_that_are_there(one):
    (place,) = (
        path.parent
        for path in one.workspace.glob("**/Cargo.toml")
        if f'name = "{one.crate}"\n' in path.read_text() and "target" not in path.parts
    )
    if not one.arguments:
        return
    kind, *wanted = one.arguments
    root = (place / "src" / {"--lib": "lib.rs", "--bins": "main.rs"}[kind]).read_text()
    for name in wanted:
        module, _, function = name.partition("::")
        assert f"mod {module};" in root
        text = (place / "src" / f"{module}.rs").read_text()
        assert "#[cfg(test)]" in text
        assert f"fn {function.removeprefix('tests::')}" in text


def test_every_workspace_and_crate_denies_what_hides_an_invariant():
    """A crate with lints of its own inherits none, and may only soften `unsafe_code`."""
    for workspace in (ROOT, ROOT / "transfer"):
        told = parse_toml((workspace / "Cargo.toml").read_text(), "Cargo.toml")["workspace"][
            "lints"
        ]
        assert told["rust"]["unsafe_code"] == "forbid"
        assert told["rust"]["unsafe_op_in_unsafe_fn"] == "deny"
        for lint in ("multiple_unsafe_ops_per_block", "undocumented_unsafe_blocks"):
            assert told["clippy"][lint] == "deny"
        for path in workspace.glob("crates/*/Cargo.toml" if workspace == ROOT else "*/Cargo.toml"):
            lints = parse_toml(path.read_text(), str(path))["lints"]
            if lints != {"workspace": True}:
                assert lints["clippy"] == told["clippy"], path
                # The binding's macros write code with `unsafe`, so that it says nothing of it.
                assert lints["rust"].pop("unsafe_code", "deny") == "deny", path
                assert lints["rust"].items() <= told["rust"].items(), path
                assert "unsafe_op_in_unsafe_fn" in lints["rust"], path
    fuzz = parse_toml((ROOT / "fuzz" / "Cargo.toml").read_text(), "fuzz/Cargo.toml")["lints"]
    assert set(fuzz["clippy"].values()) == {"deny"} and len(fuzz["clippy"]) == 2


def test_a_tool_that_is_missing_is_named_with_what_installs_it(tmp_path):
    cargo = tmp_path / "cargo"
    cargo.write_text('#!/bin/sh\n[ "$2" != miri ]\n')
    cargo.chmod(0o755)
    rustc = tmp_path / "rustc"
    rustc.write_text(f"#!/bin/sh\necho {tmp_path}\n")
    rustc.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    for tool, missing in (("miri", "component add miri"), ("sanitize", "component add rust-src")):
        done = subprocess.run([sys.executable, TOOL, tool], env=environment, capture_output=True,
                              text=True, check=False)  # fmt: skip
        assert done.returncode == 3
        assert "Not run: " in done.stdout and missing in done.stdout
    cargo.write_text('#!/bin/sh\n[ "$2" != test ]\n')
    done = subprocess.run([sys.executable, TOOL, "sanitize"], env=environment, check=False,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1, "tests that fail"
