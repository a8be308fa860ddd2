"""Makes the captures of a list on the Linux backend: one row, one experiment, one capture.

    python benches/identify/traces.py benches/identify/tuning.csv --out DIR [--only NAME …]

DIR/<name>.pcap is what the sender's device saw, headers alone. What is there is not made again.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

QUEUES = {
    "droptail": 'kind = "droptail", limit = "{limit} packets"',
    "codel": 'kind = "codel", limit = "{limit} packets", ecn = {ecn}',
    # Marks whatever has waited for a millisecond, as switches in front of DCTCP do (RFC 8257
    # section 4.1, with a time for their packets).
    "codel-step": 'kind = "codel", limit = "{limit} packets", ecn = {ecn}, ce_threshold = "1 ms"',
    "red": 'kind = "red", variant = "linux", limit = "{limit} packets", ecn = {ecn}, '
    'gentle = false, min_threshold = "{low} packets", max_threshold = "{high} packets"',
}


def experiment(row: dict[str, str]) -> str:
    """The experiment file of a row."""
    rate_mbps, rtt_ms = float(row["rate_mbps"]), float(row["rtt_ms"])
    bdp_packets = rate_mbps * 1e6 * rtt_ms / 1e3 / (1514 * 8)
    limit = max(4, round(bdp_packets * float(row["buffer_bdp"])))
    ecn = "true" if row["ecn"] == "1" else "false"
    if row["queue"] == "codel":
        # CoDel's delay is its own; its limit is only there to be out of the way.
        limit = 1000
    queue = QUEUES[row["queue"]].format(
        limit=limit, ecn=ecn, low=max(2, limit // 4), high=max(6, 3 * limit // 4)
    )
    loss = ""
    if float(row["loss"]) > 0:
        loss = f'loss = {{ kind = "bernoulli", probability = {row["loss"]} }}'
    rival = ""
    if row["rival"]:
        rival = f'[[flow]]\ncc = "{row["rival"]}"\nstart = "3 s"\n'
    stack_ecn = "ecn = true\n" if ecn == "true" else ""
    return f"""title = "{row["name"]}"
duration = "{row["duration_s"]} s"
seed = {row["seed"]}

[stack]
preset = "linux-6.1"
mtu = "1500 bytes"
receive_buffer = "64 MiB"
send_buffer = "64 MiB"
{stack_ecn}
[topology]
kind = "dumbbell"
frame_overhead = "14 bytes"

[topology.bottleneck]
rate = "{rate_mbps} Mbit/s"
delay = "{rtt_ms / 2} ms"
queue = {{ {queue} }}
{loss}

[[flow]]
cc = "{row["cc"]}"

{rival}
[measure]
sample = "100 ms"

[capture]
at = ["s0"]
format = "pcap"
"""


def make(row: dict[str, str], out: Path) -> Path:
    """The capture of a row, made unless it is there."""
    capture = out / f"{row['name']}.pcap"
    if capture.exists():
        return capture
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        file = Path(scratch) / "experiment.toml"
        file.write_text(experiment(row))
        command = [sys.executable, "-m", "fairway", "run", str(file), "--backend", "linux"]
        done = subprocess.run(
            [*command, "--out", f"{scratch}/run"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{row['name']}: {' '.join(command)} failed:\n{done.stderr}")
        found = sorted(Path(scratch).glob("run/**/s0.pcap"))
        if not found:
            raise SystemExit(f"{row['name']}: no capture of the sender in {scratch}/run")
        shutil.move(found[0], capture)
        for table in Path(scratch).glob("run/**/series.parquet"):
            shutil.move(table, out / f"{row['name']}.series.parquet")
    return capture


def read(list_file: str, only: list[str]) -> list[dict[str, str]]:
    """The rows of a list."""
    with Path(list_file).open(newline="") as source:
        return [row for row in csv.DictReader(source) if not only or row["name"] in only]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for row in read(given.list, given.only):
        sys.stdout.write(f"{make(row, given.out)}\n")
        sys.stdout.flush()
