"""The command `fairway compare`."""

from pathlib import Path

from typer import Argument, Option

from fairway.cli.terminal import Json, Metrics, note_report, print_json, show_table


def compare(
    directories: list[Path] = Argument(
        ..., help="Two or more run directories.", show_default=False
    ),
    out: Path | None = Option(None, "--out", "-o", help="File for an HTML report with charts."),
    metrics: Metrics = None,
    as_json: Json = False,
) -> None:
    """Show two or more runs side by side.

    \b
    Examples:
      fairway compare runs/bic runs/cubic
      fairway compare runs/a runs/b --out comparison.html
      fairway compare runs/a runs/b --metric power --metric flow.0.timeouts
    """
    from fairway.compare.runs import compare as compare_runs
    from fairway.ground import store
    from fairway.plot.drawing import SAME_COMMAND, drawing

    comparison = compare_runs(directories, metrics or ())
    if as_json:
        print_json(comparison.to_json())
    else:
        show_table(*comparison.tables())
    if out is not None:
        with drawing("comparison", SAME_COMMAND):
            store.write_file(out, comparison.report())
            note_report(out)
