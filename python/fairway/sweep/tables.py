"""Tables of a sweep: a row for each run, and for each flow and link of each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairway import _core

if TYPE_CHECKING:
    import polars as pl

    from fairway.sweep.axes import Axis
    from fairway.sweep.outcome import Outcome

#: Metrics of every run beside those of its summary: what a queue costs. They are worked out of
#: counters, so that no run has to be opened for them.
COSTS = ("mean_one_way_delay_s", "retransmission_ratio")


#: Columns of flows that `COSTS` are worked out of.
_COUNTERS = ("id", "cc", "mean_one_way_delay_s", "sent_segments", "lost_segments",
             "retransmitted_segments")  # fmt: skip


def run_table(
    outcomes: Sequence[Outcome],
    axes: Sequence[Axis],
    summaries: _core.Summaries,
    metrics: Sequence[str] = (),
) -> pl.DataFrame:
    """One row per run: axes, repetition, seed and metrics, else the summary's and `COSTS`."""
    import polars as pl

    if not outcomes:
        return pl.DataFrame()
    found: dict[str, Any] = {} if metrics else dict(summaries.metrics)
    found.update(_measured(outcomes, metrics) if metrics else _costs(summaries))
    return pl.DataFrame(
        [
            *(axis.series() for axis in axes),
            *_numbered(outcomes, summaries),
            *(_series(name, values).cast(pl.Float64) for name, values in found.items()),
        ]
    )


def _measured(outcomes: Sequence[Outcome], metrics: Sequence[str]) -> dict[str, list[float | None]]:
    from fairway.metrics.reading import all_of_outcome

    rows = [all_of_outcome(outcome, metrics) for outcome in outcomes]
    return {name: [row[name] for row in rows] for name in metrics}


def _costs(summaries: _core.Summaries) -> dict[str, list[float | None]]:
    """`COSTS` of each run, from the few columns that they need."""
    from fairway.metrics.reading import of_compared

    columns, counts = summaries.rows("flows")
    values = {name: _series(name, columns[name]).to_list() for name in _COUNTERS if name in columns}
    return of_compared(values, counts.tolist(), COSTS)


def part_table(
    part: str, outcomes: Sequence[Outcome], axes: Sequence[Axis], summaries: _core.Summaries
) -> pl.DataFrame:
    """One row per run and flow or link: the run's axes, repetition and seed, then its figures."""
    import polars as pl

    columns, counts = summaries.rows(part)
    if not columns:
        return pl.DataFrame()
    figures = _typed_rows([_series(name, values) for name, values in columns.items()])
    runs = [index for index, count in enumerate(counts.tolist()) for _ in range(count)]
    named = [
        series.gather(runs)
        for series in (*(axis.series() for axis in axes), *_numbered(outcomes, summaries))
    ]
    place = {series.name for series in named}
    return pl.DataFrame(named).hstack(figures.drop(place & set(figures.columns)))


#: What is kept of the model that has answered a flow or a link.
_OF_MODELS = {"model.name": "model", "model.outside": "outside"}


def _typed_rows(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """As `results.tables.summary_rows`, where a table in a row stands under `table.column`."""
    import polars as pl

    from fairway.ground.result_schema import data_type
    from fairway.results.tables import row_kinds

    kinds, found = row_kinds(), []
    for column in columns:
        name = _OF_MODELS.get(column.name, column.name)
        if not name.startswith("model."):
            found.append(column.cast(data_type(kinds.get(name, "number"))).alias(name))
    return pl.DataFrame(found)


def _numbered(outcomes: Sequence[Outcome], summaries: _core.Summaries) -> list[pl.Series]:
    import polars as pl

    repetitions = [outcome.point.repetition for outcome in outcomes]
    return [
        pl.Series("repetition", repetitions, dtype=pl.UInt32),
        pl.Series("seed", summaries.seeds, dtype=pl.UInt64),
    ]


def _series(name: str, values: Any) -> pl.Series:
    """A column of summaries; a number that is none is no value."""
    import polars as pl

    series = pl.Series(name, values, strict=False)
    return series.fill_nan(None) if series.dtype == pl.Float64 else series
