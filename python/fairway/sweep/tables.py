"""Tables of a sweep: a row for each run, and for each flow and link of each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fairway import text

if TYPE_CHECKING:
    import polars as pl

    from fairway.sweep.outcome import Outcome

#: Runs whose flows are in memory as plain data at a time.
_AT_A_TIME = 1000


def run_table(outcomes: Sequence[Outcome], axes: Sequence[str]) -> pl.DataFrame:
    """One row per run: its axes, repetition, seed and metrics."""
    import polars as pl

    rows = [
        {**_place(outcome, summary), **summary["metrics"]}
        for outcome, summary in ((outcome, outcome.summary) for outcome in outcomes)
    ]
    columns = list(rows[0]) if rows else []
    return pl.DataFrame(
        [_column(name, [row.get(name) for row in rows], name in axes) for name in columns]
    )


def part_table(part: str, outcomes: Sequence[Outcome], axes: Sequence[str]) -> pl.DataFrame:
    """One row per run and flow or link: the run's axes, repetition and seed, then its figures.

    Args:
        part: "flows" or "links".
        outcomes: The runs.
        axes: Paths that vary.
    """
    import polars as pl

    frames = list(_part_frames(part, outcomes))
    if not frames:
        return pl.DataFrame()
    figures = pl.concat([frame for _, frame in frames], how="diagonal_relaxed")
    places = [place for own, _ in frames for place in own]
    named = [_column(name, [place[name] for place in places], name in axes) for name in places[0]]
    return pl.DataFrame(named).hstack(figures.drop(places[0].keys() & set(figures.columns)))


def _part_frames(
    part: str, outcomes: Sequence[Outcome]
) -> Iterator[tuple[list[dict[str, Any]], pl.DataFrame]]:
    """Frames of many runs each, and where each of their rows belongs."""
    from fairway.tables import summary_frame

    for begin in range(0, len(outcomes), _AT_A_TIME):
        places, rows = [], []
        for outcome in outcomes[begin : begin + _AT_A_TIME]:
            summary = outcome.summary
            place = _place(outcome, summary)
            places += [place] * len(summary[part])
            rows += summary[part]
        if rows:
            yield places, summary_frame(rows)


def _place(outcome: Outcome, summary: dict[str, Any]) -> dict[str, Any]:
    point = outcome.point
    return {**point.axes, "repetition": point.repetition, "seed": summary["seed"]}


def _column(name: str, values: list[Any], is_axis: bool) -> pl.Series:
    import polars as pl

    if not is_axis:
        dtype = pl.UInt64 if name == "seed" else pl.UInt32 if name == "repetition" else pl.Float64
        return pl.Series(name, values, dtype=dtype)
    kinds = {type(value) for value in values}
    if kinds <= {int, float}:
        return pl.Series(name, [float(value) for value in values])
    if len(kinds) == 1 and kinds <= {str, bool}:
        return pl.Series(name, values)
    return pl.Series(name, [text.label(value) for value in values])
