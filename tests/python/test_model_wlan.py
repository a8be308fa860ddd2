"""TCP through a WLAN cell: the model from Python and from the command line."""

import json

import pytest

from conftest import command
from fairway.errors import InputError
from fairway.model.wlan import Access, Flow, saturation, wlan

#: Without rounding to whole microseconds, as in what expected values were computed from:
#: 192 + 8·1536/11 = 1309.09; with SIFS 10, acknowledgement 248, DIFS 50: 1617.09. And 555.27.
EXACT = {
    "slot_us": 20.0,
    "data_us": 1617.09,
    "ack_us": 555.27,
    "data_collision_us": 1617.09,
    "ack_collision_us": 555.27,
}


def both(downloads, uploads):
    return [Flow("download", w) for w in downloads] + [Flow("upload", w) for w in uploads]


def test_two_downloads_by_hand():
    # Weights 3 2 1 1 1 1 of the states; of 9, 3 and 5 with an acknowledgement at each station; a
    # cycle of 16 successes at 1309.966 µs: 143.133 and 238.556 packets a second (worked in
    # crates/model).
    found = wlan(both([1, 2], []), Access(times_us=EXACT))
    rates = [flow["packets_per_s"] for flow in found.answer["flows"]]
    assert rates == pytest.approx([143.133, 238.556], rel=1e-5)
    assert found.goodput_bps == pytest.approx(4.4581e6, rel=1e-4)
    assert [state["at_station"] for state in found.answer["chain"]] == [
        [0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2],
    ]  # fmt: skip
    embedded = [state["at_successes"] for state in found.answer["chain"]]
    assert embedded == pytest.approx([0.1875, 0.25, 0.125, 0.125, 0.1875, 0.125])


@pytest.mark.parametrize(
    ("access", "data_us", "ack_us"),
    [
        # 192 + 1118 + 10 + 248 + 50 and 192 + 56 + 308; short: twice 96 less.
        (Access("802.11b"), 1618, 556),
        (Access("802.11b", preamble="short"), 1426, 364),
        # 254 + 10 + 34 + 28 and 38 + 72; 802.11a: 248 + 16 + 28 + 34 and 32 + 78.
        (Access("802.11g"), 326, 110),
        (Access("802.11a"), 326, 110),
        # DIFS 50 instead of 28, and a CTS of 248 and SIFS 10.
        (Access("802.11g", slot="long", protection=True), 606, 390),
        # At 1 Mbit/s: 192 + 12288 + 10 + 304 + 50; 192 + 608 + 364.
        (Access("802.11b", rate="1 Mbit/s"), 12844, 1164),
    ],
)
def test_times(access, data_us, ack_us):
    times = wlan(both([1], []), access).answer["times"]
    assert (times["data_us"], times["ack_us"]) == (data_us, ack_us)
    assert (times["data_collision_us"], times["ack_collision_us"]) == (data_us, ack_us)


def test_both_directions_and_delayed_acknowledgements():
    # From an independent computation, Mbit/s.
    access = Access(times_us=EXACT)
    assert wlan(both([4], [4]), access).flow_bps == pytest.approx([2.2395e6] * 2, rel=1e-4)
    delayed = wlan(both([20], [20]), access, packets_per_ack=2)
    assert delayed.flow_bps == pytest.approx([2.779e6, 2.463e6], rel=3e-4)
    assert delayed.answer["literature"] is None


def test_the_chain_of_the_literature_stands_beside():
    found = wlan(both([20] * 5, []), Access(times_us=EXACT))
    literature = found.answer["literature"]
    # 1, 2, 3/2, 2/3, 5/24, 1/20 over their sum of 5.425.
    assert literature["active_at_successes"][0] == pytest.approx(1 / 5.425)
    assert literature["packets_per_s"] == pytest.approx(383.04, rel=1e-4)
    assert found.goodput_bps == pytest.approx(4.4736e6, rel=1e-4)


def test_the_chain_of_the_literature_has_no_use_for_windows():
    large, mixed = (
        wlan(both([a] * 3, [b] * 3), Access()).answer["literature"] for a, b in ((20, 20), (2, 64))
    )
    assert large == mixed
    # Uploads as downloads: data go up instead of down, at nearly the same rate.
    down = wlan(both([20] * 6, []), Access()).answer["literature"]
    assert large["packets_per_s"] == pytest.approx(down["packets_per_s"], rel=0.005)
    assert large["active_at_successes"] == down["active_at_successes"]


def test_bianchi():
    # His FHSS table: 8184 bits, Ts 8982, Tc 8713 µs, W 32, m 5, no limit of attempts.
    times = {
        "slot_us": 50.0,
        "data_us": 8982.0,
        "ack_us": 1.0,
        "data_collision_us": 8713.0,
        "ack_collision_us": 1.0,
    }
    found = saturation(10, Access(times_us=times, attempts=None))
    assert found["attempt"] == pytest.approx(0.037305, abs=1e-6)
    assert found["collision"] == pytest.approx(0.289771, abs=1e-6)
    assert found["packets_per_s"] * 8184 / 1e6 == pytest.approx(0.757880, abs=1e-6)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: wlan([]), "flows"),
        (lambda: wlan(both([0], [])), "window in packets"),
        (lambda: wlan(both([-1], [])), "window"),
        (lambda: wlan([Flow("sideways", 1)]), "direction"),
        (lambda: wlan(both([1], []), Access("802.11n")), "802.11a, 802.11b, 802.11g"),
        (lambda: wlan(both([1], []), Access("802.11b", rate="54 Mbit/s")), "5.5"),
        (lambda: wlan(both([1], []), Access("802.11b", slot="long")), "802.11g"),
        (lambda: wlan(both([1], []), Access("802.11g", preamble="short")), "802.11b"),
        (lambda: wlan(both([1], []), Access(packet_bytes=9000)), "2296"),
        (lambda: wlan(both([1], []), wire_rtt=float("nan")), "NaN|nan|not JSON"),
        (lambda: wlan(both([1], []), packets_per_ack=0), "acknowledgement"),
        (lambda: wlan(both([1], []), payload_bytes=0), "payload"),
        (lambda: saturation(0), "contenders"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, said):
    with pytest.raises(InputError, match=said):
        ask()


def test_the_command_prints_tables_of_80_columns():
    shown = command(
        "model", "wlan", "--standard", "802.11g", "--downloads", "3", "--uploads", "2",
        "--window", "5,10,20,30,64",
    )  # fmt: skip
    assert shown.returncode == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "upload" in shown.stdout and "attempt" in shown.stdout


def test_the_command_prints_all_as_json():
    shown = command(
        "model", "wlan", "--downloads", "1", "--uploads", "1", "--window", "4", "--json"
    )
    found = json.loads(shown.stdout)
    assert found["in_range"] is True
    # Equal windows share equally; 0.04 % less than without rounding to whole microseconds.
    assert found["goodput_bps"] == pytest.approx(2 * 2.2395e6, rel=1e-3)
    assert [flow["direction"] for flow in found["flows"]] == ["download", "upload"]
    assert found["flows"][0]["share"] == pytest.approx(0.5)
    for key in ("contention", "occupancy", "chain", "active_at_successes", "success_us", "times"):
        assert found[key]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--downloads", "2", "--window", "1,2,3"),
        ("--downloads", "2", "--window", "many"),
        ("--downloads", "1", "--window", "9" * 50),
        ("--downloads", "1", "--window", "0"),
        ("--downloads", "1", "--rate", "3 Mbit/s"),
        ("--downloads", "1", "--delayed-acks", "--packets-per-ack", "3"),
    ],
)
def test_the_command_refuses(arguments):
    shown = command("model", "wlan", *arguments)
    assert shown.returncode == 2
    assert "Traceback" not in shown.stderr and shown.stderr.strip()


def test_saturation_on_the_command_line():
    shown = command("model", "saturation", "--stations", "5", "--json")
    found = json.loads(shown.stdout)
    # Attempts of one to five stations that give up after seven, from an independent solution.
    assert [one["attempt"] for one in found] == pytest.approx(
        [0.060606, 0.057044, 0.053722, 0.050655, 0.047851], abs=1e-6
    )
    # One station: 15.5 slots of 20 µs, and 1618: 12,000 bits in 1928 µs.
    assert found[0]["throughput_bps"] == pytest.approx(12_000 / 1928e-6)
    shown = command("model", "saturation", "--standard", "802.11g", "--stations", "2008")
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "2,008" in shown.stdout
    assert command("model", "saturation", "--rate", "54 Mbit/s").returncode == 2
