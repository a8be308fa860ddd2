"""Simulates what was recorded, keeps what it finds, and goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.backends import backend
from fairway.compare.fidelity import recording
from fairway.compare.fidelity.data import Cell, FidelityData
from fairway.compare.fidelity.kernel_traces import of_run
from fairway.compare.fidelity.recording import Recorded
from fairway.compare.fidelity.tables import tables
from fairway.errors import InputError
from fairway.experiment.plan import Plan, Point, plan
from fairway.ground import extras, replacing, store
from fairway.ground.progress import reporter
from fairway.plot.drawing import REPORT, SAME_COMMAND, draw_figures, draw_report
from fairway.plot.formats import check_formats
from fairway.plot.page import Table, plain_html
from fairway.sweep.outcome import Outcome
from fairway.sweep.run import run_plan


class Fidelity(FidelityData):
    """How closely the simulator follows golden traces."""

    def tables(self) -> list[Table]:
        """All numbers, simulated beside real, and what is out of tolerance."""
        return tables(self)

    def report(self) -> str:
        """The report as HTML."""
        from fairway.compare.fidelity.report import report

        return report(self)

    def save_figures(self, directory: Path, formats: Sequence[str]) -> None:
        """Write the windows of all cells into a directory."""
        from fairway.compare.fidelity.report import page
        from fairway.plot.figures import save_charts

        save_charts({"windows": page(self)}, directory, formats)

    def _repr_html_(self) -> str:
        return "".join(plain_html(table) for table in self.tables())


#: File of the result.
RESULT = "fidelity.json"
#: Sub-directory of the runs.
_RUNS = "sim"


def fidelity(
    golden: str | Path | None = None,
    out: str | Path | None = None,
    *,
    kernel: str | None = None,
    threads: int | None = None,
    figures: Sequence[str] = (),
    quiet: bool = True,
) -> Fidelity:
    """Simulate every golden trace of a directory and say how closely the simulator follows it.

    Args:
        golden: Directory of golden traces, as `fairway linux record-golden` makes it; if not
            given, one that comes with Fairway.
        out: Directory for the results; without it they stay in memory. Given the same directory
            again it goes on where it stopped.
        kernel: Release of the recording that comes with Fairway: "6.1", which is the default, or
            "6.12".
        threads: Runs at the same time; as many as there are cores if not given.
        figures: Formats of the figure to write there: "pdf", "png", "svg".
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If there is no recording, or something in it cannot be used.
        fairway.RunFailed: If runs failed.
    """
    extras.require("fidelity", *extras.OF_SWEEPS)
    check_formats(figures)
    if figures and out is None:
        raise InputError("figures: need a directory for the results, where they shall go")
    if golden is not None and kernel is not None:
        raise InputError("--golden and --kernel both name a recording; give one of them")
    named = kernel or recording.DEFAULT
    found = recording.read(recording.packed(named) if golden is None else Path(golden))
    planned = _plan(found.recorded)
    directory = None if out is None else Path(out)
    place = None if directory is None else directory / _RUNS
    if directory is not None:
        _prepare(directory)
    progress = reporter("fidelity", quiet=quiet)
    sweep = run_plan(planned, backend("sim"), directory=place, threads=threads, progress=progress)
    if place is not None:
        sweep.save_overview(place)
    cells = [
        cell
        for recorded, outcome in zip(found.recorded, sweep.outcomes, strict=True)
        for cell in _cells(recorded, outcome)
    ]
    result = Fidelity(str(found.directory), found.kernel, cells, _core.version())
    if directory is not None:
        store.write_together(directory, {RESULT: store.to_json(result.to_json())}, remove=[REPORT])
        draw_figures(
            directory, lambda place: result.save_figures(place, figures), figures, SAME_COMMAND
        )
        draw_report(directory, result.report, SAME_COMMAND)
    return result


def _plan(recorded: Sequence[Recorded]) -> Plan:
    points = []
    for one in recorded:
        axes = {"scenario": one.scenario, "cc": one.algorithm}
        try:
            checked = plan(one.experiment).points[0].experiment
        except _core.ExperimentError as error:
            raise InputError(f"scenario {one.scenario}: {error}") from None
        points.append(Point(axes, 0, checked))
    return Plan("Golden traces, simulated", ("scenario", "cc"), tuple(points), Algorithms())


def _prepare(out: Path) -> None:
    """Make the directory one of this kind, if it can be."""
    replacing.check_writable(out, store.FIDELITY_KIND)
    replacing.check_writable(out / _RUNS, "sweep")
    store.mark(out, store.FIDELITY_KIND)


def _cells(recorded: Recorded, outcome: Outcome) -> Iterator[Cell]:
    run = outcome.run
    several = len(recorded.flows) > 1
    for index, (cc, real) in enumerate(zip(recorded.flows, recorded.traces, strict=True)):
        flow = f"{index} {cc}" if several else ""
        yield Cell(recorded.scenario, recorded.algorithm, flow, of_run(run, index), real)
