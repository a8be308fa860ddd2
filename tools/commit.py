"""Writes into the package which commit it is built of, for citations.

    python tools/commit.py [COMMIT]

`make` does it for each build; whatever else builds a wheel has to. Without git, the commit is the
one given, or that of which `git archive` made this tree, or unknown.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "python/fairway/bin/commit"
#: What decides what the program does.
SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "transfer", "python/fairway")
#: `git archive` puts the commit here (.gitattributes).
ARCHIVED = "$Format:%H$"


def main() -> None:
    """Write the file, or remove it if the commit is unknown."""
    found = of_git() or (sys.argv[1] if len(sys.argv) > 1 else ARCHIVED)
    if not re.fullmatch(r"[0-9a-f]{40}\+?", found):
        FILE.unlink(missing_ok=True)
    elif not FILE.is_file() or FILE.read_text(encoding="ascii").strip() != found:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(f"{found}\n", encoding="ascii")


def of_git() -> str:
    """The commit of this clone, "+" behind it if sources differ; nothing where this is no clone."""
    # A directory in the clone of something else is none.
    if not (ROOT / ".git").exists():
        return ""
    commit = git("rev-parse", "HEAD")
    return commit + ("+" if commit and git("status", "--porcelain", "--", *SOURCES) else "")


def git(*arguments: str) -> str:
    """What git says; nothing if it fails or is missing."""
    try:
        done = subprocess.run(
            ["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    main()
