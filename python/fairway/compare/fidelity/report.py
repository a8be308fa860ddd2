"""The report of a comparison with golden traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairway.compare.fidelity import charts
from fairway.compare.fidelity.quantities import FEWEST_REDUCTIONS, what_is_taken
from fairway.compare.fidelity.tables import missed, tables, tolerances
from fairway.plot.page import FILL, Figure, Section, render

if TYPE_CHECKING:
    from fairway.compare.fidelity.data import FidelityData

_TOLERANCES = (
    "A cell is within tolerance if the simulated value of each of these is off the real one by no "
    "more than that share of it. The interval between reductions is judged where the recording "
    f"has at least {FEWEST_REDUCTIONS}; * marks what is out."
)


def report(result: FidelityData) -> str:
    """The whole report as HTML."""
    out = missed(result)
    sections = [
        Section("Verdict", f"{result.sentence}. {_TOLERANCES}",
                tables=[tolerances(), *([out] if out.rows else [])]),
    ]  # fmt: skip
    shown = tables(result)
    for index, (name, cells) in enumerate(result.scenarios.items()):
        figures = [
            Figure(charts.title(cell), charts.windows(cell, width=FILL, height=110))
            for cell in cells
        ]
        about = "The congestion window in segments against time in seconds."
        sections.append(Section(f"{name}: windows", about, figures=figures, grid=250))
        sections.append(Section(f"{name}: numbers", what_is_taken(),
                                tables=shown[3 * index : 3 * index + 3]))  # fmt: skip
    lead = f"Golden traces in {result.directory}, simulated beside real."
    return render(result.title, lead, sections)
