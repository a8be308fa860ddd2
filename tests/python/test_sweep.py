"""Sweeps: spread, kept, interrupted and resumed."""

import _thread
import errno
import threading

import polars as pl
import pytest

import fairway
from conftest import SWEEP, ScriptedBackend, run_of
from fairway._core import Cancelled, SimulationError
from fairway.errors import InputError, Interrupted, RunFailed
from fairway.experiment.plan import plan
from fairway.ground import store
from fairway.sweep.result import load_sweep
from fairway.sweep.run import run_plan
from waiting import PATIENCE_S, until


def share(experiment, control):
    """A run in which bic has three quarters, whatever else."""
    return run_of(experiment, [3.0, 1.0] if experiment["flow"][0]["cc"] == "bic" else [1.0, 1.0])


def test_outcomes_keep_the_order_of_the_file_whatever_finishes_first(tmp_path):
    planned = plan(SWEEP)

    def first_last(experiment, control):
        if experiment == planned.points[0].experiment:
            until(lambda: len(backend.ran) == 3)
        return share(experiment, control)

    backend = ScriptedBackend(first_last)
    sweep = run_plan(planned, backend, directory=tmp_path / "s", threads=4)
    assert sweep.table["flow.0.cc"].to_list() == ["bic", "bic", "htcp", "htcp"]
    assert sweep.table["repetition"].to_list() == [0, 1, 0, 1]
    assert sweep.table["asymmetry"].to_list() == [0.5, 0.5, 0.0, 0.0]


def test_seeds_as_an_axis_are_a_column_beside_those_of_the_runs(tmp_path):
    text = SWEEP.replace('"flow.0.cc" = ["bic", "htcp"]', "seed = [5, 7]")
    sweep = run_plan(plan(text), ScriptedBackend(share), directory=tmp_path / "s")
    # Repetition 0 has the experiment's own seed.
    for table in (sweep.table, sweep.flows):
        rows = table.unique(["experiment_seed", "repetition"], maintain_order=True)
        assert rows["experiment_seed"].to_list() == [5, 5, 7, 7]
        seeds = rows["seed"].to_list()
        assert (seeds[0], seeds[2], len(set(seeds))) == (5, 7, 4)


def test_a_finished_sweep_is_not_run_again(tmp_path):
    backend = ScriptedBackend(share)
    first = run_plan(plan(SWEEP), backend, directory=tmp_path / "s")
    assert len(backend.ran) == 4
    second = run_plan(plan(SWEEP), backend, directory=tmp_path / "s")
    assert len(backend.ran) == 4
    assert second.table.equals(first.table)
    # More repetitions run only what is new: 2 algorithms × 1 more.
    run_plan(plan(SWEEP, overrides={"sweep.repetitions": 3}), backend, directory=tmp_path / "s")
    assert len(backend.ran) == 6


def test_a_damaged_point_is_run_again(tmp_path):
    backend = ScriptedBackend(share)
    first = run_plan(plan(SWEEP), backend, directory=tmp_path / "s")
    (first.outcomes[1].directory / "summary.json").write_text("{}")
    second = run_plan(plan(SWEEP), backend, directory=tmp_path / "s")
    assert len(backend.ran) == 5
    assert second.table.equals(first.table)


def test_another_build_of_the_program_runs_everything_again(tmp_path):
    backend = ScriptedBackend(share)
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s")
    backend.engine = lambda: "scripted-2"
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s")
    assert len(backend.ran) == 8


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    started = threading.Event()

    def stuck_on_htcp(experiment, control):
        if experiment["flow"][0]["cc"] == "htcp":
            started.set()
            assert control.cancelled.wait(PATIENCE_S), "was never cancelled"
            raise Cancelled
        return share(experiment, control)

    def press_ctrl_c():
        started.wait(PATIENCE_S)
        _thread.interrupt_main()

    threading.Thread(target=press_ctrl_c).start()
    with pytest.raises(Interrupted, match=r"2 of 4 runs finished.*same command"):
        run_plan(plan(SWEEP), ScriptedBackend(stuck_on_htcp), directory=tmp_path / "s", threads=1)
    assert len(list((tmp_path / "s" / "points").iterdir())) == 2
    # Nothing passes for a finished sweep.
    with pytest.raises(InputError):
        load_sweep(tmp_path / "s")
    backend = ScriptedBackend(share)
    assert len(run_plan(plan(SWEEP), backend, directory=tmp_path / "s")) == 4
    assert len(backend.ran) == 2


def test_a_failing_point_does_not_stop_the_others(tmp_path):
    def fails_once(experiment, control):
        if experiment["flow"][0]["cc"] == "htcp" and experiment["seed"] == 7:
            raise SimulationError("at 1.5 s: link bottleneck: 3 packets in, 2 out")
        return share(experiment, control)

    with pytest.raises(RunFailed, match=r"1 of 4 runs failed\nflow.0.cc = htcp.*3 packets in"):
        run_plan(plan(SWEEP), ScriptedBackend(fails_once), directory=tmp_path / "s")
    assert len(list((tmp_path / "s" / "points").iterdir())) == 3


def test_a_full_disk_stops_the_sweep(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(store, "flush_file_system", full)
    backend = ScriptedBackend(share)
    with pytest.raises(InputError, match="disk is full"):
        run_plan(plan(SWEEP), backend, directory=tmp_path / "s", threads=1)
    assert list((tmp_path / "s" / "points").iterdir()) == []


def test_an_unwritable_directory_is_found_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    backend = ScriptedBackend(share)
    with pytest.raises(InputError):
        run_plan(plan(SWEEP), backend, directory=tmp_path / "file" / "s")
    assert backend.ran == []


def test_a_sweep_directory(sweep_file, tmp_path):
    sweep = fairway.run(sweep_file, tmp_path / "s")
    names = {p.name for p in (tmp_path / "s").iterdir()}
    assert names - {".commit"} == {
        ".fairway", "points", "manifest.json", "summary.json", "report.html",
        "sweep.parquet", "flows.parquet", "links.parquet",
    }  # fmt: skip
    table = pl.read_parquet(tmp_path / "s" / "sweep.parquet")
    assert table.equals(sweep.table)
    assert table.height == 4
    back = fairway.load(tmp_path / "s")
    assert back.table.equals(sweep.table)
    assert back.outcomes[2].run.experiment["flow"][0]["cc"] == "htcp"


def test_one_and_two_threads_give_the_same_bytes(sweep_file, tmp_path):
    for threads in (1, 2):
        fairway.run(sweep_file, tmp_path / str(threads), threads=threads)
    one, two = ({p.relative_to(tmp_path / n): p.read_bytes()
                 for p in (tmp_path / n).rglob("*.parquet")} for n in ("1", "2"))  # fmt: skip
    assert len(one) == 15  # 4 points of 3 tables, and three of the sweep
    assert one == two
