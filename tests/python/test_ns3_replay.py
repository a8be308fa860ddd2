"""The scenario of ns-3's tcp-variants-comparison, with ns-3's own losses and counters."""

from pathlib import Path

import pytest

import fairway
from fairway.errors import InputError
from fairway.metrics import measure

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = EXAMPLES / "ns3-lossy.toml"


@pytest.fixture(scope="module")
def rare():
    return fairway.run(EXAMPLE, overrides={"topology.bottleneck.loss.probability": 1e-5})


def test_the_example_loses_the_packet_that_ns3_loses(rare):
    # ns-3.29 has one draw below 1e-5 in this transfer: one of 69,729 packets is lost, data.
    monitor = rare.summary["flows"][0]["flow_monitor"]
    assert monitor["lost"] == 1
    assert [link["losses"] for link in rare.summary["links"]] == [1, 0]
    # 69,445 segments, and at least SYN, acknowledgement of the handshake and that of the FIN.
    assert monitor["tx_packets"] >= 69_445 + 1 + 3
    # From the source: 45 ms and 0.01 ms, and 1494 bytes at 1 Gbit/s and at 100 Mbit/s.
    assert monitor["mean_delay_ms"] > 45.01 + 0.011952 + 0.11952


def test_the_flow_monitor_has_names_for_metrics_and_tables(rare):
    monitor = rare.summary["flows"][0]["flow_monitor"]
    for name, value in monitor.items():
        assert measure(rare.summary, f"flow.0.flow_monitor.{name}") == value
        assert measure(rare.summary, f"flow.*.flow_monitor.{name}") == value
        assert rare.flows[f"flow_monitor.{name}"].to_list() == [value]
    with pytest.raises(InputError, match="there is id, tx_kbps, rx_kbps, ctt_s"):
        measure(rare.summary, "flow.0.flow_monitor.jitter")
    with pytest.raises(InputError, match="not a number"):
        measure(rare.summary, "flow.0.flow_monitor")


def test_other_stacks_have_none():
    run = fairway.run(EXAMPLES / "single.toml", overrides={"measure.window": ["0 s", "100 s"]})
    assert "flow_monitor" not in run.summary["flows"][0]
    with pytest.raises(InputError, match=r'has no flow_monitor.*preset = "ns3-3.29"'):
        measure(run.summary, "flow.0.flow_monitor.lost")


def test_seed_run_and_stream_choose_the_losses():
    def lost(**keys):
        paths = {f"topology.bottleneck.loss.{key}": value for key, value in keys.items()}
        short = {"flow.0.bytes": "2 MB", "duration": "60 s", **paths}
        run = fairway.run(EXAMPLE, overrides={"measure.losses": True, **short})
        return run.losses["t_s"].to_list()

    first = lost(probability=0.01)
    assert first == lost(probability=0.01, seed=1, run=0, stream=50)
    others = [lost(probability=0.01, **{key: 7}) for key in ("seed", "run", "stream")]
    assert len({tuple(times) for times in (first, *others)}) == 4
