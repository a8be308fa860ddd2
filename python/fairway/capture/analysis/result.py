"""What was found in a capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway.capture.analysis.flows import flows
from fairway.capture.analysis.run import run_of
from fairway.capture.analysis.story import warnings
from fairway.capture.analysis.tables import connection_table, datagram_table, group_tables
from fairway.errors import InputError
from fairway.plot.page import Table
from fairway.results.run import Run

if TYPE_CHECKING:
    import polars as pl

#: Round trips of a direction without a sample.
_NO_RTT = dict.fromkeys(("min", "mean", "max", "stdev", "p50", "p90", "p95", "p99"))
#: What is too long to be printed: every interval, and of many connections every retransmission.
_SERIES, _LIST = "series", "list"


class Analysis:
    """What was found in a capture.

    Attributes:
        name: What it is called: the file's name.
        report: Everything, as `fairway analyze --json` prints it and more.
        shown: Flows whose packets and intervals are known one by one, in the order of their ids.
    """

    def __init__(
        self,
        name: str,
        report: Mapping[str, Any],
        series: pl.DataFrame | None = None,
        packets: pl.DataFrame | None = None,
    ) -> None:
        self.name = name
        self.report = report
        self._series = series
        self._packets = packets
        known = set() if series is None else set(series["flow"].unique())
        self.shown = [flow for flow in flows(report["connections"]) if flow.id in known]

    @property
    def connections(self) -> Sequence[Mapping[str, Any]]:
        """TCP connections in the order of their first packets."""
        return list(self.report["connections"])

    @property
    def damaged(self) -> Sequence[Mapping[str, Any]]:
        """What could not be read: place, packet and what is wrong."""
        return list(self.report["damaged"])

    @property
    def series(self) -> pl.DataFrame:
        """One row for each interval of a shown flow, columns as `CAPTURE_SERIES_SCHEMA`."""
        if self._series is None:
            # Here, as loading polars takes half as long as analysing a million packets.
            import polars as pl

            from fairway.capture.analysis.series import CAPTURE_SERIES_SCHEMA

            self._series = pl.DataFrame(schema=CAPTURE_SERIES_SCHEMA)
        return self._series

    @property
    def packets(self) -> pl.DataFrame:
        """One row for each packet of a shown flow, columns as `PACKET_SCHEMA`."""
        if self._packets is None:
            import polars as pl

            from fairway.capture.analysis.series import PACKET_SCHEMA

            self._packets = pl.DataFrame(schema=PACKET_SCHEMA)
        return self._packets

    def connection(self, number: int) -> Mapping[str, Any]:
        """The connection of that number."""
        for connection in self.report["connections"]:
            if connection["id"] == number:
                return dict(connection)
        count = len(self.report["connections"])
        there = f"there are 1 to {count}" if count else "there are none"
        raise InputError(f"{self.name}: no connection {number}; {there}")

    def warnings(self) -> list[str]:
        """What has to be known before the figures are trusted, in sentences without full stops."""
        return warnings(self.report)

    def tables(self, top: int = 20) -> list[Table]:
        """The connections with most data, those side by side, and the datagrams."""
        return [
            connection_table(self.report, top),
            *group_tables(self.report, top),
            *datagram_table(self.report, top),
        ]

    def to_json(self, number: int | None = None) -> dict[str, Any]:
        """Everything as plain data, or one connection and everything of it."""
        chosen = self.connections if number is None else [self.connection(number)]
        left_out = {_SERIES} if number is not None else {_SERIES, _LIST}
        return {
            **self.report,
            "connections": [_printed(connection, left_out) for connection in chosen],
        }

    def to_run(self) -> Run:
        """A run with the shown flows, for tables, figures, reports and comparisons."""
        return run_of(
            self.name, self.to_json(), self.shown, self.series, self.packets, self.warnings()
        )

    def save(
        self,
        directory: str | Path,
        *,
        figures: Sequence[str] = (),
        source: str | None = None,
        replace: bool = False,
    ) -> Path:
        """Write a run directory: tables, report and figures; see `Run.save`."""
        return self.to_run().save(directory, figures=figures, source=source, replace=replace)

    def save_xplot(self, directory: str | Path) -> list[Path]:
        """Write files for xplot.org of every shown flow, as `tcptrace -G` does."""
        import polars as pl

        from fairway.capture.analysis.xplot import save_xplot

        files = []
        for flow in self.shown:
            of = flow.direction
            offer = of["offered"]
            files += save_xplot(
                self.packets.filter(pl.col("flow") == flow.id),
                Path(directory),
                flow.id.replace("/", "-"),
                title=f"{of['from']}_==>_{of['to']}",
                started_ns=self.report["capture"]["started_ns"] or 0,
                first_sequence=offer["sequence"] + 1 if offer else 0,
            )
        return files

    def __repr__(self) -> str:
        return f"<Analysis {self.name!r}: {len(self.connections):,} connections>"


def _printed(connection: Mapping[str, Any], left_out: set[str]) -> dict[str, Any]:
    """A connection without what is too long, and with a place for every round-trip time."""
    directions = [
        {**_without(direction, left_out), "rtt_s": direction["rtt_s"] or {"count": 0, **_NO_RTT}}
        for direction in connection["directions"]
    ]
    return {**connection, "directions": directions}


def _without(tree: Mapping[str, Any], left_out: set[str]) -> dict[str, Any]:
    return {
        key: _without(value, left_out) if isinstance(value, Mapping) else value
        for key, value in tree.items()
        if key not in left_out
    }
