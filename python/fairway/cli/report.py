"""The command `fairway report`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from typer import Argument, Option

from fairway.cli.terminal import Metrics, listed, note_report
from fairway.errors import InputError

#: Files of results with a page of their own -> the command that writes it.
_OWN_PAGES = {
    "agreement.json": "agree",
    "fidelity.json": "fidelity",
    "gallery.json": "gallery",
    "pair.json": "analyze",
    "reproduction.json": "reproduce",
    "tune.json": "tune",
}


def report(
    directory: Path = Argument(..., help="A run or sweep directory."),
    figures: str = Option("", metavar="FORMATS", help="Figures: pdf,png,svg."),
    metrics: Metrics = None,
) -> None:
    """Write report.html of a run, a sweep or a replay again, from its tables.

    \b
    Examples:
      fairway report runs/pair
      fairway report runs/pair-sweep/points/cubic-r0-0123456789 --figures pdf
    """
    from fairway import api
    from fairway.ground import store
    from fairway.metrics.reading import check_names
    from fairway.plot.drawing import REPORT, SAME_COMMAND, draw_figures, drawing
    from fairway.plot.figures import save_charts
    from fairway.plot.formats import check_formats
    from fairway.results.run import Run

    chosen = metrics or ()
    formats = listed(figures)
    check_formats(formats)
    check_names(chosen)
    for file, own in _OWN_PAGES.items():
        if (directory / file).is_file():
            raise InputError(
                f"{directory}: holds results of `fairway {own}` ({file}), which has its own page; "
                f"the same command with --out {directory} draws it again"
            )
    result = api.load(directory)
    page: Callable[[], str]
    save: Callable[[Path, list[str]], object]
    if isinstance(result, Run):
        result.measured(chosen)  # what it does not have is not an error of the drawing
        page, save = partial(result.report, chosen), result.figures.save
    else:
        from fairway.capture.replay import report as replayed

        if replay := replayed.load(directory):
            page = partial(replayed.page, *replay)
            save = partial(save_charts, replayed.charts(*replay))
        else:
            shown = result.with_metrics(chosen)
            _ = shown.table  # the same
            page, save = shown.report, shown.figures.save
    with drawing("report", SAME_COMMAND):
        store.add(directory, {REPORT: page().encode()})
        note_report(directory)
    draw_figures(directory, lambda place: save(place, formats), formats)
