"""How often identification is right.

Makes the traces of a list that are not there yet on the Linux backend, identifies the first flow of
each, and prints shares and confusion.

    cargo build --release -p fairway-analysis --example identify
    python benches/identify/measure.py held-out --out DIR

The lists are fixed (`sets.py`); nothing is to be tuned on `held-out`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from traces import make, read

HERE = Path(__file__).parent
FIRST_TARGET, THREE_TARGET = 0.60, 0.85


def say(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def binary() -> Path:
    """The example that identifies, as cargo has built it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
    return target / "release" / "examples" / "identify"


def identify(capture: Path) -> dict:
    """What is said of the first flow of a capture."""
    done = subprocess.run([binary(), capture], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[0])["congestion_control"]


def place(found: dict, cc: str) -> int:
    """Where the right algorithm stands, from 1."""
    names = [one["algorithm"] for one in found["ranked"]]
    return names.index(cc) + 1 if cc in names else 99


def confusion(rows: list[tuple[str, dict]]) -> str:
    """A table of what was run against what was found."""
    pairs = Counter((cc, found["ranked"][0]["algorithm"]) for cc, found in rows if found["ranked"])
    lines = ["| sender | traces | first | among three | found instead |", "|---|---|---|---|---|"]
    for cc in sorted({cc for cc, _ in rows}):
        places = [place(found, cc) for name, found in rows if name == cc]
        wrong = [f"{other} {n}" for (name, other), n in sorted(pairs.items())
                 if name == cc and other != cc]  # fmt: skip
        first = sum(at == 1 for at in places)
        three = sum(at <= 3 for at in places)
        lines.append(f"| `{cc}` | {len(places)} | {first} | {three} | {', '.join(wrong)} |")
    return "\n".join(lines)


def calibration(rows: list[tuple[str, dict]]) -> str:
    """How sure the first is on average, how often it is right, and the loss of confidences."""
    firsts = [(found["ranked"][0], cc) for cc, found in rows if found["ranked"]]
    mean = sum(first["confidence"] for first, _ in firsts) / len(firsts)
    right = sum(first["algorithm"] == cc for first, cc in firsts) / len(firsts)
    given = [max(one["confidence"] for one in found["ranked"] if one["algorithm"] == cc)
             for cc, found in rows if found["ranked"]]  # fmt: skip
    loss = -sum(math.log(max(one, 1e-9)) for one in given) / len(given)
    return f"confidence of the first {mean:.2f} on average, right {right:.2f}; log loss {loss:.2f}"


def main() -> None:
    """Measures one list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", choices=["tuning", "held-out"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--each", action="store_true", help="print every trace")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in read(str(HERE / f"{given.list}.csv"), []):
        found = identify(make(row, given.out))
        rows.append((row["cc"], found))
        if given.each:
            say(f"{row['name']:16} {place(found, row['cc']):2}  {found['words']}")
    places = [place(found, cc) for cc, found in rows]
    first = sum(at == 1 for at in places) / len(places)
    three = sum(at <= 3 for at in places) / len(places)
    say(confusion(rows))
    say(f"\n{len(rows)} traces: first {first:.1%}, among the first three {three:.1%}")
    say(calibration(rows))
    if first < FIRST_TARGET or three < THREE_TARGET:
        raise SystemExit(f"below {FIRST_TARGET:.0%} and {THREE_TARGET:.0%}")


if __name__ == "__main__":
    main()
