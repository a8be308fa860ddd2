"""What one experiment gave: tables, time series and figures, in memory or in a directory."""

from __future__ import annotations

import functools
import html
import shutil
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.errors import InputError
from fairway.ground import result_schema, store, text
from fairway.ground.shape import (
    COUNT_OR_NONE,
    NUMBER,
    NUMBER_OR_NONE,
    TEXT_OR_NONE,
    Each,
    Either,
    Maybe,
)
from fairway.model.beside import OF_FLOWS, OF_LINKS
from fairway.plot.drawing import draw_figures, draw_report
from fairway.plot.formats import check_formats
from fairway.results.captures import copy as copy_captures

if TYPE_CHECKING:
    import polars as pl

    from fairway.plot.figures import Figures
    from fairway.results.phases import Phase

    #: A table, or how to make it when it is first asked for.
    Source = pl.DataFrame | Callable[[], pl.DataFrame]

#: What every summary says of the user's own algorithms.
_ALGORITHMS = Each({"class": str, "file": TEXT_OR_NONE, "sha256": TEXT_OR_NONE})
#: What models say of a flow or link beside what was measured (`fairway.model.beside`).
_PREDICTED = {"id": str, "model": str, "in_range": bool, "outside": TEXT_OR_NONE,
              "residual": Each(NUMBER_OR_NONE)}  # fmt: skip
_BESIDE = {
    "sources": Each(str),
    "flows": [{**_PREDICTED, **dict.fromkeys(OF_FLOWS, NUMBER_OR_NONE)}],
    "links": [{**_PREDICTED, **dict.fromkeys(OF_LINKS, NUMBER_OR_NONE)}],
    "metrics": {"residual": Each(NUMBER_OR_NONE)},
}
#: What every summary has, as `fairway.ground.shape.problem` takes it.
SUMMARY_SHAPE = {
    **result_schema.shape("summary"),
    # Sweeps add metrics.
    "metrics": Each(NUMBER_OR_NONE),
    "wall_s": Maybe(NUMBER),
    "warnings": Maybe([str]),
    "algorithms": Maybe(_ALGORITHMS),
    "model": Maybe(Either(({"refused": [str]}, _BESIDE))),
}
#: What only runs on a kernel have.
_TCP_INFO = "tcp_info.parquet"
_CAPTURES = "captures"
#: What only runs have whose experiment says `losses = true`.
_LOSSES = "losses.parquet"
#: What only runs that were captured have.
_PACKETS, _CAPTURE_SERIES = "packets.parquet", "capture.parquet"
#: What a real transfer's summary has besides.
TRANSFER_SHAPE = {
    "transfer": {
        "end": str,
        "duration_s": NUMBER,
        "interval_s": NUMBER,
        "payload_bytes": int,
        "connections": int,
        "cpu": {"user_s": NUMBER, "system_s": NUMBER},
        "path": {
            "min_rtt_s": NUMBER_OR_NONE,
            "most_throughput_bps": NUMBER,
            "receive_window_limited": NUMBER_OR_NONE,
        },
        "flows": [{"id": str, "start_s": NUMBER, "payload_bytes": int}],
    }
}
_ANSWER = {"name": str, "source": str, "in_range": bool, "outside": TEXT_OR_NONE}


def _of_model(table: str) -> dict[str, Any]:
    """Flows or links of a model, which counts nothing."""
    counts = (one.name for one in result_schema.columns(table).values() if one.kind == "count")
    return {**result_schema.shape(table), **dict.fromkeys(counts, COUNT_OR_NONE), "model": _ANSWER}


_MODEL_SHAPE = {
    **SUMMARY_SHAPE,
    "packets": COUNT_OR_NONE,
    "flows": [_of_model("flows")],
    "applications": Maybe(list),
    "links": [_of_model("links")],
}
MANIFEST_SHAPE = {
    "experiment": dict,
    "version": str,
    "backend": str,
    "content_hash": str,
    "algorithms": Maybe(_ALGORITHMS),
}


class Run:
    """The result of one experiment.

    Attributes:
        experiment: The experiment's document, without a sweep.
        summary: Everything of `summary.json`: flows, links and metrics over the measuring window.
        version: Version of Fairway that computed it.
        captures: Directory of packet captures, if some were taken.
    """

    def __init__(
        self,
        *,
        experiment: dict[str, Any],
        summary: dict[str, Any],
        version: str,
        series: Source | None = None,
        queues: Source | None = None,
        tcp_info: Source | None = None,
        captures: Path | None = None,
        owns_captures: bool = False,
        packets: Source | None = None,
        capture_series: Source | None = None,
        losses: Source | None = None,
    ) -> None:
        self.experiment = experiment
        self.summary = summary
        self._series = series
        self._queues = queues
        self._tcp_info = tcp_info
        self._packets = packets
        self._capture_series = capture_series
        self._losses = losses
        self.version = version
        self.captures = captures
        # Those that lie in no results go with this object.
        self._let_go: Callable[[], object] | None = None
        if captures is not None and owns_captures:
            self._let_go = weakref.finalize(self, shutil.rmtree, captures, ignore_errors=True)

    @property
    def title(self) -> str:
        """What the experiment calls itself."""
        return str(self.summary["title"])

    @property
    def seed(self) -> int:
        """Seed of every random stream."""
        return int(self.summary["seed"])

    @property
    def backend(self) -> str:
        """Name of the backend that answered."""
        return str(self.summary["backend"])

    @property
    def algorithms(self) -> dict[str, dict[str, str | None]]:
        """Congestion controls of the user's own: name -> class, file and digest of its code."""
        return dict(self.summary.get("algorithms", {}))

    @property
    def warnings(self) -> list[str]:
        """What has to be known before its figures are trusted, in sentences without a full stop."""
        return list(self.summary.get("warnings", []))

    @property
    def metrics(self) -> dict[str, float | None]:
        """Metrics of the whole run over the measuring window."""
        return dict(self.summary["metrics"])

    @functools.cached_property
    def series(self) -> pl.DataFrame:
        """One row per flow and sample, columns as `tables.SERIES_SCHEMA`, and `INFLATED`.

        Models give none.
        """
        from fairway.results.tables import SERIES_SCHEMA

        return _made(self._series, SERIES_SCHEMA)

    @functools.cached_property
    def queues(self) -> pl.DataFrame:
        """One row per link and sample, columns as `fairway.results.tables.QUEUE_SCHEMA`.

        Models give none, and of a real path none is known.
        """
        from fairway.results.tables import QUEUE_SCHEMA

        return _made(self._queues, QUEUE_SCHEMA)

    @functools.cached_property
    def tcp_info(self) -> pl.DataFrame | None:
        """What a kernel says of its connections: one row per flow and sample; None elsewhere.

        Columns as `fairway.results.tables.TCP_INFO_SCHEMA`.
        """
        return self._tcp_info() if callable(self._tcp_info) else self._tcp_info

    @functools.cached_property
    def packets(self) -> pl.DataFrame | None:
        """What a capture shows packet by packet; None elsewhere.

        Columns as `fairway.capture.analysis.packets.PACKET_SCHEMA`.
        """
        return self._packets() if callable(self._packets) else self._packets

    @functools.cached_property
    def capture_series(self) -> pl.DataFrame | None:
        """What a capture shows of each flow over time; None elsewhere.

        Columns as `fairway.capture.analysis.series.CAPTURE_SERIES_SCHEMA`.
        """
        return self._capture_series() if callable(self._capture_series) else self._capture_series

    @functools.cached_property
    def losses(self) -> pl.DataFrame | None:
        """Data packets that did not arrive, one by one; None where nobody asked for them.

        Columns as `fairway.results.tables.LOSS_SCHEMA`.
        """
        return self._losses() if callable(self._losses) else self._losses

    @functools.cached_property
    def phases_of(self) -> Callable[[str], list[Phase]]:
        """The phases that a flow's samples in `series` show, by its id; found once."""
        from fairway.results.phases import of_series

        # Of the series alone: a function that holds this object would keep it longer than needed.
        return functools.cache(functools.partial(of_series, self.series))

    @functools.cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow, over the measuring window."""
        from fairway.results.tables import summary_frame

        return summary_frame(self.summary["flows"])

    @functools.cached_property
    def links(self) -> pl.DataFrame:
        """One row per link, over the measuring window."""
        from fairway.results.tables import summary_frame

        return summary_frame(self.summary["links"])

    @functools.cached_property
    def figures(self) -> Figures:
        """Charts of this run."""
        from fairway.plot.figures import Figures

        return Figures(self)

    @property
    def content_hash(self) -> str:
        """SHA-256 over experiment, backend, version and the user's own algorithms."""
        return store.content_hash(self.experiment, self.backend, self.version, self.algorithms)

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
        store.check_writable(path, "run")
        store.refuse_another(
            path, source, remedy=store.REPLACE, replace=replace,
            planned=lambda: {self.content_hash: {"backend": self.backend, **self.experiment}},
        )  # fmt: skip

        def fill(target: Path) -> None:
            store.write_files(target, self.files(engine=engine))
            self.write_captures(target)

        store.write_directory(path, fill, source=source)
        if self._let_go is not None:
            self.captures = path / _CAPTURES
            self._let_go()
            self._let_go = None
        if report:
            draw_report(path, self.report)
        draw_figures(path, lambda place: self.figures.save(place, figures), figures)
        return path

    def report(self, metrics: Sequence[str] = ()) -> str:
        """The report as HTML, with metrics of these names, or else those of the summary."""
        from fairway.results.report import run_report

        return run_report(self, metrics)

    def measured(self, metrics: Sequence[str]) -> dict[str, float | None]:
        """Metrics by the names of `fairway.metrics.measure`.

        Raises:
            InputError: If there is no metric of such a name.
        """
        from fairway.metrics.reading import measure

        return {
            name: measure(self.summary, name, lambda: self, self.experiment) for name in metrics
        }

    def files(
        self, *, engine: str = "unknown", summary: dict[str, Any] | None = None
    ) -> dict[str, bytes]:
        """The files of its directory by their names, without captures, report and figures.

        Args:
            engine: Digest of the program that computed it.
            summary: What to write as the summary, if not all of it.
        """
        from fairway.results.tables import parquet

        manifest = {
            "title": self.title,
            "backend": self.backend,
            "seed": self.seed,
            "version": self.version,
            "content_hash": self.content_hash,
            **({"algorithms": self.algorithms} if self.algorithms else {}),
            **({"warm_up": self.summary["warm_up"]} if "warm_up" in self.summary else {}),
            "experiment": self.experiment,
        }
        files = {
            store.ENGINE: f"{engine}\n".encode(),
            store.MANIFEST: store.to_json(manifest).encode(),
            "summary.json": store.to_json(self.summary if summary is None else summary).encode(),
        }
        if self.backend == "xfer":
            # Often nobody has written it: it is what the path looked like, for other backends.
            import tomli_w

            files["experiment.toml"] = tomli_w.dumps(self.experiment).encode()
        tables = {
            "flows.parquet": self.flows,
            "series.parquet": self.series,
            "queues.parquet": self.queues,
            _TCP_INFO: self.tcp_info,
            _PACKETS: self.packets,
            _CAPTURE_SERIES: self.capture_series,
            _LOSSES: self.losses,
        }
        for name, table in tables.items():
            if table is not None:
                files[name] = parquet(table)
        return files

    def capture_files(self) -> dict[str, bytes]:
        """Its captures by their names in its directory, in memory: for another machine."""
        if self.captures is None:
            return {}
        files = sorted(path for path in self.captures.iterdir() if path.is_file())
        return {f"{_CAPTURES}/{path.name}": path.read_bytes() for path in files}

    def write_captures(self, target: Path) -> None:
        """Put its captures, if there are any, into its directory."""
        if self.captures is not None:
            copy_captures(self.captures, target / _CAPTURES)

    def __repr__(self) -> str:
        metrics = ", ".join(
            f"{name}={value:.4g}" for name, value in self.metrics.items() if value is not None
        )
        one_way = [f for f in self.summary["flows"] if not f["id"].endswith("/reverse")]
        flows = text.count(len(one_way), "flow")
        return f"<Run {self.title!r}, seed {self.seed}, {flows}: {metrics}>"

    def _repr_html_(self) -> str:
        from fairway.plot.page import plain_html
        from fairway.results.report import flow_tables, link_tables, metric_table

        tables = (metric_table(self), *flow_tables(self), *link_tables(self))
        return f"<h3>{html.escape(self.title)}</h3>" + "".join(plain_html(t) for t in tables)


def _made(source: Source | None, schema: Mapping[str, Any]) -> pl.DataFrame:
    """A table, made if that has waited; one without rows if there is none."""
    if source is None:
        import polars as pl

        return pl.DataFrame(schema=schema)
    return source() if callable(source) else source


def shape_of(backend: str | None) -> dict[str, Any]:
    """What every summary of a backend has, as `fairway.ground.shape.problem` takes it."""
    return _MODEL_SHAPE if backend == "model" else SUMMARY_SHAPE


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a run, whose hash is that of its experiment.

    Raises:
        InputError: If it is missing or damaged.
    """
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


def load(directory: str | Path) -> Run:
    """Read a run directory back.

    Raises:
        InputError: If it is not a complete run directory.
    """
    from fairway.results.tables import (
        LOSS_SCHEMA,
        QUEUE_SCHEMA,
        TCP_INFO_SCHEMA,
        read_parquet,
        read_series,
    )

    path = Path(directory)
    if not path.is_dir():
        raise InputError(f"{path}: no such run directory; `fairway run FILE --out DIR` makes one")
    if (path / store.POINTS).is_dir():
        raise InputError(f"{path}: holds a sweep, not a run; name one of {path / store.POINTS}/*")
    if not (path / store.MANIFEST).is_file():
        raise InputError(f"{path}: not a result of Fairway: it has no {store.MANIFEST}")
    manifest = read_manifest(path)
    tcp_info, captures, losses = path / _TCP_INFO, path / _CAPTURES, path / _LOSSES
    backend = manifest["backend"]
    shape = {**shape_of(backend), **(TRANSFER_SHAPE if backend == "xfer" else {})}
    packets: Source | None = None
    capture_series: Source | None = None
    if backend == "capture":
        from fairway.capture.analysis.packets import PACKET_SCHEMA
        from fairway.capture.analysis.run import CAPTURE_SHAPE
        from fairway.capture.analysis.series import CAPTURE_SERIES_SCHEMA

        shape = {**shape, **CAPTURE_SHAPE}
        packets = functools.partial(read_parquet, path / _PACKETS, PACKET_SCHEMA)
        capture_series = functools.partial(
            read_parquet, path / _CAPTURE_SERIES, CAPTURE_SERIES_SCHEMA
        )
    return Run(
        experiment=manifest["experiment"],
        summary=store.read_json(path / "summary.json", "summary", shape),
        series=read_series(path / "series.parquet"),
        queues=read_parquet(path / "queues.parquet", QUEUE_SCHEMA),
        version=manifest["version"],
        tcp_info=(lambda: read_parquet(tcp_info, TCP_INFO_SCHEMA)) if tcp_info.is_file() else None,
        captures=captures if captures.is_dir() else None,
        packets=packets,
        capture_series=capture_series,
        losses=(lambda: read_parquet(losses, LOSS_SCHEMA)) if losses.is_file() else None,
    )
