"""Datagram flows in runs, tables, reports and sweeps."""

import json
from pathlib import Path

import pytest

import fairway
from conftest import command
from fairway.experiment.plan import plan
from fairway.results.report import flow_tables, run_report

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "datagrams.toml"
#: What only TCP has.
OF_TCP = ("cc", "retransmitted_segments", "window_reductions", "timeouts", "mean_cwnd_segments",
          "mean_srtt_s")  # fmt: skip
#: What only datagrams have.
OF_DATAGRAMS = ("kind", "received_packets", "reordered_packets", "duplicated_packets", "loss_ratio",
                "jitter_s", "p50_one_way_delay_s", "p95_one_way_delay_s",
                "p99_one_way_delay_s")  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return fairway.run(EXAMPLE)


def test_rows_have_what_applies_to_them(run):
    flows = {flow["id"]: flow for flow in run.summary["flows"]}
    assert list(flows) == [
        "transfer", "call", "film", *(f"crowd/{i}" for i in range(10)), "queries"
    ]  # fmt: skip
    assert not any(key in flows["transfer"] for key in OF_DATAGRAMS)
    assert all(flows["transfer"][key] is not None for key in OF_TCP)
    for name in ("call", "film", "crowd/0", "queries"):
        assert all(flows[name][key] is None for key in OF_TCP), name
        assert all(flows[name][key] is not None for key in OF_DATAGRAMS), name
    call = flows["call"]
    # 50 packets a second for 50 seconds, of 160 bytes of payload and 28 of headers.
    assert call["sent_segments"] == 2500
    kept = 1 - call["loss_ratio"]
    assert call["goodput_bps"] == pytest.approx(64e3 * kept, rel=2e-3)
    assert call["throughput_bps"] == pytest.approx(75.2e3 * kept, rel=2e-3)
    # 20 ms, 0.16 ms to transmit its 202 bytes, and a queue of 50 packets of at most 1.211 ms.
    assert 0.020 < call["p50_one_way_delay_s"] <= call["p99_one_way_delay_s"] < 0.0822
    assert 0 < call["jitter_s"] < 0.0606


def test_metrics_are_of_tcp(run):
    transfer = run.summary["flows"][0]
    assert run.metrics["jain_index"] == 1
    assert run.metrics["loss_ratio"] == transfer["lost_segments"] / transfer["sent_segments"]


def test_tables_and_reports(run, tmp_path):
    tcp, datagrams = flow_tables(run)
    assert [row[0] for row in tcp.rows] == ["transfer"]
    assert [row[1] for row in datagrams.rows] == ["cbr", "vbr", *["onoff"] * 10, "poisson"]
    again = fairway.load(run.save(tmp_path / "out", report=False))
    assert again.flows.equals(run.flows)
    assert again.series.equals(run.series)
    assert again.flows["kind"].to_list()[:2] == [None, "cbr"]
    assert again.flows["received_packets"].dtype.is_integer()
    film = run.series.filter(run.series["flow"] == "film")
    assert film["goodput_bps"].null_count() == 0
    assert film["cwnd_segments"].null_count() == film.height
    assert "Datagram flows" in run_report(run)
    windows = json.loads(run.figures.cwnd().to_json())
    colour = next(
        layer["encoding"]["color"]
        for layer in windows["layer"]
        if "scale" in layer.get("encoding", {}).get("color", {})
    )
    assert colour["legend"]["values"] == ["transfer"]
    assert len(colour["scale"]["domain"]) == 14


def test_the_command_shows_both_tables():
    shown = command("run", EXAMPLE, "--set", "duration=11 s", "--set", "measure={}")
    assert shown.returncode == 0, shown.stderr
    assert "Flows" in shown.stdout
    assert "Datagram flows" in shown.stdout
    assert "jitter" in shown.stdout


def test_datagrams_alone():
    found = fairway.run(
        {
            "duration": "2 s",
            "topology": {
                "kind": "dumbbell",
                "bottleneck": {
                    "rate": "1 Mbit/s",
                    "delay": "1 ms",
                    "queue": {"limit": "5 packets"},
                },
            },
            "flow": [{"kind": "cbr", "rate": "2 Mbit/s"}],
        }
    )
    (table,) = flow_tables(found)
    assert table.caption == "Datagram flows"
    assert found.metrics["loss_ratio"] == found.summary["flows"][0]["loss_ratio"] > 0.4


def test_one_tcp_session_against_many():
    # The published experiment: all of its points, the largest of 200 flows.
    sweep = fairway.run(ROOT / "examples" / "tcp-udp.toml")
    assert len(sweep) == 30
    for outcome in sweep.outcomes:
        tcp, *datagrams = outcome.summary["flows"]
        assert len(datagrams) == outcome.point.axes["flow.udp.count"]
        assert tcp["fct_s"] is not None
        # 20 MB in packets of 1470 bytes.
        assert {flow["sent_segments"] for flow in datagrams} == {13_606}


def test_rates_are_axes():
    text = EXAMPLE.read_text() + '[sweep]\n"flow.call.rate" = ["32 kbit/s", "64 kbit/s"]\n'
    sent = [
        fairway.run(point.experiment).summary["flows"][1]["sent_segments"]
        for point in plan(text).points
    ]
    assert sent == [1250, 2500]
