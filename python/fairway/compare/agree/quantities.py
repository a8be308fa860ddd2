"""What is compared of two backends, and within what tolerances."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairway.errors import InputError


@dataclass(frozen=True)
class Tolerance:
    """What difference is of no account.

    Attributes:
        relative: As a share of the reference's mean.
        floor: At least this much, in the unit of the quantity: a share of next to nothing is
            nothing.
    """

    relative: float
    floor: float = 0.0

    def of(self, reference: float) -> float:
        """The largest difference from that mean, in its unit."""
        return max(self.relative * abs(reference), self.floor)

    def to_json(self) -> dict[str, float]:
        """As plain data."""
        return {"relative": self.relative, "floor": self.floor}


@dataclass(frozen=True)
class Quantity:
    """A number of a summary that is compared.

    Attributes:
        name: What users call it.
        of: What has it: each flow, each link or the whole run.
        column: Where it stands in the summary.
        title: How tables call it, with the unit.
        scale: What values are multiplied by for that unit.
        tolerance: What difference is of no account if nothing else is asked for.
    """

    name: str
    of: Literal["flow", "link", "run"]
    column: str
    title: str
    tolerance: Tolerance
    scale: float = 1.0


# Of n events that have nothing to do with each other the count varies by 1/√n: 15 % of 44.
_OTHER = 0.15
# One event more or less may be on which side of the measuring window's edge it falls.
_COUNT = Tolerance(_OTHER, 1.0)

QUANTITIES = (
    # Headers are 3.5 % of a packet of 1500 bytes: a backend that miscounts them is found out.
    Quantity("goodput", "flow", "goodput_bps", "goodput (Mbit/s)", Tolerance(0.02), 1e-6),
    # A sawtooth from βW to W has the mean (1 + β)W/2: 0.7 for 0.5 as β would make 13 %.
    Quantity("cwnd", "flow", "mean_cwnd_segments", "cwnd (segments)", Tolerance(0.05)),
    # While a queue is not empty, the round-trip time is the window over the link's rate.
    Quantity("srtt", "flow", "mean_srtt_s", "srtt (ms)", Tolerance(0.05), 1e3),
    Quantity("delay", "flow", "mean_one_way_delay_s", "delay (ms)", Tolerance(_OTHER), 1e3),
    Quantity("retransmitted", "flow", "retransmitted_segments", "retransmitted", _COUNT),
    Quantity("reductions", "flow", "window_reductions", "reductions", _COUNT),
    Quantity("timeouts", "flow", "timeouts", "timeouts", _COUNT),
    Quantity("lost", "flow", "lost_segments", "lost", _COUNT),
    Quantity("utilisation", "link", "utilisation", "utilisation", Tolerance(_OTHER)),
    Quantity("drops", "link", "drops", "drops", _COUNT),
    # A packet is in the queue or is not: half of one is as close as counting comes.
    Quantity("backlog", "link", "mean_backlog_packets", "backlog (packets)",
             Tolerance(_OTHER, 0.5)),
    # A tick of a kernel's timer at 1000 Hz.
    Quantity("sojourn", "link", "p99_sojourn_s", "p99 sojourn (ms)", Tolerance(_OTHER, 1e-3), 1e3),
    Quantity("jain", "run", "jain_index", "Jain index", Tolerance(_OTHER)),
)  # fmt: skip

#: The area between mean windows over time, over the area under the reference's.
CURVES = "curves"
#: Two sawteeth of the same shape, between W/2 and W, are up to a third of their area apart if one
#: is half a period late: less than half of that has to be kept for the same course in time.
_CURVES_TOLERANCE = Tolerance(_OTHER)

#: What the tolerances are if nothing else is asked for.
DEFAULTS: Mapping[str, Tolerance] = {
    **{quantity.name: quantity.tolerance for quantity in QUANTITIES},
    CURVES: _CURVES_TOLERANCE,
}


def tolerances(changes: Mapping[str, float] | None = None) -> dict[str, Tolerance]:
    """The tolerances, some of them changed.

    Args:
        changes: Quantity -> share of the reference's mean. A tolerance that is given has no floor.

    Raises:
        InputError: If there is no such quantity, or a share is negative or not finite.
    """
    chosen = dict(DEFAULTS)
    for name, share in (changes or {}).items():
        if name not in chosen:
            near = difflib.get_close_matches(name, list(chosen), n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"tolerance {name}: {meant}there is {', '.join(chosen)}")
        if not math.isfinite(share) or share < 0:
            raise InputError(f"tolerance {name}: {share} is not a share, such as 0.02 for 2 %")
        chosen[name] = Tolerance(share)
    return chosen


def parse_tolerance(assignment: str) -> tuple[str, float]:
    """Read `goodput=2%` or `goodput=0.02`.

    >>> parse_tolerance("goodput=2%"), parse_tolerance("cwnd = 0.05")
    (('goodput', 0.02), ('cwnd', 0.05))
    """
    name, equals, written = (part.strip() for part in assignment.partition("="))
    percent = written.endswith("%")
    try:
        share = float(written.removesuffix("%"))
    except ValueError:
        share = math.nan
    if not name or not equals or not math.isfinite(share):
        raise InputError(
            f"--tolerance {assignment}: expected metric=share, such as goodput=2% or cwnd=0.05"
        )
    return name, share / 100 if percent else share


def entries(summary: Mapping[str, Any]) -> Iterator[tuple[Quantity, str, float | None]]:
    """Every number that is compared: the quantity, what has it, and its value.

    Fairness is left out where there is one flow, which is always fair to itself.
    """
    for flow in summary["flows"]:
        yield from _of("flow", str(flow["id"]), flow)
    for link in summary["links"]:
        yield from _of("link", str(link["id"]), link)
    if len(summary["flows"]) > 1:
        yield from _of("run", "run", summary["metrics"])


def _of(kind: str, owner: str, row: Mapping[str, Any]) -> Iterator[tuple[Quantity, str, Any]]:
    for quantity in QUANTITIES:
        if quantity.of == kind:
            yield quantity, owner, row.get(quantity.column)
