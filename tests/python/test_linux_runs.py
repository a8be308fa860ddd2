"""Short runs on a real kernel, where one was built."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import fairway
from fairway.backends.linux import cache, machine
from fairway.backends.linux.kernel import Kernel
from fairway.errors import RunFailed
from fake_kernels import assert_nothing_left, processes_with
from test_captures import OF_A_PACKET, check_whole, tshark
from waiting import until

EXPERIMENT = """
title = "Two flows on a kernel"
duration = "5 s"
seed = 3

[stack]
mtu = "1500 bytes"

[topology]
kind = "dumbbell"
frame_overhead = "14 bytes"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "30 packets" }

[[flow]]
cc = "cubic"

[[flow]]
cc = "reno"
start = "0.5 s"

[measure]
window = ["1 s", "5 s"]
"""
MEMORY_BYTES = 512 << 20
#: What a flow counts.
COUNTS = (
    "goodput_bps", "sent_segments", "retransmitted_segments", "lost_segments",
    "window_reductions", "timeouts",
)  # fmt: skip


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    found = cache.find()
    if found is None or not found.virtual_time:
        pytest.skip("no kernel with virtual time: `fairway linux build` makes one")
    return found


def test_two_flows_fill_a_link_and_nothing_is_left(kernel, temporary):
    run = fairway.run(EXPERIMENT, backend="linux")
    assert run.summary["kernel"]["release"] == kernel.release
    assert run.summary["kernel"]["watched"] and run.summary["kernel"]["unseen_packets"] == 0
    # Full segments: 1448 of 1514 bytes are payload.
    goodput = sum(flow["goodput_bps"] for flow in run.summary["flows"])
    assert goodput == pytest.approx(10e6 * 1448 / 1514, rel=0.01)
    assert run.metrics["utilisation"] > 0.99
    bottleneck = run.summary["links"][0]
    lost = sum(flow["lost_segments"] for flow in run.summary["flows"])
    assert bottleneck["drops"] == lost > 0
    # 10 ms each way, and at most 30 packets of 1.2 ms before each.
    for flow in run.summary["flows"]:
        assert 0.010 < flow["mean_one_way_delay_s"] < 0.010 + 31 * 1514 * 8 / 10e6
    assert run.tcp_info["min_rtt_s"].min() > 0.02
    assert_nothing_left(temporary)


def test_the_socket_and_the_watch_agree(kernel, temporary):
    """What the source has sent is what has arrived, is lost, or is on its way at the end."""
    run = fairway.run(EXPERIMENT, backend="linux", overrides={"measure.window": ["0 s", "5 s"]})
    last = run.tcp_info.filter(run.tcp_info["t_s"] == 5.0)
    sent = last["data_segs_out"].sum()
    lost = sum(flow["lost_segments"] for flow in run.summary["flows"])
    assert sum(flow["sent_segments"] for flow in run.summary["flows"]) == sent
    assert 0 <= sent - run.summary["packets"] - lost <= last["unacked_segments"].sum()


#: Random losses, and so the kernel's randomness, decide this one.
LOSSY = {"topology.bottleneck.loss": {"kind": "bernoulli", "probability": 0.01}}


def test_the_same_seed_gives_the_same_samples_wherever_it_runs(kernel, tmp_path, monkeypatch):
    if not kernel.repeatable:
        pytest.skip(f"{kernel.path} has randomness of its own")
    runs = []
    for name in ("here", "a place with blanks and 'quotes'"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
        runs.append(fairway.run(EXPERIMENT, backend="linux", overrides=LOSSY))
    first, second = runs
    assert first.summary["links"][0]["losses"] > 10
    assert first.summary["flows"] == second.summary["flows"]
    assert first.series.equals(second.series)
    assert first.queues.equals(second.queues)
    assert first.tcp_info.equals(second.tcp_info)
    other = fairway.run(EXPERIMENT, backend="linux", overrides=LOSSY, seed=4)
    assert not first.series.equals(other.series)


def test_a_repeated_run_says_how_far_it_differs(kernel, tmp_path):
    if not kernel.repeatable:
        pytest.skip(f"{kernel.path} has randomness of its own")
    run = fairway.run(EXPERIMENT, tmp_path / "out", backend="linux", repeat=1)
    # 14 figures of two flows, 9 of two directions, and six metrics.
    same = {"times": 1, "figures": 52, "samples_equal": True, "differences": []}
    assert run.summary["repeated"] == same
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert f"Linux {kernel.release} in virtual time" in report
    assert "all 52 figures and every sample were the same" in report


def lossy(loss: float, sysctls: str, duration: str) -> str:
    """The experiment on a path that loses so much, with kernels that try less often."""
    text = EXPERIMENT.replace(
        "[topology.bottleneck]",
        f'[topology.bottleneck]\nloss = {{ kind = "bernoulli", probability = {loss} }}',
    )
    text = text.replace("5 s", duration)
    return f"{text}\n[linux]\nsysctl = {{ {sysctls} }}\n"


def test_a_path_that_loses_everything_gives_zeros(kernel, temporary):
    # RFC 6298: the second SYN goes 1 s after the first, the kernel gives up 2 s after that.
    experiment = lossy(1.0, '"net.ipv4.tcp_syn_retries" = 1', "20 s")
    run = fairway.run(experiment, backend="linux", overrides={"flow.1.start": "18 s"})
    for flow in run.summary["flows"]:
        assert [flow[key] for key in COUNTS] == [0] * 6
        assert flow["mean_srtt_s"] is None and flow["fct_s"] is None
    first, second = run.summary["kernel"]["broken_connections"]
    assert (first["established_s"], first["end"], first["errno"]) == (None, "source", "ETIMEDOUT")
    # A timer that ticks every 1 ms may be some of them late.
    assert first["given_up_s"] == pytest.approx(3, abs=0.2)
    assert second == {
        "flow": "reno#1", "established_s": None, "given_up_s": None, "end": None, "errno": None,
    }  # fmt: skip
    assert "flow reno#1: its connection was not established by the end" in run.warnings[1]
    assert_nothing_left(temporary)


def test_connections_that_are_given_up_keep_what_they_had(kernel, temporary):
    run = fairway.run(
        lossy(0.5, '"net.ipv4.tcp_retries2" = 2', "60 s"),
        backend="linux",
        overrides={"measure.window": ["0 s", "60 s"]},
    )
    broken = run.summary["kernel"]["broken_connections"]
    assert [connection["flow"] for connection in broken] == ["cubic#0", "reno#1"]
    for connection, flow in zip(broken, run.summary["flows"], strict=True):
        assert connection["errno"] == "ETIMEDOUT"
        assert 0.02 <= connection["established_s"] < connection["given_up_s"] < 60
        assert flow["goodput_bps"] > 0
        assert flow["sent_segments"] >= flow["retransmitted_segments"] > 0
        assert flow["window_reductions"] >= flow["timeouts"] > 0
    series = run.tcp_info.filter(run.tcp_info["t_s"] == 60.0)
    assert series["state"].to_list() == [7, 7]
    assert_nothing_left(temporary)


def test_a_syn_that_was_lost_is_no_segment(kernel, temporary):
    """Applications that write one segment in 5 s: some lose the first SYN, and then no data."""
    text = lossy(0.3, '"net.ipv4.tcp_ecn" = 0', "5 s")
    slow = {"flow.0.app_rate": "1 kbit/s", "flow.1.app_rate": "1 kbit/s"}
    late = 0
    for seed in range(10):
        changes = {**slow, "measure.window": ["0 s", "5 s"], "seed": seed}
        run = fairway.run(text, backend="linux", overrides=changes)
        last = run.tcp_info.filter(run.tcp_info["t_s"] == 5.0)
        for flow, retransmitted in zip(
            run.summary["flows"], last["total_retrans_segments"], strict=True
        ):
            if flow["lost_segments"] == 0 and flow["sent_segments"] == 1:
                late += retransmitted
                assert flow["retransmitted_segments"] == 0
                assert (flow["window_reductions"], flow["timeouts"]) == (0, 0)
    assert late > 0
    assert_nothing_left(temporary)


def test_two_kernels_run_at_once(kernel, tmp_path, temporary):
    sweep = fairway.run(
        EXPERIMENT + "\n[sweep]\nrepetitions = 3\n", tmp_path / "out", backend="linux", threads=2
    )
    assert len(sweep) == 3
    assert all(o.summary["metrics"]["utilisation"] > 0.99 for o in sweep.outcomes)
    assert_nothing_left(temporary)


def test_captures_have_the_places_of_the_simulator(kernel, tmp_path, temporary):
    run = fairway.run(EXPERIMENT, tmp_path / "out", backend="linux", capture="everything")
    simulated = fairway.run(EXPERIMENT, tmp_path / "sim", capture="everything")
    names = [sorted(file.name for file in one.captures.iterdir()) for one in (run, simulated)]
    assert names[0] == names[1]
    for file in run.captures.iterdir():
        check_whole(tshark(file, *OF_A_PACKET), are_payloads_there=False)
    # At the hosts, all that the kernel counts as sent; at the link, what is not at its other end
    # has been dropped, lost, or is on its way.
    sent = sum(
        len(tshark(run.captures / f"{flow}.pcapng", "frame.number", only="tcp.len > 0"))
        for flow in ("s0", "s1")
        if (run.captures / f"{flow}.pcapng").is_file()
    )
    towards_sinks = "tcp.len > 0 && frame.packet_flags_direction == {}"
    left, right = (
        len(tshark(run.captures / f"{end}.pcapng", "frame.number", only=towards_sinks.format(way)))
        for end, way in (("bottleneck@left", 2), ("bottleneck@right", 1))
    )
    assert sent >= left > right > 0
    assert_nothing_left(temporary)


def test_a_panic_of_the_kernel_is_told(kernel, temporary):
    with machine.run_directory() as directory:
        booted = machine.Machine(
            kernel, directory, memory_bytes=MEMORY_BYTES, seed=1, arguments=["init=/nowhere"]
        )
        with pytest.raises(RunFailed) as caught:
            booted.run(lambda _: None, lambda: False)
    assert "ended by SIGABRT" in str(caught.value)
    assert "Requested init /nowhere failed" in str(caught.value)
    assert_nothing_left(temporary)


SPIN = """#!/bin/sh
/bin/mount -t proc proc /proc
/bin/sh -c 'while :; do :; done' &
while :; do :; done
"""


@pytest.fixture
def spinning(tmp_path: Path) -> str:
    """A guest that waits for the clock, which stands while anything runs."""
    guest = tmp_path / "spin"
    guest.write_text(SPIN)
    guest.chmod(0o755)
    return f"init={guest}"


def test_a_guest_that_spins_is_ended(kernel, temporary, monkeypatch, spinning):
    monkeypatch.setenv(machine.PATIENCE, "2")
    with machine.run_directory() as directory:
        booted = machine.Machine(
            kernel, directory, memory_bytes=MEMORY_BYTES, seed=1, arguments=[spinning]
        )
        with pytest.raises(RunFailed, match="did not start for 2 s"):
            booted.run(lambda _: None, lambda: False)
    assert_nothing_left(temporary)


BOOT = f"""
import sys
from fairway.backends.linux import cache, machine
with machine.run_directory() as directory:
    machine.Machine(
        cache.find(), directory, memory_bytes={MEMORY_BYTES}, seed=1, arguments=sys.argv[1:]
    ).run(lambda _: None, lambda: False)
"""


def test_python_killed_leaves_no_process_of_the_kernel(kernel, temporary, spinning):
    python = subprocess.Popen([sys.executable, "-c", BOOT, spinning])
    try:
        # Python, the supervisor, the kernel, and the two processes of the guest that it traces.
        until(lambda: len(processes_with(str(temporary))) >= 5, python)
    finally:
        os.kill(python.pid, signal.SIGKILL)
        python.wait()
    assert_nothing_left(temporary)


def test_programs_end_with_a_kernel_that_is_killed(kernel, temporary, spinning):
    if kernel.digest != cache.default_digest():
        pytest.skip(f"{kernel.path} is not the one that this version builds")
    python = subprocess.Popen([sys.executable, "-c", BOOT, spinning])
    try:
        until(lambda: len(processes_with(str(temporary))) >= 5, python)
        (supervisor,) = [pid for pid in processes_with(str(temporary)) if parent(pid) == python.pid]
        (killed,) = [pid for pid in processes_with(str(temporary)) if parent(pid) == supervisor]
        # It would kill them: the host, which is quicker, has to.
        os.kill(supervisor, signal.SIGSTOP)
        try:
            os.kill(killed, signal.SIGKILL)
            until(lambda: set(processes_with(str(temporary))) == {python.pid, supervisor}, python)
        finally:
            os.kill(supervisor, signal.SIGCONT)
        assert python.wait() == 1
    finally:
        python.kill()
        python.wait()
    assert_nothing_left(temporary)


def parent(pid: int) -> int:
    """The parent of a process: the second word behind its name (proc_pid_stat(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


APPLICATIONS = """
title = "Users on a kernel"
duration = "12 s"

[topology]
kind = "dumbbell"
bottleneck = { rate = "20 Mbit/s", delay = "15 ms" }

[[flow]]
id = "api"
kind = "request"
cc = "cubic"
request = "300 bytes"
size = "1000 bytes"
think = "70 ms"

[[flow]]
id = "film"
kind = "video"
cc = "cubic"
ladder = ["500 kbit/s", "1 Mbit/s"]
transfers = 3
start = "1 s"

[[flow]]
id = "files"
kind = "ftp"
cc = "cubic"
size = { distribution = "exponential", mean = "30 kB" }
think = "100 ms"
transfers = 20

[[flow]]
id = "talk"
cc = "cubic"
both_ways = true
bytes = "200 kB"
start = "2 s"

[[flow]]
id = "slow"
cc = "cubic"
read_rate = "400 kbit/s"
start = "3 s"
"""


def test_applications_do_what_they_do_in_the_simulator(kernel):
    run, simulated = (fairway.run(APPLICATIONS, backend=name) for name in ("linux", "sim"))
    found, expected = (
        {one["id"]: one for one in of.summary["applications"]} for of in (run, simulated)
    )
    assert list(found) == list(expected) == ["api", "film", "files"]
    # A request goes to the server in 15 ms, and its answer comes back in as many: with 70 ms of
    # thought and the handshake, 119 answers in 12 s.
    api = found["api"]["figures"]
    assert 115 <= api["responses"] <= 120
    assert api["median_response_time_s"] == pytest.approx(0.0306, abs=0.001)
    # 4 s at 500 kbit/s each, the buffer being below its reservoir: 250,000 bytes.
    assert found["film"]["figures"]["segments"] == 3
    assert found["film"]["figures"]["mean_video_rate_bps"] == 500_000
    # Of how each went, the tails differ with the losses.
    tails = ("p95", "p99", "mean_file_time", "mean_response_time")
    for name in expected:
        for figure, value in expected[name]["figures"].items():
            if not figure.startswith(tails):
                assert found[name]["figures"][figure] == pytest.approx(value, rel=0.1), figure
    # The same files, by the same random numbers.
    sizes = [
        [
            round(flow["goodput_bps"] * 12 / 8)
            for flow in of.summary["flows"]
            if "files" in flow["id"]
        ]
        for of in (run, simulated)
    ]
    assert sizes[0] == sizes[1] and len(set(sizes[0])) > 10
    flows = {flow["id"]: flow for flow in run.summary["flows"]}
    assert list(flows) == [flow["id"] for flow in simulated.summary["flows"]]
    for name in ("talk", "talk/reverse"):
        assert flows[name]["goodput_bps"] * 12 / 8 == pytest.approx(200_000)
        assert flows[name]["fct_s"] < 1
    # 400 kbit/s for 9 s of 12, and what the receiver's buffer holds is not delivered.
    assert flows["slow"]["goodput_bps"] == pytest.approx(300_000, rel=0.01)


def test_thousands_of_transfers_come_and_go(kernel):
    run = fairway.run(
        """
        title = "Short transfers on a kernel"
        duration = "4 s"
        topology = { kind = "dumbbell", bottleneck = { rate = "1 Gbit/s", delay = "1 ms" } }
        [[flow]]
        id = "page"
        kind = "arrivals"
        cc = "cubic"
        size = "20 kB"
        flow_rate = 2000
        transfers = 2000
        """,
        backend="linux",
    )
    (completions,) = run.summary["completions"]
    assert (completions["count"], completions["unfinished"]) == (2000, 0)
    # The handshake, 14 segments in two windows of ten, one way: 2 + 2 + 1 ms, and transmission.
    assert 0.005 < completions["median_s"] < 0.0062
