"""Parallel streams: how many use a path, and what fewer and more of them can be expected to do."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairway import _core
from fairway.errors import InputError
from fairway.ground import store
from fairway.model import quantities
from fairway.model.answer import answered

if TYPE_CHECKING:
    import polars as pl

    from fairway.plot import vega

Losers = Literal["one", "all", "random"]

#: Points along a line: more than can be told apart are thinned out.
_MOST_POINTS = 400
#: Numbers of streams up to which each is a dot.
MOST_DOTS = 60
#: Smallest and largest packet in bytes: an IPv4 header, and what it can count (RFC 791).
SMALLEST_PACKET, LARGEST_PACKET = 20, 65535
#: Most rows of a table.
MOST_ROWS = 20_000


@dataclass(frozen=True)
class RedQueue:
    """The curve of a RED queue.

    Attributes:
        min_packets: Mean queue from which packets are dropped.
        max_packets: Mean queue at which `max_probability` is reached.
        max_probability: Probability of a drop there.
        gentle: Whether it rises on to 1 at twice `max_packets`, instead of at once.
    """

    min_packets: float
    max_packets: float
    max_probability: float = 0.1
    gentle: bool = False

    def to_json(self) -> dict[str, Any]:
        """The curve as the models read it."""
        names = ("min_packets", "max_packets", "max_probability")
        numbers = {name: quantities.number(getattr(self, name), f"red.{name}") for name in names}
        return {**numbers, "gentle": bool(self.gentle)}


@dataclass(frozen=True)
class Streams:
    """What the models say of parallel streams on a path.

    Attributes:
        cc: Their congestion control.
        target: The share of the path that they shall use.
        answer: Everything, as JSON has it.
    """

    cc: str
    target: float
    answer: Mapping[str, Any]

    @property
    def threshold(self) -> int | None:
        """The fewest streams that use that share; none if no number does."""
        found: int | None = self.answer["threshold"]
        return found

    @property
    def in_range(self) -> bool:
        """Whether the model holds there, as far as its source says."""
        return bool(self.answer["in_range"])

    @property
    def reason(self) -> str:
        """What makes fewer streams too few, in one sentence."""
        share = f"{100 * self.target:g} %"
        if self.threshold is None:
            return f"No number of streams uses {share}: they back off together."
        if self.threshold == 1:
            return f"One stream uses {share} of the path: nothing holds it back."
        why = {
            "window": "the window of each is too small for the round-trip time",
            "application": "the application gives each too little",
            "loss": "random losses keep the window of each small",
            "sawtooth": "fewer leave a gap after backing off that the queue does not bridge",
        }[self.answer["limit"]]
        return f"{self.threshold:,} streams use {share} of the path: {why}."

    def to_json(self) -> dict[str, Any]:
        """Threshold, table, model and range, and what else is known."""
        first = ("threshold", "limit", "model", "in_range", "outside")
        return {
            **{name: self.answer[name] for name in first},
            "reason": self.reason,
            "target": self.target,
            "cc": self.cc,
            **{name: value for name, value in self.answer.items() if name not in first},
        }

    @functools.cached_property
    def table(self) -> pl.DataFrame:
        """Streams, utilisation, loss_ratio and queueing_delay_s of 1 up to twice the threshold."""
        import polars as pl

        numbers = ("utilisation", "loss_ratio", "queueing_delay_s")
        return pl.DataFrame(
            self.answer["table"], schema_overrides=dict.fromkeys(numbers, pl.Float64)
        )

    def chart(self, *, width: int = 560, height: int = 190) -> vega.Chart:
        """Utilisation and loss over the number of streams, with the threshold marked."""
        return _chart(self, width=width, height=height)

    def save(self, path: str | Path) -> Path:
        """Draw it into a .pdf, .png or .svg file."""
        from fairway.errors import writing
        from fairway.plot.figures import drawn
        from fairway.plot.formats import format_of

        path = Path(path)
        kind = format_of(path)
        with writing(path):
            store.write_file(path, drawn(self.chart(), kind))
        return path

    def __repr__(self) -> str:
        return f"<Streams of {self.cc}: {self.reason}>"


def streams(
    *,
    rate: str | float,
    rtt: str | float,
    buffer: str | float,
    mss: int,
    cc: str,
    loss: str | float = 0.0,
    window: str | float | None = None,
    application: str | float | None = None,
    target: str | float = 0.99,
    losers: Losers = "one",
    red: RedQueue | None = None,
    rto: str | float | None = None,
    headers: int = 0,
    up_to: int = 0,
) -> Streams:
    """The parallelism threshold of a path, and what to expect of fewer and of more streams.

    Args:
        rate: Rate of the bottleneck, such as "10 Mbit/s"; a number is in bit/s.
        rtt: Round-trip time without queues, such as "400 ms"; a number is in seconds.
        buffer: Of the bottleneck: "300 packets", "64 KiB", "50 ms" or "0.5 bdp"; a number is in
            packets.
        mss: Bytes of each packet, without those that `headers` names.
        cc: Congestion control of every stream.
        loss: Share of the packets that is lost for another reason than a full queue.
        window: Limit of each stream's window: "64 KiB"; a number is in packets.
        application: What the application gives each stream at most; a number is in bit/s.
        target: Share of what the bottleneck can deliver that the streams shall use.
        losers: Who backs off when the buffer overflows: one after the other, all, or random ones.
        red: The bottleneck's queue, if it is RED.
        rto: First retransmission timeout; if not given, as Linux has it with a full buffer.
        headers: Bytes of headers that each packet has besides, where the rate counts them.
        up_to: Streams that the table goes up to at least; it goes up to twice the threshold in any
            case, and never beyond 20,000.

    >>> streams(rate="10 Mbit/s", rtt="200 ms", buffer="30 packets", mss=1000, cc="reno").threshold
    4
    """
    if not 0 <= headers < SMALLEST_PACKET * 50:
        raise InputError(f"headers: expected 0 to {SMALLEST_PACKET * 50 - 1} bytes, got {headers}")
    if mss < 1 or not SMALLEST_PACKET <= mss + headers <= LARGEST_PACKET:
        raise InputError(
            f"mss: expected packets of {SMALLEST_PACKET} to {LARGEST_PACKET:,} bytes, "
            f"got {mss + headers:,}"
        )
    if not 0 <= up_to <= MOST_ROWS:
        raise InputError(f"up_to: expected 0 to {MOST_ROWS:,} streams, got {up_to}")
    packet_bytes = mss + headers
    capacity_pps = quantities.rate(rate, "rate") / (8 * packet_bytes)
    rtt_s = quantities.seconds(rtt, "rtt")
    wanted = quantities.share(target, "target")
    question = {
        "algorithm": cc,
        "capacity_pps": capacity_pps,
        "rtt_s": rtt_s,
        "buffer_packets": quantities.packets(
            buffer, "buffer", packet_bytes=packet_bytes, capacity_pps=capacity_pps, rtt_s=rtt_s
        ),
        "window_packets": None
        if window is None
        else quantities.packets(window, "window", packet_bytes=mss),
        "stream_pps": None
        if application is None
        else quantities.rate(application, "application") / (8 * mss),
        "loss": quantities.share(loss, "loss"),
        "rto_s": None if rto is None else quantities.seconds(rto, "rto"),
        "target": wanted,
        "losers": losers,
        "up_to": up_to,
        "red": None if red is None else red.to_json(),
    }
    return Streams(cc, wanted, answered(_core.model_streams, question))


def algorithms() -> list[str]:
    """Names of the congestion controls that the models know."""
    return _core.model_algorithms()


def _chart(found: Streams, *, width: int, height: int) -> vega.Chart:
    """Utilisation above loss, over the number of streams, with the threshold marked."""
    import polars as pl

    from fairway.plot import vega
    from fairway.plot.figures import PALETTE, inline

    table = found.table
    step = max(1, len(table) // _MOST_POINTS)
    rows = table.gather_every(step).select(
        pl.col("streams").alias("n"),
        (pl.col("utilisation") * 100).round_sig_figs(5).alias("u"),
        (pl.col("loss_ratio") * 100).round_sig_figs(4).alias("p"),
    )
    data = inline(rows, n="number", u="number", p="number")
    last = max(2, len(table))
    panels = [
        _panel(data, found, column, title, colour, last).properties(width=width, height=height)
        for column, title, colour in (
            ("u", "Utilisation (%)", PALETTE[0]),
            ("p", "Packets lost (%)", PALETTE[1]),
        )
    ]
    described = f"Utilisation and loss of {found.cc} over the number of streams. {found.reason}"
    return vega.vconcat(*panels).properties(
        title=vega.title(found.reason, anchor="start", fontSize=12, fontWeight="normal"),
        description=described,
    )


def _panel(
    data: vega.Options, found: Streams, column: str, title: str, colour: str, last: int
) -> vega.Chart:
    import polars as pl

    from fairway.plot import vega
    from fairway.plot.figures import inline

    x = vega.field(
        "n:Q",
        title="Streams",
        scale=vega.scale(domain=[1, last], nice=False),
        axis=vega.axis(tickMinStep=1, format="d"),
    )
    line = (
        vega.Chart(data)
        .mark("line", point={"color": colour} if last <= MOST_DOTS else False,
            color=colour,
            strokeWidth=1.4,
        )
        .encode(x=x, y=vega.field(f"{column}:Q", title=title, scale=vega.scale(zero=True)),
                tooltip=["n:Q", f"{column}:Q"])
    )  # fmt: skip
    layers: list[vega.Chart] = [line]
    if column == "u":
        goal = inline(pl.DataFrame({"y": [100 * found.target]}), y="number")
        layers.append(
            vega.Chart(goal).mark("rule", strokeDash=[4, 3], color="#666").encode(y="y:Q")
        )
    if found.threshold is not None and found.threshold <= last:
        at = inline(pl.DataFrame({"x": [found.threshold]}), x="number")
        layers.append(vega.Chart(at).mark("rule", color="#666").encode(x=vega.field("x:Q")))
    return vega.layer(*layers)
