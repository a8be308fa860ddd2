"""Runs on a kernel: what it has left becomes a run like any other."""

from __future__ import annotations

import gc
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import fairway
from conftest import command
from fairway import _core, backends, store
from fairway.backends.linux import Linux
from fairway.errors import InputError, RunFailed
from fairway.linux import cache
from fairway.tables import SERIES_SCHEMA, TCP_INFO_SCHEMA
from fake_kernels import assert_nothing_left, fake_kernel, write_records

EXPERIMENT = """
title = "On a kernel"
duration = "4 s"
seed = 5

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
    }
    # 250 kB in the two seconds of the window; windows of 11, 12 and 13 segments sampled in it.
    flow = run.summary["flows"][1]
    assert (flow["id"], flow["goodput_bps"]) == ("reno#1", 1e6)
    assert (flow["mean_cwnd_segments"], flow["mean_srtt_s"]) == (12.0, 0.02)
    assert [link["id"] for link in run.summary["links"]] == ["bottleneck", "bottleneck/reverse"]
    assert run.summary["links"][0]["drops"] == 4
    assert run.series.schema == pl.Schema(SERIES_SCHEMA)
    assert run.series["cwnd_segments"].to_list() == [11, 11, 12, 12, 13, 13, 14, 14]
    assert run.series["ssthresh_segments"].null_count() == 8
    assert_nothing_left(temporary)


def test_tcp_info_has_every_field_and_nulls_for_later_ones(recorded):
    run = fairway.run(EXPERIMENT, backend="linux")
    assert run.tcp_info.schema == pl.Schema(TCP_INFO_SCHEMA)
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
    assert (tmp_path / "copy" / "pcap" / "r1.r2.pcap").is_file()
    assert run.captures == tmp_path / "out" / "pcap"
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


def test_a_connection_that_fails_is_told(recorded):
    totals = json.loads((recorded / "totals.json").read_text())
    totals["flows"][1] = {**totals["flows"][1], "error": "connect: Connection timed out"}
    (recorded / "totals.json").write_text(json.dumps(totals))
    with pytest.raises(RunFailed, match=r"flow reno#1: .*connect: Connection timed out"):
        fairway.run(EXPERIMENT, backend="linux")


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
    monkeypatch.setattr(cache, "find", lambda: None)
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


def test_unknown_backends_name_those_that_there_are():
    with pytest.raises(InputError, match='there are "sim" and "linux"'):
        backends.backend("ns3")


def test_a_disk_too_small_for_the_samples_is_told_before_the_run(recorded, monkeypatch):
    usage = shutil.disk_usage(Path.cwd())._replace(free=100)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(InputError, match=r"make measure\.sample longer"):
        fairway.run(EXPERIMENT, backend="linux")
