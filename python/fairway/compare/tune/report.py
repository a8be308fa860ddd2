"""The report of a search: verdicts first, then how they were come by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairway.compare.tune import charts
from fairway.ground import text
from fairway.plot.page import FILL, Figure, Section, render

if TYPE_CHECKING:
    from fairway.compare.tune.result import Tuning

_METHOD = (
    "Optuna's tree-structured Parzen estimator proposed the trials. All of them, and the default, "
    "ran with the same seeds. The best is run again beside the default with seeds that the search "
    "has not seen; intervals are Student's, of the differences seed by seed, and verdicts are "
    "at an error rate of 5 % over all comparisons together (Holm)."
)


def report(tuning: Tuning) -> str:
    """The whole report as HTML."""
    goal = tuning.goal
    wanted = " and ".join(map(str, goal.objectives))
    bounds = f", with {', '.join(map(str, goal.constraints))}" if goal.constraints else ""
    lead = (
        f"Which values of {', '.join(p.name for p in tuning.parameters)} give the {wanted}{bounds}?"
    )
    tables = [tuning.comparison_table(), tuning.parameter_table()]
    cases = tuning.case_table()
    sections = [
        Section("Verdicts", " ".join(tuning.sentences()),
                warnings=tuning.warnings, tables=[*tables, *([cases] if cases.rows else [])]),
        Section("How this was found", f"{_METHOD} {tuning.curse()}"),
    ]  # fmt: skip
    if len(goal.objectives) > 1:
        figures = [Figure("Trade-off", chart, "The black cross is the default.")
                   for chart in charts.fronts(tuning, width=FILL)]  # fmt: skip
        sections.append(Section("What one objective costs the other", figures=figures))
    for index, objective in enumerate(goal.objectives):
        sections += _of_objective(tuning, index, objective.name)
    sections.append(Section("Trials", tables=[tuning.trial_table()]))
    sections += [
        Section(f"Experiment: {name}", preformatted=content)
        for name, content in tuning.files().items()
    ]
    seeds = text.count(tuning.repetitions, "seed")
    return render(tuning.title, f"{lead} {text.count(len(tuning.trials), 'trial')}, {seeds} each.",
                  sections)  # fmt: skip


def _of_objective(tuning: Tuning, index: int, name: str) -> list[Section]:
    figures = [
        Figure("Course", charts.course(tuning, index, width=FILL),
               "The line is the best so far that keeps the constraints, dashed the default.")
    ]  # fmt: skip
    if tuning.found.importances[index]:
        caption = "How much of what sets the best trials apart is each parameter's (PED-ANOVA)."
        figures.append(Figure("Importance", charts.importances(tuning, index, width=FILL), caption))
    slices = [
        Figure(parameter.name, charts.slice_of(tuning, index, parameter, width=FILL))
        for parameter in tuning.parameters
    ]
    return [
        Section(f"Search: {name}", figures=figures),
        Section(f"Parameters: {name}", figures=slices, grid=330),
    ]
