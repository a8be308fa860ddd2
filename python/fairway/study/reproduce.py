"""Published studies as data: run them again, and hold their numbers and claims against ours."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairway.backends import backend as find_backend
from fairway.errors import InputError
from fairway.ground import extras, inventory, replacing, store
from fairway.ground.permission import permitting
from fairway.ground.progress import reporter
from fairway.plot.drawing import REPORT, SAME_COMMAND, draw_report
from fairway.study.claims import Cell, Finding, judge_all, readable
from fairway.study.data import (
    PartResult,
    ReproductionData,
    cells_of,
    expected_cells,
    measured_cells,
)
from fairway.study.model import Part, Study
from fairway.study.runs import write_experiments
from fairway.sweep.run import run_plan


class Reproduction(ReproductionData):
    """A study run again."""

    def _repr_html_(self) -> str:
        from fairway.plot.page import plain_html
        from fairway.study.claim_sections import verdict_table
        from fairway.study.report import cell_table, part_table

        parts = (
            [part_table(self)] if self.study.is_divided else map(cell_table, self.parts.values())
        )
        tables = (verdict_table(self), *parts)
        return f"<h3>{html.escape(self.study.title)}</h3>" + "".join(map(plain_html, tables))


def reproduce_study(
    study: Study,
    out: str | Path | None = None,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    threads: int | None = None,
    dask: str | None = None,
    quiet: bool = True,
) -> Reproduction:
    """Run a study, or finish a run that was stopped, and write its report.

    `only` names the parts to run; all if it is empty. The quick form of a divided study takes that
    of each part, and the whole of a part that has none.

    Raises:
        InputError: If there is no such part, no shortened form, or nothing is left to run.
    """
    extras.require("reproduce", *extras.OF_SWEEPS)
    from fairway.study.report import study_report

    skipped = _skipped(study, only, quick=quick) if study.is_divided else {}
    directory = store.study_directory(out, study.key, quick=quick)
    source = inventory.source_of("study", study.key)
    if study.is_divided:
        replacing.check_writable(directory, "study of parts")
    check = partial(replacing.refuse_another, directory, source)
    check()
    shared: dict[str, Any] = {"threads": threads, "dask": dask, "quiet": quiet}
    if not study.is_divided:
        parts = {"": _run(study, directory, source, quick=quick, **shared)}
    else:
        store.mark(directory, "study of parts", source, check)
        parts = {
            name: reproduce_study(
                Study.of(part), directory / name, quick=quick and part.quick is not None, **shared
            ).parts[""]
            for name, part in study.parts.items()
            if name not in skipped
        }
    cells = cells_of({name: part.cells for name, part in parts.items()})
    note = _note(study, skipped) if quick else None
    found = findings(study, cells, skipped)
    result = Reproduction(study, parts, skipped, found, note, directory)
    found_by = {"reproduction.json": store.to_json(result.to_json())}
    draw = partial(study_report, result)
    if study.is_divided:
        store.write_together(directory, found_by, remove=[REPORT])
        draw_report(directory, draw, SAME_COMMAND)
    else:
        write_experiments(result.parts[""])
        result.sweep.save_overview(directory, report=draw, again=SAME_COMMAND, more=found_by)
    return result


def _run(
    study: Study,
    directory: Path,
    source: str,
    *,
    quick: bool,
    threads: int | None,
    dask: str | None,
    quiet: bool,
) -> PartResult:
    """Run every point of a study that is not divided."""
    part = study.part
    with permitting(backend=None if part.backend == "sim" else part.backend):
        planned = part.plan(quick=quick)
    sweep = run_plan(
        planned,
        find_backend(part.backend),
        directory=directory,
        threads=threads,
        progress=reporter(part.key, quiet=quiet),
        dask=dask,
        keep="runs",
        source=source,
    )
    note = part.quick.note if quick and part.quick else None
    cells = tuple(measured_cells(part, sweep.outcomes, sweep.stops))
    return PartResult(part, sweep, cells, note, directory, study.claims)


def findings(
    study: Study, cells: Sequence[Cell], skipped: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """The verdict of each claim, from the cells of all parts that were run.

    `skipped` says why each of the other parts was not run.
    """
    expected = cells_of({name: expected_cells(part) for name, part in study.parts.items()})
    found = judge_all(study.claims, cells, expected, skipped)
    return tuple(readable(finding, study.names) for finding in found)


def _skipped(study: Study, only: Sequence[str], *, quick: bool) -> dict[str, str]:
    """Part -> why it is not run.

    Raises:
        InputError: If there is no part of a name, no quick form, or nothing is left.
    """
    if quick and not study.left_out and not any(part.quick for part in study.parts.values()):
        raise InputError(f"{study.key}: has no quick form; leave out --quick")
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
    if len(found) == len(study.parts):
        reasons = "; ".join(dict.fromkeys(found.values()))
        raise InputError(f"{study.key}: no part of it can be run: {reasons}")
    return found


def _unanswered(part: Part) -> str | None:
    """Why nothing can answer a part; none if something can."""
    if part.backend != "linux":
        return None
    from fairway.backends.linux import cache
    from fairway.backends.linux.confinement import AGENT

    if cache.find() is None:
        return "needs a Linux kernel, which `fairway linux build` makes in some minutes"
    return None if AGENT.is_file() else f"needs {AGENT}, which `make build` makes"


def _note(study: Study, skipped: Mapping[str, str]) -> str:
    """How the study was shortened."""
    notes = {
        name: part.quick.note if part.quick else "whole"
        for name, part in study.parts.items()
        if name not in skipped
    }
    return "; ".join(f"{name}: {note}" if name else note for name, note in notes.items())
