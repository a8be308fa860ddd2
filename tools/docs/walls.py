"""Writes the tables of walls.md: every way out that tests try, and its result.

    .venv/bin/python tools/docs/walls.py            write them
    .venv/bin/python tools/docs/walls.py --check    fail if the page differs

The tables are those that `tests/python/test_walls.py` holds against a kernel.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from markdown_text import capitalised, table
from reference import DOCS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))

import wall_ways
import ways_out

PAGE = DOCS / "walls.md"
PLACE = "<!-- ways: {} -->\n"
END = "<!-- end -->"


def rows(found: tuple[ways_out.Attempt, ...]) -> str:
    """A line for each way."""
    header = ["way", "tried", "result"]
    return table(header, ([way.name, capitalised(way.tried), result(way)] for way in found))


def result(way: ways_out.Attempt) -> str:
    """The result that is expected, and those of other kernels and machines."""
    shown = [f"`{one}`" if re.fullmatch("E[A-Z]+", one) else one for one in way.expected]
    return " or ".join(shown)


def written(page: str) -> str:
    """The page with its tables as they are now."""
    for name, found in (("program", ways_out.WAYS), ("kernel", wall_ways.WAYS)):
        place = PLACE.format(name)
        before, _, rest = page.partition(place)
        _, end, after = rest.partition(END)
        if not end:
            sys.exit(f"{PAGE}: expected {place.strip()} and then {END}; put them back")
        page = f"{before}{place}\n{rows(found)}\n{end}{after}"
    return page


def main() -> None:
    """Write or check the page."""
    before = PAGE.read_text("utf-8")
    after = written(before)
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(after, "utf-8")
    elif before != after:
        sys.exit(f"{PAGE} differs from the tests' tables; run tools/docs/walls.py")


if __name__ == "__main__":
    main()
