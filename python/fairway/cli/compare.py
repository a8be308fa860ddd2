"""The command `fairway compare`."""

from pathlib import Path

from typer import Argument, Option

from fairway.cli.terminal import Json, Metrics, note_report, print_json, print_text, show_table


def compare(
    directories: list[Path] = Argument(
        ..., help="Two or more run directories.", show_default=False
    ),
    out: Path | None = Option(None, "--out", "-o", help="File for an HTML report with charts."),
    metrics: Metrics = None,
    as_markdown: bool = Option(
        False, "--markdown", help="Print Markdown for a pull request: a base, then a head."
    ),
    as_json: Json = False,
) -> None:
    """Show two or more runs side by side.

    \b
    Examples:
      fairway compare runs/bic runs/cubic
      fairway compare runs/a runs/b --out comparison.html
      fairway compare runs/a runs/b --metric power --metric flow.0.timeouts
      fairway compare runs/base runs/head --markdown   (of two runs or two sweeps)
    """
    if as_markdown:
        _print_markdown(directories, metrics or [], out, as_json=as_json)
        return
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


def _print_markdown(
    directories: list[Path], metrics: list[str], out: Path | None, *, as_json: bool
) -> None:
    """Print a base and a head for a pull request."""
    from fairway.compare.change import change
    from fairway.compare.markdown import to_markdown
    from fairway.errors import InputError

    if len(directories) != 2:
        count = len(directories)
        raise InputError(f"compare --markdown: got {count}; name two directories, base and head")
    if out is not None or as_json:
        raise InputError("compare --markdown: it goes with neither --out nor --json")
    print_text(to_markdown(change(directories[0], directories[1], metrics)), end="")
