"""Repeating until intervals are narrow enough, and not once more."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairway.experiment.plan import Plan, Until
from fairway.ground import text

if TYPE_CHECKING:
    from fairway.stats import Stopping
    from fairway.sweep.outcome import Outcome


#: The seed of a summary, which comes before all that is measured; in text a quotation mark would
#: have a backslash before it.
_SEED = re.compile(rb'"seed":[0-9]+,')


@dataclass(frozen=True)
class Stop:
    """Where repeating one combination of a sweep ended.

    Attributes:
        axes: The combination.
        repetitions: How many runs it has.
        half_widths: Half of the 95 % interval of each metric as a share of its |mean|; none where
            there is no such share.
        unsettled: The metrics whose interval was not narrow enough at the last of `at_most` runs.
    """

    axes: Mapping[str, Any]
    repetitions: int
    half_widths: Mapping[str, float | None]
    unsettled: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "axes": dict(self.axes),
            "repetitions": self.repetitions,
            "half_widths": dict(self.half_widths),
            "unsettled": list(self.unsettled),
        }


def stops_of(entries: Sequence[Mapping[str, Any]]) -> list[Stop]:
    """Back from plain data."""
    return [
        Stop(e["axes"], e["repetitions"], e["half_widths"], tuple(e["unsettled"])) for e in entries
    ]


def run_until(
    plan: Plan, until: Until, run: Callable[[Plan], Sequence[Outcome]]
) -> tuple[list[Outcome], list[Stop]]:
    """Run a plan until every combination's intervals are narrow enough, or at their limit.

    It is looked at whole batches of repetitions alone: after ten runs of each combination, and
    after every five more. So which runs there are depends on the seeds and on nothing else, such as
    which was finished first; and they are the first ones of a sweep with more repetitions.
    """
    from fairway.stats import Stopping

    rule = Stopping(until.share, until.at_most)
    planned: dict[str, list[int]] = {}
    for index, point in enumerate(plan.points):
        planned.setdefault(repr(point.axes), []).append(index)
    outcomes: dict[int, Outcome] = {}
    stops: dict[str, Stop] = {}
    done = 0
    while len(stops) < len(planned):
        upto = rule.next_look(done)
        wanted = sorted(
            index for key, own in planned.items() if key not in stops for index in own[done:upto]
        )
        part = replace(plan, points=tuple(plan.points[index] for index in wanted), until=None)
        outcomes.update(zip(wanted, run(part), strict=True))
        for key, own in planned.items():
            if key not in stops:
                found = _look(rule, until, [outcomes[index] for index in own[:upto]])
                if not found.unsettled or upto >= until.at_most:
                    stops[key] = found
        done = upto
    return [outcomes[index] for index in sorted(outcomes)], [stops[key] for key in planned]


def _look(rule: Stopping, until: Until, outcomes: Sequence[Outcome]) -> Stop:
    from fairway.metrics import of_outcome

    shares: dict[str, float | None] = {}
    unsettled = []
    for name in until.metrics:
        found = [of_outcome(outcome, name) for outcome in outcomes]
        values = [value for value in found if value is not None]
        shares[name] = rule.half_width(values)
        if not rule.precise(values):
            unsettled.append(name)
    return Stop(outcomes[0].point.axes, len(outcomes), shares, tuple(unsettled))


def alike(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """The combinations whose repetitions are all the same run but for the seed.

    Nothing in them is random, so that to repeat them says nothing.
    """
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(repr(outcome.point.axes), []).append(outcome)
    return [group for group in groups.values() if len(group) > 1 and _is_one_run(group)]


def _is_one_run(group: Sequence[Outcome]) -> bool:
    first = _without_seed(group[0])
    return all(_without_seed(outcome) == first for outcome in group[1:])


def _without_seed(outcome: Outcome) -> bytes:
    return _SEED.sub(b"", outcome.line, count=1)


def remark_on_alike(outcomes: Sequence[Outcome]) -> list[str]:
    """What has to be known where repetitions do not differ, and what to vary."""
    same = alike(outcomes)
    if not same:
        return []
    combinations = len({repr(outcome.point.axes) for outcome in outcomes})
    where = "" if len(same) == combinations else f"{len(same)} of {combinations} combinations: "
    return [f"{where}every repetition is the same run: {text.NOTHING_RANDOM}"]


def sentence(until: Until, stops: Sequence[Stop]) -> str:
    """How often things were repeated, for a reader."""
    counts = [stop.repetitions for stop in stops]
    least, most = min(counts), max(counts)
    shown = str(least) if least == most else f"{least} to {most}"
    return (
        f"Repeated until half of the 95 % interval of {', '.join(until.metrics)} is within "
        f"{text.percent(until.share, signed=False)} of the true mean, at most {until.at_most} "
        f"times: {shown} runs each."
    )


def warnings(until: Until, stops: Sequence[Stop]) -> list[str]:
    """What has to be known of combinations that ended at the limit."""
    return [
        f"{_place(stop)}{stop.repetitions} repetitions were not enough for "
        f"{text.percent(until.share, signed=False)}: "
        + ", ".join(f"{name} is {_share(stop.half_widths[name])}" for name in stop.unsettled)
        for stop in stops
        if stop.unsettled
    ]


def _place(stop: Stop) -> str:
    values = ", ".join(text.label(value) for value in stop.axes.values())
    return f"{values}: " if values else ""


def _share(half: float | None) -> str:
    if half is None:
        return "about zero, which no share of it is near to"
    return f"± {text.percent(half, signed=False)}"
