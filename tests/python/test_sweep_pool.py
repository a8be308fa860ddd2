"""Sweeps whose runs are simulated without the interpreter."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

import fairway
from fairway import _core
from fairway.errors import InputError, Interrupted, RunFailed, SimulationError
from fairway.experiment.plan import plan
from fairway.ground import store
from fairway.ground.progress import Silent
from fairway.sweep.pool import Pool, suits
from fairway.sweep.rows import ROWS, Rows, read_rows
from fairway.sweep.run import run_plan
from fairway.sweep.storage import Answer
from test_sweep_scale import TINY, tree

#: Runs that differ: packets are lost at random. Flows of TCP have ns-3's counters, one has none.
MIXED = """
title = "Mixed ü"
duration = "100 ms"

[stack]
preset = "ns3-3.29"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "5 Mbit/s"
delay = "5 ms"
loss = { probability = 0.02 }

[[flow]]
cc = "cubic"

[[flow]]
cc = "reno"

[[flow]]
kind = "cbr"
rate = "200 kbit/s"
packet = "228 bytes"

[sweep]
repetitions = 5
"topology.bottleneck.rate" = ["1 Mbit/s", "5 Mbit/s"]
"""


class Stops(Silent):
    """Presses Ctrl-C once so many runs are done."""

    def __init__(self, after):
        self._after = after

    def update(self, state):
        if state.done >= self._after:
            raise KeyboardInterrupt


def by_interpreter(monkeypatch):
    """Let the interpreter call the simulator for each run, as for an algorithm in Python."""
    monkeypatch.setattr("fairway.sweep.run.suits", lambda *_: False)


@pytest.mark.parametrize("text", [TINY, MIXED])
def test_the_same_bytes_as_runs_that_the_interpreter_starts(tmp_path, monkeypatch, text):
    fairway.run(text, tmp_path / "pool", keep="summaries", threads=2)
    by_interpreter(monkeypatch)
    fairway.run(text, tmp_path / "one", keep="summaries", threads=2)
    assert tree(tmp_path / "pool") == tree(tmp_path / "one")
    # Tables of whole runs are made from their summaries too.
    fairway.run(text, tmp_path / "runs", keep="runs")
    for name in ("summary.json", "sweep.parquet", "flows.parquet", "links.parquet", "report.html"):
        assert (tmp_path / "runs" / name).read_bytes() == (tmp_path / "pool" / name).read_bytes()


def test_files_are_as_json_and_the_run_say_them(tmp_path):
    sweep = fairway.run(MIXED, tmp_path / "s", keep="summaries")
    manifest = json.loads((tmp_path / "s" / store.MANIFEST).read_text())
    assert (tmp_path / "s" / store.MANIFEST).read_text() == store.to_json(manifest)
    written = (tmp_path / "s" / "summary.json").read_text()
    summary = json.loads(written)
    assert summary["points"] == sweep.summary["points"]
    lines = [line.strip().rstrip(",") for line in written.splitlines()]
    for point in summary["points"]:
        assert json.dumps(point, ensure_ascii=False) in lines
    for outcome, row in zip(
        sweep.outcomes, read_rows(tmp_path / "s" / "points").items(), strict=True
    ):
        content_hash, kept = row
        document = outcome.point.experiment
        assert content_hash == store.content_hash(document, "sim", _core.version())
        assert content_hash == store.content_hash(_core.Planned(document), "sim", _core.version())
        assert json.loads(kept.experiment) == document
        again = outcome.run.summary
        again.pop("wall_s")
        assert again == outcome.summary


def test_what_was_finished_before_an_interruption_is_kept(tmp_path):
    planned = plan(TINY, overrides={"sweep.repetitions": 2000})
    with pytest.raises(Interrupted, match="of 2000 runs finished and kept in"):
        run_plan(
            planned, fairway.backends.backend("sim"), directory=tmp_path / "s", threads=2,
            progress=Stops(300),
        )  # fmt: skip
    progress = []

    class Watches(Silent):
        def update(self, state):
            progress.append(state)

    run_plan(planned, fairway.backends.backend("sim"), directory=tmp_path / "s", progress=Watches())
    assert 300 <= progress[0].found < 2000
    run_plan(planned, fairway.backends.backend("sim"), directory=tmp_path / "whole", threads=1)
    assert (tmp_path / "s" / "points" / ROWS).read_bytes() == (
        tmp_path / "whole" / "points" / ROWS
    ).read_bytes()


def simulated(planned, directory):
    return run_plan(
        planned, fairway.backends.backend("sim"), directory=directory, keep="summaries", threads=1
    )


def test_an_experiment_that_the_simulator_refuses_ends_the_sweep(tmp_path):
    planned = plan(TINY, overrides={"sweep.repetitions": 3})
    wrong = replace(planned.points[2], asked={**planned.points[2].experiment, "duration": "long"})
    with pytest.raises(InputError, match="duration"):
        simulated(replace(planned, points=(*planned.points[:2], wrong)), tmp_path / "s")
    assert len(simulated(planned, tmp_path / "s")) == 3


def test_of_a_run_that_fails_the_others_are_kept(tmp_path, monkeypatch):
    class Fails:
        """Fails at the second run."""

        def __init__(self, experiments, threads):
            self._pool = _core.Pool(experiments, threads)
            self.add = self._pool.add
            self.fraction, self.stop = self._pool.fraction, self._pool.stop

        def finished(self, timeout_s):
            return [
                (place, SimulationError("3 packets in, 2 out") if place == 1 else result)
                for place, result in self._pool.finished(timeout_s)
            ]

    planned = plan(TINY, overrides={"sweep.repetitions": 4})
    with monkeypatch.context() as patched:
        patched.setattr("fairway.sweep.pool._core", SimpleNamespace(Pool=Fails))
        with pytest.raises(RunFailed, match="1 of 4 runs failed\nrepetition 1: 3 packets in"):
            simulated(planned, tmp_path / "s")
    found = []

    class Watches(Silent):
        def update(self, state):
            found.append(state.found)

    run_plan(
        planned, fairway.backends.backend("sim"), directory=tmp_path / "s", keep="summaries",
        progress=Watches(),
    )  # fmt: skip
    assert set(found) == {3}


def test_metrics_that_are_asked_for_are_of_the_same_runs(tmp_path):
    names = ["flow.0.mean_srtt_s", "jain_index", "largest_reduction"]
    sweep = fairway.run(MIXED, tmp_path / "s", keep="summaries", metrics=names)
    alone = [fairway.run(outcome.experiment) for outcome in sweep.outcomes]
    for name in names:
        expected = [
            fairway.metrics.measure(run.summary, name, lambda run=run: run) for run in alone
        ]
        assert sweep.table[name].to_list() == expected


def test_what_needs_the_interpreter_keeps_its_own_way():
    backend = fairway.backends.backend("sim")
    points = plan(TINY, overrides={"capture.at": "hosts", "sweep.repetitions": 2}).points
    answer = Answer(backend, plan(TINY).algorithms, _core.version())
    assert suits(answer, plan(TINY).points)
    assert not suits(answer, points)


def test_no_runs_at_all_are_finished_at_once(tmp_path):
    answer = Answer(fairway.backends.backend("sim"), plan(TINY).algorithms, _core.version())
    rows = Rows(tmp_path, answer)
    workers = Pool(rows, 2)
    workers.start([{}])
    assert (workers.finished(60.0), workers.fraction()) == ([], 0.0)
    workers.close()
    rows.close(None)
