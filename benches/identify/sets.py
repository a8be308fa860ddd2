"""Writes the lists of experiments beside this file: `tuning.csv` and `held-out.csv`.

Both are drawn from the same distribution of paths with different seeds. They are kept as files, so
that what is measured is fixed before anything is measured.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

# The kernel's algorithms, as experiments call them.
ALGORITHMS = [
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois",
    "nv", "reno", "scalable", "tcp-lp", "vegas", "veno", "westwood+", "yeah",
]  # fmt: skip
FIELDS = [
    "name", "cc", "rate_mbps", "rtt_ms", "buffer_bdp", "queue", "ecn", "loss", "rival",
    "duration_s", "seed",
]  # fmt: skip
# Packets that one capture may hold in each direction, so that the whole takes minutes.
MOST_PACKETS = 200_000
SEGMENT_BITS = 1514 * 8


def path(draw: random.Random, cc: str) -> dict[str, object]:
    """One path: 5 to 200 Mbit/s, 10 to 200 ms, 0.3 to 2 BDP of buffer."""
    while True:
        rate_mbps = round(5 * 40 ** draw.random(), 1)
        rtt_ms = round(10 * 20 ** draw.random())
        bdp_packets = rate_mbps * 1e6 * rtt_ms / 1e3 / SEGMENT_BITS
        buffer_bdp = round(0.3 * (2 / 0.3) ** draw.random(), 2)
        # At least ten packets, or even slow start loses all its acknowledgement clock.
        buffer_bdp = max(buffer_bdp, round(10 / bdp_packets, 2))
        loss = draw.choice([0, 0, 0, 0.0001, 0.0005, 0.001, 0.005])
        if not 15 <= bdp_packets <= 900:
            continue
        if cc == "highspeed" and (bdp_packets < 100 or loss >= 0.001):
            continue  # It is Reno up to 38 segments, by its definition (RFC 3649 section 5).
        if cc == "hybla" and rtt_ms < 40:
            continue  # It is Reno up to 25 ms, by its definition (Caini and Firrincieli 2004).
        break
    kind = draw.choice(["droptail"] * 6 + ["codel", "red"])
    ecn = kind != "droptail" and draw.random() < 0.5
    if cc == "dctcp":
        # Without marks DCTCP is Reno, by its definition (RFC 8257 section 3.5).
        kind, ecn = draw.choice(["red", "red", "codel-step"]), True
    rival = draw.choice(["", "", "", "", "cubic", "reno"])
    duration_s = min(60, max(20, int(MOST_PACKETS / (rate_mbps * 1e6 / SEGMENT_BITS))))
    return {
        "rate_mbps": rate_mbps,
        "rtt_ms": rtt_ms,
        "buffer_bdp": buffer_bdp,
        "queue": kind,
        "ecn": int(ecn),
        "loss": loss,
        "rival": rival,
        "duration_s": duration_s,
    }


def rows(algorithms: list[str], seed: int) -> list[dict[str, object]]:
    """A row for each of `algorithms`, which may repeat."""
    draw = random.Random(seed)
    counts: dict[str, int] = {}
    listed = []
    for cc in algorithms:
        counts[cc] = counts.get(cc, 0) + 1
        row = {"name": f"{cc.replace('+', '-plus')}-{counts[cc]}", "cc": cc, **path(draw, cc)}
        listed.append({**row, "seed": draw.randrange(1, 1_000_000)})
    return listed


def write(file: str, listed: list[dict[str, object]]) -> None:
    """Writes one list."""
    with (Path(__file__).parent / file).open("w", newline="") as out:
        writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)


if __name__ == "__main__":
    write("tuning.csv", rows(ALGORITHMS * 6, seed=20_260_101))
    # Three of each, and nine that the draw chooses: sixty.
    extra = random.Random(8).sample(ALGORITHMS, 9)
    write("held-out.csv", rows(ALGORITHMS * 3 + extra, seed=20_260_202))
