"""Published studies as data: run them again, and hold their numbers and claims against ours."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from fairway.algorithm import permitting
from fairway.backends import backend as find_backend
from fairway.ground import inventory, store
from fairway.ground.progress import reporter
from fairway.plot.drawing import SAME_COMMAND
from fairway.study.claims import Cell, Finding, judge_all, readable
from fairway.study.data import (
    ReproductionData,
    cell_columns,
    cell_row,
    expected_cells,
    measured_cells,
)
from fairway.study.files import find, keys, load_study
from fairway.study.model import SCENARIO, Study
from fairway.sweep.run import run_plan

__all__ = [
    "SCENARIO",
    "Reproduction",
    "Study",
    "cell_columns",
    "cell_row",
    "find",
    "findings",
    "keys",
    "load_study",
    "measured_cells",
    "reproduce_study",
]


class Reproduction(ReproductionData):
    """A study run again."""

    def _repr_html_(self) -> str:
        from fairway.plot.page import plain_html
        from fairway.study.claim_sections import verdict_table
        from fairway.study.report import cell_table

        tables = (verdict_table(self), cell_table(self))
        return f"<h3>{html.escape(self.study.title)}</h3>" + "".join(map(plain_html, tables))


def reproduce_study(
    study: Study,
    out: str | Path | None = None,
    *,
    quick: bool = False,
    threads: int | None = None,
    dask: str | None = None,
    quiet: bool = True,
) -> Reproduction:
    """Run a study, or finish a run that was stopped, and write its report.

    Args:
        study: The study.
        out: Directory for everything; `runs/<key>` if not given.
        quick: Whether to run its shortened form.
        threads: Runs at the same time.
        dask: Address of a Dask scheduler whose workers do the runs, or "local".
        quiet: Whether to show no progress.
    """
    from fairway.study.report import study_report
    from fairway.study.runs import write_experiments

    directory = store.study_directory(out, study.key, quick=quick)
    source = inventory.source_of("study", study.key)
    store.refuse_another(directory, source)
    with permitting(backend=None if study.backend == "sim" else study.backend):
        planned = study.plan(quick=quick)
    sweep = run_plan(
        planned,
        find_backend(study.backend),
        directory=directory,
        threads=threads,
        progress=reporter(study.key, quiet=quiet),
        dask=dask,
        keep="runs",
        source=source,
    )
    cells = tuple(measured_cells(study, sweep.outcomes, sweep.stops))
    note = study.quick.note if quick and study.quick else None
    result = Reproduction(study, sweep, cells, findings(study, cells), note, directory)
    store.write_file(directory / "reproduction.json", store.to_json(result.to_json()))
    write_experiments(result)
    sweep.save_overview(directory, report=lambda: study_report(result), again=SAME_COMMAND)
    return result


def findings(study: Study, cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """The verdict of each claim."""
    found = judge_all(study.claims, cells, expected_cells(study))
    return tuple(readable(finding, study.names) for finding in found)
