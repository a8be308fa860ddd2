"""How much is the same, where a study does not say."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Margin(NamedTuple):
    """How far apart two numbers may be and still count as the same.

    Attributes:
        kind: Whether `value` is a difference in the metric's unit, or a share: 0.05 is a twentieth
            more or as much less.
        value: How far.
    """

    kind: Literal["margin", "share"]
    value: float


#: What a metric's name has in it -> its margin. Ours: rates within 5 %, shares within what shows in
#: a figure, losses within a factor of 2, as they spread that much between seeds.
_DEFAULTS = (
    ("jain", Margin("margin", 0.02)),
    ("asymmetry", Margin("margin", 0.05)),
    ("loss", Margin("share", 1.0)),
    ("goodput", Margin("share", 0.05)),
    ("throughput", Margin("share", 0.05)),
    ("utilisation", Margin("share", 0.05)),
)


def default_margin(metric: str) -> Margin | None:
    """The margin of a metric, by its name; none if there is none for it."""
    return next((margin for name, margin in _DEFAULTS if name in metric.lower()), None)
