"""Files for xplot.org, of the kinds that tcptrace writes with `-G`.

The language is xplot.org's: a line for each thing to draw, its place in seconds since 1970 and in
whatever the vertical axis has (README of xplot-xplot.org 0.90). Names, colours and signs are
tcptrace's (manual, "Graphing"): segments as arrows in white, those sent again red with an R,
acknowledgements a green line, the receive window a yellow one, selective acknowledgements purple.
"""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from fairway.capture.analysis.series import SENT
from fairway.errors import writing
from fairway.ground import store

#: Segments over which the throughput of the red line is taken, as tcptrace does.
_SEGMENTS = 10


def save_xplot(
    packets: pl.DataFrame,
    directory: Path,
    name: str,
    *,
    title: str,
    started_ns: int,
    first_sequence: int = 0,
) -> list[Path]:
    """Write the four files of one direction: `1_tsg.xpl` and others where `name` is "1".

    `first_sequence`, the number of the first byte of data, is added to all positions.
    """
    rows = packets.sort("packet", maintain_order=True).with_columns(
        _time(started_ns).alias("t"),
        (pl.col("from_byte") + first_sequence).alias("low"),
        (pl.col("to_byte") + first_sequence).alias("high"),
        (pl.col("window_end_byte") + first_sequence).alias("edge"),
    )
    files = {
        "tsg": ("timeval double", "time sequence graph", "sequence number", _time_sequence(rows)),
        "rtt": ("timeval double", "rtt samples", "rtt (ms)", _round_trips(rows)),
        "owin": ("timeval double", "outstanding data", "Outstanding Data (bytes)", _flight(rows)),
        "tput": ("timeval double", "throughput", "thruput (bytes/sec)", _throughput(rows)),
    }
    written = []
    with writing(directory):
        for kind, (coordinates, what, axis, commands) in files.items():
            text = io.StringIO()
            text.write(f"{coordinates}\ntitle\n{title} ({what})\nxlabel\ntime\nylabel\n{axis}\n")
            for command in commands:
                text.write(command)
                text.write("\n")
            text.write("go\n")
            path = directory / f"{name}_{kind}.xpl"
            store.write_file(path, text.getvalue())
            written.append(path)
    return written


def _time(started_ns: int) -> pl.Expr:
    """Times as text: since 1970 in microseconds, which is what xplot.org's axis holds."""
    nanos = (pl.col("t_s") * 1e9).round().cast(pl.Int64) + started_ns
    micros = nanos // 1000
    fraction = (micros % 1_000_000).cast(pl.String).str.zfill(6)
    return pl.concat_str((micros // 1_000_000).cast(pl.String), fraction, separator=".")


def _time_sequence(rows: pl.DataFrame) -> list[str]:
    what = pl.col("what")
    bar = pl.format(
        "darrow {} {}\nuarrow {} {}\nline {} {} {} {}",
        *("t", "low", "t", "high", "t", "low", "t", "high"),
    )
    again = pl.format("red\natext {} {}\nR\nred\n{}", "t", "high", bar)
    first = pl.format("white\n{}", bar)
    lost = pl.format("\nmagenta\nx {} {}", "t", "high")
    sent = rows.filter(what.is_in(SENT)).select(
        "packet",
        pl.lit(0).alias("order"),
        pl.concat_str(
            pl.when(what == "data").then(first).otherwise(again),
            pl.when(pl.col("fate").is_null()).then(pl.lit("")).otherwise(lost),
        ).alias("text"),
    )
    sacks = rows.filter(what.is_in(["sack", "dsack"])).select(
        "packet",
        pl.lit(2).alias("order"),
        pl.format(
            "purple\nline {} {} {} {}\nhtick {} {}\nhtick {} {}\natext {} {}\n{}",
            *("t", "low", "t", "high", "t", "low", "t", "high", "t", "high"),
            pl.when(what == "sack").then(pl.lit("S")).otherwise(pl.lit("D")),
        ).alias("text"),
    )
    acks = rows.filter(what == "ack").with_columns(
        pl.col("t", "high", "edge").shift(1).name.prefix("last_")
    )
    parts = [sent, sacks]
    for column, colour, tick in (("high", "green", "dtick"), ("edge", "yellow", "utick")):
        last = f"last_{column}"
        moved = pl.when(pl.col(column) == pl.col(last)).then(
            pl.format(f"{tick} {{}} {{}}", "t", column)
        )
        known = acks.filter(pl.col(column).is_not_null(), pl.col(last).is_not_null())
        parts.append(
            known.select(
                "packet",
                pl.lit(1).alias("order"),
                pl.format(
                    f"{colour}\nline {{}} {{}} {{}} {{}}\n{{}}",
                    *("last_t", last, "t", last),
                    moved.otherwise(pl.format("line {} {} {} {}", "t", last, "t", column)),
                ).alias("text"),
            )
        )
    everything = pl.concat([part.cast({"order": pl.Int32}) for part in parts])
    return everything.sort("packet", "order", maintain_order=True)["text"].to_list()


def _round_trips(rows: pl.DataFrame) -> list[str]:
    samples = rows.drop_nulls("rtt_s").select("t", (pl.col("rtt_s") * 1e3).round(3).alias("v"))
    return _line(samples, "red", "rtt")


def _flight(rows: pl.DataFrame) -> list[str]:
    flight = rows.drop_nulls("flight_bytes").select("t", pl.col("flight_bytes").alias("v"))
    window = rows.filter(pl.col("what") == "ack").select(
        "t", (pl.col("window_end_byte") - pl.col("to_byte")).alias("v")
    )
    return [*_line(flight, "red", "owin"), *_line(window.drop_nulls(), "yellow", "rwin")]


def _throughput(rows: pl.DataFrame) -> list[str]:
    sent = rows.filter(pl.col("what").is_in(SENT)).select(
        "t", "t_s", (pl.col("to_byte") - pl.col("from_byte")).alias("bytes")
    )
    total = pl.col("bytes").cum_sum()
    passed = pl.col("t_s") - pl.col("t_s").first()
    since = pl.col("t_s") - pl.col("t_s").shift(_SEGMENTS)
    of_each = pl.col("bytes") / (pl.col("t_s") - pl.col("t_s").shift(1))
    recent = (total - total.shift(_SEGMENTS)) / since
    # The first segment has passed before any time has: its bytes do not count.
    mean = (total - pl.col("bytes").first()) / passed
    found = sent.select(
        "t", of_each.alias("segment"), recent.alias("recent"), mean.alias("mean")
    ).with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name).round(0).cast(pl.Int64)).alias(name)
        for name in ("segment", "recent", "mean")
    )
    dots = found.drop_nulls("segment").select(pl.format("dot {} {} yellow", "t", "segment"))
    lines = found.gather_every(_SEGMENTS)
    return [
        *dots.to_series().to_list(),
        *_line(lines.select("t", pl.col("recent").alias("v")).drop_nulls(), "red", "inst. tput"),
        *_line(lines.select("t", pl.col("mean").alias("v")).drop_nulls(), "blue", "avg. tput"),
    ]


def _line(points: pl.DataFrame, colour: str, label: str) -> list[str]:
    """Points joined by lines, with a label at the first."""
    if points.is_empty():
        return []
    first = points.row(0)
    lines = points.with_columns(pl.col("t", "v").shift(1).name.prefix("last_")).select(
        pl.when(pl.col("last_t").is_null())
        .then(pl.format("dot {} {}", "t", "v"))
        .otherwise(
            pl.format("dot {} {}\nline {} {} {} {}", *("t", "v", "t", "v", "last_t", "last_v"))
        )
    )
    return [
        f"ltext {first[0]} {first[1]} {colour}\n{label}\n{colour}",
        *lines.to_series().to_list(),
    ]
