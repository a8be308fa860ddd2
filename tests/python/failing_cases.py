"""The commands whose calls fail in turn: `python failing_cases.py`, see `failing_calls`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from conftest import SMALL, SWEEP
from failing_calls import ROOT, Case, main

SHORT = SMALL.replace('"3 s"', '"2 s"').replace('["1 s", "2 s"]', '["0.5 s", "2 s"]')


@cache
def _results(kind: str) -> Path:
    """Results that several commands read, made once."""
    import atexit
    import tempfile

    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place)
    (place / "a.toml").write_text({"run": SHORT, "captured": SHORT, "sweep": SWEEP}[kind])
    more = ["--capture", "hosts"] if kind == "captured" else []
    subprocess.run(
        [sys.executable, "-m", "fairway", "run", "a.toml", "--out", "out", "-q", *more],
        cwd=place, check=True, capture_output=True,
    )  # fmt: skip
    return place


def _experiment(place: Path) -> None:
    (place / "a.toml").write_text(SHORT)


def _replaced(place: Path) -> None:
    _experiment(place)
    shutil.copytree(_results("run") / "out", place / "out")
    (place / "a.toml").write_text(SHORT.replace('"bic"', '"reno"'))


def _sweep(place: Path) -> None:
    (place / "a.toml").write_text(SWEEP)


def _begun(place: Path) -> None:
    """A sweep of which half of the points are there."""
    _sweep(place)
    shutil.copytree(_results("sweep") / "out", place / "out")
    for point in sorted((place / "out" / "points").iterdir())[::2]:
        shutil.rmtree(point)


def _run(place: Path) -> None:
    shutil.copytree(_results("run") / "out", place / "in")


def _two(place: Path) -> None:
    _run(place)
    shutil.copytree(_results("run") / "out", place / "other")


def _finished(place: Path) -> None:
    shutil.copytree(_results("sweep") / "out", place / "in")


def _capture(place: Path) -> None:
    captures = sorted((_results("captured") / "out" / "captures").iterdir())
    shutil.copy(next(one for one in captures if one.name.startswith("s0")), place / "s0.pcapng")
    shutil.copy(next(one for one in captures if one.name.startswith("d0")), place / "d0.pcapng")


def _script(place: Path) -> None:
    shutil.copy(next((ROOT / "tests" / "scripts").rglob("*.pkt")), place / "a.pkt")


def _trace(place: Path) -> None:
    (place / "trace.txt").write_text("\n".join(str(n * 5) for n in range(1, 400)))
    (place / "a.toml").write_text(SHORT.replace('rate  = "5 Mbit/s"', 'trace = "trace.txt"'))


def _empty(_: Path) -> None:
    return


CASES = (
    Case("run", ("run", "a.toml", "-q"), _experiment),
    Case("run-out", ("run", "a.toml", "--out", "out", "-q"), _experiment, out="out"),
    Case("run-replace", ("run", "a.toml", "--out", "out", "--replace", "-q"), _replaced, out="out"),
    Case("run-capture", ("run", "a.toml", "--out", "out", "-q", "--capture", "hosts"), _experiment,
         out="out"),
    Case("run-trace", ("run", "a.toml", "-q"), _trace),
    Case("sweep", ("run", "a.toml", "--out", "out", "-q"), _sweep, out="out", resumes=True),
    Case("sweep-resume", ("run", "a.toml", "--out", "out", "-q"), _begun, out="out", resumes=True),
    Case("report", ("report", "in"), _run),
    Case("report-sweep", ("report", "in"), _finished),
    Case("compare", ("compare", "in", "other"), _two),
    Case("analyze", ("analyze", "s0.pcapng"), _capture),
    Case("analyze-pair", ("analyze", "s0.pcapng", "d0.pcapng"), _capture),
    Case("analyze-json", ("analyze", "s0.pcapng", "--json"), _capture),
    Case("analyze-out", ("analyze", "s0.pcapng", "--out", "out", "-q"), _capture, out="out"),
    Case("replay", ("replay", "s0.pcapng", "--out", "out", "-q"), _capture, out="out",
         resumes=True),
    Case("script", ("script", "a.pkt"), _script),
    Case("model", ("model", "law", "mathis", "--rtt", "50 ms", "--loss", "0.01"), _empty),
    Case("animate", ("animate", "a.toml", "--out", "out.html"), _experiment, out="out.html"),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(CASES))
