"""The report of a replay: the captured transfer beside the simulated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairway.ground import store, text
from fairway.ground.shape import NUMBER_OR_NONE, TEXT_OR_NONE
from fairway.plot import vega
from fairway.plot.over_time import over_time
from fairway.plot.page import FILL, Figure, Section, Table, render
from fairway.plot.quantities import IN_ORDER, Quantity
from fairway.results.tables import read_table
from fairway.sweep.result import Sweep, load_sweep

#: What was measured and simulated, as `--json` prints it.
RESULT = "replay.json"
#: Intervals of the captured transfer, `t_s` since its first packet.
CAPTURED = "captured.parquet"
#: What is said where the algorithm of the transfer is not known.
UNKNOWN = (
    "The captured window does not show which congestion control the transfer had; with --as NAME "
    "that algorithm is simulated too, which tells how good the fit is."
)
#: What durations and goodputs of the table are.
DEFINED = (
    "The duration ends when the sender knows that its last byte has arrived; the goodput is the "
    "payload, each byte once, over that time."
)
#: What the goodputs over time are.
_GOODPUTS = (
    "Measured: data that was acknowledged, selectively or not. Simulated: data that was delivered "
    f"in order. {IN_ORDER}"
)
_RESULT_SHAPE = {
    "capture": str,
    "connection": int,
    "connections": int,
    "from": str,
    "to": str,
    "bytes": int,
    "path": {"mss_bytes": int},
    "doubts": [str],
    "congestion_control": TEXT_OR_NONE,
    "experiment": str,
    "transfers": [
        {"what": str, "cc": TEXT_OR_NONE, "duration_s": NUMBER_OR_NONE,
         "goodput_bps": NUMBER_OR_NONE, "mean_rtt_s": NUMBER_OR_NONE,
         "retransmitted_segments": int}
    ],
}  # fmt: skip
#: Intervals of a goodput's line: within shorter ones a few packets arrive or none.
_INTERVALS = 100

_QUANTITIES = {
    "delivered": Quantity("delivered", "series", "delivered_bytes", "Delivered",
                          "extremes", "Data delivered over time", unit=("MB", 1e-6)),
    "goodput": Quantity("goodput", "series", "goodput_bps", "Goodput", "mean",
                        "Goodput over time"),
    "in-flight": Quantity("in-flight", "series", "flight_segments", "In flight",
                          "extremes", "Segments in flight over time"),
    "srtt": Quantity("srtt", "series", "srtt_s", "Smoothed RTT", "extremes",
                     "Smoothed round-trip time over time", from_zero=False),
}  # fmt: skip


def table(rows: Sequence[Mapping[str, Any]], same: str | None) -> Table:
    """The measured transfer and the simulated ones, one line each."""
    columns = ["", "duration", "goodput", "mean RTT", "retransmitted"]
    lines = [
        [
            _label(row, same),
            "not in time" if row["duration_s"] is None else f"{text.number(row['duration_s'])} s",
            text.bit_rate(row["goodput_bps"]),
            text.milliseconds(row["mean_rtt_s"]),
            text.number(row["retransmitted_segments"]),
        ]
        for row in rows
    ]
    return Table("What would have happened", columns, lines)


def page(result: Mapping[str, Any], captured: pl.DataFrame, sweep: Sweep) -> str:
    """The report."""
    same = result["congestion_control"]
    figures = [
        Figure(_QUANTITIES[name].alt, chart, _GOODPUTS if name == "goodput" else "")
        for name, chart in charts(result, captured, sweep, width=FILL).items()
    ]
    sentence = (
        "Measured in the capture, and the same bytes simulated over the path fitted to it. "
        + DEFINED
    )
    sections = [
        Section(
            "What would have happened",
            sentence if same else f"{sentence} {UNKNOWN}",
            warnings=[*result["doubts"], *sweep.warnings],
            tables=[table(result["transfers"], same)],
        ),
        Section("Over time", figures=figures),
        Section(
            "The path",
            "As an experiment file, which says where each value comes from.",
            preformatted=result["experiment"],
        ),
    ]
    lead = (
        f"{text.size(result['bytes'])} from {result['from']} to {result['to']}, connection "
        f"{result['connection']} of {result['connections']:,} in {result['capture']}."
    )
    return render(sweep.title, lead, sections)


def charts(
    result: Mapping[str, Any], captured: pl.DataFrame, sweep: Sweep, **size: Any
) -> dict[str, vega.Chart]:
    """Each quantity over time, one line for each transfer."""
    same = result["congestion_control"]
    series = [_captured(captured, result["path"]["mss_bytes"])]
    series += [_simulated(outcome.series()) for outcome in sweep.outcomes]
    curves = pl.concat(
        _curve(own, _label(row, same), row["duration_s"])
        for own, row in zip(series, result["transfers"], strict=True)
    )
    frames = {"goodput": _averaged(curves)}
    return {
        name: over_time(frames.get(name, curves), quantity, **size)
        for name, quantity in _QUANTITIES.items()
        if not curves[quantity.column].drop_nulls().is_empty()
    }


def load(directory: Path) -> tuple[dict[str, Any], pl.DataFrame, Sweep] | None:
    """What `page` and `charts` take, from a replay's directory; none if it holds something else."""
    if not (directory / RESULT).is_file():
        return None
    result = store.read_json(directory / RESULT, "replay", _RESULT_SHAPE)
    captured = read_table(directory / CAPTURED, "intervals").frame()
    return result, captured, load_sweep(directory)


def _label(row: Mapping[str, Any], same: str | None) -> str:
    if row["what"] == "measured":
        return "measured"
    return f"{row['cc']} (as measured)" if row["cc"] == same else str(row["cc"])


def _captured(series: pl.DataFrame, mss_bytes: int) -> pl.DataFrame:
    flight = (pl.col("flight_bytes") / mss_bytes).alias("flight_segments")
    return series.select("t_s", "goodput_bps", "srtt_s", flight)


def _simulated(series: pl.DataFrame) -> pl.DataFrame:
    flight = pl.col("pipe_segments").alias("flight_segments")
    return series.select("t_s", "goodput_bps", "srtt_s", flight)


def _curve(series: pl.DataFrame, label: str, end_s: float | None) -> pl.DataFrame:
    """A transfer until it ended, and what was delivered by then.

    Rates are of intervals of one length, each of which ends at its `t_s`.
    """
    length_s = series["t_s"].diff().median() or end_s or 0.0
    if end_s is not None:
        began = pl.col("t_s") - length_s < end_s
        series = series.filter(began).with_columns(pl.min_horizontal("t_s", pl.lit(end_s)))
    delivered = (pl.col("goodput_bps") * length_s / 8).cum_sum().alias("delivered_bytes")
    return series.select(pl.lit(label).alias("flow"), pl.all(), delivered)


def _averaged(curves: pl.DataFrame) -> pl.DataFrame:
    """Goodputs over longer intervals, as long for every transfer: their lines are compared."""
    end_s = float(curves["t_s"].max() or 0.0)  # type: ignore[arg-type]
    length_s = end_s / _INTERVALS or 1.0
    # What ends at an interval's end is the last of it.
    number = ((pl.col("t_s") / length_s - 1e-9).floor() + 1).alias("number")
    return (
        curves.group_by("flow", number, maintain_order=True)
        .agg(pl.col("goodput_bps").mean(), pl.col("t_s").last())
        .drop("number")
    )
