"""A run: what one experiment gave, drawn, reported, and kept in a directory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.errors import InputError
from fairway.ground import program, replacing, store
from fairway.ground.kernels import releases
from fairway.ground.scratch import settle
from fairway.plot.drawing import draw_figures, draw_report
from fairway.plot.formats import check_formats
from fairway.results.data import CAPTURES, FILES, LOSSES, TCP_INFO, RunData

if TYPE_CHECKING:
    from fairway.ground.columns import Columns
    from fairway.results.figures import Figures


class Run(RunData):
    """The result of one experiment."""

    @functools.cached_property
    def figures(self) -> Figures:
        """Charts of this run."""
        from fairway.results.figures import Figures

        return Figures(self)

    def save(
        self,
        directory: str | Path,
        *,
        report: bool = True,
        figures: Sequence[str] = (),
        engine: str = "unknown",
        source: str | None = None,
        replace: bool = False,
    ) -> Path:
        """Write everything to a directory, which appears when all results are in it.

        Report and figures follow: one that cannot be drawn is a warning, `fairway.NotDrawn`.

        Args:
            directory: Where; an older result of the same experiment is replaced.
            report: Whether to write `report.html`.
            figures: Formats in which to write every figure: "pdf", "png", "svg".
            engine: Digest of the program that computed it, if it is to be found by sweeps.
            source: Digest of what was asked for, as `inventory.source_of` gives it: what
                the same has left there is replaced too.
            replace: Whether the run of another experiment is replaced.

        Returns:
            The directory.

        Raises:
            InputError: If it cannot be written; nothing is left behind.
        """
        check_formats(figures)
        path = Path(directory)
        kernels = releases([self.summary])

        def check() -> None:
            replacing.refuse_another(
                path, source, remedy=replacing.REPLACE, replace=replace,
                kernel=(lambda: kernels[0]) if kernels else None,
                planned=lambda: {self.content_hash: {"backend": self.backend, **self.experiment}},
            )  # fmt: skip

        def fill(target: Path) -> None:
            store.write_files(target, self.files(engine=engine))
            self.write_captures(target)
            self.write_kept_files(target)

        store.write_directory(path, fill, source=source, check=check)
        self.lies_in(path)
        if report:
            draw_report(path, self.report)
        draw_figures(path, lambda place: self.figures.save(place, figures), figures)
        return path

    def report(self, metrics: Sequence[str] = ()) -> str:
        """The report as HTML, with metrics of these names, or else those of the summary."""
        from fairway.results.report import run_report

        return run_report(self, metrics)

    def _repr_html_(self) -> str:
        import html

        from fairway.plot.page import plain_html
        from fairway.results.report import flow_tables, link_tables, metric_table

        tables = (metric_table(self), *flow_tables(self), *link_tables(self))
        return f"<h3>{html.escape(self.title)}</h3>" + "".join(plain_html(t) for t in tables)


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a run, whose hash is that of its experiment."""
    from fairway.results.shapes import MANIFEST_SHAPE

    path = directory / store.MANIFEST
    manifest: dict[str, Any] = store.read_json(path, "manifest", MANIFEST_SHAPE)
    experiment, backend, version = (manifest[key] for key in ("experiment", "backend", "version"))
    expected = store.content_hash(experiment, backend, version, manifest.get("algorithms"))
    if expected != manifest["content_hash"]:
        raise InputError(
            f"{path}: damaged manifest: its hash is not that of its experiment; run the "
            "experiment again"
        )
    return manifest


def load(directory: str | Path, kinds: Mapping[str, type[Run]] | None = None) -> Run:
    """Read a run directory back."""
    from fairway.results import tables
    from fairway.results.shapes import TRANSFER_SHAPE, shape_of

    path = Path(directory)
    settle(path if path.is_dir() else path.parent)
    if not path.is_dir():
        raise InputError(f"{path}: no such run directory; `fairway run FILE --out DIR` makes one")
    if (path / store.POINTS).is_dir():
        raise InputError(f"{path}: holds a sweep, not a run; name one of {path / store.POINTS}/*")
    if not (path / store.MANIFEST).is_file():
        raise InputError(f"{path}: not a result of Fairway: it has no {store.MANIFEST}")
    manifest = read_manifest(path)
    captures, kept_files = path / CAPTURES, path / FILES
    backend = manifest["backend"]
    kind = (kinds or {}).get(backend, Run)
    shape = {**shape_of(backend), **(TRANSFER_SHAPE if backend == "xfer" else {}), **kind.SHAPE}
    summary = store.read_json(path / store.SUMMARY, "summary", shape)
    if wrong := tables.wrong_row(summary):
        where = path / store.SUMMARY
        raise InputError(f"{where}: damaged summary: {wrong}; run the experiment again")
    # A link that nothing crossed within the window is in the tables alone.
    ids = {"flow": {row["id"] for row in summary["flows"]}}
    return kind(
        experiment=manifest["experiment"],
        summary=summary,
        series=tables.read_table(path / "series.parquet", "series", ids),
        queues=tables.read_table(path / "queues.parquet", "queues", ids),
        version=manifest["version"],
        commit=functools.partial(program.read, path / program.FILE),
        tcp_info=_later(path / TCP_INFO, "tcp_info", ids),
        captures=captures if captures.is_dir() else None,
        kept_files=kept_files if kept_files.is_dir() else None,
        losses=_later(path / LOSSES, "losses", {**ids, "cause": set(_core.loss_causes())}),
        **kind.own_tables(path),
    )


def _later(
    file: Path, table: str, known: Mapping[str, Collection[str]]
) -> Callable[[], Columns] | None:
    """A reader of a table for when it is asked for; None where a run has none."""
    from fairway.results.tables import read_table

    return functools.partial(read_table, file, table, known) if file.is_file() else None
