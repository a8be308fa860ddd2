"""Writes what the model says into the study of the threshold: published numbers, and claims.

    .venv/bin/python tools/docs/threshold.py

What came out of it is written into its page by tools/docs/threshold_page.py.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from fairway.experiment.plan import parse_toml
from fairway.model.streams import RedQueue, Streams, streams
from fairway.study.files import find
from fairway.study.model import Part

DOCS = Path(__file__).resolve().parents[2] / "docs"
STUDIES = DOCS.parent / "python" / "fairway" / "studies"
#: Share of what the bottleneck can deliver that streams shall use.
TARGET = 0.95
#: Streams by which the model may miss: what the study claims.
MISS = 2
#: Bytes of headers of a packet: IPv4 and TCP with timestamps.
HEADERS = 52


def asked(study: Part, name: str) -> Streams:
    """What the model says of a path of the study."""
    base = parse_toml(study.experiment.read_text(), str(study.experiment))
    given = dict(study.scenarios[name])
    bottleneck = dict(base["topology"]["bottleneck"])
    for key in ("rate", "delay", "queue", "loss"):
        bottleneck[key] = given.get(f"topology.bottleneck.{key}", bottleneck.get(key))
    queue = bottleneck["queue"]
    delay, unit = bottleneck["delay"].split()
    mss, _ = base["stack"]["mss"].split()
    red = None
    if queue["kind"] == "red":
        numbers = [float(queue[key].split()[0]) for key in ("min_threshold", "max_threshold")]
        red = RedQueue(*numbers, queue["max_probability"], gentle=queue["gentle"])
    return streams(
        rate=bottleneck["rate"],
        rtt=f"{2 * float(delay):g} {unit}",
        buffer=queue["limit"],
        mss=int(mss),
        headers=HEADERS,
        cc=given.get("flow.0.cc", base["flow"][0]["cc"]),
        loss=(bottleneck["loss"] or {}).get("probability", 0.0),
        window=given.get("stack.receive_buffer"),
        application=given.get("flow.0.app_rate"),
        target=TARGET,
        red=red,
        # As many packets are lost as streams add in the round trip before they hear of it; RED that
        # follows its queue drops one.
        losers="random" if red is None else "one",
        up_to=max(counts(study, name)),
    )


def deliverable_bps(study: Part, name: str) -> float:
    """What the bottleneck can deliver of data."""
    said = asked(study, name).answer["capacity_pps"]
    mss = parse_toml(study.experiment.read_text(), "")["stack"]["mss"].split()[0]
    return float(said) * 8 * int(mss)


def counts(study: Part, name: str) -> list[int]:
    """Numbers of streams that are run on a path."""
    found: list[int] = study.scenarios[name].get("flow.0.count", study.axes["flow.0.count"])
    return found


def model_csv(study: Part) -> str:
    """The model's goodput for each path and number of streams."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["path", "streams", "threshold", "limit", "goodput_bps"])
    for name in study.scenarios:
        found, whole = asked(study, name), deliverable_bps(study, name)
        shares = {row["streams"]: row["utilisation"] for row in found.answer["table"]}
        for count in counts(study, name):
            goodput = round(shares[count] * whole)
            writer.writerow([name, count, found.threshold, found.answer["limit"], goodput])
    return out.getvalue()


def claims(study: Part) -> str:
    """A claim for each path: the threshold within two streams of the model's."""
    parts = [
        "# Written by tools/docs/threshold.py. at_least is 95 % of what a bottleneck can deliver;\n"
        "# low and high are two streams to either side of the model's threshold.\n"
    ]
    for name in study.scenarios:
        found = asked(study, name)
        assert found.threshold is not None
        low, high = max(1, found.threshold - MISS), found.threshold + MISS
        parts.append(f'''
[[claim]]
id        = "{name}"
statement = "The threshold of {name} is within {MISS} streams of {found.threshold}"
where     = "fairway model streams: {found.answer["model"]}"

[[claim.test]]
kind      = "reaches"
metric    = "goodput_bps"
axis      = "flow.0.count"
at        = {{ scenario = "{name}" }}
at_least  = {math.floor(TARGET * deliverable_bps(study, name))}
low       = {low}
high      = {high}
''')
    return "".join(parts)


def main() -> None:
    """Write both files."""
    study = find(str(STUDIES / "threshold")).part
    (study.directory / "published" / "model.csv").write_text(model_csv(study))
    (study.directory / "claims.toml").write_text(claims(study))


if __name__ == "__main__":
    main()
