"""The results of a sweep: its tables, its summary and its directory."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.backends import backend as find_backend
from fairway.errors import InputError
from fairway.experiment.plan import Point, Until
from fairway.ground import program, store
from fairway.ground.replacing import place_of
from fairway.ground.scratch import settle
from fairway.ground.shape import TEXT_OR_NONE, Maybe, Whole
from fairway.plot.drawing import REPORT, draw_report
from fairway.results.run import Run, read_manifest
from fairway.sweep import repetitions
from fairway.sweep.data import SweepData
from fairway.sweep.outcome import Outcome
from fairway.sweep.rows import ROWS, Row, read_rows, read_summary

if TYPE_CHECKING:
    from fairway.sweep.charts import SweepFigures

_MANIFEST_SHAPE = {
    "title": str,
    "version": str,
    "backend": Maybe(str),
    "kernels": Maybe([str]),
    "axes": [str],
    "points": [
        {
            "axes": dict,
            "repetition": Whole(0, 2**32 - 1),
            "directory": TEXT_OR_NONE,
            "content_hash": str,
        }
    ],
}


class Sweep(SweepData):
    """The results of a sweep, in the order of the experiment file."""

    def with_metrics(self, metrics: Sequence[str]) -> Sweep:
        """The same sweep with other metrics in its table, report and figures."""
        return dataclasses.replace(self, metrics=metrics)

    def _repr_html_(self) -> str:
        import html

        from fairway.plot.page import plain_html
        from fairway.sweep.report import sweep_table

        return f"<h3>{html.escape(self.title)}</h3>" + plain_html(sweep_table(self))

    @functools.cached_property
    def figures(self) -> SweepFigures:
        """Charts of this sweep, one for each metric."""
        from fairway.sweep.charts import SweepFigures

        return SweepFigures(self)

    def report(self) -> str:
        """The report as HTML."""
        from fairway.sweep.report import sweep_report

        return sweep_report(self)

    def save_overview(
        self,
        directory: Path,
        *,
        report: Callable[[], str] | None = None,
        again: str = "",
        more: Mapping[str, bytes | str] | None = None,
    ) -> None:
        """Write what stands above the points, all or none, and then the report.

        `more` are files that belong to it. A report that cannot be drawn is a warning,
        `fairway.NotDrawn`.
        """
        from fairway.ground.columns import Columns

        tables = {"sweep": self.table, "flows": self.flows, "links": self.links}
        commit = self.commit()
        store.write_together(
            directory,
            {
                **{f"{name}.parquet": Columns.of(t).parquet() for name, t in tables.items()},
                store.SUMMARY: self._summary_pieces(),
                **({program.FILE: f"{commit}\n"} if commit else {}),
                store.MANIFEST: self._manifest(),
                **dict(more or {}),
            },
            remove=[REPORT, *([] if commit else [program.FILE])],
        )
        draw_report(directory, report or self.report, again)


def load_sweep(directory: str | Path) -> Sweep:
    """Read a finished sweep's directory back."""
    path = Path(directory)
    settle(path)
    if not (path / store.MANIFEST).is_file():
        raise InputError(f"{path}: holds no finished sweep; run it to its end first")
    manifest = store.read_json(path / store.MANIFEST, "manifest", _MANIFEST_SHAPE)
    for index, entry in enumerate(manifest["points"]):
        if lacking := [axis for axis in manifest["axes"] if axis not in entry["axes"]]:
            raise InputError(
                f"{path / store.MANIFEST}: damaged manifest: points.{index}.axes.{lacking[0]} is "
                "missing; run the experiment again"
            )
    points = path / store.POINTS
    rows = read_rows(points) if any(e["directory"] is None for e in manifest["points"]) else {}
    outcomes = [
        _from_row(entry, rows.get(entry["content_hash"]), points, manifest["version"])
        if entry["directory"] is None
        else _from_directory(entry, place_of(points, entry["directory"], index))
        for index, entry in enumerate(manifest["points"])
    ]
    until = manifest.get("until")
    return Sweep(
        manifest["title"],
        tuple(manifest["axes"]),
        outcomes,
        manifest["version"],
        path,
        until and Until(until["share"], until["at_most"], tuple(until["metrics"])),
        repetitions.stops_of(manifest.get("stops", [])),
        manifest.get("warm_up"),
        commit=functools.partial(program.read, path / program.FILE),
    )


def _from_directory(entry: dict[str, Any], place: Path) -> Outcome:
    from fairway.results.shapes import shape_of

    manifest = read_manifest(place)
    shape = shape_of(manifest["backend"])
    summary = store.read_json(place / "summary.json", "summary", shape)
    return Outcome(
        Point(entry["axes"], entry["repetition"], manifest["experiment"]), summary, place
    )


def _from_row(entry: dict[str, Any], row: Row | None, points: Path, version: str) -> Outcome:
    experiment, summary = read_summary(row, points / ROWS)
    point = Point(entry["axes"], entry["repetition"], experiment)
    again = functools.partial(_again, summary, version)
    return Outcome(point, summary, again=again, content_hash=entry["content_hash"])


def _again(summary: bytes, version: str, point: Point) -> Run:
    """Compute a run once more of which the summary alone is kept."""
    from fairway import _core

    loaded = json.loads(summary)
    axes = ", ".join(f"{path} = {value}" for path, value in point.axes.items())
    what = f"the run at {axes or 'these values'}, repetition {point.repetition}"
    if version != _core.version():
        raise InputError(
            f"{what}: its summary alone is kept, by version {version}, and this is version "
            f"{_core.version()}; run the sweep again"
        )
    if loaded.get("algorithms"):
        raise InputError(
            f"{what}: its summary alone is kept, and it has a congestion control of your own; "
            "run the sweep again with --keep runs"
        )
    return find_backend(loaded["backend"]).run(point.experiment)
