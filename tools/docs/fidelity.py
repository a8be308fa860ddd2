"""Writes what fidelity.md says of misses: how closely the simulator follows golden traces.

    .venv/bin/python tools/docs/fidelity.py            write them
    .venv/bin/python tools/docs/fidelity.py --check    fail if the simulator has changed

What is written by hand in the table of misses stays with its miss, and goes with it. The table of
every cell is made when the site is built.
"""

from __future__ import annotations

import re
import sys

from reference import DOCS, table

import fairway
from fairway.compare.fidelity.data import JUDGED, Cell
from fairway.compare.fidelity.run import Fidelity
from fairway.compare.fidelity.tables import difference, value, verdict

PAGE = DOCS / "fidelity.md"
#: Kernels with a recording that comes with Fairway, and what their marks in the page end with.
KERNELS = {"6.1": "", "6.12": " 6.12"}
#: Columns of the table of misses that tell which one it is, and those that are written by hand.
KEYS, BY_HAND = 3, ("what is seen", "mechanism")


def measured(result: Fidelity) -> str:
    """A table for each scenario: the simulator's value, the real one, and the verdict."""
    parts = []
    titles = [quantity.title for quantity in JUDGED]
    for name, cells in result.scenarios.items():
        header = ["algorithm", *titles, "area between windows", "verdict"]
        parts += [f"### {name}\n", table(header, map(row, cells))]
    return "\n".join(parts)


def row(cell: Cell) -> list[str]:
    """A cell's numbers; what is out of tolerance is bold."""
    shown = []
    for quantity in JUDGED:
        one = cell.comparisons[quantity.name]
        both = f"{value(one, one.sim)} / {value(one, one.real)}"
        shown.append(both if one.within else f"**{both}**")
    area = "–" if cell.area is None else f"{100 * cell.area:.1f} %"
    return [f"`{cell.label}`", *shown, area, "within" if cell.within else f"**{verdict(cell)}**"]


def missed(result: Fidelity, before: str) -> str:
    """A line for each quantity that is out of tolerance, with what was written of it before."""
    lines = (line.strip().strip("|").split("|") for line in before.splitlines())
    rows = [[cell.strip() for cell in cells] for cells in lines]
    written = {tuple(cells[:KEYS]): cells[-len(BY_HAND) :] for cells in rows if len(cells) > KEYS}
    found = []
    for cell in result.cells:
        for one in cell.misses:
            keys = (cell.scenario, f"`{cell.label}`", one.quantity.title)
            numbers = [value(one, one.sim), value(one, one.real), difference(one)]
            found.append([*keys, *numbers, *written.get(keys, [""] * len(BY_HAND))])
    if not found:
        return "None.\n"
    return table(["scenario", "", "quantity", "sim", "real", "apart", *BY_HAND], found)


def written(page: str, mark: str, result: Fidelity) -> str:
    """The page with what was measured of one kernel."""

    def block(name: str) -> re.Pattern[str]:
        return re.compile(rf"(<!-- {name}{mark} -->\n)(.*?)(<!-- end -->)", re.DOTALL)

    page = block("measured").sub(lambda m: f"{m[1]}\n**{result.sentence}.**\n\n{m[3]}", page)
    return block("missed").sub(lambda m: f"{m[1]}\n{missed(result, m[2])}\n{m[3]}", page)


def main() -> int:
    """Write or check the page; the exit code."""
    page = PAGE.read_text(encoding="utf-8")
    new = page
    for kernel, mark in KERNELS.items():
        new = written(new, mark, fairway.fidelity(kernel=kernel))
    if "--check" in sys.argv[1:]:
        if new != page:
            print(f"out of date: {PAGE.name}; run make docs-figures", file=sys.stderr)  # noqa: T201
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
