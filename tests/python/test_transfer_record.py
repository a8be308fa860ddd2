"""Records of real transfers: the same schema, the same report, and the path as an experiment."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

import fairway
from conftest import command
from fairway.backends.transfer.path import experiment_of
from fairway.errors import InputError
from fairway.ground import result_schema
from fairway.results import transfer_sections as sections
from transfer_ends import Waiting

STREAMS = 3
BYTES = 3_000_000


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both ends' records of one session over 127.0.0.1."""
    place = tmp_path_factory.mktemp("records")
    found = {end: place / end for end in ("sender", "receiver")}
    with Waiting("collect", "--iperf3", "--once", "--record", found["receiver"]) as collector:
        done = command(
            "generate", collector.address, "--iperf3", "-n", STREAMS, "--bytes", f"{BYTES} bytes",
            "--cc", "reno", "--interval", "100 ms", "--record", found["sender"],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert collector.ended() == 0, collector.printed
    return found


def test_a_record_is_a_run_with_a_flow_for_each_stream(records):
    run = fairway.load(records["sender"])
    assert (run.backend, len(run.summary["flows"])) == ("xfer", STREAMS)
    assert [flow["cc"] for flow in run.summary["flows"]] == ["reno"] * STREAMS
    assert run.series.schema == pl.Schema(result_schema.frame("series"))
    assert run.queues.schema == pl.Schema(result_schema.frame("queues"))
    assert run.tcp_info is not None and run.tcp_info.schema == pl.Schema(
        result_schema.frame("tcp_info")
    )
    said = run.summary["transfer"]
    assert said["payload_bytes"] == sum(of["payload_bytes"] for of in said["flows"]) >= BYTES
    rates = [flow["goodput_bps"] for flow in run.summary["flows"]]
    squares = sum(rate * rate for rate in rates)
    assert run.metrics["jain_index"] == pytest.approx(sum(rates) ** 2 / (STREAMS * squares))
    assert said["settings"]["kernel"] and said["failure"] is None


def test_both_ends_count_the_same_payload(records):
    totals = {
        end: fairway.load(path).summary["transfer"]["payload_bytes"]
        for end, path in records.items()
    }
    assert totals["sender"] == totals["receiver"]
    receiver = fairway.load(records["receiver"])
    assert receiver.summary["transfer"]["end"] == "receiver"
    assert receiver.series["cwnd_segments"].null_count() == receiver.series.height


def test_goodput_over_time_adds_up_to_the_payload(records):
    run = fairway.load(records["sender"])
    total = sections.total_goodput(run).frame()
    steps = total["t_s"].diff().fill_null(total["t_s"][0])
    bits = (total["goodput_bps"] * steps).sum()
    assert bits == pytest.approx(run.summary["transfer"]["payload_bytes"] * 8, rel=1e-6)


def test_a_short_transfer_is_sampled_finely(tmp_path):
    record = tmp_path / "record"
    with Waiting("collect", "--once", "--plain") as collector:
        done = command(
            "generate", collector.address, "--plain", "--token", collector.token(),
            "--bytes", "500 kB", "--pacing", "10 Mbit/s", "--record", record,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert collector.ended() == 0, collector.printed
    run = fairway.load(record)
    seconds = run.summary["transfer"]["duration_s"]
    # 0.4 s at that pace, and less where the kernel catches up on a busy machine: 40 samples 10 ms
    # apart, or fewer. The distance is doubled when there are 512 samples.
    assert run.summary["transfer"]["interval_s"] == 0.01 or seconds > 5
    assert 0 < run.series.height <= 512
    # The rate of the path is that of the whole of it, and not of the busiest 10 ms.
    path = run.summary["transfer"]["path"]
    assert path["most_throughput_interval_s"] == 1
    throughput = run.summary["flows"][0]["throughput_bps"]
    assert 0.99 * throughput <= path["most_throughput_bps"] < 2 * throughput
    report = (record / "report.html").read_text("utf-8")
    assert "Goodput of all streams together" in report


def test_a_report_that_cannot_be_drawn_leaves_the_record(tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "jinja2.py").write_text("raise RuntimeError('no ink')\n")
    monkeypatch.setenv("PYTHONPATH", str(broken), prepend=os.pathsep)
    place = tmp_path / "record"
    with Waiting("collect", "--iperf3", "--once") as collector:
        done = command(
            "generate", collector.address, "--iperf3", "--bytes", "100 kB", "--record", place,
        )  # fmt: skip
        assert collector.ended() == 0, collector.printed
    assert done.returncode == 4, done.stderr
    assert "Warning: report not written: RuntimeError: no ink; the results are" in done.stderr
    assert f"`fairway report {place}` draws it again" in done.stderr
    assert "Traceback" not in done.stderr
    monkeypatch.undo()
    assert fairway.load(place).summary["transfer"]["payload_bytes"] >= 100_000
    assert command("report", place).returncode == 0


def test_its_report_can_be_written_again(records):
    page = records["sender"] / "report.html"
    page.unlink()
    done = command("report", records["sender"])
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for words in ("smallest RTT", "Goodput of all streams together", "tcp_rmem"):
        assert words in text


def test_the_path_can_be_simulated_beside_it(records, tmp_path):
    experiment = records["sender"] / "experiment.toml"
    done = command("run", experiment, "--out", tmp_path / "sim", "--quiet")
    assert done.returncode == 0, done.stderr
    done = command("compare", records["sender"], tmp_path / "sim", "--json",
                   "--out", tmp_path / "both.html")  # fmt: skip
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)
    assert len(compared["goodput_bps"]) == STREAMS
    assert compared["differences"] == {"backend": ["xfer", "sim"]}
    assert "vegaEmbed" in (tmp_path / "both.html").read_text()


def test_a_damaged_record_is_refused_in_words(records, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in records["sender"].iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    summary = json.loads((broken / "summary.json").read_text())
    del summary["transfer"]["path"]["min_rtt_s"]
    (broken / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(InputError, match=r"transfer\.path\.min_rtt_s is missing"):
        fairway.load(broken)


def test_datagrams_have_a_record_too(tmp_path):
    record = tmp_path / "udp"
    with Waiting("collect", "--iperf3", "--once") as collector:
        done = command(
            "generate", collector.address, "--iperf3", "--udp", "--rate", "1 Mbit/s",
            "--message", "1000 bytes", "--duration", "1 s", "--record", record,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    run = fairway.load(record)
    [flow] = run.summary["flows"]
    assert (flow["cc"], flow["kind"]) == (None, "cbr")
    # 1 Mbit/s in datagrams of 1000 bytes, which are packets of 20 + 8 more.
    assert run.experiment["flow"][0]["kind"] == "cbr"
    assert run.experiment["flow"][0]["packet"] == "1028 bytes"


# What a path looked like, by hand: 10 Mbit/s, 200 ms, one stream held back by its window.
SEEN = {
    "min_rtt_s": 0.2,
    "most_srtt_s": 0.23,
    "most_receive_window_bytes": 65_535,
    "receive_window_limited": 0.9,
    "most_throughput_bps": 9_876_543.0,
    "most_delivery_rate_bps": 9e6,
    "mss_bytes": 1448,
    "mtu_bytes": 1500,
    "rate_bps": None,
}


def taken(flows: list[tuple[str, str | None]], **more: object) -> dict:
    return {
        "end": "sender",
        "duration_s": 20.0,
        "interval_s": 1.0,
        "path": SEEN,
        "flows": [
            {"id": name, "is_received": False, "payload_bytes": 1_000_000, "start_s": 0.0}
            for name, _ in flows
        ],
        **more,
    }


def summary(flows: list[tuple[str, str | None]]) -> dict:
    return {"title": "a path", "flows": [{"id": name, "cc": cc} for name, cc in flows]}


def test_the_experiment_says_what_was_seen():
    flows = [("transfer/0", "cubic"), ("transfer/1", "cubic")]
    found = experiment_of(summary(flows), taken(flows, striping="dynamic", chunk_bytes=8_388_608))
    bottleneck = found["topology"]["bottleneck"]
    assert (bottleneck["rate"], bottleneck["delay"]) == ("9.877 Mbit/s", "100 ms")
    # 9.876543 Mbit/s × 0.2 s / (8 × 1448 bytes) = 170.5 packets.
    assert bottleneck["queue"] == {"kind": "droptail", "limit": "171 packets"}
    # Linux offers half of its buffer.
    assert found["stack"]["receive_buffer"] == "131070 bytes"
    [flow] = found["flow"]
    assert flow["connections"] == 2 and flow["bytes"] == "2000000 bytes"
    assert flow["chunk"] == "1000000 bytes", "a chunk for each"


def test_streams_of_several_algorithms_and_ways_are_several_flows():
    flows = [("up/0", "westwood"), ("up/1", "no-such"), ("down/0/reverse", "reno")]
    of = taken(flows, end="both")
    of["flows"][2]["is_received"] = True
    of["flows"][1]["start_s"] = 3.0
    found = experiment_of(summary(flows), of)["flow"]
    assert [flow["cc"] for flow in found] == ["westwood+", "cubic", "reno"]
    assert found[1]["start"] == "3 s"
    assert found[2]["direction"] == "reverse" and "direction" not in found[0]


def test_a_rate_that_is_given_is_the_path_s():
    flows = [("transfer/0", "cubic")]
    of = taken(flows, path={**SEEN, "rate_bps": 10_000_000, "receive_window_limited": 0.0})
    found = experiment_of(summary(flows), of)
    assert found["topology"]["bottleneck"]["rate"] == "10 Mbit/s"
    assert "receive_buffer" not in found["stack"]
