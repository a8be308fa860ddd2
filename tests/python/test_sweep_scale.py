"""Sweeps of many runs: summaries in one file, kill -9, extension, tables for other programs."""

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest

import fairway
from conftest import SWEEP, ScriptedBackend, run_of
from fairway._core import SimulationError
from fairway.backends.sim import Simulator
from fairway.errors import InputError, RunFailed
from fairway.experiment.plan import plan, source_of_experiment
from fairway.ground import store
from fairway.ground.progress import State
from fairway.ground.scratch import Scratch
from fairway.sweep.result import load_sweep
from fairway.sweep.rows import ROWS, read_rows
from fairway.sweep.run import MAX_DIRECTORIES, run_plan

#: A run of it takes about a millisecond.
TINY = """
title = "Tiny"
duration = "100 ms"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "5 Mbit/s"
delay = "5 ms"

[[flow]]
cc = "cubic"

[[flow]]
cc = "reno"

[sweep]
repetitions = 40
"""

KEEPS = ("runs", "summaries")


def tree(directory: Path) -> dict[str, bytes]:
    """Every file below a directory, hidden ones too, by its name."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else b""
        for path in sorted(directory.rglob("*"))
    }


def share(experiment, control):
    return run_of(experiment, [3.0, 1.0] if experiment["flow"][0]["cc"] == "bic" else [1.0, 1.0])


@pytest.mark.parametrize("keep", KEEPS)
def test_any_number_of_threads_gives_the_same_directory(tmp_path, keep):
    for threads in (1, 2):
        fairway.run(TINY, tmp_path / str(threads), threads=threads, keep=keep)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")


def test_what_is_kept_follows_from_the_number_of_runs(tmp_path, monkeypatch):
    assert MAX_DIRECTORIES == 1000
    monkeypatch.setattr("fairway.sweep.run.MAX_DIRECTORIES", 3)
    for repetitions, entries in ((3, 3), (4, 1)):
        out = tmp_path / str(repetitions)
        assert len(fairway.run(TINY.replace("40", str(repetitions)), out)) == repetitions
        assert (out / "points" / ROWS).exists() == (entries == 1)
        assert len(list((out / "points").iterdir())) == entries


def test_a_sweep_of_summaries_reads_back_and_computes_runs_again_when_asked(tmp_path):
    whole = fairway.run(TINY, tmp_path / "whole", keep="runs")
    sweep = fairway.run(TINY, tmp_path / "rows", keep="summaries")
    back = fairway.load(tmp_path / "rows")
    assert back.table.equals(whole.table)
    assert back.summary == sweep.summary == whole.summary
    assert back.outcomes[3].directory is None
    assert back.outcomes[3].point.experiment == whole.outcomes[3].point.experiment
    for again in (sweep.outcomes[3].run, back.outcomes[3].run):
        assert again.series.equals(whole.outcomes[3].run.series)
        assert again.queues.equals(whole.outcomes[3].run.queues)
    names = ("summary.json", "sweep.parquet", "flows.parquet", "links.parquet", "report.html")
    for name in names:
        assert (tmp_path / "rows" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def alike(text, *names):
    """A plan of which each point is there once for each name, which changes nothing in it."""
    planned = plan(text)
    points = [
        replace(point, axes={"scenario": name, **point.axes})
        for name in names
        for point in planned.points
    ]
    return replace(planned, axes=("scenario", *planned.axes), points=tuple(points))


@pytest.mark.parametrize("keep", [None, *KEEPS])
def test_points_that_are_the_same_experiment_run_once(tmp_path, keep):
    backend = ScriptedBackend(share)
    place = tmp_path / "s" if keep else None
    sweep = run_plan(alike(SWEEP, "a", "b", "c"), backend, directory=place, keep=keep)
    # Two algorithms and two repetitions, for each of three names.
    assert (len(sweep), len(backend.ran)) == (12, 4)
    assert sweep.table["scenario"].to_list() == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    assert sweep.table["asymmetry"].to_list() == [0.5, 0.5, 0.0, 0.0] * 3
    for outcome in sweep.outcomes:
        assert outcome.run.experiment == outcome.point.experiment
    if keep:  # a further name copies what is there
        backend.ran.clear()
        more = run_plan(alike(SWEEP, "a", "d"), backend, directory=place, keep=keep)
        assert (len(more), backend.ran) == (8, [])


@pytest.mark.parametrize("keep", KEEPS)
def test_what_ran_once_is_kept_as_if_each_had_been_run(tmp_path, keep):
    text = TINY.replace("40", "2")
    run_plan(alike(text, "a", "b"), Simulator(), directory=tmp_path / "both", keep=keep)
    for name in ("a", "b"):
        run_plan(alike(text, name), Simulator(), directory=tmp_path / name, keep=keep)
    both, a, b = (tree(tmp_path / name) for name in ("both", "a", "b"))
    assert both == {**a, **b}
    if keep == "runs":
        assert len({name.split("/")[1] for name in both if name.startswith("points/")}) == 4


def test_what_fails_once_fails_for_all_that_are_the_same(tmp_path):
    def fails(experiment, control):
        if experiment["flow"][0]["cc"] == "htcp":
            raise SimulationError("3 packets in, 2 out")
        return share(experiment, control)

    with pytest.raises(RunFailed, match="4 of 8 runs failed"):
        run_plan(alike(SWEEP, "a", "b"), ScriptedBackend(fails), directory=tmp_path / "s")
    assert len(list((tmp_path / "s" / "points").iterdir())) == 4


@pytest.mark.parametrize("keep", KEEPS)
def test_an_extended_sweep_runs_what_is_missing_and_no_more(tmp_path, keep):
    backend = ScriptedBackend(share)
    place = tmp_path / "s"

    def runs_of(changes, **sweep):
        before = len(backend.ran)
        planned = plan(SWEEP, overrides=changes)
        found = run_plan(planned, backend, directory=place, keep=keep, **sweep)
        return len(backend.ran) - before, found

    assert runs_of({})[0] == 4  # 2 algorithms × 2 repetitions
    assert runs_of({"sweep.repetitions": 3})[0] == 2
    count, longer = runs_of({"sweep.repetitions": 3, "flow.0.cc": ["cubic", "htcp", "bic"]})
    assert count == 3
    # In the order that is asked for, whatever was there first.
    expected = [cc for cc in ("cubic", "htcp", "bic") for _ in range(3)]
    assert longer.table["flow.0.cc"].to_list() == expected
    # What is left out for once is still there afterwards.
    assert runs_of({"flow.0.cc": ["bic"]})[0] == 0
    assert runs_of({"sweep.repetitions": 3, "flow.0.cc": ["htcp", "bic", "cubic"]})[0] == 0
    # Other axes of the same values, another seed: other runs.
    assert runs_of({"seed": 99})[0] == 4


@pytest.mark.parametrize("keep", KEEPS)
def test_results_of_another_version_or_program_are_not_taken(tmp_path, monkeypatch, keep):
    backend = ScriptedBackend(share)
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep=keep)
    backend.engine = lambda: "scripted-2"
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep=keep)
    assert len(backend.ran) == 8
    monkeypatch.setattr(fairway._core, "version", lambda: "9.9.9")
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep=keep)
    assert len(backend.ran) == 12
    monkeypatch.undo()
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep=keep)
    assert len(backend.ran) == 12  # both versions are there


def test_whole_runs_that_are_there_are_taken_for_summaries_and_not_the_other_way(tmp_path):
    backend = ScriptedBackend(share)
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep="runs")
    mixed = run_plan(
        plan(SWEEP, overrides={"sweep.repetitions": 3}), backend, directory=tmp_path / "s",
        keep="summaries",
    )  # fmt: skip
    assert len(backend.ran) == 6
    mixed.save_overview(tmp_path / "s")
    assert load_sweep(tmp_path / "s").table.equals(mixed.table)
    run_plan(
        plan(SWEEP, overrides={"sweep.repetitions": 3}), backend, directory=tmp_path / "s",
        keep="runs",
    )  # fmt: skip
    assert len(backend.ran) == 8


#: Kills itself, as nothing can be done about, as soon as so many runs are done.
KILLED = """
import os, signal, sys, threading
import fairway.sweep.executor as executor
from fairway.backends.sim import Simulator
from fairway.experiment.plan import plan
from fairway.ground.progress import Silent
from pathlib import Path

class Killer(Silent):
    def update(self, state):
        if state.done >= 10:
            os.kill(os.getpid(), signal.SIGKILL)

class Few(Simulator):
    ran = 0

    def run(self, *arguments):
        if self.ran == 10:
            threading.Event().wait()  # until it is killed
        self.ran += 1
        return super().run(*arguments)

executor._COMMIT_S = 0.0  # so that some of them are on disk
from fairway.sweep.run import run_plan
run_plan(plan(Path(sys.argv[1])), Few(), directory=Path(sys.argv[2]), keep=sys.argv[3],
         progress=Killer(), threads=1)
"""


@pytest.mark.parametrize("keep", KEEPS)
def test_kill_9_loses_no_finished_run_and_leaves_nothing_behind(tmp_path, keep):
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)
    source = source_of_experiment("run", file, {}, "sim")
    fairway.run(file, tmp_path / "whole", keep=keep)
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, file, tmp_path / "killed", keep], check=False
        )
        assert ended.returncode == -signal.SIGKILL
        with pytest.raises(InputError, match="no finished sweep"):
            load_sweep(tmp_path / "killed")
    found = []

    class Watch(fairway.ground.progress.Silent):
        def update(self, state: State) -> None:
            found.append(state.found)

    backend = fairway.backends.backend("sim")
    sweep = run_plan(
        plan(file), backend, directory=tmp_path / "killed", keep=keep, progress=Watch(),
        source=source,
    )  # fmt: skip
    assert 10 <= found[-1] <= 20
    sweep.save_overview(tmp_path / "killed")
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")


def test_a_line_that_was_cut_off_is_no_result(tmp_path):
    backend = ScriptedBackend(share)
    done = run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep="summaries")
    rows = read_rows(tmp_path / "s" / "points")
    shutil.rmtree(tmp_path / "s")
    store.mark(tmp_path / "s", "sweep")
    left = tmp_path / "s" / "points" / ".partial-died"
    left.mkdir(parents=True)
    lines = [
        json.dumps([key, row.engine, json.loads(row.experiment), json.loads(row.summary)])
        for key, row in rows.items()
    ]
    foreign = ["3", "[]", '["a", 1, {}, {}]', "\x00\x00", "null"]
    (left / ".lock").touch()
    (left / "journal.jsonl").write_text("\n".join([*foreign, *lines])[:-20])
    again = run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep="summaries")
    assert len(backend.ran) == 4 + 1
    assert again.table.equals(done.table)
    assert [path.name for path in (tmp_path / "s" / "points").iterdir()] == [ROWS]


def test_a_failing_run_among_summaries_leaves_the_others_for_the_next_time(tmp_path):
    broken = True

    def fails_once(experiment, control):
        if broken and experiment["flow"][0]["cc"] == "htcp" and experiment["seed"] == 7:
            raise SimulationError("at 1.5 s: link bottleneck: 3 packets in, 2 out")
        return share(experiment, control)

    backend = ScriptedBackend(fails_once)
    with pytest.raises(RunFailed, match="1 of 4 runs failed"):
        run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep="summaries")
    broken = False
    assert len(run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep="summaries")) == 4
    assert len(backend.ran) == 4


def test_damaged_rows_are_named(tmp_path):
    fairway.run(TINY, tmp_path / "s", keep="summaries")
    (tmp_path / "s" / "points" / ROWS).write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"summaries.parquet.*run it again"):
        load_sweep(tmp_path / "s")
    assert len(fairway.run(TINY, tmp_path / "s", keep="summaries")) == 40


@pytest.mark.parametrize("damage", ["summary", "type", "null"])
def test_rows_that_somebody_changed_are_run_again(tmp_path, damage):
    backend = ScriptedBackend(share)
    done = run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep="summaries")
    path = tmp_path / "s" / "points" / ROWS
    rows = pl.read_parquet(path)
    is_first = pl.int_range(pl.len()) == 0
    changed = {
        "summary": pl.when(is_first).then(pl.lit('{"flows": 3}')).otherwise("summary"),
        "type": pl.lit(3),
        "null": pl.when(is_first).then(None).otherwise("summary"),
    }[damage]
    rows.with_columns(summary=changed).write_parquet(path)
    again = run_plan(plan(SWEEP), backend, directory=tmp_path / "s", keep="summaries")
    assert len(backend.ran) == 4 + (1 if damage == "summary" else 4)
    assert again.summary == done.summary


def test_two_sweeps_at_once_keep_the_rows_of_both(tmp_path):
    """The second one ends while the first one runs."""
    other = ScriptedBackend(share)
    second = []

    def during(experiment, control):
        if not second:
            second.append(run_plan(plan(SWEEP, overrides={"seed": 99}), other,
                                   directory=tmp_path / "s", keep="summaries"))  # fmt: skip
        return share(experiment, control)

    run_plan(plan(SWEEP), ScriptedBackend(during), directory=tmp_path / "s", keep="summaries",
             threads=1)  # fmt: skip
    assert len(read_rows(tmp_path / "s" / "points")) == 8
    assert [path.name for path in (tmp_path / "s" / "points").iterdir()] == [ROWS]


#: Runs a sweep where no file may grow beyond so many bytes, as on a disk that is full.
FULL = """
import resource, sys
from fairway.cli.main import guarded
sys.dont_write_bytecode = True  # Python 3.11 takes modules of which it could write a part
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(guarded(["run", *sys.argv[2:]]))
"""


@pytest.mark.parametrize(("keep", "most"), [("runs", 2000), ("summaries", 20_000)])
def test_a_full_disk_is_told_and_what_was_kept_is_there_afterwards(tmp_path, keep, most):
    (tmp_path / "tiny.toml").write_text(TINY)
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(most), "tiny.toml", "--out", "s", "--keep", keep],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    assert "cannot write" in ended.stderr and "Traceback" not in ended.stderr
    assert "Error" not in ended.stderr
    fairway.run(tmp_path / "tiny.toml", tmp_path / "s", keep=keep)
    fairway.run(tmp_path / "tiny.toml", tmp_path / "whole", keep=keep)
    assert tree(tmp_path / "s") == tree(tmp_path / "whole")


def test_what_a_living_process_has_not_finished_is_left_to_it(tmp_path):
    mine = Scratch(tmp_path)
    (mine.path / "half").mkdir()
    code = f"""
from pathlib import Path
from fairway.ground.scratch import Scratch
other = Scratch(Path({str(tmp_path)!r}))
other.clear(lambda left: True)
print(other.path.name, flush=True)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        theirs = tmp_path / other.stdout.readline().strip()
        assert (mine.path / "half").is_dir()
        mine.clear(lambda _: True)
        assert theirs.is_dir()
        other.kill()
        other.wait()
    seen = []
    # Without a lock file: it died before it made one.
    (tmp_path / ".partial-early").mkdir()
    mine.clear(lambda left: seen.append(left.name) or left == theirs)
    assert seen == [theirs.name]
    assert not theirs.exists()
    mine.let_go()
    assert list(tmp_path.iterdir()) == []


def test_duckdb_polars_and_pandas_open_the_tables(tmp_path):
    text = TINY.replace("40", '3\n"flow.0.cc" = ["bic", "htcp"]')
    sweep = fairway.run(text, tmp_path / "s")
    for name, rows in (("sweep", 6), ("flows", 12), ("links", len(sweep.links))):
        path = tmp_path / "s" / f"{name}.parquet"
        frame = pl.read_parquet(path)
        assert frame.height == rows
        assert pd.read_parquet(path).shape == frame.shape
        counted = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchone()
        assert counted == (rows,)
    # Every flow's goodput stands where its run does.
    query = f"""
        SELECT "flow.0.cc", repetition, sum(goodput_bps) AS goodput
        FROM '{tmp_path}/s/flows.parquet' GROUP BY ALL
    """
    summed = {(cc, repetition): goodput for cc, repetition, goodput in duckdb.sql(query).fetchall()}
    for row in sweep.table.iter_rows(named=True):
        both = summed[row["flow.0.cc"], row["repetition"]]
        assert both == pytest.approx(row["goodput_bps"])


def test_progress_tells_speed_and_the_time_that_is_left_of_what_was_not_there_before():
    # 10 of 110 were there; 50 of the other 100 took 5 s, 0.2 s of simulated time each.
    state = State(done=60, total=110, found=10, simulated_s=10.0)
    assert state.speed(5.0) == "10 runs/s, 2 simulated s/s"
    assert state.remaining_s(5.0) == pytest.approx(5.0)
    assert state.fraction == pytest.approx(60 / 110)
    assert State(done=60, total=110, found=60).remaining_s(5.0) is None
    assert State(done=11, total=110, found=10).speed(5.0) == ""
