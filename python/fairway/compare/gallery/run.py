"""Algorithms on show: each in the scenario that shows it best, and all on the same paths."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.algorithm import Algorithms
from fairway.backends import backend as find_backend
from fairway.compare.gallery.data import GalleryData, PortraitData
from fairway.experiment import scenarios
from fairway.experiment.plan import Plan, Point, plan
from fairway.ground import extras, inventory, registry, replacing, store, text
from fairway.ground.progress import reporter
from fairway.plot.drawing import SAME_COMMAND, drawing
from fairway.plot.formats import check_formats, format_of
from fairway.plot.page import Figure, Section, Table, plain_html, render
from fairway.sweep.run import run_plan

if TYPE_CHECKING:
    from fairway.plot import vega


class Portrait(PortraitData):
    """An algorithm in its canonical scenario."""

    def figure(self) -> vega.Chart:
        """Windows over time, and the queue under them."""
        from fairway.compare.gallery.figures import portrait

        return portrait(self)

    def save(self, path: Path) -> None:
        """Write the figure to a file whose name ends in .pdf, .png or .svg."""
        from fairway.plot.figures import drawn

        store.write_file(path, drawn(self.figure(), format_of(path)))


class Gallery(GalleryData):
    """Every algorithm on the same paths."""

    def figure(self) -> vega.Chart:
        """Window, queue and goodput of every algorithm on every path."""
        from fairway.compare.gallery.figures import gallery_figure

        return gallery_figure(self)

    def table(self) -> Table:
        """Goodput and queue of every algorithm on every path."""
        rows = []
        for entry in self.algorithms:
            row = [entry["name"]]
            for path in self.paths:
                of = self.numbers(entry, path)
                row.append(text.decimal(of["goodput_bps"] / 1e6, 2))
                row.append(text.decimal(of["mean_backlog_packets"], 1))
            rows.append(row)
        columns = [f"{path.key} {what}" for path in self.paths for what in ("Mbit/s", "queue")]
        caption = "Goodput, and packets in the queue on average"
        return Table(caption, ["name", *columns], rows)

    def report(self) -> str:
        """The report: the figure, the numbers, the experiments."""
        import tomli_w

        from fairway.compare.gallery.figures import walls

        scale = (
            "All rows of a column have the same scale, from zero to the number in its heading; a "
            "peak that reaches higher is cut. Grey is the other flow."
        )
        figures = [Figure(title, chart) for title, chart in walls(self).items()]
        sections = [
            Section("Windows, queues, goodput", scale, figures=figures, grid=360),
            Section("Numbers", "Averages after the first 10 s.", tables=[self.table()]),
        ]
        for path in self.paths:
            experiment = tomli_w.dumps(path.of(self.algorithms[0]))
            sections.append(Section(path.key, preformatted=experiment))
        lead = f"{text.count(len(self.algorithms), 'algorithm')} on the same paths."
        return render("Gallery of congestion controls", lead, sections)

    def _repr_html_(self) -> str:
        return plain_html(self.table())


def portrait(name: str) -> Portrait:
    """Run an algorithm in the scenario that shows it best."""
    return portraits(scenarios.select(registry.algorithms(), [name]))[0]


def portraits(
    algorithms: Sequence[Mapping[str, Any]], *, threads: int | None = None
) -> list[Portrait]:
    """Each algorithm in its canonical scenario."""
    shown = [(entry, scenarios.canonical(entry)) for entry in algorithms]
    sweep = run_plan(_plan("Portraits", shown), find_backend("sim"), threads=threads)
    return [
        Portrait(entry, scenario, outcome.run)
        for (entry, scenario), outcome in zip(shown, sweep.outcomes, strict=True)
    ]


def gallery(
    names: Sequence[str] = (),
    out: str | Path | None = None,
    *,
    figures: Sequence[str] = (),
    threads: int | None = None,
    quiet: bool = True,
) -> Gallery:
    """Run every algorithm on the same three paths.

    Args:
        names: The algorithms; all if none is named.
        out: Directory for runs, numbers, figure and report; without it they stay in memory. Given
            the same directory again it goes on where it stopped.
        figures: Formats of the figure to write there: "pdf", "png", "svg".
        threads: Runs at the same time; as many as there are cores if not given.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If there is no such algorithm, or a file cannot be written.
    """
    extras.require("gallery", *extras.OF_SWEEPS)
    check_formats(figures)
    known = registry.algorithms()
    algorithms = scenarios.select(known, names) if names else known
    directory = None if out is None else Path(out)
    paths = scenarios.gallery_paths()
    shown = [(entry, path) for path in paths for entry in algorithms]
    source = inventory.source_of("gallery")
    check: Callable[[], object] = replacing.nothing
    if directory is not None:
        check = functools.partial(replacing.refuse_another, directory, source)
        check()
    sweep = run_plan(
        _plan("Gallery of congestion controls", shown),
        find_backend("sim"),
        directory=directory,
        threads=threads,
        progress=reporter("gallery", quiet=quiet),
        source=source,
        check=check,
    )
    result = Gallery(algorithms, paths, sweep)
    if directory is not None:
        more = {"gallery.json": store.to_json(result.to_json())}
        sweep.save_overview(directory, report=result.report, again=SAME_COMMAND, more=more)
        if figures:
            from fairway.plot.figures import save_charts

            with drawing("figure", SAME_COMMAND):
                save_charts({"gallery": result.figure()}, directory, figures)
    return result


def _plan(title: str, shown: Iterable[tuple[Mapping[str, Any], scenarios.Scenario]]) -> Plan:
    """A run for each algorithm and scenario."""
    points = []
    for entry, scenario in shown:
        experiment = plan(scenario.of(entry)).points[0].experiment
        points.append(Point({"path": scenario.key, "cc": entry["name"]}, 0, experiment))
    return Plan(title, ("path", "cc"), tuple(points), Algorithms())
