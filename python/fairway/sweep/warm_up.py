"""Finds the warm-up of runs that are compared, so that all of them are measured over one window.

An experiment with `measure.window = "auto"` is run twice: once to find where its beginning ends,
and again, with that window written into it. The second run is an experiment like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairway.errors import InputError
from fairway.experiment.plan import Plan, Point
from fairway.ground import text

if TYPE_CHECKING:
    from fairway.backends import Backend
    from fairway.results.run import Run
    from fairway.sweep.outcome import Outcome

#: What `measure.window` is before it is found.
AUTO = "auto"
#: Runs whose time series are in memory together.
_AT_ONCE = 64


@dataclass(frozen=True)
class Found:
    """Where the beginning of one flow ends.

    Attributes:
        ends_ns: When its goodput has settled.
        too_short: Whether the run is too short to tell.
    """

    axes: dict[str, Any]
    flow: str
    ends_ns: int
    too_short: bool


@dataclass(frozen=True)
class WarmUp:
    """How the window of runs that are compared was found.

    Attributes:
        flows: How many flows were looked at.
        too_short: Of how many of them the run is too short to tell.
    """

    latest: Found
    flows: int
    too_short: int

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "method": "MSER-5",
            "window_from_s": self.latest.ends_ns / 1e9,
            "of": {"axes": self.latest.axes, "flow": self.latest.flow},
            "flows": self.flows,
            "too_short": self.too_short,
        }


def warnings(found: Mapping[str, Any] | None) -> list[str]:
    """What has to be known of a window that was found, as `WarmUp.to_json` has it."""
    if not found or not found["too_short"]:
        return []
    return [
        f"{found['too_short']} of {text.count(found['flows'], 'flow')} had not settled by the half "
        "of the run, which is too short to tell where the warm-up ends; write a longer duration"
    ]


def tell(run: Run, found: Mapping[str, Any] | None) -> None:
    """Let the summary of a single run say how its window was found, if it was."""
    if found:
        run.summary["warm_up"] = dict(found)
    if warned := warnings(found):
        run.summary["warnings"] = [*run.warnings, *warned]


def settle(
    plan: Plan, backend: Backend, run: Callable[[Plan], Sequence[Outcome]]
) -> tuple[Plan, WarmUp | None]:
    """Write the window that is found into every experiment that asks for it.

    The first repetition of each combination is run to find it: MSER-5 on the goodput of each flow
    that lasts to the end, and of all these the latest. So the rest of all runs is compared over the
    same time, and which time that is depends on the seeds alone.
    """
    asking = [point for point in plan.points if _window(point) == AUTO]
    if not asking:
        return plan, None
    if backend.name not in ("sim", "linux"):
        raise InputError(
            f'measure.window: "{AUTO}" is found from runs that can be had again; --backend '
            f'{backend.name} has none, so write ["10 s", "50 s"]'
        )
    first = [_whole(point) for point in asking if point.repetition == 0]
    found = []
    for begin in range(0, len(first), _AT_ONCE):
        part = replace(plan, points=tuple(first[begin : begin + _AT_ONCE]), until=None)
        found += [one for outcome in run(part) for one in ends_of(outcome)]
    if not found:
        raise InputError(
            f'measure.window: "{AUTO}" needs a flow that lasts to the end of the run; write '
            '["0 s", "50 s"]'
        )
    latest = max(found, key=lambda one: one.ends_ns)
    points = tuple(
        _with_window(point, latest) if _window(point) == AUTO else point for point in plan.points
    )
    return replace(plan, points=points), WarmUp(latest, len(found), sum(f.too_short for f in found))


def ends_of(outcome: Outcome) -> list[Found]:
    """Where the goodput of each flow of a run settles, of those that last to the end."""
    from fairway.stats import mser5

    found = []
    period_ns = outcome.point.resolved.sample_ns
    series = outcome.run.sampled("series")
    series = series.keep(series.known("goodput_bps"))
    for row in outcome.summary["flows"]:
        own = series.text("flow").equals(row["id"])
        goodputs = series.numbers("goodput_bps")[own].tolist()
        if row["fct_s"] is not None or not goodputs:
            continue
        end = mser5(goodputs)
        found.append(Found(outcome.point.axes, row["id"], end.samples * period_ns, end.too_short))
    return found


def _window(point: Point) -> object:
    return point.asked.get("measure", {}).get("window")


def _whole(point: Point) -> Point:
    """The same, measured from its beginning to its end."""
    measure = {key: value for key, value in point.experiment["measure"].items() if key != "window"}
    return replace(point, asked={**point.experiment, "measure": measure})


def _with_window(point: Point, latest: Found) -> Point:
    duration = point.experiment["duration"]
    if latest.ends_ns >= point.resolved.duration_ns:
        raise InputError(
            f"measure.window: the warm-up of {_place(latest)} ends at {_seconds(latest.ends_ns)}, "
            f"and a run of {duration} is over by then; write a longer duration"
        )
    measure = {**point.experiment["measure"], "window": [_seconds(latest.ends_ns), duration]}
    return replace(point, asked={**point.experiment, "measure": measure})


def _seconds(nanos: int) -> str:
    """A time as experiments write it, to the nanosecond."""
    whole, rest = divmod(nanos, 1_000_000_000)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".") + " s"


def _place(found: Found) -> str:
    values = ", ".join(text.label(value) for value in found.axes.values())
    return f"{found.flow} ({values})" if values else found.flow
