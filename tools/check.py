"""Checks what changed: format, lints, types, and the unit tests of changed crates and modules.

    make check                  changes since origin/main, or since the last commit
    make check BASE=COMMIT      changes since another commit

Uncommitted changes count. `make lint test` checks everything.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
SUBJECT = re.compile(r"(?=.{1,72}$)[a-z0-9_+-]+: [a-z]")
#: Folders whose declarations the documentation shows, and the tests that hold it to them.
DECLARING = [ROOT / name for name in ("crates/schema", "crates/spec", "crates/tcp", "docs")]
OF_DOCUMENTATION = [
    ROOT / "tests" / "python" / f"test_{name}.py" for name in ("results_page", "reference", "docs")
]
#: Needs a nightly compiler; `make fuzz` builds it.
FUZZ = ROOT / "fuzz"
#: Its tests are the Python ones: a Rust test of it would need Python's development files.
BINDING = ROOT / "crates" / "py"


def git(*arguments: str) -> list[str]:
    """The lines that a git command prints."""
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def base() -> str:
    """The commit at which this branch left origin/main, or else the last commit."""
    try:
        return git("merge-base", "origin/main", "HEAD")[0]
    except subprocess.CalledProcessError:
        return "HEAD"


def crates(changed: list[Path]) -> list[Path]:
    """Directories of the crates that changed files belong to."""
    found = set()
    for path in changed:
        for folder in path.parents:
            if folder not in (ROOT, FUZZ) and (folder / "Cargo.toml").is_file():
                found.add(folder)
                break
    return sorted(found)


def python_tests(changed: list[Path]) -> list[Path]:
    """Changed test files, those of changed modules, and the documentation's."""
    tests = {path: path.read_text() for path in (ROOT / "tests" / "python").glob("test_*.py")}
    found = tests.keys() & set(changed)
    package = ROOT / "python" / "fairway"
    for path in changed:
        if path.suffix == ".py" and package in path.parents:
            found |= tests_of(path.relative_to(package).with_suffix("").parts, tests)
        if any(folder in path.parents for folder in DECLARING):
            found |= set(OF_DOCUMENTATION)
    return sorted(found)


def tests_of(parts: tuple[str, ...], tests: dict[Path, str]) -> set[Path]:
    """Tests that have the name of a module or of its package, or else import it."""
    for name in reversed(parts):
        if named := {test for test in tests if re.match(rf"test_{name}(_|\.)", test.name)}:
            return named
    *parents, name = parts
    room = re.escape(".".join(["fairway", *parents]))
    imports = re.compile(rf"^ *(from|import) {room}(\.{name}\b| import .*\b{name}\b)", re.M)
    return {test for test, text in tests.items() if imports.search(text)}


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Runs a command, shows what it took, and ends with its status if it fails."""
    words = [str(word) for word in command]
    place = "" if cwd == ROOT else f"cd {cwd.relative_to(ROOT)}; "
    sys.stdout.write(f"$ {place}{' '.join(words).replace(f'{ROOT}/', '')}\n")
    sys.stdout.flush()
    began = time.monotonic()
    status = subprocess.run(words, cwd=cwd, check=False).returncode
    sys.stdout.write(f"  {time.monotonic() - began:.1f} s\n")
    if status:
        sys.exit(status)


def check_subjects(subjects: list[str]) -> None:
    """Ends unless every commit subject is `area: imperative` of at most 72 characters."""
    for subject in subjects:
        if not SUBJECT.match(re.sub(r"^(fixup|squash|amend)! ", "", subject)):
            sys.exit(
                f"commit subject: expected `area: imperative in lower case`, at most 72 "
                f"characters; found {len(subject)}: {subject}"
            )


def main(since: str) -> None:
    """Checks what changed since a commit."""
    check_subjects(git("log", "--no-merges", "--format=%s", f"{since}..HEAD"))
    names = git("diff", "--name-only", "--diff-filter=d", since)
    names += git("ls-files", "--others", "--exclude-standard")
    changed = [ROOT / name for name in names]
    for workspace in (ROOT, ROOT / "transfer"):
        run("cargo", "fmt", "--all", "--check", cwd=workspace)
    run(BIN / "ruff", "check", "--quiet")
    run(BIN / "ruff", "format", "--check", "--quiet")
    if any(path.suffix in (".py", ".pyi") for path in changed):
        run(BIN / "mypy")
    for crate in crates(changed):
        run("cargo", "clippy", "--quiet", "--all-targets", "--locked", "--", "-D", "warnings",
            cwd=crate)  # fmt: skip
        if crate != BINDING:
            run("cargo", "test", "--quiet", "--locked", cwd=crate)
    if tests := python_tests(changed):
        run(BIN / "python", "-m", "pytest", "-q", "-n", "logical", "--dist", "worksteal", *tests)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--message"]:  # the commit-msg hook
        check_subjects([Path(sys.argv[2]).read_text().partition("\n")[0]])
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else base())
