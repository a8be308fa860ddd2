"""The runs behind a study's cells: where each is kept, and what repeats it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fairway.ground import store, text
from fairway.plot.page import Link, Table
from fairway.study.cells import averaged
from fairway.study.claims import Cell
from fairway.study.data import PartResult, cell_columns, cell_row
from fairway.sweep.outcome import Outcome

#: The experiment of a run, beside its results.
EXPERIMENT = "experiment.toml"


def write_experiments(result: PartResult) -> None:
    """Put the experiment of each run beside its results, as a file that `fairway run` takes."""
    import tomli_w

    missing = {}
    for outcome in result.sweep.outcomes:
        assert outcome.directory is not None
        path = outcome.directory / EXPERIMENT
        content = tomli_w.dumps(outcome.point.experiment).encode()
        if not path.is_file() or path.read_bytes() != content:
            missing[outcome.directory.name] = {EXPERIMENT: content}
    if missing:
        store.add_to_runs(result.directory / store.POINTS, missing)


def command(outcome: Outcome, place: str) -> str:
    """The command that repeats a run; `place` is its directory, seen from that of the report."""
    backend = outcome.summary["backend"]
    answers = "" if backend == "sim" else f" --backend {backend}"
    # A congestion control of the user's own is looked for beside the experiment, then in this path.
    own = outcome.summary.get("algorithms", {}).values()
    places = {str(Path(code["file"]).parent) for code in own if code["file"]}
    path = f'PYTHONPATH="{os.pathsep.join(sorted(places))}" ' if places else ""
    return f"{path}fairway run {place}/{EXPERIMENT}{answers}"


def run_table(result: PartResult, *, anchor: str, root: Path) -> Table:
    """One line for each run: what was measured in it, its files and the command that repeats it.

    Paths are seen from `root`, the directory of the report.
    """
    study, names = result.part, cell_names(result)
    metrics = [c.metric for c in study.compared if c.mean_over is None]
    means = list(dict.fromkeys(column.mean_over for column in study.compared))
    values = {
        (key(cell.point), cell.metric, repetition): value
        for cell in result.cells
        for repetition, value in cell.by_repetition.items()
    }
    rows, picks = [], []
    for outcome in result.sweep.outcomes:
        axes, repetition = outcome.point.axes, outcome.point.repetition
        assert outcome.directory is not None
        place = Path(os.path.relpath(outcome.directory, root)).as_posix()
        rows.append(
            [
                *(text.label(value) for value in axes.values()),
                str(repetition + 1),
                str(outcome.summary["seed"]),
                *(text.exact(values.get((key(axes), m, repetition)), 6) for m in metrics),
                Link("summary.json", quote(f"{place}/summary.json"), label=f"summary of {place}"),
                Link("manifest.json", quote(f"{place}/{store.MANIFEST}"),
                     label=f"manifest of {place}"),
                Link(command(outcome, place), quote(f"{place}/{EXPERIMENT}")),
            ]
        )  # fmt: skip
        own = [key(averaged(axes, mean)) for mean in means]
        picks.append([names[name] for name in own if name in names])
    headings = [study.name(axis) for axis in study.axes]
    columns = [*headings, "repetition", "seed", *(study.name(metric) for metric in metrics),
               "results", "manifest", "command"]  # fmt: skip
    return Table(
        text.count(len(rows), "run"),
        columns,
        rows,
        labels=len(headings) + 1,
        trailing=3,
        id=anchor,
        facets=range(len(headings) + (1 if study.repeats else 0)),
        picks=picks,
    )


def linked_rows(result: PartResult, cells: Sequence[Cell], table: str) -> list[list[str]]:
    """Lines of the table of cells; what was measured leads to its runs in the table there."""
    rows, names = [cell_row(result.part, cell) for cell in cells], cell_names(result)
    measured = cell_columns(result.part).index("measured")
    for row, cell in zip(rows, cells, strict=True):
        if cell.values:
            query = urlencode({"pick": names[key(cell.point)]})
            shown = row[measured]
            row[measured] = Link(shown, table, rows=query, label=f"{shown}, its runs")
    return rows


def cell_names(result: PartResult) -> dict[str, str]:
    """What links call the point of each cell."""
    points = dict.fromkeys(key(cell.point) for cell in result.cells)
    return {point: str(number) for number, point in enumerate(points, 1)}


def key(point: Mapping[str, Any]) -> str:
    """A point as a key of a dictionary."""
    return repr(dict(point))
