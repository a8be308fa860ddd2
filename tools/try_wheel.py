"""Tries a wheel as a user without a compiler: an environment of its own, and each part of it once.

    python tools/try_wheel.py dist/fairway-*.whl [--build-kernel]

It needs Python and pip alone. What the wheel asks for comes at the versions and hashes of
requirements/dev.lock. Without a kernel in the cache, and without `--build-kernel`, the two parts
that need one fail.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "dev.lock"
#: Directories with programs of the system: none of this user's, where rustup installs.
PATH = "/usr/local/bin:/usr/bin:/bin"
#: Where `fairway linux build` keeps kernels, for this user.
CACHE = "~/.cache/fairway"
COMPILERS = ("cargo", "rustc")
#: No part takes nearly so long, in seconds, but for the build of a kernel.
PATIENCE_S = 600
KERNEL_PATIENCE_S = 3000
#: Bytes at the beginning of a WebAssembly module (core specification, section 5.5.16).
WASM = b"\0asm"


class PartError(Exception):
    """A part that does not do what it should."""


@dataclass(frozen=True)
class Installed:
    """An environment with a wheel, and a directory to work in."""

    place: Path
    variables: dict[str, str]

    def program(self, name: str) -> Path:
        """Where the environment has a program."""
        return self.place / "venv" / "bin" / name

    def run(
        self, *arguments: str, patience_s: float = PATIENCE_S
    ) -> subprocess.CompletedProcess[str]:
        """Run `fairway`, to its end."""
        return subprocess.run(
            [self.program("fairway"), *arguments], cwd=self.place, env=self.variables,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience_s,
            check=False,
        )  # fmt: skip

    def succeed(self, *arguments: str, patience_s: float = PATIENCE_S) -> str:
        """Run `fairway`, which has to succeed, and return its standard output."""
        done = self.run(*arguments, patience_s=patience_s)
        if done.returncode != 0:
            raise PartError(f"exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


def install(wheel: Path, place: Path, **variables: str) -> Installed:
    """Make an environment with a wheel and what it asks for, pinned by hash."""
    if found := next(filter(None, (shutil.which(one, path=PATH) for one in COMPILERS)), None):
        raise PartError(
            f"{found}: this machine has Rust for all its users; try the wheel elsewhere"
        )
    venv.create(place / "venv", with_pip=False, symlinks=True)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted = place / "wheel.txt"
    wanted.write_text(f"{wheel.resolve()} --hash=sha256:{digest}\n", encoding="utf-8")
    python = str(place / "venv" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install"]
    done = subprocess.run(
        [*pip, "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
         "--require-hashes", "--requirement", wanted, "--constraint", LOCK],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise PartError(f"pip cannot install {wheel.name}: {done.stderr.strip()}")
    return Installed(place, {"PATH": PATH, "HOME": str(place), **variables})


def experiment(installed: Installed) -> None:
    """The README's first experiment gives a report."""
    (example,) = re.findall(
        r"```toml\n(# two.toml\n.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S
    )
    (installed.place / "two.toml").write_text(example, encoding="utf-8")
    installed.succeed("run", "two.toml", "--out", "two")
    report = (installed.place / "two" / "report.html").read_text("utf-8")
    if "window.vegaEmbed=" not in report.replace(" ", ""):
        raise PartError("two/report.html draws no charts")


def page(installed: Installed) -> None:
    """`fairway lab` serves the page and its simulator."""
    server = subprocess.Popen(
        [installed.program("fairway"), "lab", "--port", "0", "--no-open"], cwd=installed.place,
        env=installed.variables, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    try:
        said = server.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", said)
        if address is None:
            raise PartError(f"no address of the page, but: {said}{server.stderr.read()}")
        for name, begin in (("", b"<!doctype html>"), ("built/lab.wasm", WASM)):
            with urllib.request.urlopen(address[0] + name, timeout=PATIENCE_S) as answer:
                if not answer.read(len(begin)).lower().startswith(begin):
                    raise PartError(f"{address[0]}{name} is not what it should be")
    except OSError as error:
        raise PartError(f"the page cannot be read: {error}") from error
    finally:
        server.terminate()
        server.wait()
        server.stderr.close()


def kernel(installed: Installed) -> None:
    """Two seconds of that experiment run on a real kernel, over Fairway's network."""
    short = ("--set", 'duration="2 s"')
    installed.succeed("run", "two.toml", "--backend", "linux", *short, "--out", "on-kernel")
    if not (installed.place / "on-kernel" / "flows.parquet").is_file():
        raise PartError("on-kernel has no flows.parquet")


def shell(installed: Installed) -> None:
    """`fairway shell` runs a program of this machine on the experiment's network."""
    said = installed.succeed("shell", "two.toml", "--alone", "--", "sh", "-c", "echo $((6 * 7))")
    if said != "42\n":
        raise PartError(f"the program's output is {said!r}, and should be 42")


#: In their order: the first writes the experiment of the others.
PARTS: tuple[Callable[[Installed], None], ...] = (experiment, page, kernel, shell)


def main() -> None:
    """Try every part, and say which fail."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("wheel", type=Path)
    asked.add_argument("--build-kernel", action="store_true", help="build the kernel first")
    options = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairway-wheel-") as place:
        cache = {"FAIRWAY_CACHE": os.environ.get("FAIRWAY_CACHE") or str(Path(CACHE).expanduser())}
        failed = tried(options.wheel, Path(place), options.build_kernel, cache)
    sys.exit(failed)


def tried(wheel: Path, place: Path, is_kernel_built: bool, variables: dict[str, str]) -> bool:
    """Whether a part has failed."""
    try:
        installed = install(wheel, place, **variables)
        if is_kernel_built:
            installed.succeed("linux", "build", "--quiet", patience_s=KERNEL_PATIENCE_S)
    except (PartError, OSError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"{wheel}: cannot be tried: {error}\n")
        return True
    has_failed = False
    for part in PARTS:
        sentence = (part.__doc__ or "").partition("\n")[0]
        try:
            part(installed)
            sys.stdout.write(f"well    {sentence}\n")
        except (PartError, OSError, subprocess.TimeoutExpired) as error:
            has_failed = True
            sys.stderr.write(f"failed  {sentence}\n        {error}\n")
    return has_failed


if __name__ == "__main__":
    main()
