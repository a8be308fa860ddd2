"""What is compared of two backends, and within what tolerances."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairway.errors import InputError
from fairway.ground import result_schema
from fairway.ground.result_schema import Tolerance
from fairway.plot.columns import in_unit, shown_unit


@dataclass(frozen=True)
class Quantity:
    """A column of a summary that is compared.

    Attributes:
        name: What users call it.
        of: What has it: each flow, each link or the whole run.
        column: Where it stands in the summary.
        words: What tables call it.
    """

    name: str
    of: Literal["flow", "link", "run"]
    column: str
    words: str = ""

    @property
    def declared(self) -> result_schema.Column:
        """The column as results have it."""
        tables = {"flow": "flows", "link": "links", "run": "metrics"}
        return result_schema.columns(tables[self.of])[self.column]

    @property
    def title(self) -> str:
        """What tables call it, with the unit; counts are understood without one."""
        unit = "" if self.declared.kind == "count" else shown_unit(self.column)[0]
        return in_unit(self.words or self.name, unit)

    @property
    def scale(self) -> float:
        """What values are multiplied by for that unit."""
        return shown_unit(self.column)[1]

    @property
    def tolerance(self) -> Tolerance:
        """What difference is of no account if nothing else is asked for."""
        assert self.declared.tolerance is not None
        return self.declared.tolerance


QUANTITIES = (
    Quantity("goodput", "flow", "goodput_bps"),
    Quantity("cwnd", "flow", "mean_cwnd_segments"),
    Quantity("srtt", "flow", "mean_srtt_s"),
    Quantity("delay", "flow", "mean_one_way_delay_s"),
    Quantity("retransmitted", "flow", "retransmitted_segments"),
    Quantity("reductions", "flow", "window_reductions"),
    Quantity("timeouts", "flow", "timeouts"),
    Quantity("lost", "flow", "lost_segments"),
    Quantity("utilisation", "link", "utilisation"),
    Quantity("drops", "link", "drops"),
    Quantity("backlog", "link", "mean_backlog_packets"),
    Quantity("sojourn", "link", "p99_sojourn_s", "p99 sojourn"),
    Quantity("jain", "run", "jain_index", "Jain index"),
)

#: The area between mean windows over time, over the area under the reference's.
CURVES = "curves"
#: Two sawteeth of the same shape, between W/2 and W, are up to a third of their area apart if one
#: is half a period late: less than half of that has to be kept for the same course in time.
_CURVES_TOLERANCE = Tolerance(0.15)

#: What the tolerances are if nothing else is asked for.
DEFAULTS: Mapping[str, Tolerance] = {
    **{quantity.name: quantity.tolerance for quantity in QUANTITIES},
    CURVES: _CURVES_TOLERANCE,
}


def tolerances(changes: Mapping[str, float] | None = None) -> dict[str, Tolerance]:
    """The tolerances, some of them changed."""
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
