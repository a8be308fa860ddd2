"""A study of parts run again: each part as a study of its own, the claims judged over all."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairway.errors import InputError
from fairway.ground import inventory, store
from fairway.plot.drawing import SAME_COMMAND, draw_report
from fairway.study.claims import Cell, Finding, judge_all, readable
from fairway.study.data import WholeData, cells_of, expected_cells
from fairway.study.model import Study, Whole
from fairway.study.reproduce import reproduce_study


class WholeReproduction(WholeData):
    """A study of parts run again."""

    def _repr_html_(self) -> str:
        from fairway.plot.page import plain_html
        from fairway.study.claim_sections import verdict_table
        from fairway.study.parts_report import part_table

        tables = (verdict_table(self), part_table(self))
        return f"<h3>{html.escape(self.study.title)}</h3>" + "".join(map(plain_html, tables))


def reproduce_whole(
    study: Whole,
    out: str | Path | None = None,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    threads: int | None = None,
    dask: str | None = None,
    quiet: bool = True,
) -> WholeReproduction:
    """Run a study of parts, or finish a run that was stopped, and write its report.

    Args:
        study: The study.
        out: Directory for everything; `runs/<key>` if not given.
        only: The parts to run; all if none is named.
        quick: Whether to run its shortened form: of each part its own, and the whole of a part
            that has none.
        threads: Runs at the same time.
        dask: Address of a Dask scheduler whose workers do the runs, or "local".
        quiet: Whether to show no progress.

    Raises:
        InputError: If there is no such part, no shortened form, or nothing is left to run.
    """
    from fairway.study.parts_report import whole_report

    if quick and not study.left_out and not any(part.quick for part in study.parts.values()):
        raise InputError(f"{study.key}: has no quick form; leave out --quick")
    skipped = _skipped(study, only, quick=quick)
    if len(skipped) == len(study.parts):
        reasons = "; ".join(dict.fromkeys(skipped.values()))
        raise InputError(f"{study.key}: no part of it can be run: {reasons}")
    directory = store.study_directory(out, study.key, quick=quick)
    source = inventory.source_of("study", study.key)
    store.check_writable(directory, "study of parts")
    store.refuse_another(directory, source)
    store.mark(directory, "study of parts", source)
    parts = {
        name: reproduce_study(
            part,
            directory / name,
            quick=quick and part.quick is not None,
            threads=threads,
            dask=dask,
            quiet=quiet,
        )
        for name, part in study.parts.items()
        if name not in skipped
    }
    cells = cells_of({name: part.cells for name, part in parts.items()})
    found = tuple(whole_findings(study, cells, skipped))
    note = _note(study, skipped) if quick else None
    result = WholeReproduction(study, parts, skipped, found, note, directory)
    store.write_file(directory / "reproduction.json", store.to_json(result.to_json()))
    draw_report(directory, lambda: whole_report(result), SAME_COMMAND)
    return result


def whole_findings(
    study: Whole, cells: Sequence[Cell], skipped: Mapping[str, str]
) -> Sequence[Finding]:
    """The verdict of each claim, from the cells of all parts that were run."""
    expected = cells_of({name: expected_cells(part) for name, part in study.parts.items()})
    found = judge_all(study.claims, cells, expected, skipped)
    names = {path: name for part in study.parts.values() for path, name in part.names.items()}
    return [readable(finding, names) for finding in found]


def _skipped(study: Whole, only: Sequence[str], *, quick: bool) -> dict[str, str]:
    """Part -> why it is not run."""
    for name in only:
        if name not in study.parts:
            raise InputError(f"{study.key}: no part {name}; there is {', '.join(study.parts)}")
    found: dict[str, str] = {}
    for name, part in study.parts.items():
        if only and name not in only:
            found[name] = f"part {name} was not asked for"
        elif quick and name in study.left_out and name not in only:
            found[name] = f"part {name} is left out of the quick form"
        elif why := _unanswered(part):
            found[name] = f"part {name} {why}"
    return found


def _unanswered(part: Study) -> str | None:
    """Why nothing can answer a part; none if something can."""
    if part.backend != "linux":
        return None
    from fairway.backends.linux import cache
    from fairway.backends.linux.machine import AGENT

    if cache.find() is None:
        return "needs a Linux kernel, which `fairway linux build` makes in some minutes"
    return None if AGENT.is_file() else f"needs {AGENT}, which `make build` makes"


def _note(study: Whole, skipped: Mapping[str, str]) -> str:
    """How the whole was shortened."""
    return "; ".join(
        f"{name}: {part.quick.note if part.quick else 'whole'}"
        for name, part in study.parts.items()
        if name not in skipped
    )
