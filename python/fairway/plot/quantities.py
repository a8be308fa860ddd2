"""Columns of time series that charts show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairway.plot.columns import in_unit, shown_unit

Keep = Literal["extremes", "mean"]


@dataclass(frozen=True)
class Quantity:
    """A column of a time series and how it is drawn.

    Attributes:
        name: Short name, also of the figure's file.
        table: "series" (per flow) or "queues" (per link).
        words: Title of the axis, without the unit.
        keep: What thinning out preserves: extremes of a state, or the mean of a rate.
        alt: What a reader who cannot see the chart is told.
        from_zero: Whether the axis starts at zero.
        unit: What is shown instead of the unit of the column's name, and what values are multiplied
            by for it.
    """

    name: str
    table: Literal["series", "queues"]
    column: str
    words: str
    keep: Keep
    alt: str
    from_zero: bool = True
    unit: tuple[str, float] | None = None

    @property
    def shown(self) -> tuple[str, float]:
        """The unit that is shown, and what values are multiplied by for it."""
        return self.unit or shown_unit(self.column)

    @property
    def title(self) -> str:
        """Title of the axis, with the unit."""
        return in_unit(self.words, self.shown[0])

    @property
    def scale(self) -> float:
        """What values are multiplied by for that unit."""
        return self.shown[1]

    @property
    def key(self) -> str:
        """Column that names the lines."""
        return "flow" if self.table == "series" else "link"


#: What a chart of goodputs shows after a loss.
IN_ORDER = (
    "Data that arrives behind a gap counts when the gap is filled: a sample may be above the rate "
    "of the link."
)

QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("goodput", "series", "goodput_bps", "Goodput", "mean",
                 "Goodput of each flow over time"),
        Quantity("cwnd", "series", "cwnd_segments", "cwnd", "extremes",
                 "Congestion window of each flow over time"),
        Quantity("ssthresh", "series", "ssthresh_segments", "ssthresh", "extremes",
                 "Slow start threshold of each flow over time, absent while infinite"),
        Quantity("srtt", "series", "srtt_s", "Smoothed RTT", "extremes",
                 "Smoothed round-trip time of each flow over time", from_zero=False),
        Quantity("backlog", "queues", "backlog_packets", "Queue length", "extremes",
                 "Queue length of each link over time"),
    )
}  # fmt: skip
