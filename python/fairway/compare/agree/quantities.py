"""What is compared, within what tolerances, and whether two samples are equivalent."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairway import _core
from fairway.errors import InputError
from fairway.ground import result_schema
from fairway.ground.result_schema import Tolerance
from fairway.plot.columns import in_unit, shown_unit
from fairway.stats import (
    Difference,
    mean_and_deviation,
    student_half_width,
    welch_half_width,
)

Kind = Literal["flow", "link", "run"]


@dataclass(frozen=True)
class Quantity:
    """A number that is compared.

    Attributes:
        name: What options and JSON call it.
        of: What has it: each flow, each link or the whole run.
        column: Its column, whose name ends in the unit.
        words: What tables call it.
        tolerance: The negligible difference if no other is asked for; none if it is only shown.
        is_count: Whether it is understood without a unit.
    """

    name: str
    of: Kind
    column: str
    words: str
    tolerance: Tolerance | None
    is_count: bool = False

    @property
    def title(self) -> str:
        """What tables call it, with the unit."""
        return in_unit(self.words, "" if self.is_count else shown_unit(self.column)[0])

    @property
    def scale(self) -> float:
        """What values are multiplied by for that unit."""
        return shown_unit(self.column)[1]


def declared(name: str, of: Kind, column: str, words: str = "") -> Quantity:
    """A column of summaries, with the tolerance that results declare for it."""
    tables = {"flow": "flows", "link": "links", "run": "metrics"}
    found = result_schema.columns(tables[of])[column]
    return Quantity(name, of, column, words or name, found.tolerance, found.kind == "count")


QUANTITIES = (
    declared("goodput", "flow", "goodput_bps"),
    declared("cwnd", "flow", "mean_cwnd_segments"),
    declared("srtt", "flow", "mean_srtt_s"),
    declared("delay", "flow", "mean_one_way_delay_s"),
    declared("retransmitted", "flow", "retransmitted_segments"),
    declared("reductions", "flow", "window_reductions"),
    declared("timeouts", "flow", "timeouts"),
    declared("lost", "flow", "lost_segments"),
    declared("utilisation", "link", "utilisation"),
    declared("drops", "link", "drops"),
    declared("backlog", "link", "mean_backlog_packets"),
    declared("sojourn", "link", "p99_sojourn_s", "p99 sojourn"),
    declared("jain", "run", "jain_index", "Jain index"),
)

#: The area between mean windows over time, over the area under the reference's.
CURVES = "curves"
#: What the tolerances are if nothing else is asked for. Two sawteeth of the same shape, between W/2
#: and W, are up to a third of their area apart if one is half a period late: the same course in
#: time keeps less than half of that.
DEFAULTS: Mapping[str, Tolerance] = {
    **{one.name: one.tolerance for one in QUANTITIES if one.tolerance},
    CURVES: Tolerance(0.15),
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
    share = _core.ratio(written)
    if not name or not equals or share is None:
        raise InputError(
            f"--tolerance {assignment}: expected metric=share, such as goodput=2% or cwnd=0.05"
        )
    return name, share


def entries(summary: Mapping[str, Any]) -> Iterator[tuple[Quantity, str, float | None]]:
    """Every number that is compared: the quantity, what has it, and its value.

    Fairness is left out where there is one flow, which is always fair to itself.
    """
    owners = [("flow", str(flow["id"]), flow) for flow in summary["flows"]]
    owners += [("link", str(link["id"]), link) for link in summary["links"]]
    if len(summary["flows"]) > 1:
        owners.append(("run", "run", summary["metrics"]))
    for kind, owner, row in owners:
        for quantity in QUANTITIES:
            if quantity.of == kind:
                yield quantity, owner, row.get(quantity.column)


#: Two one-sided tests at 5 % each (Schuirmann 1987).
CONFIDENCE = 0.9
#: Seeds that are looked ahead for a decision.
_MOST_SEEDS = 1000

Verdict = Literal["equivalent", "different", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("equivalent", "different", "undecided")

#: What a verdict rests on: both sides are zero with every seed; or the difference is the same with
#: every seed, so that there is no variance and the values are compared; or Student's interval of
#: the differences seed by seed, or Welch's of the means; or a side has one seed, of whose variance
#: nothing is known.
Method = Literal["zero", "values", "pairs", "interval", "single"]


@dataclass(frozen=True)
class Sample:
    """The values of one side, one for each seed.

    Attributes:
        values: In the order of the seeds.
        deviation: Their sample standard deviation; none of one value.
    """

    values: tuple[float, ...]
    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """The sample of these values, at least one."""
        return cls(tuple(values), *mean_and_deviation(values))

    @property
    def range(self) -> float:
        """Largest less smallest: how far seeds lie apart."""
        return max(self.values) - min(self.values)

    @property
    def spread(self) -> float | None:
        """The range over the mean; none about zero."""
        if self.range == 0:
            return 0.0
        return self.range / abs(self.mean) if self.mean else None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"mean": self.mean, "deviation": self.deviation, "values": list(self.values),
                "spread": self.spread}  # fmt: skip


@dataclass(frozen=True)
class Judgement:
    """Two samples held together.

    Attributes:
        difference: Our mean less the reference's, with an interval of 90 %.
        margin: The largest difference that is of no account, in the quantity's unit.
        verdict: *equivalent* if the whole interval is within ± the margin, *different* if all of
            it is outside, *undecided* otherwise.
        more_seeds: How many more seeds on each side might decide, if means and variances stay as
            they are; none where it is decided, or where a thousand would not do.
    """

    ours: Sample
    reference: Sample
    difference: Difference
    margin: float
    verdict: Verdict
    method: Method
    more_seeds: int | None = None

    def relative(self, value: float | None) -> float | None:
        """A difference as a share of the reference's mean; none if that is zero."""
        if value is None:
            return None
        if value == 0 and self.method == "zero":
            return 0.0
        return value / abs(self.reference.mean) if self.reference.mean else None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        apart = self.difference
        return {
            "side": self.ours.to_json(),
            "reference": self.reference.to_json(),
            "difference": apart.mean,
            "interval": _pair(apart.low, apart.high),
            "relative_difference": self.relative(apart.mean),
            "relative_interval": _pair(self.relative(apart.low), self.relative(apart.high)),
            "margin": self.margin,
            "verdict": self.verdict,
            "method": self.method,
            "more_seeds": self.more_seeds,
        }


def judge(
    ours: Sequence[float],
    reference: Sequence[float],
    tolerance: Tolerance,
    *,
    is_paired: bool = False,
) -> Judgement:
    """Hold the values of one side against those of another.

    Args:
        ours: One value for each seed.
        reference: Likewise.
        tolerance: The negligible difference.
        is_paired: Whether the nth values of both sides come from the same random numbers.
    """
    first, second = Sample.of(ours), Sample.of(reference)
    margin = tolerance.of(second.mean)
    apart = first.mean - second.mean
    if not any(first.values) and not any(second.values):
        return Judgement(first, second, Difference(0.0, None, None), margin, "equivalent", "zero")
    if first.deviation is None or second.deviation is None:
        alone = Difference(apart, None, None)
        return Judgement(first, second, alone, margin, "undecided", "single")
    chance = _Chance.of(first, second, is_paired=is_paired)
    if chance.is_none:
        same: Verdict = "equivalent" if abs(apart) <= margin else "different"
        # There is no interval around a difference of two constants.
        return Judgement(first, second, Difference(apart, None, None), margin, same, "values")
    half = chance.half_width()
    verdict = decide(apart - half, apart + half, margin)
    more = chance.more_seeds(apart, margin) if verdict == "undecided" else None
    interval = Difference(apart, apart - half, apart + half)
    return Judgement(first, second, interval, margin, verdict, chance.method, more)


@dataclass(frozen=True)
class _Chance:
    """How far a difference of means varies with seeds.

    Attributes:
        deviations: Of the differences seed by seed, or of each side.
        counts: Of how many values, for each deviation.
    """

    method: Method
    deviations: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, first: Sample, second: Sample, *, is_paired: bool) -> _Chance:
        """That of two samples of two or more values."""
        counts = len(first.values), len(second.values)
        if is_paired:
            each = [one - other for one, other in zip(first.values, second.values, strict=True)]
            return cls("pairs", (mean_and_deviation(each)[1] or 0.0,), counts[:1])
        return cls("interval", (first.deviation or 0.0, second.deviation or 0.0), counts)

    @property
    def is_none(self) -> bool:
        """Whether seeds change nothing."""
        return not any(self.deviations)

    def half_width(self, more: int = 0) -> float:
        """Half of the interval, with so many more seeds on each side and the same deviations."""
        sides = [(d, n + more) for d, n in zip(self.deviations, self.counts, strict=True)]
        if len(sides) == 1:
            return student_half_width(*sides[0], CONFIDENCE)
        return welch_half_width(sides[0], sides[1], CONFIDENCE)

    def more_seeds(self, apart: float, margin: float) -> int | None:
        """How many more seeds on each side decide if means and deviations stay as they are."""
        for more in range(1, _MOST_SEEDS + 1):
            half = self.half_width(more)
            if decide(apart - half, apart + half, margin) != "undecided":
                return more
        return None


def decide(low: float, high: float, margin: float) -> Verdict:
    """The verdict on an interval of the difference.

    >>> decide(-1, 1.5, 2), decide(2.5, 3, 2), decide(1, 3, 2)
    ('equivalent', 'different', 'undecided')
    """
    if -margin <= low and high <= margin:
        return "equivalent"
    if low > margin or high < -margin:
        return "different"
    return "undecided"


def _pair(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]
