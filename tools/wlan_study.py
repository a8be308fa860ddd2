"""The cells of the studies of a WLAN, and what the model says: `python tools/wlan_study.py`.

Written into the files of "wlan" and of the part "wlan" of "siddiqui2012", so that they are data
like those of any other study.
"""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.metrics import jain_index
from fairway.model.wlan import Access, Direction, Flow, wlan

STANDARDS = ("802.11b", "802.11g")
#: Of IPv4 and TCP, without options.
HEADERS_BYTES = 40
#: Attempts until a frame is given up, so many that none is.
ATTEMPTS = 20
#: Windows of cells in which all have the same: no multiple of three of them, so that each meets
#: every mix.
WINDOWS = (1, 20, 3, 64, 8, 2, 32, 5, 12, 4, 48)
#: Cells with windows of their own for each flow, and the seed that draws them.
UNEQUAL, SEED = 30, 5
STATIONS, LARGEST = 20, 64
#: Of the simulation, in seconds: what is measured; and what is not, at least and for each packet of
#: all windows, which is ten times what a packet takes.
MEASURED_S, WARM_S, WARM_PER_PACKET_S = 80, 12, 0.03

#: Of siddiqui2012: numbers of stations, windows that go round among them, the equal one, and what
#: is measured of each repetition, in seconds.
NUMBERS, ROUND, EQUAL, PART_MEASURED_S = (2, 4, 6, 10, 20), (4, 32, 8, 20, 64, 12), 20, 30

#: Where the scenarios begin in `study.toml`.
MARK = "# Written by `python tools/wlan_study.py`: all that follows."


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        name: Its name in the study.
        flows: The flows, downloads first.
    """

    name: str
    flows: tuple[Flow, ...]

    @property
    def downloads(self) -> int:
        """Flows to stations."""
        return sum(flow.direction == "download" for flow in self.flows)

    @property
    def window(self) -> int:
        """Packets of all windows."""
        return sum(flow.window_packets for flow in self.flows)


def cells() -> list[Cell]:
    """All cells: 1 to 20 stations in each mix with one window, and draws of everything."""
    windows = itertools.cycle(WINDOWS)
    found = []
    for stations in range(1, STATIONS + 1):
        mixes = [(stations, 0), (0, stations)]
        if stations > 1:
            mixes.append((stations // 2, stations - stations // 2))
        for downloads, uploads in mixes:
            window = next(windows)
            flows = [("download", window)] * downloads + [("upload", window)] * uploads
            found.append(_cell(flows, f"windows {window}"))
    draws = random.Random(SEED)
    for number in range(UNEQUAL):
        # Each number of stations once, then once more; directions and windows at random, small
        # windows as often as large ones.
        stations = number % (STATIONS - 1) + 2
        flows = [
            (draws.choice(("download", "upload")), round(LARGEST ** draws.random()))
            for _ in range(stations)
        ]
        found.append(_cell(sorted(flows), f"mixed {number + 1}"))
    return found


def siddiqui_cells() -> list[Cell]:
    """Cells of siddiqui2012: the number of stations varies, directions and windows do not."""
    found = []
    for stations in NUMBERS:
        half = stations // 2
        # Every other window of the round to either direction.
        windows = list(itertools.islice(itertools.cycle(ROUND), stations))
        flows = [("download", w) for w in windows[::2]] + [("upload", w) for w in windows[1::2]]
        found += [
            _cell([("download", EQUAL)] * stations, f"windows {EQUAL}"),
            _cell([("download", EQUAL)] * half + [("upload", EQUAL)] * half, f"windows {EQUAL}"),
            _cell(flows, "mixed windows"),
        ]
    return found


def _cell(flows: list[tuple[Any, int]], windows: str) -> Cell:
    directions: list[Direction] = [direction for direction, _ in flows]
    downloads = directions.count("download")
    name = f"{downloads} down, {len(flows) - downloads} up, {windows}"
    return Cell(name, tuple(Flow(direction, window) for direction, window in flows))


def scenarios(chosen: Sequence[Cell], measured_s: int) -> str:
    """Cells as scenarios of `study.toml`."""
    lines = []
    for cell in chosen:
        warm = WARM_S + round(WARM_PER_PACKET_S * cell.window)
        lines += [
            "",
            f'[scenarios."{cell.name}"]',
            f'duration = "{warm + measured_s} s"',
            f'"measure.window" = ["{warm} s", "{warm + measured_s} s"]',
            f'"topology.stations" = {len(cell.flows)}',
            f"flow = [{', '.join(map(_flow, range(len(cell.flows)), cell.flows))}]",
        ]
    return "\n".join(lines) + "\n"


def _flow(station: int, flow: Flow) -> str:
    ends = ("server", f"sta{station}")
    source, sink = ends if flow.direction == "download" else reversed(ends)
    name = "down" if flow.direction == "download" else "up"
    return (
        f'{{ id = "{name}-{station}", cc = "reno", from = "{source}", to = "{sink}", '
        f'receive_buffer = "{flow.window_packets} segments" }}'
    )


def table(chosen: Sequence[Cell], delays: Sequence[bool]) -> list[dict[str, Any]]:
    """What the model says of each cell, with each standard, and without or with delayed ACKs."""
    rows = []
    for cell, standard, delayed in itertools.product(chosen, STANDARDS, delays):
        found = wlan(
            cell.flows,
            Access(standard, attempts=ATTEMPTS),
            packets_per_ack=2 if delayed else 1,
            ack_timer="200 ms",
        )
        is_mixed = 0 < cell.downloads < len(cell.flows)
        rows.append(
            {
                "scenario": cell.name,
                "standard": standard,
                "delayed": int(delayed),
                "stations": len(cell.flows),
                "flows": "both" if is_mixed else f"{cell.flows[0].direction}s",
                "window": cell.window,
                "goodput_bps": round(found.goodput_bps),
                "download_bps": round(found.download_bps) if cell.downloads else None,
                "upload_bps": round(found.upload_bps) if found.upload_bps else None,
                "jain_index": round(jain_index(found.flow_bps) or 0.0, 5),
            }
        )
    return rows


def equal_windows(chosen: Sequence[Cell]) -> list[dict[str, Any]]:
    """What the chain of the literature says, which takes windows to be equal and large."""
    rows = []
    for cell, standard in itertools.product(chosen, STANDARDS):
        access = Access(standard, attempts=ATTEMPTS)
        found = wlan(cell.flows, access).answer["literature"]
        goodput_bps = found["packets_per_s"] * (access.packet_bytes - HEADERS_BYTES) * 8
        download_bps = goodput_bps * cell.downloads / len(cell.flows)
        is_mixed = cell.downloads < len(cell.flows)
        rows.append(
            {
                "scenario": cell.name,
                "standard": standard,
                "goodput_bps": round(goodput_bps),
                "download_bps": round(download_bps),
                "upload_bps": round(goodput_bps - download_bps) if is_mixed else None,
            }
        )
    return rows


def _write(study: Path, chosen: Sequence[Cell], measured_s: int, delays: Sequence[bool]) -> None:
    path = study / "study.toml"
    head, _, _ = path.read_text(encoding="utf-8").partition(MARK)
    path.write_text(head + MARK + "\n" + scenarios(chosen, measured_s), encoding="utf-8")
    _write_csv(study / "published" / "model.csv", table(chosen, delays))


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    studies = Path(__file__).resolve().parents[1] / "python" / "fairway" / "studies"
    _write(studies / "wlan", cells(), MEASURED_S, (False, True))
    part = studies / "siddiqui2012" / "wlan"
    _write(part, siddiqui_cells(), PART_MEASURED_S, (False,))
    _write_csv(part / "published" / "equal_windows.csv", equal_windows(siddiqui_cells()))
