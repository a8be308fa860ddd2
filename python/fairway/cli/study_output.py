"""What a study's reproduction prints: what was asked, the verdicts, how far numbers are off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import typer

from fairway.cli.terminal import say, show_table, warn, wrapped
from fairway.study.all import All, study_table
from fairway.study.claim_sections import once
from fairway.study.claims import Finding
from fairway.study.parts import WholeReproduction
from fairway.study.parts_report import part_table
from fairway.study.report import cell_table, difference_table, verdict_counts
from fairway.study.reproduce import Reproduction
from fairway.sweep.repetitions import remark_on_alike

#: Where a claim's statement begins.
_INDENT = 15


def show_reproduction(result: Reproduction | WholeReproduction, *, cells: bool) -> None:
    """Print a reproduction.

    Args:
        result: The reproduction.
        cells: Whether to print every cell.
    """
    study = result.study
    lines = [study.title, study.question, study.source + "."]
    if result.quick:
        lines.append(f"Shortened: {result.quick}.")
    typer.echo("\n".join(wrapped(line) for line in lines if line) + "\n")
    if study.claims:
        typer.echo(wrapped(verdict_counts(result.findings)) + "\n")
    for claim, finding in zip(study.claims, result.findings, strict=True):
        say(f"{claim.id}  {claim.statement}.", f"{finding.verdict:10} ")
        say(once(finding.brief), " " * _INDENT)
    if result.quick and any(not part.was_run for part in _at_each_value(result.findings)):
        typer.echo("\nWhat was not run is named in reproduction.json, and run without --quick.")
    typer.echo()
    if isinstance(result, WholeReproduction):
        show_table(part_table(result))
        for why in result.skipped.values():
            typer.echo(f"Not run: {why}.")
    parts = result.parts if isinstance(result, WholeReproduction) else {"": result}
    for name, part in parts.items():
        show_table(difference_table(part, name))
        for remark in remark_on_alike(part.sweep.outcomes):
            warn(f"{name}: {remark}" if name else remark)
        if cells:
            show_table(cell_table(part))


def show_all(result: All) -> None:
    """Print what came of several studies: a line for each, and the verdict of every claim."""
    show_table(study_table(result))
    for key, one in result.results.items():
        typer.echo(f"{key}: {one.study.question or one.study.title}")
        for claim, finding in zip(one.study.claims, one.findings, strict=True):
            say(f"{claim.id}  {claim.statement}.", f"{finding.verdict:10} ")


def _at_each_value(findings: Sequence[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield from (part for _, part in finding.by_value or (({}, finding),))
