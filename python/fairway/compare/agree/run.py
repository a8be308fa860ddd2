"""Runs an experiment on every side, keeps what it finds, and goes on where it was stopped."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.backends import Backend, kernels_last
from fairway.backends import backend as find_backend
from fairway.compare.agree.data import AgreementData, PointAgreement
from fairway.compare.agree.quantities import tolerances as accepted_differences
from fairway.compare.agree.tables import remarks, tables
from fairway.errors import InputError, read_text
from fairway.experiment.plan import (
    MAX_BYTES,
    Document,
    Plan,
    Point,
    parse_toml,
    plan,
    source_of_experiment,
)
from fairway.experiment.scenarios import merged
from fairway.ground import extras, replacing, shape, store
from fairway.ground.permission import permitting
from fairway.ground.progress import reporter
from fairway.plot.drawing import REPORT, SAME_COMMAND, draw_figures, draw_report
from fairway.plot.formats import check_formats
from fairway.plot.page import Table, plain_html
from fairway.sweep.outcome import Outcome
from fairway.sweep.result import Sweep
from fairway.sweep.run import check_points, run_plan


class Agreement(AgreementData):
    """An experiment on several backends."""

    def tables(self) -> list[Table]:
        """All numbers of a single experiment, or a line for each point of a sweep."""
        return tables(self)

    def remarks(self) -> list[str]:
        """What has to be said beside the tables."""
        return remarks(self)

    def report(self) -> str:
        """The report as HTML."""
        from fairway.compare.agree.report import report

        return report(self)

    def save_figures(self, directory: Path, formats: Sequence[str]) -> None:
        """Write windows and differences into a directory."""
        from fairway.compare.agree.report import paper_charts
        from fairway.plot.figures import save_charts

        save_charts(paper_charts(self), directory, formats)

    def _repr_html_(self) -> str:
        return "".join(plain_html(table) for table in self.tables())


#: Seeds on each side where the file does not say how many.
DEFAULT_SEEDS = 4
#: Fewer have no variance.
FEWEST_SEEDS = 2

#: Of a set: `algorithms` take in turn the place of the first flow's in each scenario, which
#: changes some of `base`. Behind a colon an algorithm's variant may stand: "westwood+:paper".
_SET_SHAPE = {
    "title": str,
    "seeds": int,
    "algorithms": [str],
    "base": dict,
    "scenario": shape.Each({"title": str}),
}


def bundled() -> list[str]:
    """Names of the sets that come with Fairway."""
    files = importlib.resources.files("fairway.compare.agree").iterdir()
    return sorted(Path(file.name).stem for file in files if file.name.endswith(".toml"))


def stem(experiment: str | Path | Mapping[str, Any]) -> str:
    """What results of an experiment are called: the file's or the set's name."""
    if isinstance(experiment, Mapping) or "\n" in str(experiment):
        return "experiment"
    return Path(experiment).stem


def comparison_plan(
    experiment: str | Path | Mapping[str, Any],
    *,
    seeds: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """Every run that one side has to do, of an experiment file or a set of scenarios."""
    if seeds is not None and seeds < FEWEST_SEEDS:
        raise InputError(
            f"agree: {seeds} seeds: one has no variance, so nothing could be said of a difference; "
            f"give {FEWEST_SEEDS} or more"
        )
    if (found := _set(experiment)) is not None:
        return _set_plan(found, seeds, overrides or {})
    return _file_plan(experiment, seeds, overrides or {})


def _file_plan(
    experiment: str | Path | Mapping[str, Any], seeds: int | None, overrides: Mapping[str, Any]
) -> Plan:
    once = plan(experiment, overrides=overrides)
    own = 1 + max(point.repetition for point in once.points)
    # Both sides have as many: repeating until an interval is narrow would end at different ones.
    fixed = own >= FEWEST_SEEDS and once.until is None
    wanted = seeds or (own if fixed else DEFAULT_SEEDS)
    if wanted == own and once.until is None:
        return once
    repeated = (
        {"sweep.repetitions": wanted} if once.is_sweep else {"sweep": {"repetitions": wanted}}
    )
    return plan(experiment, overrides={**overrides, **repeated})


def _set(experiment: str | Path | Mapping[str, Any]) -> Document | None:
    """The content of a set; none if `experiment` is something else."""
    if isinstance(experiment, Mapping):
        found, source = dict(experiment), "set"
    elif isinstance(experiment, str) and experiment in bundled() and not Path(experiment).is_file():
        file = importlib.resources.files("fairway.compare.agree") / f"{experiment}.toml"
        found, source = parse_toml(file.read_text("utf-8"), str(file)), experiment
    elif isinstance(experiment, str) and "\n" in experiment:
        found, source = parse_toml(experiment, "experiment"), "experiment"
    else:
        path = Path(experiment)
        if not path.suffix and not path.exists():
            raise InputError(
                f"{path}: no such experiment file, and no set of that name; "
                f"there is {', '.join(bundled())}"
            )
        found = parse_toml(read_text(path, "experiment file", MAX_BYTES), str(path))
        source = str(path)
    if "scenario" not in found:
        return None
    if wrong := shape.problem(found, _SET_SHAPE):
        raise InputError(f"{source}: not a set of scenarios: {wrong}")
    return dict(found)


def _set_plan(found: Document, seeds: int | None, overrides: Mapping[str, Any]) -> Plan:
    repetitions = {"repetitions": max(seeds or found["seeds"], FEWEST_SEEDS)}
    points = []
    for key, changes in found["scenario"].items():
        document = {**merged(found["base"], changes), "sweep": repetitions}
        for name in found["algorithms"]:
            cc, _, variant = name.partition(":")
            own = {"flow.0.cc": cc, **({"flow.0.cc_variant": variant} if variant else {})}
            for point in plan(document, overrides={**overrides, **own}).points:
                axes = {"path": key, "cc": name}
                points.append(Point(axes, point.repetition, point.experiment))
    if not points:
        raise InputError(f"{found['title']}: a set without an algorithm or without a scenario")
    return Plan(found["title"], ("path", "cc"), tuple(points), Algorithms())


#: File of the result.
RESULT = "agreement.json"


def agree(
    experiment: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    against: Sequence[str | Backend] = ("sim", "linux"),
    seeds: int | None = None,
    tolerances: Mapping[str, float] | None = None,
    overrides: Mapping[str, Any] | None = None,
    threads: int | None = None,
    figures: Sequence[str] = (),
    allow_python: bool = False,
    quiet: bool = True,
) -> Agreement:
    """Run an experiment on two or more backends and say where they differ.

    Args:
        experiment: A path, the text of an experiment file, its content as a mapping, or "kernel",
            which is every congestion control of Linux on three paths. A sweep is compared point
            by point.
        out: Directory for the results; without it they stay in memory. Given the same directory
            again it goes on where it stopped.
        against: Backends, by their names or as they are; the last is what the others are held
            against.
        seeds: Seeds of each point on each side; if not given, what the file says, or else 4.
        tolerances: What differences are of no account: metric -> share of the reference's mean,
            such as `{"goodput": 0.02}`.
        overrides: Values to set first: path -> value.
        threads: Runs at the same time; as many as there are cores if not given.
        figures: Formats of figures to write there: "pdf", "png", "svg".
        allow_python: Whether the experiment may name modules, which are imported and run.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.ExperimentError: If the experiment is not valid.
        fairway.InputError: If something given cannot be used, or a backend is not there.
        fairway.RunFailed: If runs failed.
    """
    extras.require("agree", *extras.OF_SWEEPS)
    check_formats(figures)
    directory = None if out is None else Path(out)
    accepted = accepted_differences(tolerances)
    sides = [find_backend(side) if isinstance(side, str) else side for side in against]
    names = _names(sides)
    unable = next((name for name in names if name != "sim"), None)
    with permitting(python=allow_python, backend=unable):
        planned = comparison_plan(experiment, seeds=seeds, overrides=overrides)
    for side in kernels_last(sides):
        check_points(planned, side)
    if directory is not None:
        _prepare(directory, names, source_of_experiment("agree", experiment, overrides))
    sweeps = {}
    # The reference first: what fails there is then found before the others have run.
    for side in reversed(sides):
        place = None if directory is None else directory / side.name
        sweeps[side.name] = _run_side(planned, side, place, threads, quiet)
    points = [
        PointAgreement(*outcomes, (name, names[-1]), accepted)
        for name in names[:-1]
        for outcomes in _paired(sweeps[name], sweeps[names[-1]])
    ]
    result = Agreement(
        planned.title, tuple(names[:-1]), names[-1], tuple(planned.axes), tuple(points), accepted,
        _core.version(),
    )  # fmt: skip
    if directory is not None:
        store.write_together(directory, {RESULT: store.to_json(result.to_json())}, remove=[REPORT])
        draw_figures(
            directory, lambda place: result.save_figures(place, figures), figures, SAME_COMMAND
        )
        draw_report(directory, result.report, SAME_COMMAND)
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
    replacing.check_writable(out, "comparison")
    check = functools.partial(replacing.refuse_another, out, source)
    check()
    for name in names:
        replacing.check_writable(out / name, "sweep")
    store.mark(out, "comparison", source, check)


def _run_side(
    planned: Plan, side: Backend, place: Path | None, threads: int | None, quiet: bool
) -> Sweep:
    progress = reporter(side.name, quiet=quiet)
    sweep = run_plan(
        planned, side, directory=place, threads=threads, progress=progress, keep="runs"
    )
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
