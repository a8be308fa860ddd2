"""Runs the tests of code that needs `unsafe` under tools that see what the compiler cannot.

    python tools/unsafe_tests.py miri
    python tools/unsafe_tests.py sanitize

It needs a nightly compiler: `rustup toolchain install nightly --profile minimal`. A tool that is
missing is named at the end, with the command that installs it, and the exit code is 3; a failed
test gives 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRANSFER = ROOT / "transfer"
#: Named, it keeps the sanitizer away from build scripts (the Rust unstable book, "sanitizer").
TARGET = "x86_64-unknown-linux-gnu"
NOT_RUN = 3


@dataclass(frozen=True)
class Tests:
    """Tests of one crate: its workspace, and what `cargo test` is asked for."""

    workspace: Path
    crate: str
    arguments: tuple[str, ...]


#: Tests of memory alone, since Miri knows few system calls.
OF_MEMORY = (
    Tests(ROOT, "fairway-emulator", ("--lib", "abi::")),
    Tests(ROOT, "fairway-lab", ("--lib", "abi::")),
    Tests(ROOT, "fairway-resources", ("--lib", "reserve::")),
    Tests(ROOT, "fairway-guest", ("--bins", "sys::tests::a_frame_is")),
    Tests(TRANSFER, "fairway-socket", ("--lib", "control::")),
)
#: All tests of the crates that contain `unsafe`, but for the long ones of `lab`.
OF_THE_KERNEL = (
    Tests(ROOT, "fairway-emulator", ("--lib",)),
    Tests(ROOT, "fairway-lab", ("--lib", "abi::")),
    Tests(ROOT, "fairway-guest", ()),
    Tests(ROOT, "fairway-resources", ()),
    Tests(TRANSFER, "fairway-socket", ()),
)


def main() -> None:
    """Run one of the two, and say what was not run."""
    choices: dict[str, Callable[[], tuple[bool, list[str]]]] = {"miri": miri, "sanitize": sanitize}
    if len(sys.argv) != 2 or sys.argv[1] not in choices:
        sys.exit(f"usage: {sys.argv[0]} miri|sanitize")
    if not succeeds("cargo", "+nightly", "--version"):
        sys.exit("no nightly compiler: `rustup toolchain install nightly --profile minimal`")
    is_well, missing = choices[sys.argv[1]]()
    for line in missing:
        sys.stdout.write(f"Not run: {line}\n")
    sys.exit(1 if not is_well else NOT_RUN if missing else 0)


def miri() -> tuple[bool, list[str]]:
    """Whether no test has failed under Miri; what could not be run."""
    if not succeeds("cargo", "+nightly", "miri", "--version"):
        return True, ["Miri is not there: `rustup +nightly component add miri rust-src`"]
    # The tests read files; a case of a random test takes seconds.
    variables = {"MIRIFLAGS": "-Zmiri-disable-isolation", "PROPTEST_CASES": "16"}
    return run(OF_MEMORY, ["miri", "test"], variables), []


def sanitize() -> tuple[bool, list[str]]:
    """Whether no test has failed under AddressSanitizer and ThreadSanitizer; what was not run."""
    is_well = under("address", [])
    sources = (
        Path(output("rustc", "+nightly", "--print", "sysroot")) / "lib/rustlib/src/rust/library"
    )
    if not sources.is_dir():
        return is_well, [
            "ThreadSanitizer finds races that are none in a standard library without "
            "instrumentation, and its sources are missing: `rustup +nightly component add rust-src`"
        ]
    return under("thread", ["-Zbuild-std"]) and is_well, []


def under(sanitizer: str, options: list[str]) -> bool:
    """Whether no test has failed under a sanitizer."""
    variables = {
        "RUSTFLAGS": f"-Zsanitizer={sanitizer}",
        "CARGO_TARGET_DIR": str(ROOT / f"target-{sanitizer}"),
    }
    return run(OF_THE_KERNEL, ["test", "--target", TARGET, *options], variables)


def run(tests: tuple[Tests, ...], command: list[str], variables: dict[str, str]) -> bool:
    """Whether no test has failed; every one is run."""
    results = []
    for one in tests:
        sys.stdout.write(f"{' '.join(command[:2])} of {one.crate} {' '.join(one.arguments)}\n")
        sys.stdout.flush()
        done = subprocess.run(
            ["cargo", "+nightly", *command, "--quiet", "--locked", "--package", one.crate,
             *one.arguments],
            cwd=one.workspace, env=os.environ | variables, check=False,
        )  # fmt: skip
        results.append(done.returncode == 0)
    return all(results)


def succeeds(*command: str) -> bool:
    """Whether a command is there and succeeds."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
