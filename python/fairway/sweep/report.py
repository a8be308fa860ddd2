"""Reports of sweeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairway.ground import text
from fairway.plot import columns
from fairway.plot.citation import Source, citation
from fairway.plot.page import FILL, Figure, Section, Table, render
from fairway.results.report import COMPARING, experiment_section, figure
from fairway.sweep import repetitions
from fairway.sweep.axes import headings
from fairway.sweep.tables import COSTS

if TYPE_CHECKING:
    from fairway.sweep.data import SweepData

#: Of two flows it says what Jain's index says, and of more next to nothing: a sweep's table has it
#: if it is asked for.
_DERIVED = "unfairness"


def sweep_report(sweep: SweepData) -> str:
    """The report of a sweep: every run in one table, and each metric over the axes."""
    repeated = repetitions.sentence(sweep.until, sweep.stops) if sweep.until else ""
    tables = [sweep_table(sweep), *mean_tables(sweep)]
    sections = [Section("Runs", repeated, warnings=sweep.warnings, tables=tables)]
    if figures := _figures(sweep) if sweep.axes else []:
        said, caveats = _drawn(sweep)
        sections.append(Section("Metrics", said, warnings=caveats, figures=figures, grid=380))
    if sweep.outcomes:
        sections.append(experiment_section(sweep.outcomes[0].point.experiment, "First experiment"))
    lead = f"{text.count(len(sweep), 'run')}."
    cited = citation([source_of(sweep, sweep.title)]) if sweep.outcomes else None
    return render(sweep.title, lead, sections, citation=cited)


def source_of(sweep: SweepData, name: str) -> Source:
    """A sweep as the source of a citation."""
    return Source(name, sweep.version, sweep.content_hash, sweep.seeds, sweep.commit())


def _figures(sweep: SweepData) -> list[Figure]:
    """A chart of each metric."""
    # It loads Altair, for a third of a second.
    from fairway.sweep.charts import SweepFigures

    figures = SweepFigures(sweep)
    return [
        Figure(text.capital(columns.charted(name)[0]), figures.draw(name, width=FILL))
        for name in figures.names
    ]


def _drawn(sweep: SweepData) -> tuple[str, Sequence[str]]:
    """What the charts of a sweep show, and what has to be known of the models in them."""
    from fairway.sweep.charts import SweepFigures

    is_repeated = _is_repeated(sweep)
    if SweepFigures(sweep).is_heat_map:
        return ("Means over repetitions." if is_repeated else ""), ()
    said = "Means over repetitions, with 95 % confidence intervals." if is_repeated else ""
    if sweep.predicted.is_empty():
        return said, ()
    return f"{said} Hollow diamonds are what models say.".lstrip(), sweep.caveats


def sweep_table(sweep: SweepData) -> Table:
    """One line per run of a sweep."""
    table = sweep.table
    names = [*(["repetition"] if _is_repeated(sweep) else []), *_metrics_of(sweep)]
    shown = [
        columns.words(heading, map(text.label, axis.shown))
        for axis, heading in zip(sweep.columns, headings(sweep.columns), strict=True)
    ]
    shown += [columns.figures(name, table[name].to_list()) for name in names]
    of_range = _ranges(sweep)
    shown += [columns.words("in range", of_range)] if of_range else []
    texts = [index for index, axis in enumerate(sweep.columns, 1) if not axis.is_numeric]
    caption = text.count(len(sweep), "run")
    keys = len(sweep.columns) + _is_repeated(sweep)
    return columns.table(
        caption, shown, labels=max(texts, default=0), trailing=int(bool(of_range)), keys=keys
    )


def mean_tables(sweep: SweepData) -> list[Table]:
    """Mean and interval of each metric, where nothing varies but the seed."""
    from fairway.stats import mean_interval

    if sweep.axes or not _is_repeated(sweep):
        return []
    rows = []
    for name in _metrics_of(sweep):
        if values := [value for value in sweep.table[name].drop_nulls() if math.isfinite(value)]:
            of = mean_interval(values)
            shown = (figure(name, value) for value in (of.mean, of.low, of.high))
            rows.append([columns.in_words(name), *shown])
    caption = f"Means over {text.count(len(sweep), 'repetition')}, and their 95 % intervals"
    return [Table(caption, ["metric", "mean", "from", "to"], rows)]


def _is_repeated(sweep: SweepData) -> bool:
    return bool(sweep.table.height) and sweep.table["repetition"].max() != 0


def _metrics_of(sweep: SweepData) -> list[str]:
    """The metrics that a sweep's tables show: those that were asked for, or that say something."""
    table = sweep.table
    hidden = {"repetition", "seed", *(axis.column for axis in sweep.columns)}
    if not sweep.metrics:
        hidden |= {_DERIVED, *(name for name in COMPARING if table[name].n_unique() <= 1)}
        hidden |= {name for name in COSTS if table[name].null_count() == table.height}
    return [name for name in table.columns if name not in hidden]


def _ranges(sweep: SweepData) -> list[str]:
    """Whether the models that have answered each point are in their range; empty if all are."""
    if not sweep.outcomes or sweep.outcomes[0].summary["backend"] != "model":
        return []
    said = [
        all(entry["model"]["in_range"] for entry in (*summary["flows"], *summary["links"]))
        for summary in (outcome.summary for outcome in sweep.outcomes)
    ]
    return [] if all(said) else [text.number(one) for one in said]
