"""What the report of a real transfer has beyond that of any run: tables, charts, settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairway.ground import text
from fairway.plot.page import FILL, Figure, Section, Table

if TYPE_CHECKING:
    from fairway.ground.columns import Columns
    from fairway.results.data import RunData

#: What a job says of itself that stands in the report, in words and in this order.
_SAID = {
    "peer": "other end",
    "files": "files",
    "striping": "striping",
    "chunk_bytes": "chunk",
    "pacing_bps": "pacing of a stream",
    "limit_bps": "limit",
    "security": "security",
    "streams_reason": "number of streams",
}


def transfer_table(run: RunData) -> Table:
    """How the transfer went, beside the figures of its flows."""
    said = run.summary["transfer"]
    path, cpu = said["path"], said["cpu"]
    seconds = said["duration_s"]
    rows = [["measured at", {"both": "both ends"}.get(said["end"], f"the {said['end']}")]]
    rows += [[words, _said(key, said[key])] for key, words in _SAID.items() if said.get(key)]
    rows += [
        ["payload", text.size(said["payload_bytes"])],
        *_of_segments(run),
        ["time", f"{text.number(seconds)} s"],
        ["streams", text.number(len(said["flows"]))],
        ["connections", text.number(said["connections"])],
        ["smallest RTT", text.milliseconds(path["min_rtt_s"])],
        [_most_throughput(said), text.bit_rate(path["most_throughput_bps"])],
        ["time limited by the receive window", text.percent(path["receive_window_limited"],
                                                            signed=False)],
        ["processor, user and system", _cpu(cpu, seconds)],
        ["time between samples", f"{text.number(said['interval_s'])} s"],
    ]  # fmt: skip
    return Table("Transfer", ["", "value"], rows)


def _most_throughput(said: Mapping[str, Any]) -> str:
    interval_s = said["path"].get("most_throughput_interval_s")
    if interval_s is None:
        return "most throughput in an interval"
    return f"most throughput in {text.number(min(interval_s, said['duration_s']))} s"


def _of_segments(run: RunData) -> list[list[str]]:
    """What was sent again, where this end sends."""
    sums = run.summary["applications"][0] if run.summary.get("applications") else {}
    again = sums.get("figures", {}).get("retransmitted_bytes")
    if again is None:
        return []
    segments = text.count(sums["retransmitted_segments"], "segment")
    return [["retransmitted", f"{text.size(round(again))}, {segments}"]]


def transfer_figures(run: RunData) -> list[Figure]:
    """Total goodput and retransmissions over time."""
    from fairway.plot.over_time import over_time
    from fairway.plot.quantities import Quantity

    total = total_goodput(run)
    figures = []
    if total.rows:
        goodput = Quantity("total-goodput", "series", "goodput_bps", "Goodput",
                           "mean", "Goodput of all streams together over time")  # fmt: skip
        chart = over_time(total, goodput, width=FILL)
        figures.append(Figure("Goodput of all streams together", chart))
    again = retransmissions(run)
    if (again.numbers("segments") > 0).any():
        quantity = Quantity("retransmissions", "series", "segments", "Segments retransmitted",
                            "extremes", "Segments retransmitted by each stream")  # fmt: skip
        chart = over_time(again, quantity, width=FILL)
        figures.append(Figure("Segments retransmitted by each stream in an interval", chart))
    return figures


def settings_section(run: RunData) -> list[Section]:
    """The settings of the host that it ran under."""
    import tomli_w

    settings = run.summary["transfer"].get("settings")
    if not settings:
        return []
    sentence = "What the host of this end was set to."
    return [Section("Settings", sentence, preformatted=tomli_w.dumps(_without_none(settings)))]


def total_goodput(run: RunData) -> Columns:
    """Goodput of all flows together, in as many intervals as a flow has samples.

    Flows are sampled together but end alone: what each has delivered is taken to grow evenly
    between its samples.
    """
    import numpy as np

    from fairway.ground.columns import Columns, Text

    series = run.sampled("series")
    series = series.keep(series.known("goodput_bps"))
    flows = series.text("flow")
    times, goodputs = series.numbers("t_s"), series.numbers("goodput_bps")
    starts = {of["id"]: of["start_s"] for of in run.summary["transfer"]["flows"]}
    most = max((int(flows.equals(name).sum()) for name in flows.present), default=0)
    end = float(times.max(initial=0.0))
    grid = np.linspace(0.0, end, most + 1)
    delivered = np.zeros(most + 1)
    for flow in flows.present:
        own = flows.equals(flow)
        ends = np.concatenate([[min(starts.get(flow, 0.0), end)], times[own]])
        bits = np.concatenate([[0.0], np.cumsum(goodputs[own] * np.diff(ends))])
        delivered += np.interp(grid, ends, bits)
    step = end / most if end else 1.0
    return Columns(
        {"t_s": grid[1:], "flow": Text.of(["all"] * most), "goodput_bps": np.diff(delivered) / step}
    )


def retransmissions(run: RunData) -> Columns:
    """Segments that each flow retransmitted since its sample before."""
    import numpy as np

    from fairway.ground.columns import Columns

    info = run.table("tcp_info")
    if info is None:
        return Columns.empty({"t_s": "number", "flow": "text", "segments": "number"})
    totals, flows = info.numbers("total_retrans_segments"), info.text("flow")
    # The first sample, and that of a connection that took another's place, begin at zero.
    segments = totals.copy()
    for flow in flows.present:
        own = np.flatnonzero(flows.equals(flow))
        news = np.diff(totals[own])
        segments[own[1:]] = np.where(news >= 0, news, totals[own[1:]])
    return Columns({"t_s": info["t_s"], "flow": flows, "segments": segments})


def _said(key: str, value: Any) -> str:
    if key.endswith("_bps"):
        return text.bit_rate(value)
    if key.endswith("_bytes"):
        mebibytes, rest = divmod(value, 1 << 20)
        return text.size(value) if rest else f"{mebibytes} MiB"
    return text.label(value)


def _cpu(cpu: Mapping[str, float], seconds: float) -> str:
    used = f"{text.number(cpu['user_s'])} s + {text.number(cpu['system_s'])} s"
    share = (cpu["user_s"] + cpu["system_s"]) / seconds if seconds else None
    return used if share is None else f"{used} ({text.percent(share, signed=False)} of a core)"


def _without_none(value: Any) -> Any:
    """The value without what TOML has no word for."""
    if isinstance(value, Mapping):
        return {str(k): _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_none(v) for v in value if v is not None]
    return value
