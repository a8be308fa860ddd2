"""Runs on a kernel: what it has left becomes a run like any other."""

from __future__ import annotations

import dataclasses
import gc
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import fairway
from conftest import command
from fairway import _core, backends
from fairway.backends.linux import backend, cache
from fairway.backends.linux.backend import Linux
from fairway.errors import InputError, RunFailed
from fairway.ground import result_schema, store
from fairway.sweep.result import Sweep
from fake_kernels import assert_nothing_left, fake_kernel, write_records

EXPERIMENT = """
title = "On a kernel"
duration = "4 s"
seed = 5

[linux]
network = "tc"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "5 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "20 packets" }

[[flow]]
cc = "cubic"

[[flow]]
cc = "reno"

[measure]
window = ["1 s", "3 s"]
sample = "1 s"
"""
#: Copies records that a test has written.
COPY = 'cp -r "$RECORDS"/. "$dir"\n'


@pytest.fixture
def recorded(tmp_path, temporary, monkeypatch):
    """A kernel that has the records of two flows and two queues ready."""
    records = tmp_path / "records"
    write_records(records, flows=2, queues=2, samples=4)
    fake_kernel(tmp_path / "k", COPY.replace("$RECORDS", str(records)), monkeypatch)
    return records


def test_records_become_a_run(recorded, temporary):
    run = fairway.run(EXPERIMENT, backend="linux")
    assert (run.backend, run.seed, run.title) == ("linux", 5, "On a kernel")
    assert run.summary["kernel"] == {
        "release": "0.1",
        "virtual_time": True,
        "repeatable": True,
        "watched": True,
        "unseen_packets": 0,
        "broken_connections": [],
    }
    assert run.warnings == []
    # 250 kB in the two seconds of the window; windows of 11, 12 and 13 segments sampled in it.
    flow = run.summary["flows"][1]
    assert (flow["id"], flow["goodput_bps"]) == ("reno#1", 1e6)
    assert (flow["mean_cwnd_segments"], flow["mean_srtt_s"]) == (12.0, 0.02)
    assert [link["id"] for link in run.summary["links"]] == ["bottleneck", "bottleneck/reverse"]
    assert run.summary["links"][0]["drops"] == 4
    assert run.series.schema == pl.Schema(result_schema.frame("series"))
    assert run.series["cwnd_segments"].to_list() == [11, 11, 12, 12, 13, 13, 14, 14]
    assert run.series["ssthresh_segments"].null_count() == 8
    assert_nothing_left(temporary)


def test_memory_placed_at_random_is_told(recorded):
    (recorded / "aslr").write_text("Operation not permitted")
    (warning,) = fairway.run(EXPERIMENT, backend="linux").warnings
    assert "memory at random (personality: Operation not permitted)" in warning


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Out of memory: Killed process 29 (tail) total-vm:2900kB, anon-rss:9kB",
            "the kernel ran out of memory and killed tail; `memory` in [linux] gives it more",
        ),
        (
            "UML ran out of memory on the host side! This can happen due to a memory limitation",
            "sysctl vm.max_map_count=1048576",
        ),
    ],
)
def test_a_process_that_was_killed_for_its_memory_is_told(
    recorded, tmp_path, monkeypatch, line, expected
):
    script = f'{COPY.replace("$RECORDS", str(recorded))}echo "{line}"; echo "{line}"\n'
    fake_kernel(tmp_path / "k", script, monkeypatch)
    (warning,) = fairway.run(EXPERIMENT, backend="linux").warnings
    assert warning.endswith(expected)


def test_tcp_info_has_every_field_and_nulls_for_later_ones(recorded):
    run = fairway.run(EXPERIMENT, backend="linux")
    assert run.tcp_info.schema == pl.Schema(result_schema.frame("tcp_info"))
    assert run.tcp_info["flow"].to_list() == ["cubic#0", "reno#1"] * 4
    assert run.tcp_info["snd_cwnd_segments"].to_list() == [11, 11, 12, 12, 13, 13, 14, 14]
    assert run.tcp_info["rtt_s"].unique().to_list() == [0.02]
    assert run.tcp_info["snd_wnd_bytes"].null_count() == 0
    assert run.tcp_info["rcv_wnd_bytes"].null_count() == 8  # not in Linux 6.1


def test_a_run_is_kept_with_tcp_info_and_captures(recorded, tmp_path, temporary):
    (recorded / "pcap").mkdir()
    (recorded / "pcap" / "r1.r2.pcap").write_bytes(b"packets")
    run = fairway.run(EXPERIMENT, tmp_path / "out", backend="linux")
    again = fairway.load(tmp_path / "out")
    assert again.tcp_info.equals(run.tcp_info)
    assert (again.captures / "r1.r2.pcap").read_bytes() == b"packets"
    assert again.summary == run.summary
    again.save(tmp_path / "copy", report=False)
    assert (tmp_path / "copy" / "captures" / "r1.r2.pcap").is_file()
    assert run.captures == tmp_path / "out" / "captures"
    assert_nothing_left(temporary)


def test_captures_of_a_run_in_memory_go_with_it(recorded, temporary):
    (recorded / "pcap").mkdir()
    (recorded / "pcap" / "r1.r2.pcap").write_bytes(b"packets")
    run = fairway.run(EXPERIMENT, backend="linux")
    assert (run.captures / "r1.r2.pcap").is_file()
    del run
    gc.collect()
    assert_nothing_left(temporary)


def test_a_simulated_run_has_neither(tmp_path, small):
    run = fairway.run(small, tmp_path / "out")
    assert run.tcp_info is None and run.captures is None
    again = fairway.load(tmp_path / "out")
    assert again.tcp_info is None and again.captures is None


def test_damaged_records_are_told(recorded, temporary):
    with (recorded / "flows.bin").open("ab") as file:
        file.write(b"half a record")
    with pytest.raises(RunFailed, match=r"flows\.bin: damaged record of the run: it ends within"):
        fairway.run(EXPERIMENT, backend="linux")
    assert_nothing_left(temporary)


def change_totals(recorded, flow=None, **changes):
    """Change what the guest has said of the run, and of its second flow."""
    totals = json.loads((recorded / "totals.json").read_text()) | changes
    totals["flows"][1] |= flow or {}
    (recorded / "totals.json").write_text(json.dumps(totals))


def test_a_guest_that_cannot_work_a_connection_has_failed(recorded):
    change_totals(recorded, {"error": "source: Cannot allocate memory"})
    with pytest.raises(RunFailed, match=r"flow reno#1: .*source: Cannot allocate memory"):
        fairway.run(EXPERIMENT, backend="linux")


GIVEN_UP = {"at_ns": 2_500_000_000, "end": "source", "errno": "ETIMEDOUT"}


def test_a_connection_that_was_given_up_is_told_and_counts(recorded, tmp_path):
    change_totals(recorded, {"given_up": GIVEN_UP})
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    done = command("run", tmp_path / "x.toml", "--backend", "linux", "--out", tmp_path / "out")
    told = (
        "flow reno#1: the kernel gave its connection up at 2.500 s (ETIMEDOUT at the source); it "
        "was established at 0.020 s"
    )
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == f"Warning: {told}"
    run = fairway.load(tmp_path / "out")
    assert run.warnings == [told]
    assert run.summary["flows"][1]["goodput_bps"] == 1e6
    assert run.summary["kernel"]["broken_connections"] == [
        {"flow": "reno#1", "established_s": 0.02, "given_up_s": 2.5, "end": "source",
         "errno": "ETIMEDOUT"},
    ]  # fmt: skip
    assert f"Warning: {told}." in (tmp_path / "out" / "report.html").read_text()


def test_what_a_kernel_leaves_out_is_warned_of(recorded):
    change_totals(recorded, {"established_ns": None}, states_told=False, unseen_packets=7)
    assert fairway.run(EXPERIMENT, backend="linux").warnings == [
        "7 packets went by unseen: what is counted packet by packet is too low by as many",
        "Linux 0.1 was built without its trace events: window_reductions and timeouts are not "
        "counted, and are 0",
        "flow reno#1: its connection was not established by the end of the run",
    ]


def test_of_many_broken_connections_some_are_named():
    broken = [
        {"flow": f"f{n}", "established_s": None, "given_up_s": None, "end": None, "errno": None}
        for n in range(13)
    ]
    sentences = backend.of_connections(broken)
    assert len(sentences) == 11
    assert sentences[-1] == "3 more connections were never established, or were given up"


def test_a_sweep_says_in_how_many_runs(recorded, tmp_path):
    change_totals(recorded, {"established_ns": None, "given_up": GIVEN_UP})
    told = "flow reno#1: its connection was never established; the kernel gave up at 2.500 s"
    sweep = fairway.run(SWEEP, tmp_path / "out", backend="linux", threads=2)
    # The traces are the same for each seed, which is said too.
    assert [warning.partition(" (")[0] for warning in sweep.warnings][:-1] == [told]
    assert sweep.warnings[-1].startswith("every repetition is the same run")
    some = [dataclasses.replace(outcome, recorded={**outcome.summary, "warnings": []})
            for outcome in sweep.outcomes[1:]]  # fmt: skip
    mixed = Sweep(sweep.title, sweep.axes, [sweep.outcomes[0], *some], sweep.version)
    assert mixed.warnings[0].startswith(f"in 1 of 4 runs: {told}")


SWEEP = EXPERIMENT + '\n[sweep]\nrepetitions = 2\n"flow.0.cc" = ["cubic", "bic"]\n'


def test_a_sweep_runs_two_kernels_at_once_and_is_found_again(recorded, tmp_path, temporary):
    sweep = fairway.run(SWEEP, tmp_path / "out", backend="linux", threads=2)
    assert [outcome.summary["flows"][0]["cc"] for outcome in sweep.outcomes] == [
        *("cubic", "cubic", "bic", "bic"),
    ]
    shutil.rmtree(recorded)  # a kernel would fail now
    again = fairway.run(SWEEP, tmp_path / "out", backend="linux", threads=2)
    assert again.summary == sweep.summary
    assert_nothing_left(temporary)


def test_another_kernel_computes_again(recorded, tmp_path, monkeypatch):
    before = Linux().engine()
    assert Linux().engine() == before
    fake_kernel(tmp_path / "other", "exit 1\n", monkeypatch)
    assert Linux().engine() != before


def test_of_a_sweep_one_failure_leaves_the_others(recorded, tmp_path, monkeypatch):
    script = f'if [ "$FAIRWAY_SEED" = 5 ]; then exit 9; fi\ncp -r "{recorded}"/. "$dir"\n'
    fake_kernel(tmp_path / "k", script, monkeypatch)
    with pytest.raises(RunFailed) as caught:
        fairway.run(SWEEP, tmp_path / "out", backend="linux", threads=2)
    assert str(caught.value).startswith("2 of 4 runs failed")
    assert "exit code 9" in str(caught.value)
    kept = list((tmp_path / "out" / store.POINTS).iterdir())
    assert len(kept) == 2


def test_no_kernel_is_told_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.delenv("FAIRWAY_KERNEL", raising=False)
    monkeypatch.setattr(cache, "find", lambda *_: None)
    with pytest.raises(InputError, match="`fairway linux build` makes one") as caught:
        fairway.run(EXPERIMENT, backend="linux")
    assert caught.value.exit_code == 2


def test_what_is_no_kernel_ends_with_code_2(tmp_path, monkeypatch):
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    monkeypatch.setenv("FAIRWAY_KERNEL", str(tmp_path / "nowhere"))
    done = command("run", tmp_path / "x.toml", "--backend", "linux")
    assert done.returncode == 2, done.stderr


def test_a_kernel_that_fails_ends_with_code_1(tmp_path, temporary, monkeypatch):
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    fake_kernel(tmp_path / "k", 'echo "Kernel panic"\nkill -ABRT $$\n', monkeypatch)
    done = command("run", tmp_path / "x.toml", "--backend", "linux", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ended by SIGABRT" in done.stderr
    assert "  Kernel panic" in done.stderr
    assert_nothing_left(temporary)


def test_what_a_kernel_cannot_do_is_refused_before_anything_starts(tmp_path, monkeypatch):
    """The second point of the sweep is refused; the first is not run for that."""
    marker = tmp_path / "started"
    fake_kernel(tmp_path / "k", f'touch "{marker}"\n', monkeypatch)
    sweep = EXPERIMENT + '\n[sweep]\n"flow.0.cc" = ["cubic", "vivace"]\n'
    with pytest.raises(_core.ExperimentError, match=r"flow\.0\.cc"):
        fairway.run(sweep, backend="linux")
    assert not marker.exists()


def test_a_kernel_without_virtual_time_is_warned_of(recorded, tmp_path):
    description = tmp_path / "k" / "kernel.json"
    plain = json.loads(description.read_text())
    description.write_text(json.dumps({**plain, "virtual_time": False}))
    with pytest.warns(UserWarning, match="has no virtual time"):
        run = fairway.run(EXPERIMENT, backend="linux")
    assert run.summary["kernel"]["virtual_time"] is False
    assert len(run.warnings) == 1
    assert run.warnings[0].startswith("Linux 0.1 has no virtual time here")
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    done = command("run", tmp_path / "x.toml", "--backend", "linux")
    assert done.stderr.count("has no virtual time") == 1
    assert f"Warning: {run.warnings[0]}\n" in done.stderr


def test_unknown_backends_name_those_that_there_are():
    with pytest.raises(InputError, match='there are "sim", "linux", "model" and "xfer"'):
        backends.backend("ns3")


def test_a_disk_too_small_for_the_samples_is_told_before_the_run(recorded, monkeypatch):
    usage = shutil.disk_usage(Path.cwd())._replace(free=100)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(InputError, match=r"make measure\.sample longer"):
        fairway.run(EXPERIMENT, backend="linux")


@pytest.mark.parametrize(("experiment", "run"), [(EXPERIMENT, "."), (SWEEP, "points/*")])
def test_results_of_another_kernel_are_not_replaced(recorded, tmp_path, experiment, run):
    file, out = tmp_path / "x.toml", tmp_path / "out"
    file.write_text(experiment)
    words = ["run", file, "--backend", "linux", "--out", out, "-q"]
    for _ in range(2):  # the same kernel goes on
        done = command(*words)
        assert done.returncode == 0, done.stderr
    described = tmp_path / "k" / "kernel.json"
    described.write_text(described.read_text().replace('"0.1"', '"0.2"'))
    with (tmp_path / "k" / "linux").open("a") as executable:
        executable.write("# Another.\n")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    done = command(*words)
    assert done.returncode == 2
    assert (
        "it holds the results of another kernel (Linux 0.1 there, 0.2 here); choose another "
        "directory, or give --replace"
    ) in done.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    totals = json.loads((recorded / "totals.json").read_text())
    (recorded / "totals.json").write_text(json.dumps({**totals, "kernel": "0.2"}))
    done = command(*words, "--replace")
    assert done.returncode == 0, done.stderr
    # Results that do not tell their kernel may be replaced as before.
    for summary in out.glob(f"{run}/summary.json"):
        found = json.loads(summary.read_text())
        assert found["kernel"]["release"] == "0.2"
        summary.write_text(json.dumps({**found, "kernel": {}}))
    assert command(*words).returncode == 0
