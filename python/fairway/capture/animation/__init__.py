"""Animations: a run's packets on the drawing of its topology, as a page that plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.errors import InputError
from fairway.experiment.plan import Point, plan
from fairway.ground import store
from fairway.ground.permission import permitting
from fairway.ground.quantities import seconds
from fairway.results.run import Run, load
from fairway.sweep.start import run as run_experiment

#: Seconds that are shown unless the end is given.
SHOWN_S = 10.0
#: Samples of windows in the time that is shown, and in the whole run at most.
_SAMPLES, _MOST_SAMPLES = 400, 20_000
#: Times are told to the nanosecond.
_NS = 10**9


def animate(
    experiment: str | Path | Mapping[str, Any],
    *,
    start: float | str = 0.0,
    end: float | str | None = None,
    overrides: Mapping[str, Any] | None = None,
    allow_python: bool = False,
    quiet: bool = True,
) -> str:
    """Animate a simulated run: a page that plays its packets and windows.

    Args:
        experiment: A path, the text of an experiment file, or its content as a mapping; or the
            directory of a run with captures of everything.
        start: Where the animation begins, in seconds of the run or as "1.5 s".
        end: Where it ends; 10 s later if not given, or with the run.
        overrides: Values to set first: path -> value.
        allow_python: Whether the experiment may name modules, which are imported and run.
        quiet: Whether to show no progress on standard error.

    Returns:
        HTML that needs no network.

    Raises:
        fairway.ExperimentError: If the experiment is not valid.
        fairway.InputError: If there is nothing to play, or more than a page holds.
    """
    from fairway.capture.animation.page import page
    from fairway.capture.animation.scene import scene

    begin_s, end_s = seconds(start, str(start)) or 0.0, seconds(end, str(end))
    if end_s is not None and end_s <= begin_s:
        raise InputError(f"--to: {end_s:g} s is not after --from, {begin_s:g} s")
    end_s = begin_s + SHOWN_S if end_s is None else end_s
    is_text = isinstance(experiment, Mapping) or "\n" in str(experiment)
    directory = None if is_text else Path(str(experiment))
    if directory is not None and directory.is_dir():
        run = _loaded(directory, overrides)
    else:
        run = _made(experiment, overrides, begin_s, end_s, allow_python=allow_python, quiet=quiet)
    ends_ns = _core.Experiment(run.experiment).duration_ns
    begin_ns, end_ns = round(begin_s * _NS), min(round(end_s * _NS), ends_ns)
    if begin_ns >= end_ns:
        raise InputError(f"--from: {begin_s:g} s is not before the run's end, {ends_ns / _NS:g} s")
    return page(run, scene(_recorded(run), begin_ns, end_ns))


def _loaded(directory: Path, overrides: Mapping[str, Any] | None) -> Run:
    """A run with its captures, from its directory."""
    if overrides:
        raise InputError(f"{directory}: a finished run; --set and --seed go with experiment files")
    if (directory / store.POINTS).is_dir():
        raise InputError(f"{directory}: a sweep; name one of its runs, in {directory / 'points'}")
    run = load(directory)
    if run.backend != "sim":
        raise InputError(f"{directory}: a run of backend {run.backend}; the simulator's are played")
    if run.experiment.get("capture", {}).get("at") != "everything":
        raise InputError(
            f"{directory}: has no captures of everything; run the experiment again with "
            "--capture everything, or animate its file"
        )
    return run


def _made(
    experiment: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | None,
    begin_s: float,
    end_s: float,
    *,
    allow_python: bool,
    quiet: bool,
) -> Run:
    """Run an experiment until the animation ends, with captures of everything."""
    with permitting(python=allow_python, backend="sim"):
        planned = plan(experiment, overrides=overrides)
    whole_ns = planned.points[0].resolved.duration_ns
    end_ns = min(round(end_s * _NS), whole_ns)
    point = _without_later(planned.points[0], end_ns)
    length_ns = end_ns
    while length_ns <= point.resolved.last_start_ns:
        length_ns *= 2
    length_ns = min(length_ns, whole_ns)
    document = dict(point.experiment)
    sample_ns = max((end_ns - round(begin_s * _NS)) // _SAMPLES, length_ns // _MOST_SAMPLES, 1)
    document["duration"] = f"{length_ns} ns"
    document["measure"] = {"sample": f"{min(sample_ns, length_ns)} ns"}
    document["capture"] = {"at": "everything", "files": "one"}
    run = run_experiment(document, allow_python=allow_python, quiet=quiet)
    assert isinstance(run, Run)
    return run


def _without_later(point: Point, end_ns: int) -> Point:
    """A point without the last of its flows that start after the animation ends.

    Only the last: the random numbers and names of the others stay as they are.
    """
    starts = [start for start, _ in point.resolved.flow_times_ns]
    while len(starts) > 1 and starts[-1] >= end_ns:
        starts.pop()
    flows = point.experiment["flow"][: len(starts)]
    return replace(point, asked={**point.experiment, "flow": flows})


def _recorded(run: Run) -> Any:
    from fairway.capture.animation.crossings import traffic
    from fairway.capture.animation.pcapng import read
    from fairway.capture.animation.scene import Recorded

    if run.captures is None:
        raise InputError(f"{run.title}: its captures are missing; run it again with them")
    interfaces, packets = read(run.captures, _places_of_chain(run.experiment["topology"]))
    overhead = _core.Experiment(run.experiment).frame_overhead_bytes
    found = traffic(packets, overhead)
    return Recorded(interfaces, packets, found, run.summary["flows"], run.series)


def _places_of_chain(topology: Mapping[str, Any]) -> dict[str, str]:
    """Ends of the links of a chain with nodes of their own: captures call all left and right."""
    if topology["kind"] != "chain":
        return {}
    links = [link.get("id", f"link#{index}") for index, link in enumerate(topology["link"])]
    nodes = ["left", *(f"n{index}" for index in range(1, len(links))), "right"]
    return {
        f"{link}@{end}": f"{link}@{node}"
        for index, link in enumerate(links)
        for end, node in (("left", nodes[index]), ("right", nodes[index + 1]))
    }
