"""The report of a search: verdicts first, then how they were come by."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import polars as pl

from fairway.compare.tune.result import Tuning
from fairway.compare.tune.space import Parameter, number_of
from fairway.ground import text
from fairway.plot import vega
from fairway.plot.figures import PALETTE, inline, layered
from fairway.plot.page import FILL, Figure, Section, render

#: What a trial is, in the order of its colours.
_KINDS = ("chosen", "keeps constraints", "does not")
_COLOURS = [PALETTE[1], PALETTE[0], "#999999"]
_SHAPES = ["diamond", "circle", "cross"]


def course(tuning: Tuning, index: int) -> vega.Chart:
    """An objective over the trials; the line is the best so far, dashed the default."""
    objective = tuning.goal.objectives[index]
    data = _trials(tuning)
    title = f"{objective.name} over the trials, with the best so far and the default"
    numbers = data.select("trial", f"y{index}", "kind").rename({f"y{index}": "y"})
    best, steps = None, []
    for trial, value, kind in numbers.iter_rows():
        if kind != _KINDS[2] and (best is None or objective.gain(value - best) > 0):
            best = value
        steps.append((trial, best))
    so_far = pl.DataFrame(steps, schema={"trial": pl.Int64, "y": pl.Float64}, orient="row")
    x = vega.field("trial:Q", title="Trial", axis=vega.axis(tickMinStep=1))
    y = vega.field("y:Q", title=objective.name, scale=vega.scale(zero=False))
    best_line = vega.Chart(inline(so_far.drop_nulls(), trial="number", y="number"))
    line = best_line.mark("line", interpolate="step-after", color=PALETTE[2]).encode(x=x, y=y)
    tooltip = ["trial:Q", vega.field("y:Q", title=objective.name)]
    points = _points(numbers, x, y, tooltip)
    return layered([line, points, _default_rule(tuning, index)], title, FILL, 240)


def slice_of(tuning: Tuning, index: int, parameter: Parameter) -> vega.Chart:
    """An objective over the values of one parameter."""
    objective = tuning.goal.objectives[index]
    data = _trials(tuning).rename({f"y{index}": "y"})
    settings = {trial.number: trial.score.settings[parameter.name] for trial in tuning.trials}
    values = [settings[number] for number in data["trial"]]
    title = f"{objective.name} over {parameter.name}"
    if parameter.choices:
        data = data.with_columns(pl.Series("x", [str(value) for value in values]))
        x = vega.field("x:N", title=parameter.name, sort=[str(c) for c in parameter.choices],
                  axis=vega.axis(labelAngle=0))  # fmt: skip
    else:
        data = data.with_columns(pl.Series("x", [number_of(v, parameter.unit) for v in values]))
        more: dict[str, Any] = {"type": "log"} if parameter.log else {"zero": False}
        scale = vega.scale(nice=False, **more)
        unit = f" ({parameter.unit})" if parameter.unit else ""
        x = vega.field("x:Q", title=parameter.name + unit, scale=scale)
    y = vega.field("y:Q", title=objective.name, scale=vega.scale(zero=False))
    kind = "x:N" if parameter.choices else "x:Q"
    tooltip = ["trial:Q", vega.field(kind, title=parameter.name),
               vega.field("y:Q", title=objective.name)]  # fmt: skip
    points = _points(data.select("trial", "x", "y", "kind"), x, y, tooltip)
    return layered([points, _default_rule(tuning, index)], title, FILL, 200)


def importances(tuning: Tuning, index: int) -> vega.Chart:
    """How much of what the best trials share is each parameter's."""
    shares = tuning.found.importances[index]
    objective = tuning.goal.objectives[index]
    data = pl.DataFrame({"parameter": list(shares), "share": list(shares.values())})
    return (
        vega.Chart(inline(data, share="number"), description=f"Importance for {objective.name}")
        .mark("bar", color=PALETTE[0])
        .encode(
            x=vega.field("share:Q", title="Share", scale=vega.scale(domain=[0, 1])),
            y=vega.field("parameter:N", title=None, sort=None),
            tooltip=["parameter:N", vega.field("share:Q", format=".2f")],
        )
        .properties(width=FILL, height=24 * len(shares))
    )


def fronts(tuning: Tuning) -> Iterator[vega.Chart]:
    """Each two objectives against each other; the cross is the default."""
    for first, second in itertools.combinations(range(len(tuning.goal.objectives)), 2):
        yield _front(tuning, first, second)


def _front(tuning: Tuning, first: int, second: int) -> vega.Chart:
    names = [tuning.goal.objectives[index].name for index in (first, second)]
    data = _trials(tuning).rename({f"y{first}": "x", f"y{second}": "y"})
    x = vega.field("x:Q", title=names[0], scale=vega.scale(zero=False))
    y = vega.field("y:Q", title=names[1], scale=vega.scale(zero=False))
    tooltip = ["trial:Q", vega.field("x:Q", title=names[0]), vega.field("y:Q", title=names[1])]
    points = _points(data.select("trial", "x", "y", "kind"), x, y, tooltip, size=55)
    default = pl.DataFrame({"x": [tuning.default.mean(first)], "y": [tuning.default.mean(second)]})
    at_default = vega.Chart(inline(default, x="number", y="number")).encode(x=x, y=y)
    cross = at_default.mark("point", shape="cross", size=160, color="black", filled=True)
    title = f"{names[1]} against {names[0]} of every trial, and of the default"
    return layered([points, cross], title, FILL, 320)


def _trials(tuning: Tuning) -> pl.DataFrame:
    """A row for each trial that could be measured: trial, y0, y1, … and its kind."""
    chosen = {trial.number for trial in tuning.front}
    rows = []
    for trial in tuning.trials:
        if trial.score.refused is None:
            kept = _KINDS[1 if tuning.goal.is_met(trial.score) else 2]
            kind = _KINDS[0] if trial.number in chosen else kept
            rows.append((trial.number, *tuning.goal.values(trial.score), kind))
    values = {f"y{index}": pl.Float64 for index in range(len(tuning.goal.objectives))}
    return pl.DataFrame(rows, schema={"trial": pl.Int64, **values, "kind": pl.String}, orient="row")


def _points(
    data: pl.DataFrame, x: vega.Options, y: vega.Options, tooltip: list[Any], size: int = 45
) -> vega.Chart:
    """Trials as points, told apart by colour and by shape."""
    numbers = {name: "number" for name, kind in data.schema.items() if kind.is_numeric()}
    legend = vega.legend(orient="top", title=None)
    color = vega.field("kind:N", scale=vega.scale(domain=_KINDS, range=_COLOURS), legend=legend)
    shape = vega.field("kind:N", scale=vega.scale(domain=_KINDS, range=_SHAPES), legend=legend)
    points = vega.Chart(inline(data, **numbers)).mark("point", size=size, filled=True)
    return points.encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip)


def _default_rule(tuning: Tuning, index: int) -> vega.Chart:
    data = pl.DataFrame({"y": [tuning.default.mean(index)]})
    rule = vega.Chart(inline(data, y="number")).mark("rule", strokeDash=[5, 4], color="#777777")
    return rule.encode(y="y:Q")


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
                   for chart in fronts(tuning)]  # fmt: skip
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
        Figure("Course", course(tuning, index),
               "The line is the best so far that keeps the constraints, dashed the default.")
    ]  # fmt: skip
    if tuning.found.importances[index]:
        caption = "How much of what sets the best trials apart is each parameter's (PED-ANOVA)."
        figures.append(Figure("Importance", importances(tuning, index), caption))
    slices = [
        Figure(parameter.name, slice_of(tuning, index, parameter))
        for parameter in tuning.parameters
    ]
    return [
        Section(f"Search: {name}", figures=figures),
        Section(f"Parameters: {name}", figures=slices, grid=330),
    ]
