"""Small recordings of the simulator's own making, for tests of `fairway fidelity`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl

import fairway
from fairway.compare.fidelity import kernel_traces as golden
from fairway.compare.fidelity.kernel_traces import of_run

#: A path on which 12 s are simulated at once.
PATH = {"rate": "2 Mbit/s", "delay": "10 ms", "limit": "20 packets", "duration": "12 s"}
NAME = "2mbit-20ms-20p"


def write(directory: Path, name: str, frame: pl.DataFrame) -> None:
    """A trace as a recording has it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(gzip.compress(frame.write_csv().encode()))


def simulated(flows: tuple[str, ...] = ("reno",), *, factor: float = 1, **path: object):
    """What the simulator does on `PATH`, as the samples of a recording; windows times a factor."""
    document = golden.document("x", **{**PATH, **path}, flows=[{"cc": cc} for cc in flows])
    run = fairway.run(document)
    frames = []
    for index in range(len(flows)):
        one = of_run(run, index)
        count = len(one.t_s)
        frames.append(
            pl.DataFrame(
                {
                    "t_s": one.t_s.round(4),
                    "cwnd_segments": one.cwnd * factor,
                    "ssthresh_segments": pl.Series(one.ssthresh).fill_nan(None),
                    "srtt_us": one.srtt_s * 1e6,
                    "total_retrans": [one.retransmitted if t > 10.5 else 0 for t in one.t_s],
                    "bytes_acked": one.delivered_bytes,
                    "flow": [index] * count,
                }
            )
        )
    return pl.concat(frames)


def recording_at(place: Path) -> Path:
    """A recording that is the simulator's own, but for htcp, whose windows are a tenth larger."""
    write(place, f"{NAME}.reno.csv.gz", simulated(is_of_own_kernel=True).drop("flow"))
    larger = simulated(("htcp",), factor=1.1, is_of_own_kernel=True)
    write(place, f"{NAME}.htcp.csv.gz", larger.drop("flow"))
    entry = {"name": NAME, **PATH}
    said = {"kernel": "6.1.0", "scenarios": [entry], "algorithms": ["reno", "htcp"]}
    (place / "recorded.json").write_text(json.dumps(said))
    return place


def damaged(place: Path, change) -> None:
    """Change the text of reno's trace."""
    file = place / f"{NAME}.reno.csv.gz"
    file.write_bytes(gzip.compress(change(gzip.decompress(file.read_bytes()).decode()).encode()))
