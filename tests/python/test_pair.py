"""Two captures of one transfer, against what the simulator says of it."""

import json

import pytest

import made_capture
from conftest import command
from fairway import InputError, __version__
from fairway.capture.analysis.pair import compare

# With this seed nothing is lost so shortly before the end that the captures cannot tell.
EXPERIMENT = """\
title = "A pair"
duration = "6 s"
seed = 6
[stack]
preset = "linux-6.1"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "30 packets" }
loss = { probability = 0.01, direction = "both" }
[[flow]]
cc = "cubic"
"""
#: By hand: 20 ms, and 60 bytes of SYN and 52 of the ACK after it at 10 Mbit/s.
HANDSHAKE_S = ((20 + 0.048) + (20 + 0.0416)) * 1e-3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run's summary, and its captures."""
    directory = tmp_path_factory.mktemp("pair")
    (directory / "pair.toml").write_text(EXPERIMENT)
    arguments = ["--out", str(directory / "run"), "--capture", "everything"]
    done = command("run", str(directory / "pair.toml"), *arguments)
    assert done.returncode == 0, done.stderr
    summary = json.loads((directory / "run" / "summary.json").read_text())
    return summary, directory / "run" / "captures"


def test_losses_and_delays_are_the_simulators(run):
    summary, captures = run
    report = compare(captures / "s0.pcapng", captures / "d0.pcapng").report
    there, back = report["connections"][0]["directions"]
    lost = [link["drops"] + link["losses"] for link in summary["links"]]
    assert lost[0] > 5 and summary["links"][0]["drops"] > 0, "a queue and a link have lost some"
    assert [there["lost_packets"], back["lost_packets"]] == lost
    assert there["retransmitted_segments"] == summary["flows"][0]["retransmitted_segments"]
    assert (report["clock"]["offset_s"], report["clock"]["drift_ppm"]) == (0, 0)
    delay = there["delay_s"]
    # The simulator takes segments with data only.
    mean_s = (delay["mean"] * delay["count"] - HANDSHAKE_S) / (delay["count"] - 2)
    assert mean_s == pytest.approx(summary["flows"][0]["mean_one_way_delay_s"], rel=1e-6)


def test_what_is_found_lost_is_what_is_annotated_and_each_is_repaired(run):
    _, captures = run
    report = compare(captures / "bottleneck@left.pcapng", captures / "d0.pcapng").report
    there = report["connections"][0]["directions"][0]
    assert there["lost_packets"] > 5
    assert there["annotated_packets"] == there["annotated_and_lost_packets"]
    assert there["annotated_packets"] == there["lost_packets"]
    assert there["annotated_and_arrived_packets"] == 0
    assert there["needed_retransmissions"] == there["lost_packets"]
    for loss in there["losses"]:
        # A round trip at least, or the sender could not know.
        assert loss["repaired_by"] > loss["packet"] and loss["repaired_after_s"] > 0.040


def test_the_command_prints_tables_json_and_a_report(run, tmp_path):
    _, captures = run
    files = [str(captures / "s0.pcapng"), str(captures / "d0.pcapng")]
    done = command("analyze", *files, "--out", str(tmp_path / "both"), "--figures", "svg")
    assert done.returncode == 0, done.stderr
    for words in ("Packets of each direction", "One-way delays", "Loss ratios from both traces"):
        assert words in done.stdout
    assert "One-way delay" in (tmp_path / "both" / "report.html").read_text()
    assert (tmp_path / "both" / "figures" / "delay-1-forward.svg").stat().st_size > 1000
    manifest = json.loads((tmp_path / "both" / "manifest.json").read_text())
    assert manifest["title"] == "s0.pcapng and d0.pcapng"
    assert manifest["captures"] == files and manifest["version"] == __version__
    refused = command("report", tmp_path / "both")
    assert refused.returncode == 2 and "holds results of `fairway analyze`" in refused.stderr
    found = json.loads(command("analyze", *files, "--json").stdout)
    assert {"connections", "damaged", "pair"} <= set(found)
    ratio = found["pair"]["totals"][0]["loss_ratio"]
    sent, received = ratio["sent_bytes"], ratio["received_bytes"]
    assert ratio["of_sent"] == pytest.approx((sent - received) / sent)
    assert ratio["of_received"] == pytest.approx((sent - received) / received)


def test_what_cannot_be_compared_is_refused_in_words(run, tmp_path):
    _, captures = run
    other = made_capture.write(tmp_path / "other.pcap")
    with pytest.raises(InputError, match="no packets in common"):
        compare(captures / "s0.pcapng", other)
    with pytest.raises(InputError, match="write it to a file first"):
        compare("-", other)
    done = command("analyze", str(other), str(other), str(other))
    assert done.returncode != 0 and "3 captures" in done.stderr
