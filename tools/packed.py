"""Refuses a wheel or a source distribution that lacks a file which Fairway needs.

    python tools/packed.py dist/fairway-*.whl dist/fairway-*.tar.gz

`make wheel` and `make sdist` do it. What is refused is removed, so that nobody publishes it.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

#: Beginnings of files: programs and libraries (elf(5)), and modules for browsers (WebAssembly core
#: specification, section 5.5.16).
ELF = b"\x7fELF"
WASM = b"\0asm"

#: Built files of the package that are the same everywhere -> how they begin and what makes them.
EVERYWHERE = {
    "lab/page/built/charts.js": (b"", "make lab"),
    "lab/page/built/charts.json": (b"{", "make lab"),
    "lab/page/built/examples.json": (b"{", "make lab"),
    "lab/page/built/exercises.json": (b"[", "make lab"),
    "lab/page/built/lab.wasm": (WASM, "make lab"),
    "lab/page/built/report.css": (b"", "make lab"),
    "lab/page/built/theme.js": (b"", "make lab"),
    "lab/page/built/vega.js": (b"", "make lab"),
    "plot/library/vega-embed.js": (b"", "make build"),
}
#: The same for one kind of machine: a wheel has these as well.
COMPILED = {
    "_core.abi3.so": (ELF, "maturin build"),
    "bin/fairway-guest": (ELF, "make wheel"),
    "bin/libfairway-network.so": (ELF, "make wheel"),
}
#: Files of the source tree without which a source distribution cannot be built.
SOURCES = (
    "Cargo.lock", "Cargo.toml", "crates/py/Cargo.toml", "crates/py/src/lib.rs", "pyproject.toml",
    "transfer/Cargo.toml", "transfer/socket/Cargo.toml", "transfer/xfer/Cargo.toml",
)  # fmt: skip
#: Less than any of the built files has.
FEWEST_BYTES = 100


def main() -> None:
    """Check each archive; remove those that are refused."""
    refused = False
    for path in map(Path, sys.argv[1:]):
        problems = check(path)
        for problem in problems:
            sys.stderr.write(f"{path}: {problem}\n")
        if problems:
            path.unlink()
            refused = True
    sys.exit(refused)


def check(path: Path) -> list[str]:
    """Each required file that an archive lacks or has damaged, with the remedy."""
    found = dict(wheel(path) if path.suffix == ".whl" else sdist(path))
    is_wheel = path.suffix == ".whl"
    package = "fairway/" if is_wheel else "python/fairway/"
    wanted = {package + name: how for name, how in EVERYWHERE.items()}
    if is_wheel:
        wanted |= {package + name: how for name, how in COMPILED.items()}
    else:
        wanted |= dict.fromkeys(SOURCES, (b"", "git status: is it there?"))
    problems = []
    for name, (begin, remedy) in wanted.items():
        if name not in found:
            problems.append(f"{name} is missing; make it with `{remedy}`")
        elif not found[name].startswith(begin) or len(found[name]) < FEWEST_BYTES:
            problems.append(f"{name} is damaged; make it again with `{remedy}`")
    return problems


def wheel(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names and beginnings of the files of a wheel."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as file:
                yield name, file.read(FEWEST_BYTES)


def sdist(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names and beginnings of the files of a source distribution, below its one directory."""
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                yield re.sub(r"^[^/]*/", "", member.name), file.read(FEWEST_BYTES)


if __name__ == "__main__":
    main()
