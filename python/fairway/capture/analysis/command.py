"""Analyses a capture: first all of it, then the chosen connections packet by packet."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.capture.analysis.flows import flows, largest
from fairway.capture.analysis.result import Analysis
from fairway.errors import InputError, Interrupted, writing
from fairway.ground import text
from fairway.ground.progress import State, reporter
from fairway.ground.quantities import seconds

#: What stands for standard input.
STANDARD_INPUT = "-"
#: Seconds between two looks at how far it is.
_TICK_S = 0.1


def read(path: str, options: Mapping[str, Any], label: str, quiet: bool) -> _core.AnalysisData:
    """Analyse a capture, and show how far it is."""
    control = _core.Control()
    found: list[_core.AnalysisData] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(_core.analyse(path, json.dumps(options), control))
        except BaseException as error:
            failed.append(error)

    # Who waits for a pipe that says nothing cannot be told to stop: its thread is left behind.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        with reporter(label, quiet=quiet, single=True) as progress:
            while thread.is_alive():
                thread.join(_TICK_S)
                progress.update(State(under_way=control.fraction))
    except KeyboardInterrupt:
        control.cancel()
        thread.join(_TICK_S)
        raise Interrupted("stopped; nothing was written") from None
    if failed:
        if isinstance(failed[0], _core.CaptureError):
            raise InputError(str(failed[0])) from None
        raise failed[0]
    return found[0]


@contextmanager
def twice(path: str) -> Iterator[str]:
    """A path that can be read more than once: of standard input, that of a copy."""
    if path != STANDARD_INPUT:
        yield path
        return
    with (
        writing(Path(tempfile.gettempdir())),
        tempfile.NamedTemporaryFile(prefix="fairway-capture-") as copy,
    ):
        shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        copy.flush()
        yield copy.name


#: Rows of single packets that are kept: some 300 MB. More is for a part of the time.
MOST_ROWS = 2_000_000


def analyze(
    capture: str | Path,
    *,
    connection: int | None = None,
    top: int = 20,
    detail: bool = True,
    identify: bool = False,
    start: float | str | None = None,
    end: float | str | None = None,
    quiet: bool = True,
) -> Analysis:
    """Explain a capture of packets.

    Args:
        capture: A file: pcap, pcapng or tcpdump's text, plain or gzip; "-" is standard input.
        connection: Follow this one packet by packet; else those with most data.
        top: How many.
        detail: Whether to follow any: without, the file is read once, and `series` and `packets`
            are empty.
        identify: Ask which congestion control the senders have, which takes longer than the rest.
        start: Single packets from then on, in seconds since the first packet or as "1.5 s".
        end: Single packets until then.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If nothing of it can be read, or there is no such connection.
        fairway.Interrupted: On Ctrl-C.
    """
    start_s, end_s = (seconds(time, str(time)) for time in (start, end))
    if start_s is not None and end_s is not None and end_s <= start_s:
        raise InputError(f"from {start_s:g} s to {end_s:g} s: no time is between them")
    source = str(capture)
    is_pipe = source == STANDARD_INPUT
    name = "standard input" if is_pipe else text.of_path(Path(source).name)
    if not detail:
        options = {"name": name, "identify": identify}
        return Analysis(name, json.loads(read(source, options, name, quiet).report))
    with twice(source) as again:
        first = Analysis(name, json.loads(read(again, {"name": name}, name, quiet).report))
        if connection is None:
            chosen = [one["id"] for one in largest(first.connections, top)]
        else:
            chosen = [first.connection(connection)["id"]]
        if not chosen:
            return first
        began_ns = first.report["capture"]["started_ns"] or 0
        options = {
            "name": name,
            "follow": sorted(chosen),
            "identify": identify,
            "from_ns": 0 if start_s is None else began_ns + round(start_s * 1e9),
            "until_ns": None if end_s is None else began_ns + round(end_s * 1e9),
            "most_rows": MOST_ROWS,
        }
        return _with_detail(name, read(again, options, f"{name}, closer", quiet))


def _with_detail(name: str, data: _core.AnalysisData) -> Analysis:
    from fairway.capture.analysis.series import (
        packet_frame,
        series_frame,
        window_frame,
        with_causes,
    )

    report = json.loads(data.report)
    # Direction `index` of connection `id` comes as [id, index].
    names = _names(report["connections"], data.directions)
    windows = {}
    causes = []
    started_s = report["capture"]["started_s"] or 0.0
    followed = {number for number, _ in data.directions}
    for one in report["connections"]:
        for index, way in enumerate(one["directions"]):
            window = way.get("window")
            if one["id"] in followed and window:
                flow = names[data.directions.index((one["id"], index))]
                windows[flow] = window_frame(window, started_s)
                causes += [(flow, each) for each in window["losses"]["list"]]
    series = series_frame(data.series, names, windows)
    packets = with_causes(packet_frame(data.packets, names), causes)
    has_data = {flow for flow in names if flow}
    series, packets = (frame.filter(frame["flow"].is_in(has_data)) for frame in (series, packets))
    return Analysis(name, report, series, packets)


def _names(
    connections: Sequence[Mapping[str, Any]], directions: Sequence[tuple[int, int]]
) -> list[str]:
    """Ids of flows by direction; none for one without data."""
    known = {(flow.connection["id"], flow.index): flow.id for flow in flows(connections)}
    return [known.get((number, index), "") for number, index in directions]
