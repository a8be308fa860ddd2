"""Configuring and compiling a kernel's tree with its own makefiles."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fairway.errors import FairwayError, InputError

#: Steps that `make linux` prints for Linux 6.1 with Fairway's configuration: "  CC      mm/slub.o".
_STEPS = 1130
_STEP = re.compile(rb"^  [A-Z]")
_LAST_LINES = 15
#: Variables by which other makefiles, ours among them, would change what the kernel's do.
_FOREIGN = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES", "ARCH", "SUBARCH", "CROSS_COMPILE",
            "O", "KBUILD_OUTPUT", "KCFLAGS", "KCPPFLAGS", "CC", "LLVM")  # fmt: skip


class BuildFailed(FairwayError):  # noqa: N818
    """The kernel's own makefiles ended with an error."""


class Compilation:
    """The build of one tree; its log is kept as `kept_log` if it fails."""

    def __init__(self, tree: Path, log: Path, kept_log: Path) -> None:
        self._tree = tree
        self._log = log
        self._kept_log = kept_log

    def configure(self, fragment: str) -> None:
        """Write `.config`: nothing but the fragment and what that needs."""
        path = self._log.with_name("fragment.config")
        path.write_text(fragment, "utf-8")
        self._make(["allnoconfig"], {"KCONFIG_ALLCONFIG": str(path)}, lambda _: None)

    def check_configuration(self, fragment: str) -> list[str]:
        """Look whether each option of the fragment has got into `.config`."""
        required, optional = missing_options(fragment, (self._tree / ".config").read_text("utf-8"))
        if required:
            raise InputError(
                f"this kernel's configuration lacks what experiments need: {', '.join(required)}; "
                "it may be too old or too new for this version of Fairway: build another one with "
                "--source"
            )
        return [f"this kernel has no option {line}" for line in optional]

    def compile(self, jobs: int, progress: Callable[[float], None]) -> None:
        """Make the executable, without symbols of debugging."""
        steps = 0

        def count(line: bytes) -> None:
            nonlocal steps
            if _STEP.match(line):
                steps += 1
                progress(min(steps / _STEPS, 0.99))

        self._make([f"-j{jobs}", "linux"], {}, count)
        # The build's own symbols are not needed: the kernel carries a table of its functions.
        strip = ["strip", "--strip-unneeded", str(self._tree / "linux")]
        if shutil.which("strip"):
            subprocess.run(strip, check=False, capture_output=True)

    def release(self) -> str:
        """The kernel's version as it says it itself."""
        release = (self._tree / "include" / "config" / "kernel.release").read_text("utf-8").strip()
        if not re.fullmatch(r"[0-9][0-9A-Za-z.+_-]{0,63}", release):
            raise InputError(f"this kernel calls its release {release[:80]!r}; is it patched so?")
        return release

    def _make(
        self, arguments: list[str], variables: dict[str, str], each: Callable[[bytes], None]
    ) -> None:
        command = ["make", "ARCH=um", *arguments]
        with self._log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            # A session of its own, so that whatever it has started can be ended together.
            process = subprocess.Popen(
                command,
                cwd=self._tree,
                env=_environment(variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    log.write(line)
                    each(line)
                process.wait()
            except BaseException:
                _end(process)
                raise
            finally:
                process.stdout.close()
        if process.returncode:
            raise BuildFailed(self._complaint(" ".join(command), process.returncode))

    def _complaint(self, command: str, code: int) -> str:
        text = self._log.read_text("utf-8", "replace")
        shutil.copy(self._log, self._kept_log)
        # With several jobs, what went wrong may stand far above the last line.
        lines = text.splitlines()
        errors = [line for line in lines if re.search(r"error:|Error \d|No space left", line)]
        shown = "\n".join(f"  {line}" for line in (errors or lines)[-_LAST_LINES:])
        return (
            f"building the kernel failed: `{command}` ended with exit code {code}:\n{shown}\n"
            f"The whole log: {self._kept_log}\n"
            "If a program or header file is missing, install it; if this is a kernel of your own, "
            "see whether it builds for User-Mode Linux without Fairway (make ARCH=um)"
        )


def missing_options(fragment: str, configuration: str) -> tuple[list[str], list[str]]:
    """The lines of a fragment that a configuration lacks: the required and the optional ones.

    A line "# CONFIG_NAME is not set" is lacking where the option has a value.
    """
    lines = set(configuration.splitlines())
    chosen = {line.partition("=")[0] for line in lines if line.startswith("CONFIG_")}

    def is_absent(line: str) -> bool:
        if off := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
            return off[1] in chosen
        return line.startswith("CONFIG_") and line not in lines

    required: list[str] = []
    optional: list[str] = []
    for group in re.split(r"\n\s*\n", fragment):
        absent = filter(is_absent, group.splitlines())
        (optional if group.lstrip().startswith("# Optional") else required).extend(absent)
    return required, optional


def _environment(variables: dict[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    # The same inputs and compiler give the same bytes: no names, no dates.
    fixed = {
        "LC_ALL": "C",
        "KBUILD_BUILD_USER": "fairway",
        "KBUILD_BUILD_HOST": "fairway",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan 1 00:00:00 UTC 1970",
    }
    return {**inherited, **fixed, **variables}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End make and every compiler that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        deadline = time.monotonic() + 3
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    process.wait()
