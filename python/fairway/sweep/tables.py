"""Tables of a sweep: a row for each run, and for each flow and link of each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from fairway.sweep.axes import Axis
    from fairway.sweep.outcome import Outcome

#: Runs whose flows are in memory as plain data at a time.
_AT_A_TIME = 1000


#: Metrics of every run beside those of its summary: what a queue costs. They are worked out of
#: counters, so that no run has to be opened for them.
COSTS = ("mean_one_way_delay_s", "retransmission_ratio")


def run_table(
    outcomes: Sequence[Outcome], axes: Sequence[Axis], metrics: Sequence[str] = ()
) -> pl.DataFrame:
    """One row per run: axes, repetition, seed and metrics, else the summary's and `COSTS`."""
    import polars as pl

    from fairway.metrics.reading import all_of_outcome

    rows = [
        {
            "repetition": outcome.point.repetition,
            "seed": summary["seed"],
            **({} if metrics else summary["metrics"]),
            **all_of_outcome(outcome, metrics or COSTS, summary),
        }
        for outcome, summary in ((outcome, outcome.summary) for outcome in outcomes)
    ]
    columns = list(rows[0]) if rows else []
    return pl.DataFrame(
        [
            *(axis.series() for axis in axes if rows),
            *(_column(name, [row.get(name) for row in rows]) for name in columns),
        ]
    )


def part_table(part: str, outcomes: Sequence[Outcome], axes: Sequence[Axis]) -> pl.DataFrame:
    """One row per run and flow or link: the run's axes, repetition and seed, then its figures."""
    import polars as pl

    frames = list(_part_frames(part, outcomes))
    if not frames:
        return pl.DataFrame()
    figures = pl.concat([frame for *_, frame in frames], how="diagonal_relaxed")
    runs = [index for own, _, _ in frames for index in own]
    named = [
        *(axis.series().gather(runs) for axis in axes),
        _column("repetition", [outcomes[index].point.repetition for index in runs]),
        _column("seed", [seed for _, own, _ in frames for seed in own]),
    ]
    place = {series.name for series in named}
    return pl.DataFrame(named).hstack(figures.drop(place & set(figures.columns)))


def _part_frames(
    part: str, outcomes: Sequence[Outcome]
) -> Iterator[tuple[list[int], list[int], pl.DataFrame]]:
    """Frames of many runs each, with the run and the seed of each of their rows."""
    from fairway.results.tables import summary_frame

    for begin in range(0, len(outcomes), _AT_A_TIME):
        runs: list[int] = []
        seeds: list[int] = []
        rows: list[dict[str, Any]] = []
        for index, outcome in enumerate(outcomes[begin : begin + _AT_A_TIME], start=begin):
            summary = outcome.summary
            runs += [index] * len(summary[part])
            seeds += [summary["seed"]] * len(summary[part])
            rows += summary[part]
        if rows:
            yield runs, seeds, summary_frame(rows)


def _column(name: str, values: list[Any]) -> pl.Series:
    import polars as pl

    dtype = pl.UInt64 if name == "seed" else pl.UInt32 if name == "repetition" else pl.Float64
    return pl.Series(name, values, dtype=dtype)
