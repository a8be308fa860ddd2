"""Checks pinned Python packages for advisories, and says how many pip-audit could ask about.

    python tools/advisories.py [--required] requirements/*.lock

With `--required`, a package that nobody could be asked about is a failure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

PIP_AUDIT = Path(sys.executable).with_name("pip-audit")


def main() -> None:
    """Check each file."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--required", action="store_true")
    asked.add_argument("locks", type=Path, nargs="+")
    options = asked.parse_args()
    results = [check(lock, options.required) for lock in options.locks]
    sys.exit(not all(results))


def check(lock: Path, is_required: bool) -> bool:
    """Whether a file has no known vulnerability, and was asked about where that is required."""
    done = subprocess.run(
        [PIP_AUDIT, "--requirement", lock, "--disable-pip", "--progress-spinner", "off",
         "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        sys.stderr.write(f"{lock}: pip-audit fails: {done.stderr.strip()}\n")
        return False
    skipped = sum("skip_reason" in one for one in packages)
    vulnerable = [
        f"{lock}: {one['name']} {one['version']}: {found['id']}; take a newer version"
        for one in packages for found in one.get("vulns", [])
    ]  # fmt: skip
    checked = f"checked for advisories: {len(packages) - skipped} of {len(packages)}"
    note = " (the others cannot be reached)" if skipped else ""
    sys.stdout.write(f"{lock}: Python packages {checked}{note}\n")
    for line in vulnerable:
        sys.stderr.write(f"{line}\n")
    return not vulnerable and not (is_required and skipped)


if __name__ == "__main__":
    main()
