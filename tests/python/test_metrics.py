"""Metrics against arithmetic by hand, as functions and by name from runs."""

import itertools
import math
import re
from types import SimpleNamespace

import polars as pl
import pytest

import fairway
from conftest import SMALL
from fairway import metrics
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml
from fairway.ground.columns import Columns
from fairway.metrics import measure
from fairway.metrics.catalogue import FUNCTIONS, OF_FLOWS, OF_LINKS
from fairway.metrics.reading import check_names

#: 100 kB over 10 Mbit/s and 20 ms there and back, which loses every 20th packet on the wire.
LOSSY = """
title = "A file over a lossy link"
duration = "20 s"
[stack]
preset = "rfc5681"
mtu = "1500 bytes"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "100 packets" }
[[flow]]
cc = "reno"
bytes = "1460000 bytes"
[measure]
sample = "20 ms"
"""
LOSS = {"topology.bottleneck.loss": {"kind": "bernoulli", "probability": 0.02}}


@pytest.fixture(scope="module")
def lossy():
    return fairway.run(LOSSY, overrides={**LOSS, "measure.losses": True})


@pytest.fixture(scope="module")
def pair():
    """Two flows that fill a short queue, the second 5 s after the first."""
    return fairway.run(
        LOSSY,
        overrides={
            "flow": [{"cc": "reno"}, {"cc": "reno", "start": "5 s"}],
            "topology.bottleneck.queue.limit": "17 packets",
            "measure.losses": True,
        },
    )


def of(run, name):
    return measure(run.summary, name, lambda: run)


def test_rates_by_hand():
    assert metrics.rate_bps(10e6, 2) == 5e6
    assert metrics.rate_bps(1, 0) is None
    assert metrics.throughput_ratio(8e6, 10e6) == 0.8
    # Khader 2020, section 3.12: 800 Mbit in 9.82705 s at 100 Mbit/s. 800/9.82705 = 81.408.
    assert metrics.payload_utilisation(800e6, 100e6, 9.82705) == pytest.approx(0.8141, abs=5e-5)
    assert metrics.payload_utilisation(1, 0, 1) is None


def test_nai_by_hand():
    # Table C-8, case 1: 7913.73 kbit/s are 989,216.25 byte/s; 689 · 1500 · 0.01 = 10,335.
    assert metrics.nai_per_s(7_913_730, 689, 1500, 0.01) == pytest.approx(95.715, abs=5e-4)
    # Table C-4, DCM+ at 1e-6 with one lost packet: 85424.7 · 128 / (1 · 1500 · 1e-6) = 7.28957e9.
    assert metrics.nai_per_s(85_424_700 * 1.024, 1, 1500, 1e-6) == pytest.approx(
        7.28957e9, rel=1e-5
    )
    assert metrics.nai_per_s(1e6, 0, 1500, 0.01) is None
    assert metrics.nai_per_s(1e6, 5, 1500, 0) is None


def test_rfc_6349_by_hand():
    # The examples of its sections 4.1 to 4.3: 12 s for 8 s; 2,000 of 102,000 sent again; 32 ms on a
    # path of 25 ms.
    assert metrics.transfer_time_ratio(12, 8) == 1.5
    assert metrics.tcp_efficiency_percent(102_000, 2_000) == pytest.approx(98.04, abs=5e-3)
    assert metrics.buffer_delay_percent(0.032, 0.025) == pytest.approx(28)
    assert metrics.transfer_time_ratio(1, 0) is None
    assert metrics.tcp_efficiency_percent(0, 0) is None
    assert metrics.buffer_delay_percent(1, 0) is None


def test_readings_of_loss_agree():
    # 16 of 116 sent did not arrive: 16/100 of what arrived, 13.8 % of what was sent.
    of_sent, of_received = metrics.loss_of_sent(116, 16), metrics.loss_of_received(116, 16)
    assert of_received == pytest.approx(0.16)
    assert of_sent == pytest.approx(0.1379, abs=5e-5)
    assert of_received == pytest.approx(of_sent / (1 - of_sent))
    assert metrics.packet_delivery_ratio(116, 16) == pytest.approx(0.86207, abs=5e-6)
    assert metrics.duplicate_ratio(200, 3) == 0.015
    assert metrics.packet_delivery_ratio(0, 0) is None
    assert metrics.duplicate_ratio(0, 0) is None
    assert metrics.loss_rate(0, 0) is None


def test_loss_events_by_hand():
    # With 100 ms: 0.00 takes 0.05 and 0.10 in, 0.11 begins the second, 0.5 the third.
    times = [0.0, 0.05, 0.10, 0.11, 0.2, 0.5]
    assert metrics.loss_events(times, 0.1) == [0.0, 0.11, 0.5]
    assert metrics.loss_event_rate(times, 0.1, 300) == 0.01
    assert metrics.loss_event_rate([], 0.1, 300) == 0
    assert metrics.loss_event_rate([], 0.1, 0) is None


def test_loss_synchronisation_by_hand():
    # Of four active flows: a and b lose at 0, c at 1 alone, all four at 2: (2/4 + 1/4 + 4/4)/3.
    times = [0.0, 0.01, 0.02, 1.0, 2.0, 2.01, 2.02, 2.03]
    flows = ["a", "b", "a", "c", "a", "b", "c", "d"]
    assert metrics.loss_synchronisation(times, flows, 0.1, lambda _: 4) == pytest.approx(7 / 12)
    assert metrics.loss_synchronisation(times, flows, 0.1, lambda _: 1) is None
    assert metrics.loss_synchronisation([], [], 0.1, lambda _: 4) is None


def test_fairness_by_hand():
    assert metrics.jain_index([1, 2, 3, 4]) == pytest.approx(0.8333, abs=5e-5)
    # A = 0.815: x = 1.815 and 0.185. Their ratio is 9.81, their Jain index 1/(1 + 0.664225).
    assert metrics.asymmetry(1.815, 0.185) == pytest.approx(0.815)
    assert metrics.jain_index([1.815, 0.185]) == pytest.approx(0.6009, abs=5e-5)
    assert metrics.unfairness([1.815, 0.185]) == pytest.approx(9.81 - 1, abs=1e-2)
    assert metrics.unfairness([1.815, 0.185]) == pytest.approx(2 * 0.815 / (1 - 0.815))
    assert metrics.unfairness([0, 1]) is None
    assert metrics.epsilon([3, 4]) == 0.25
    assert metrics.epsilon([0, 4]) == 1
    assert metrics.epsilon([0, 0]) is None
    assert metrics.product_measure([2, 4, 8]) == pytest.approx(4)
    assert metrics.product_measure([0, 4]) == 0


def test_max_min_rates_by_hand():
    # Bertsekas and Gallager's way: y is full first, at 4/2 each; a has the rest of x, 10 − 2.
    routes = {"a": ["x"], "b": ["x", "y"], "c": ["y"]}
    fair = metrics.max_min_rates(routes, {"x": 10, "y": 4, "unused": 1})
    assert fair == {"a": 8, "b": 2, "c": 2}
    assert metrics.max_min_ratio({"a": 9, "b": 1, "c": 3}, fair) == 0.5
    assert metrics.max_min_ratio({}, {}) is None
    with pytest.raises(ValueError, match="capacity"):
        metrics.max_min_rates({"a": ["z"]}, {"x": 1})


def test_harm_by_hand():
    # Alone 10, beside another 4: six tenths are gone. A delay of 20 ms that becomes 80: 60/80.
    assert metrics.harm(10, 4) == 0.6
    assert metrics.harm(0.02, 0.08, more_is_better=False) == pytest.approx(0.75)
    assert metrics.harm(4, 5) == -0.25
    assert metrics.harm(0, 1) is None


def test_dynamics_by_hand():
    # Mean 4, deviations −2, 0, 2: sd √(8/3).
    assert metrics.coefficient_of_variation([2, 4, 6]) == pytest.approx(math.sqrt(8 / 3) / 4)
    assert metrics.coefficient_of_variation([0, 0]) is None
    assert metrics.largest_reduction([8, 4, 5, 4]) == 0.5
    assert metrics.largest_reduction([1, 2]) == 0
    assert metrics.largest_reduction([0, 2]) is None
    assert metrics.largest_increase_bps([8, 4, 5, 4]) == 1
    assert metrics.largest_increase_bps([5]) is None
    # Congested from the third bin: 8, 7, 5, 4, so down to the half of 9 after four.
    assert metrics.responsiveness_bins([9, 9, 8, 7, 5, 4], 2) == 4
    assert metrics.responsiveness_bins([9, 9, 8], 2) is None
    with pytest.raises(ValueError, match="bin 0"):
        metrics.responsiveness_bins([9, 9, 8], 0)


def test_delta_fair_by_hand():
    # Shares of the first: 1, 0.995, 0.7, 0.54. 0.995 ≥ 100/101 at 2 s; 0.54 ≤ 0.55 at 4 s.
    t_s, first = [1, 2, 3, 4, 5], [10, 9.95, 7, 5.4, 9]
    second = [10 - x for x in first]
    assert metrics.delta_fair_time_s(t_s, first, second) == 2
    assert metrics.delta_fair_time_s(t_s, first, second, 0.05) is None
    assert metrics.delta_fair_time_s(t_s[2:], first[2:], second[2:]) is None
    # ln 0.1 / ln(1 − 0.5 · 0.01) = −2.302585 / −0.00501254
    assert metrics.delta_fair_acks(0.5, 0.01) == pytest.approx(459, abs=0.5)
    assert metrics.delta_fair_acks(0.5, 0) is None
    for delta in (0, 1):
        with pytest.raises(ValueError, match="delta"):
            metrics.delta_fair_acks(0.5, 0.01, delta)
        with pytest.raises(ValueError, match="delta"):
            metrics.delta_fair_time_s(t_s, first, second, delta)


def test_delays_by_hand():
    assert metrics.mean_one_way_delay_s([0, 1, 2], [0.5, None, 3.5]) == 1.0
    assert metrics.mean_one_way_delay_s([0], [None]) is None
    assert metrics.percentile([5, 1, 4, 2, 3], 50) == 3
    assert metrics.percentile([5, 1, 4, 2, 3], 99) == 5
    # 7 of 100 are not above the 7th, and 0.07 · 100 is 7.000000000000001.
    assert metrics.percentile(range(1, 101), 7) == 7
    assert metrics.percentile([], 50) is None
    assert metrics.slowdown(3, 2) == 1.5
    assert metrics.power(8e6, 0.05) == pytest.approx(1.6e8)
    assert metrics.power(8e6, 0) is None


def run_of(rows, series=()):
    """A run of these flows alone, with samples as (flow, t_s, goodput_bps, srtt_s)."""
    names = ("flow", "t_s", "goodput_bps", "srtt_s")
    return SimpleNamespace(
        summary={"flows": rows, "metrics": {}},
        sampled=lambda _: Columns.of(pl.DataFrame(list(series), schema=names, orient="row")),
        experiment={**parse_toml(SMALL, "small"), "duration": "10 s", "measure": {}},
    )


def test_several_flows_have_the_delay_of_all_their_packets():
    rows = [
        {"id": "a", "cc": "reno", "mean_one_way_delay_s": 0.1, "throughput_bps": 3e6,
         "sent_segments": 320, "lost_segments": 20},
        {"id": "b", "cc": "reno", "mean_one_way_delay_s": 0.5, "throughput_bps": 1e6,
         "sent_segments": 100, "lost_segments": 0},
    ]  # fmt: skip
    # (300 · 0.1 + 100 · 0.5) / 400; 4 Mbit/s over it.
    assert of(run_of(rows), "mean_one_way_delay_s") == pytest.approx(0.2)
    assert of(run_of(rows), "power") == pytest.approx(2e7)
    assert of(run_of(rows), "flow.b.mean_one_way_delay_s") == 0.5
    rows[1]["mean_one_way_delay_s"] = None
    assert of(run_of(rows), "mean_one_way_delay_s") is None


def test_buffers_delay_each_flow_against_its_own_path():
    rows = [{"id": "a", "cc": "reno", "mean_srtt_s": 0.03},
            {"id": "b", "cc": "reno", "mean_srtt_s": 0.11}]  # fmt: skip
    series = [
        ("a", 1.0, 0.0, 0.02),
        ("a", 2.0, 0.0, 0.04),
        ("b", 1.0, 0.0, 0.1),
        ("b", 2.0, 0.0, None),
    ]
    # 50 % of 20 ms, 10 % of 100 ms.
    run = run_of(rows, series)
    assert of(run, "flow.a.buffer_delay_percent") == pytest.approx(50)
    assert of(run, "buffer_delay_percent") == pytest.approx(30)
    assert of(run_of(rows, series[:2]), "buffer_delay_percent") is None


def test_flows_are_compared_in_the_bins_that_both_have():
    rows = [{"id": "a", "cc": "reno"}, {"id": "b", "cc": "reno"}]
    # b is sampled from 2 s on: shares 100/101 at 2 s, ½ at 4 s.
    series = [("a", 1.0, 9.0, None), ("a", 2.0, 100.0, None), ("a", 3.0, 8.0, None),
              ("a", 4.0, 5.0, None), ("b", 2.0, 1.0, None), ("b", 3.0, 2.0, None),
              ("b", 4.0, 5.0, None)]  # fmt: skip
    assert of(run_of(rows, series), "delta_fair_time_s") == 2


def test_counters_of_a_transfer(lossy):
    flow = lossy.summary["flows"][0]
    sent, lost = flow["sent_segments"], flow["lost_segments"]
    # 1000 segments of 1460 bytes, a FIN, and each that was lost once more.
    assert lost > 0
    assert sent == 1001 + flow["retransmitted_segments"]
    assert of(lossy, "packet_delivery_ratio") == pytest.approx(1 - lost / sent)
    assert of(lossy, "flow.0.packet_delivery_ratio") == of(lossy, "packet_delivery_ratio")
    assert of(lossy, "congestion_loss_rate") == 0
    assert of(lossy, "corruption_loss_rate") == pytest.approx(lost / sent)
    assert flow["duplicate_segments"] == sent - lost - 1001
    assert of(lossy, "tcp_efficiency_percent") == pytest.approx(100 * 1001 / sent)


def test_times_of_a_transfer(lossy):
    flow = lossy.summary["flows"][0]
    # The last acknowledgement takes at least the way back, 10 ms, and a delayed one 200 ms more.
    assert 0.01 <= flow["ctt_s"] - flow["fct_s"] < 0.22
    assert of(lossy, "ctt_s") == flow["ctt_s"]
    # 1460 kB at 10 Mbit/s.
    assert of(lossy, "payload_utilisation") == pytest.approx(1.168 / 20)
    assert of(lossy, "transfer.0.utilisation") == pytest.approx(1.168 / flow["fct_s"])
    # 1000 packets of 1500 bytes take 1.2 s.
    assert of(lossy, "transfer.0.transfer_time_ratio") == pytest.approx(flow["fct_s"] / 1.2)


def test_every_loss_is_kept(lossy, pair):
    for run in (lossy, pair):
        for flow in run.summary["flows"]:
            own = run.losses.filter(run.losses["flow"] == flow["id"])
            assert len(own) == flow["lost_segments"]
            assert sum(own["cause"] == "dropped") == flow["dropped_segments"]
    assert set(lossy.losses["link"]) == {"bottleneck"}
    events = of(lossy, "loss_event_rate") * lossy.summary["flows"][0]["sent_segments"]
    assert 1 <= round(events) <= len(lossy.losses)
    assert 0.5 <= of(pair, "loss_synchronisation") <= 1


def test_losses_survive_saving(lossy, tmp_path):
    kept = fairway.load(lossy.save(tmp_path / "run", report=False))
    assert kept.losses.equals(lossy.losses)
    assert of(kept, "loss_event_rate") == of(lossy, "loss_event_rate")


def test_single_losses_have_to_be_asked_for():
    run = fairway.run(LOSSY, overrides=LOSS)
    assert run.losses is None
    with pytest.raises(InputError, match="losses = true"):
        of(run, "loss_event_rate")


def test_queue_delays_by_packet_and_by_time(pair):
    for percent in (50, 95, 99):
        # 16 packets of 1500 bytes wait at most, 1.2 ms each.
        assert 0 <= of(pair, f"link.bottleneck.p{percent}_sojourn_s") <= 16 * 1.2e-3 * 1.02
        assert 0 <= of(pair, f"link.0.p{percent}_queue_delay_s") <= 16 * 1.2e-3
    assert of(pair, "link.0.p50_queue_delay_s") <= of(pair, "link.0.p95_queue_delay_s")


def test_a_second_flow_becomes_fair_after_a_while(pair):
    assert 0 < of(pair, "delta_fair_time_s") < 15
    assert of(pair, "largest_reduction") > 0.3
    assert of(pair, "flow.0.coefficient_of_variation") > 0
    assert of(pair, "max_min_ratio") == pytest.approx(1 - abs(of(pair, "asymmetry")))


@pytest.mark.parametrize("metric", OF_FLOWS, ids=lambda metric: metric.name)
def test_every_metric_is_a_number_or_nothing(metric, lossy, pair):
    for run, name in itertools.product((lossy, pair), (metric.name, f"group.*.{metric.name}")):
        value = of(run, name)
        assert value is None or math.isfinite(value)


def test_what_no_run_has_is_refused(pair):
    for name in ("speed", "flow.*.loss_of_sent", "group.*.speed", "link.0.loss_of_sent",
                 "completions.reno.mean_s", "flow.0.speed"):  # fmt: skip
        with pytest.raises(InputError, match="metric"):
            of(pair, name)


def test_names_near_to_an_unknown_one_are_suggested():
    row = {"id": "cubic#0", "cc": "cubic", "goodput_bps": 1e6}
    summary = {"flows": [row, {**row, "id": "reno#1"}], "metrics": {"goodput_bps": 2e6}}
    for name, meant in (
        ("flow.0.goodput", "goodput_bps"),
        ("flow.ren#1.goodput_bps", "reno#1"),
        ("group.*.jain", "jain_index"),
    ):
        with pytest.raises(InputError, match=re.escape(f"{name}: did you mean {meant}? there is")):
            measure(summary, name)
    with pytest.raises(InputError, match=r"there is none; did you mean flow\.0\.goodput_bps\?"):
        check_names(["flows.0.goodput_bps"])


def test_completions_by_size():
    row = {"from_bytes": None, "below_bytes": None, "p99_slowdown": 7.0}
    small = {"from_bytes": 0, "below_bytes": 10_000, "p99_slowdown": 3.0}
    summary = {"completions": [{"flow": "web", **row}, {"flow": "web", **small}]}
    assert measure(summary, "completions.web.p99_slowdown") == 7
    assert measure(summary, "completions.web.0.p99_slowdown") == 3
    with pytest.raises(InputError, match=r"there is web, web\.0"):
        measure(summary, "completions.web.5.p99_slowdown")


def test_every_function_names_its_source():
    functions = {metric.function for metric in (*OF_FLOWS, *OF_LINKS)} | set(FUNCTIONS)
    for function in functions:
        assert "Source: " in function.__doc__, function
        assert getattr(metrics, function.__name__) is function
    assert len({metric.name for metric in OF_FLOWS}) == len(OF_FLOWS)


def test_figures_of_the_flow_monitor_against_tables_of_khader():
    def of(figure, tx_kbps, lost, sent, error_rate):
        monitor = {"tx_kbps": tx_kbps, "lost": lost, "tx_packets": sent}
        loss = {"probability": error_rate, "direction": "both"}
        path = {"kind": "dumbbell", "bottleneck": {"rate": "100 Mbit/s", "loss": loss}}
        summary = {"flows": [{"id": "0", "flow_monitor": monitor}], "metrics": {}}
        name = f"flow.0.flow_monitor.{figure}"
        return measure(summary, name, experiment={"topology": path})

    # BIC at 0.01 loses 696 of 70 260 packets: 0.990606 % in table C-3, 99.00939 % arrive in C-2.
    assert of("lost_of_sent", 2500.27, 696, 70_260, 0.01) == pytest.approx(0.00990606, rel=1e-6)
    delivered = of("packet_delivery_ratio", 2500.27, 696, 70_260, 0.01)
    assert delivered == pytest.approx(0.9900939, rel=1e-7)
    # Table C-4 has a kbit of 1024 bits, case 1 of C-8 one of 1000.
    assert of("nai_1024_per_s", 2500.27, 696, 70_260, 0.01) == pytest.approx(30.65465134)
    assert of("nai_per_s", 7913.73, 689, 71_000, 0.01) == pytest.approx(95.715166909)
    assert of("nai_per_s", 7913.73, 0, 71_000, 0.01) is None
