"""Runs an experiment on every side, keeps what it finds, and goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.algorithm import permitting
from fairway.backends import Backend
from fairway.backends import backend as find_backend
from fairway.compare.agree.data import PointAgreement
from fairway.compare.agree.plans import comparison_plan
from fairway.compare.agree.quantities import tolerances
from fairway.compare.agree.result import Agreement
from fairway.errors import InputError
from fairway.experiment.plan import Plan, source_of_experiment
from fairway.ground import store
from fairway.ground.progress import reporter
from fairway.plot.drawing import SAME_COMMAND, draw_figures, draw_report
from fairway.plot.formats import check_formats
from fairway.sweep.outcome import Outcome
from fairway.sweep.result import Sweep
from fairway.sweep.run import run_plan

#: File of the result.
RESULT = "agreement.json"


def compare_backends(
    experiment: str | Path | Mapping[str, Any],
    out: Path | None = None,
    *,
    against: Sequence[str | Backend] = ("sim", "linux"),
    seeds: int | None = None,
    changes: Mapping[str, float] | None = None,
    overrides: Mapping[str, Any] | None = None,
    threads: int | None = None,
    figures: Sequence[str] = (),
    quiet: bool = True,
) -> Agreement:
    """Run an experiment on several backends and hold them together.

    Args:
        experiment: As for `comparison_plan`.
        out: Directory; each backend's runs are kept in a directory of its name in it. Without it
            everything stays in memory.
        against: Names of backends, or backends; the last is what the others are held against.
        seeds: Seeds of each point on each side.
        changes: Tolerances to change: quantity -> share.
        overrides: Values to set in the experiment first.
        threads: Runs at the same time.
        figures: Formats of figures to write there.
        quiet: Whether to show no progress.
    """
    check_formats(figures)
    accepted = tolerances(changes)
    sides = [find_backend(side) if isinstance(side, str) else side for side in against]
    names = _names(sides)
    unable = next((name for name in names if name != "sim"), None)
    with permitting(backend=unable):
        planned = comparison_plan(experiment, seeds=seeds, overrides=overrides)
    if out is not None:
        _prepare(out, names, source_of_experiment("agree", experiment, overrides))
    sweeps = {}
    # The reference first: what it cannot run is then found before the others have run.
    for side in reversed(sides):
        place = None if out is None else out / side.name
        sweeps[side.name] = _run_side(planned, side, place, threads, quiet)
    points = [
        PointAgreement(*outcomes, (name, names[-1]), accepted)
        for name in names[:-1]
        for outcomes in _paired(sweeps[name], sweeps[names[-1]])
    ]
    result = Agreement(
        planned.title, names[:-1], names[-1], planned.axes, points, accepted, _core.version()
    )
    if out is not None:
        _save(result, out, figures)
    return result


def _names(sides: Sequence[Backend]) -> list[str]:
    names = [side.name for side in sides]
    if len(names) < 2 or len(set(names)) < len(names):
        listed = ", ".join(names) or "none"
        raise InputError(
            f"agree: backends {listed}: expected two or more that are not the same, such as "
            "sim,linux; the last is what the others are held against"
        )
    return names


def _prepare(out: Path, names: Sequence[str], source: str) -> None:
    """Make the directory one of a comparison, if it can be."""
    store.check_writable(out, "comparison")
    store.refuse_another(out, source)
    for name in names:
        store.check_writable(out / name, "sweep")
    store.mark(out, "comparison", source)


def _run_side(
    planned: Plan, side: Backend, place: Path | None, threads: int | None, quiet: bool
) -> Sweep:
    progress = reporter(side.name, quiet=quiet)
    sweep = run_plan(planned, side, directory=place, threads=threads, progress=progress)
    if place is not None:
        sweep.save_overview(place)
    return sweep


def _paired(ours: Sweep, reference: Sweep) -> Iterator[tuple[list[Outcome], list[Outcome]]]:
    """The outcomes of each point on both sides; its repetitions follow each other."""
    group: tuple[list[Outcome], list[Outcome]] = ([], [])
    for one, other in zip(ours.outcomes, reference.outcomes, strict=True):
        if one.point.repetition == 0 and group[0]:
            yield group
            group = ([], [])
        group[0].append(one)
        group[1].append(other)
    yield group


def _save(result: Agreement, out: Path, figures: Sequence[str]) -> None:
    store.write_file(out / RESULT, store.to_json(result.to_json()))
    draw_figures(out, lambda place: _save_figures(result, place, figures), figures, SAME_COMMAND)
    draw_report(out, result.report, SAME_COMMAND)


def _save_figures(result: Agreement, place: Path, formats: Sequence[str]) -> None:
    from fairway.compare.agree.charts import paper_charts
    from fairway.plot.figures import save_charts

    save_charts(paper_charts(result), place, formats)
