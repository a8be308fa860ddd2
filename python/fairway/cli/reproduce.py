"""The command `fairway reproduce`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from typer import Argument, Option

from fairway.cli import terminal
from fairway.errors import InputError

if TYPE_CHECKING:
    from fairway.study.all import All
    from fairway.study.claims import Finding
    from fairway.study.reproduce import Reproduction

#: Where a claim's statement begins.
_INDENT = 15


def reproduce(
    key: str = Argument(
        ..., help='Key of a study, the directory of your own, or "all" for all papers.'
    ),
    quick: bool = Option(False, "--quick", help="The shortened form that the study declares."),
    part: list[str] | None = Option(
        None, "--part", metavar="NAME", help="Only this part of the study; repeatable."
    ),
    cells: bool = Option(False, "--cells", help="Print every cell, published beside measured."),
    every: bool = Option(False, "--every", help="With all: the studies of no paper too."),
    out: terminal.Out = None,
    threads: terminal.Threads = None,
    dask: terminal.Dask = None,
    allow_python: terminal.AllowPython = False,
    allow_programs: terminal.AllowPrograms = False,
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Run a published study again; hold its numbers against ours.

    \b
    Examples:
      fairway reproduce gelle2008
      fairway reproduce gelle2008 --quick --json
      fairway reproduce gelle2008 --cells
      fairway reproduce alrshah2009 --part bench
      fairway reproduce path/to/my-study
      fairway reproduce gelle2008 --dask local
      fairway reproduce all --quick

    Everything is kept in runs/<key> (or --out); the same command goes on where it was stopped.
    """
    # It prints hours later, when another version may be installed.
    import fairway.cli.layout  # noqa: F401
    from fairway import api

    if key == "all":
        if part:
            raise InputError("reproduce all: --part is of one study; name it instead of all")
        together = api.reproduce_all(
            out, every=every, quick=quick, threads=threads, dask=dask, quiet=quiet
        )
        if as_json:
            terminal.print_json(together.to_json())
        else:
            _show_all(together)
        if not quiet:
            terminal.note_report(together.report)
        return
    if every:
        raise InputError("--every: goes with `fairway reproduce all`")
    result = api.reproduce(
        key, out, parts=part or (), quick=quick, threads=threads, dask=dask,
        allow_python=allow_python, allow_programs=allow_programs, quiet=quiet,
    )  # fmt: skip
    if as_json:
        terminal.print_json(result.to_json())
    else:
        _show(result, cells=cells)
    if not quiet:
        terminal.note_report(result.report)


def _show(result: "Reproduction", *, cells: bool) -> None:
    """Print a reproduction, with every cell if asked."""
    from fairway.study.claim_sections import once
    from fairway.study.report import cell_table, difference_table, part_table, verdict_counts
    from fairway.sweep.repetitions import remark_on_alike

    study = result.study
    lines = [study.title, study.question, study.source + "."]
    if result.quick:
        lines.append(f"Shortened: {result.quick}.")
    terminal.print_text("\n".join(terminal.wrapped(line) for line in lines if line) + "\n")
    if study.claims:
        terminal.print_text(terminal.wrapped(verdict_counts(result.findings)) + "\n")
    for claim, finding in zip(study.claims, result.findings, strict=True):
        terminal.say(f"{claim.id}  {claim.statement}.", f"{finding.verdict:10} ")
        terminal.say(once(finding.brief), " " * _INDENT)
    if result.quick and any(not part.was_run for part in _at_each_value(result.findings)):
        terminal.print_text(
            "\nWhat was not run is named in reproduction.json, and run without --quick."
        )
    terminal.print_text()
    if study.is_divided:
        terminal.show_table(part_table(result))
        for why in result.skipped.values():
            terminal.print_text(f"Not run: {why}.")
    for name, part in result.parts.items():
        terminal.show_table(difference_table(part, name))
        for remark in remark_on_alike(part.sweep.outcomes):
            terminal.warn(f"{name}: {remark}" if name else remark)
        if cells:
            terminal.show_table(cell_table(part))


def _show_all(result: "All") -> None:
    """Print what came of several studies: a line for each, and the verdict of every claim."""
    from fairway.study.all import study_table

    terminal.show_table(study_table(result))
    for key, one in result.results.items():
        terminal.print_text(f"{key}: {one.study.question or one.study.title}")
        for claim, finding in zip(one.study.claims, one.findings, strict=True):
            terminal.say(f"{claim.id}  {claim.statement}.", f"{finding.verdict:10} ")


def _at_each_value(findings: "Sequence[Finding]") -> "Iterator[Finding]":
    for finding in findings:
        yield from (part for _, part in finding.by_value or (({}, finding),))
