"""From what was found in a capture to a `Run`, in the schema of every backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import _core, metrics
from fairway.capture.analysis.flows import Flow, largest
from fairway.ground.shape import NUMBER, NUMBER_OR_NONE
from fairway.results import run
from fairway.results.data import CAPTURE_SERIES, PACKETS, OwnReport
from fairway.results.run import Run

if TYPE_CHECKING:
    import polars as pl

    from fairway.plot import vega

#: What a run of this kind calls its backend.
BACKEND = "capture"
#: Connections that a run keeps, those with most data: a capture may have millions.
MOST_CONNECTIONS = 10_000
#: What stands for a congestion control that nothing shows.
_UNKNOWN_CC = "unknown"

#: What the summary of a capture has besides.
CAPTURE_SHAPE = {
    "capture": {
        "connections": [
            {
                "id": int,
                "first_s": NUMBER,
                "duration_s": NUMBER,
                "directions": [
                    {"from": str, "to": str, "data_bytes": int, "unique_bytes": int,
                     "retransmitted_segments": int}
                ],
            }
        ],
        "damaged": list,
        "capture": {"frames": int, "started_s": NUMBER_OR_NONE},
    }
}  # fmt: skip


class CapturedRun(Run):
    """A run that a capture shows."""

    SHAPE = CAPTURE_SHAPE

    def own_report(self) -> OwnReport:
        """Connections, and a section for each flow whose packets are known."""
        from fairway.capture.analysis import sections

        return OwnReport(
            sections.capture_tables(self),
            sections.capture_sections(self),
            sections.capture_lead(self),
        )

    def own_charts(self) -> Mapping[str, vega.Chart]:
        """Charts of its flows."""
        from fairway.capture.analysis.sections import figure_charts

        return figure_charts(self)

    @classmethod
    def own_tables(cls, directory: Path) -> dict[str, Any]:
        """Packets, and what each flow was over time."""
        from fairway.results.tables import read_table

        files = {"packets": (PACKETS, "packets"), "capture_series": (CAPTURE_SERIES, "intervals")}
        return {
            name: partial(read_table, directory / file, table)
            for name, (file, table) in files.items()
        }


def load(directory: str | Path) -> Run:
    """Read a run directory back, of a capture or of any backend."""
    return run.load(directory, {BACKEND: CapturedRun})


def run_of(
    name: str,
    report: dict[str, Any],
    shown: Sequence[Flow],
    series: pl.DataFrame,
    packets: pl.DataFrame,
    warnings: Sequence[str],
) -> Run:
    """The run that a capture was: flows with goodputs, windows and round trips like any other."""
    from fairway.capture.analysis.series import as_run

    kept = largest(report["connections"], MOST_CONNECTIONS)
    left_out = len(report["connections"]) - len(kept)
    report["connections"] = sorted(kept, key=lambda one: one["id"])
    mss = {flow.id: _mss_bytes(flow) for flow in shown}
    sampled = as_run(series, mss)
    found = [_flow(flow, sampled) for flow in shown]
    summary = {
        "title": name,
        "backend": BACKEND,
        "seed": 0,
        "wall_s": 0.0,
        "packets": report["capture"]["frames"],
        "flows": found,
        "links": [],
        "metrics": _metrics(found),
        "warnings": list(warnings),
        "capture": {**report, "connections_left_out": left_out},
    }
    return CapturedRun(
        experiment={"title": name, "capture": _origin(report)},
        summary=summary,
        series=sampled,
        version=_core.version(),
        packets=packets,
        capture_series=series,
    )


def _origin(report: Mapping[str, Any]) -> dict[str, Any]:
    """What tells a capture from others, as far as a manifest says it."""
    capture = report["capture"]
    known = {"name": capture["name"], "frames": capture["frames"],
             "started_s": capture["started_s"]}  # fmt: skip
    return {key: value for key, value in known.items() if value is not None}


def _mss_bytes(flow: Flow) -> float:
    size = flow.direction["segment_bytes"]
    return float(size["max"]) if size else 1.0


def _flow(flow: Flow, series: pl.DataFrame) -> dict[str, Any]:
    """A flow as summaries have them."""
    import polars as pl

    of = flow.direction
    losses = flow.window.get("losses") or {}
    causes, spurious = losses.get("causes", {}), losses.get("spurious", {})
    episodes = losses.get("episodes", [])
    own = series.filter(pl.col("flow") == flow.id)
    is_whole = flow.connection["state"] == "complete"
    return {
        "id": flow.id,
        "cc": _congestion_control(of),
        "goodput_bps": of["goodput_bps"] or 0.0,
        "throughput_bps": of["throughput_bps"] or 0.0,
        "sent_segments": of["data_segments"],
        "retransmitted_segments": of["retransmitted_segments"],
        "lost_segments": of["retransmitted_segments"] - spurious.get("segments", 0),
        "dropped_segments": None,
        "duplicate_segments": None,
        "window_reductions": sum(not one["is_spurious"] for one in episodes) if losses else None,
        "timeouts": causes.get("timeout") if losses else None,
        "mean_cwnd_segments": own["cwnd_segments"].mean(),
        "mean_srtt_s": own["srtt_s"].mean(),
        "mean_one_way_delay_s": None,
        "route": None,
        "fct_s": flow.connection["duration_s"] if is_whole else None,
        "ctt_s": None,
    }


def _congestion_control(direction: Mapping[str, Any]) -> str:
    """The name of the one that explains the window, if that was asked and one does."""
    found = direction.get("congestion_control") or {}
    return str(found["ranked"][0]["algorithm"]) if found.get("is_explained") else _UNKNOWN_CC


def _metrics(found: list[dict[str, Any]]) -> dict[str, float | None]:
    goodputs = [flow["goodput_bps"] for flow in found]
    sent = sum(flow["sent_segments"] for flow in found)
    lost = sum(flow["lost_segments"] for flow in found)
    return {
        "goodput_bps": sum(goodputs),
        "jain_index": metrics.jain_index(goodputs) if goodputs else None,
        "asymmetry": metrics.asymmetry(*goodputs) if len(goodputs) == 2 else None,
        "unfairness": metrics.unfairness(goodputs) if goodputs else None,
        "utilisation": None,
        "loss_ratio": lost / sent if sent else None,
    }
