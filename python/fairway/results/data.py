"""What one experiment gave: its summary and its tables, apart from how they are drawn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairway.ground import disk, program, store, text
from fairway.ground.temporary import Temporary
from fairway.results.captures import copy as copy_captures

if TYPE_CHECKING:
    import polars as pl

    from fairway.ground.columns import Columns
    from fairway.metrics.phases import Phase
    from fairway.plot import vega
    from fairway.plot.page import Section, Table

    #: A table, or how to make it when it is first asked for.
    Source = Columns | pl.DataFrame | Callable[[], Columns | pl.DataFrame]

#: What only runs on a kernel have.
TCP_INFO = "tcp_info.parquet"
CAPTURES = "captures"
#: What programs have written and was kept, by host.
FILES = "files"
#: What only runs have whose experiment says `losses = true`.
LOSSES = "losses.parquet"
#: What only runs that were captured have.
PACKETS, CAPTURE_SERIES = "packets.parquet", "capture.parquet"


@dataclass(frozen=True)
class OwnReport:
    """What a kind of run adds to its report.

    Attributes:
        tables: Tables in the summary.
        sections: Sections behind those of any run.
        lead: The first sentence, if it is another.
    """

    tables: Sequence[Table] = ()
    sections: Sequence[Section] = ()
    lead: str | None = None


class RunData:
    """The result of one experiment.

    Attributes:
        experiment: The experiment's document, without a sweep.
        summary: Everything of `summary.json`: flows, links and metrics over the measuring window.
        version: Version of Fairway that computed it.
        commit: Gives the commit of which that Fairway was built, if it is known.
        captures: Directory of packet captures, if some were taken.
        kept_files: Directory of files of programs by host, if some were kept.
    """

    #: What summaries of this kind have besides.
    SHAPE: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        *,
        experiment: dict[str, Any],
        summary: dict[str, Any],
        version: str,
        commit: Callable[[], str | None] = program.commit,
        series: Source | None = None,
        queues: Source | None = None,
        tcp_info: Source | None = None,
        captures: Path | Temporary | None = None,
        kept_files: Path | Temporary | None = None,
        packets: Source | None = None,
        capture_series: Source | None = None,
        losses: Source | None = None,
    ) -> None:
        self.experiment = experiment
        self.summary = summary
        self._sources: dict[str, Source | None] = {
            "series": series, "queues": queues, "tcp_info": tcp_info, "packets": packets,
            "capture_series": capture_series, "losses": losses,
        }  # fmt: skip
        self._tables: dict[str, Columns] = {}
        self.version = version
        self.commit = commit
        self.captures = captures.path if isinstance(captures, Temporary) else captures
        self.kept_files = kept_files.path if isinstance(kept_files, Temporary) else kept_files
        # What lies in no results goes with this object.
        self._temporary = [one for one in (captures, kept_files) if isinstance(one, Temporary)]

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

    def table(self, name: str) -> Columns | None:
        """A table as columns, without Polars; None where the run has none of that name.

        Args:
            name: "series", "queues", "tcp_info", "packets", "capture_series" or "losses".
        """
        if name not in self._tables and (source := self._sources[name]) is not None:
            from fairway.ground.columns import Columns

            self._tables[name] = Columns.of(source() if callable(source) else source)
        return self._tables.get(name)

    def sampled(self, name: str) -> Columns:
        """The table "series" or "queues", which every run has: one without rows if need be."""
        found = self.table(name)
        if found is None:
            from fairway.ground import result_schema
            from fairway.ground.columns import Columns

            found = Columns.empty(result_schema.kinds(name))
        return found

    def _frame(self, name: str) -> pl.DataFrame | None:
        found = self.table(name)
        return None if found is None else found.frame()

    @functools.cached_property
    def series(self) -> pl.DataFrame:
        """One row per flow and sample, columns as the reference has them under "series".

        Models give none.
        """
        return self.sampled("series").frame()

    @functools.cached_property
    def queues(self) -> pl.DataFrame:
        """One row per link and sample, columns as the reference has them under "queues".

        Models give none, and of a real path none is known.
        """
        return self.sampled("queues").frame()

    @functools.cached_property
    def tcp_info(self) -> pl.DataFrame | None:
        """What a kernel says of its connections: one row per flow and sample; None elsewhere."""
        return self._frame("tcp_info")

    @functools.cached_property
    def packets(self) -> pl.DataFrame | None:
        """What a capture shows packet by packet; None elsewhere.

        Columns as `fairway.capture.analysis.series.PACKET_SCHEMA`.
        """
        return self._frame("packets")

    @functools.cached_property
    def capture_series(self) -> pl.DataFrame | None:
        """What a capture shows of each flow over time; None elsewhere.

        Columns as `fairway.capture.analysis.series.CAPTURE_SERIES_SCHEMA`.
        """
        return self._frame("capture_series")

    @functools.cached_property
    def losses(self) -> pl.DataFrame | None:
        """Data packets that did not arrive, one by one; None where nobody asked for them."""
        return self._frame("losses")

    @functools.cached_property
    def phases_of(self) -> Callable[[str], list[Phase]]:
        """The phases that a flow's samples in `series` show, by its id; found once."""
        from fairway.metrics.phases import of_series

        # Of the series alone: a function that holds this object would keep it longer than needed.
        return functools.cache(functools.partial(of_series, self.sampled("series")))

    @functools.cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow, over the measuring window."""
        return self._rows("flows").frame()

    @functools.cached_property
    def links(self) -> pl.DataFrame:
        """One row per link, over the measuring window."""
        return self._rows("links").frame()

    def _rows(self, part: str) -> Columns:
        from fairway.results.tables import summary_rows

        return summary_rows(self.summary[part])

    @property
    def content_hash(self) -> str:
        """SHA-256 over experiment, backend, version and the user's own algorithms."""
        return store.content_hash(self.experiment, self.backend, self.version, self.algorithms)

    def own_report(self) -> OwnReport:
        """What the report has beyond that of any run."""
        return OwnReport()

    def own_charts(self) -> Mapping[str, vega.Chart]:
        """Charts beyond those of any run, by the names of their files."""
        return {}

    @classmethod
    def own_tables(cls, _directory: Path) -> dict[str, Any]:
        """Tables beyond those of any run, by the names that the constructor has for them."""
        return {}

    def measured(self, metrics: Sequence[str]) -> dict[str, float | None]:
        """Metrics by the names of `fairway.metrics.measure`."""
        from fairway.metrics.reading import measure

        return {
            name: measure(self.summary, name, lambda: self, self.experiment) for name in metrics
        }

    def files(
        self, *, engine: str = "unknown", summary: dict[str, Any] | None = None
    ) -> dict[str, bytes]:
        """The files of its directory by their names, without captures, report and figures."""
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
        if commit := self.commit():
            files[program.FILE] = f"{commit}\n".encode()
        if self.backend == "xfer":
            # Often nobody has written it: it is what the path looked like, for other backends.
            import tomli_w

            files["experiment.toml"] = tomli_w.dumps(self.experiment).encode()
        tables = {
            "flows.parquet": self._rows("flows"),
            "series.parquet": self.sampled("series"),
            "queues.parquet": self.sampled("queues"),
            TCP_INFO: self.table("tcp_info"),
            PACKETS: self.table("packets"),
            CAPTURE_SERIES: self.table("capture_series"),
            LOSSES: self.table("losses"),
        }
        for name, table in tables.items():
            if table is not None:
                files[name] = table.parquet()
        return files

    def large_files(self) -> dict[str, bytes]:
        """Captures and kept files by their names in its directory, for another machine."""
        found = {}
        for name, root in ((CAPTURES, self.captures), (FILES, self.kept_files)):
            if root is None:
                continue
            paths = (folder / file for folder, _, files in disk.walk(root) for file in files)
            for path in sorted(path for path in paths if path.is_file()):
                found[f"{name}/{path.relative_to(root)}"] = path.read_bytes()
        return found

    def write_captures(self, target: Path) -> None:
        """Put its captures, if there are any, into its directory."""
        if self.captures is not None:
            copy_captures(self.captures, target / CAPTURES)

    def write_kept_files(self, target: Path) -> None:
        """Put the files that programs have written, if some are kept, into its directory."""
        for host in self.kept_files.iterdir() if self.kept_files is not None else ():
            store.copy_tree(host, target / FILES / host.name)

    def lies_in(self, directory: Path) -> None:
        """Be told that all of it was saved: temporary directories are removed."""
        if self._temporary:
            self.captures = self.captures and directory / CAPTURES
            files = directory / FILES
            self.kept_files = files if files.is_dir() else None
        while self._temporary:
            self._temporary.pop().remove()

    def __repr__(self) -> str:
        metrics = ", ".join(
            f"{name}={value:.4g}" for name, value in self.metrics.items() if value is not None
        )
        one_way = [f for f in self.summary["flows"] if not f["id"].endswith("/reverse")]
        flows = text.count(len(one_way), "flow")
        return f"<Run {self.title!r}, seed {self.seed}, {flows}: {metrics}>"
