"""Which commit the running program was built of, and which one computed a result."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from fairway import _core
from fairway.ground import regular

_PACKAGE = Path(__file__).parents[1]
#: Which commit computed a result: in its directory, and outside of its manifest like the digest of
#: the program.
FILE = ".commit"
_COMMIT = re.compile(r"[0-9a-f]{40}\+?")
#: Digits of a hash that a sentence has.
_DIGITS = 12


def read(file: Path) -> str | None:
    """What such a file says; None where there is none, or something else."""
    try:
        with regular.opened(file) as opened:
            found = opened.read(64).decode("ascii").strip()
    except (OSError, ValueError):
        return None
    return found if _COMMIT.fullmatch(found) else None


#: Written by `tools/commit.py`: a hash, and behind it "+" if sources had changes of their own. Read
#: at once: another version may be installed before a long run ends.
_BUILT_OF = read(_PACKAGE / "bin" / "commit")


@functools.cache
def commit() -> str | None:
    """The commit that this program was built of, "+" behind it if that is not all; None if unknown.

    Python files of a clone are used in place, so that they may have changed since.
    """
    found = _BUILT_OF
    if found is None or found.endswith("+") or not (_PACKAGE.parents[1] / ".git").exists():
        return found
    return f"{found}+" if _differs(found) else found


def _differs(since: str) -> bool:
    """Whether git says so; without git, nothing is known of changes."""
    import subprocess

    command = ["git", "-C", str(_PACKAGE), "diff", "--quiet", "--no-ext-diff", since, "--", "."]
    try:
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 1
    except (OSError, subprocess.TimeoutExpired):
        return False


def in_words(commit: str) -> str:
    """A commit as sentences have it.

    >>> in_words("0123456789abcdef0123456789abcdef01234567+")
    'commit 0123456789ab with changes'
    """
    return f"commit {commit[:_DIGITS]}" + (" with changes" if commit.endswith("+") else "")


def named() -> str:
    """Version and commit of this program."""
    found = commit()
    return _core.version() + (f" ({in_words(found)})" if found else "")
