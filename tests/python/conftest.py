"""Small experiments, and a backend whose behaviour a test decides."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.ground.temporary import Temporary
from fairway.results.run import Run
from fairway.results.tables import queues_of, series_of
from waiting import PATIENCE_S

#: Commands that run in this process print as to a terminal of so many columns, and not to a pipe.
os.environ["COLUMNS"] = "80"

# Signals that are ignored here, as those of a job in the background are, would be ignored by the
# programs that tests start; those that are caught are not (execve(2)).
for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Twice the processors: tests wait for programs, timers and disks for half of their time."""
    return 2 * (os.cpu_count() or 1)


SMALL = """\
title    = "One small flow"
duration = "3 s"
seed     = 7

[stack]
preset = "ns2-tcp-linux"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "5 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "20 packets" }

[[flow]]
cc = "bic"

[[flow]]
cc    = "cubic"
start = "0.5 s"

[measure]
window = ["1 s", "3 s"]
sample = "100 ms"
"""

SWEEP = (
    SMALL
    + """
[sweep]
repetitions = 2
"flow.0.cc" = ["bic", "htcp"]
"""
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files, so that what is left there is seen."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


def command(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the real command in its own process."""
    return subprocess.run(
        [sys.executable, "-m", "fairway", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=PATIENCE_S,
        check=False,
    )


def summary_of(experiment: dict[str, Any], goodputs: list[float]) -> dict[str, Any]:
    """A summary as the contract has it, with given goodputs."""
    flows = [
        {
            "id": f"{flow['cc']}#{index}",
            "cc": flow["cc"],
            "goodput_bps": goodput,
            "throughput_bps": goodput,
            "sent_segments": 10,
            "retransmitted_segments": 1,
            "lost_segments": 1,
            "dropped_segments": 1,
            "duplicate_segments": 0,
            "window_reductions": 1,
            "timeouts": 0,
            "mean_cwnd_segments": 4.5,
            "mean_srtt_s": 0.02,
            "mean_one_way_delay_s": 0.01,
            "fct_s": None,
            "ctt_s": None,
            "route": None,
        }
        for index, (flow, goodput) in enumerate(zip(experiment["flow"], goodputs, strict=True))
    ]
    link = {
        "id": "bottleneck",
        "utilisation": 0.9,
        "drops": 3,
        "losses": 0,
        "marks": 0,
        "mean_backlog_packets": 2.5,
        "mean_sojourn_s": 0.002,
        "p50_sojourn_s": 0.002,
        "p95_sojourn_s": 0.004,
        "p99_sojourn_s": 0.004,
    }
    metrics = {
        "jain_index": None,
        "asymmetry": (goodputs[0] - goodputs[1]) / sum(goodputs),
        "unfairness": None,
        "utilisation": 0.9,
        "loss_ratio": 0.0,
    }
    return {
        "title": experiment["title"],
        "backend": "scripted",
        "seed": experiment["seed"],
        "wall_s": 0.0,
        "packets": 10,
        "flows": flows,
        "links": [link],
        "metrics": metrics,
    }


def run_of(
    experiment: dict[str, Any], goodputs: list[float], captures: Temporary | None = None
) -> Run:
    """A run with two samples a flow."""
    times = [0.0, 0.0, 0.1, 0.1]
    series = {
        "t_s": times,
        "flow": [0, 1, 0, 1],
        "cwnd_segments": [2.0, 2.0, 4.0, 4.0],
        "ssthresh_segments": [float("nan")] * 4,
        "srtt_s": [float("nan"), 0.02, 0.02, 0.02],
        "pipe_segments": [2.0, 2.0, 4.0, 4.0],
        "goodput_bps": goodputs * 2,
    }
    queues = {
        "t_s": [0.0, 0.1],
        "link": [0, 0],
        "backlog_packets": [0.0, 1.0],
        "backlog_bytes": [0.0, 1000.0],
        "drops": [0, 1],
        "losses": [0, 0],
        "throughput_bps": [1e6, 2e6],
    }
    summary = summary_of(experiment, goodputs)
    ids = [flow["id"] for flow in summary["flows"]]
    return Run(
        experiment=experiment,
        summary=summary,
        series=series_of(series, ids),
        queues=queues_of(queues, ["bottleneck"]),
        version=_core.version(),
        captures=captures,
    )


class ScriptedControl:
    """A control that only remembers that it was cancelled."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    @property
    def fraction(self) -> float:
        return 0.5

    def cancel(self) -> None:
        self.cancelled.set()


class ScriptedBackend:
    """A backend that does what a test tells it to, and counts its runs."""

    name = "scripted"

    def __init__(self, act: Callable[[dict[str, Any], ScriptedControl], Run]) -> None:
        self._act = act
        self.ran: list[str] = []

    def control(self, cores: int = 1) -> ScriptedControl:
        return ScriptedControl()

    def engine(self) -> str:
        return "scripted-1"

    def check(self, experiment: dict[str, Any], algorithms: Algorithms | None = None) -> None:
        return None

    def run(
        self,
        experiment: dict[str, Any],
        control: ScriptedControl,
        algorithms: Algorithms | None = None,
    ) -> Run:
        run = self._act(experiment, control)
        self.ran.append(json.dumps(experiment))
        return run


CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_MS = 1000 * PATIENCE_S


# Of a module, and not of the session: its event loop is in the way of other tests' own.
@pytest.fixture(scope="module")
def browser():
    """Chromium, without a window."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no Chromium here (Debian package chromium), so no report is opened in it")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=BROWSER_MS)

    # Chromium's own sandbox refuses to run as root, which is what containers do.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program, args=arguments, timeout=BROWSER_MS
        )
        yield opened
        opened.close()


@pytest.fixture
def pages(browser):
    """A function that opens a file; what went wrong in it is looked at in the end."""
    wrong = []
    opened = []

    def show(path, at="", **options):
        page = browser.new_page(**options)
        page.set_default_timeout(BROWSER_MS)
        opened.append(page)
        page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
        page.on("console", lambda said: wrong.append(f"console: {said.text}"))
        page.on("request", lambda asked: asked.url.startswith("http") and wrong.append(asked.url))
        page.goto(path.as_uri() + at)
        return page

    yield show
    for page in opened:
        page.close()
    assert wrong == []
