"""The tables of the study "response": what laws say, what is run, and losses at random.

`python tools/response_tables.py` writes them: the numbers of the laws, from `fairway.model`; the
points, of which each lasts as long as so many losses take by its law; and, with `--random`, the
windows that `window_laws` has under random losses, which takes minutes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairway.model.laws import ask
from window_laws import Path as WindowPath
from window_laws import mean_window

STUDY = Path(__file__).resolve().parents[1] / "python" / "fairway" / "studies" / "response"

LOSSES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
#: One-way delay of the path, as the experiment has it -> round-trip time.
RTTS_S = {"5 ms": 0.01, "50 ms": 0.1, "150 ms": 0.3}

#: Sizes of packets: data, and what a handshake has one way; acknowledgements (RFC 9293, RFC 7323).
DATA_BYTES, HANDSHAKE_BYTES, ACK_BYTES = 1488, 52, 40
#: What Westwood+'s path holds without a queue.
PIPE_PACKETS = 100
#: PFTK's first timeout, and how long an acknowledgement waits for a second packet, in round trips:
#: at most 450 ms, where RFC 5681 section 4.2 allows 500 ms.
TIMEOUT_ROUNDS, ACK_DELAY_ROUNDS = 3, 1.5
#: CUBIC's window at a loss over the mean of its epoch, 1 − (1 − 0.7)/4: RFC 9438 section 5.1.
CUBIC_MEAN = 0.925

#: Losses that a point sees in each repetition before it is measured, and then: fewer where a loss
#: takes many packets.
RANDOM, RANDOM_REPETITIONS = (5, 40), 8
RARE = {3e-5: (3, 25), 1e-5: (2, 12)}
PERIODIC = (10, 12)
#: Packets that are measured in each repetition at the least.
LEAST_PACKETS = 50_000
#: Samples of the window in a run at the most; and round trips between them, no whole number.
MOST_SAMPLES, ROUNDS_PER_SAMPLE = 4000, 3.7


@dataclass(frozen=True)
class Scenario:
    """A law, and how losses come.

    Attributes:
        law: Its name.
        given: Its parameters but loss and round-trip time.
        result: What it is asked for.
        is_random: Whether each packet is lost by itself, and not each 1/p-th.
        window_law: The window law under random losses to show beside.
    """

    law: str
    given: Mapping[str, float] = field(default_factory=dict)
    result: str = "window_packets"
    is_random: bool = False
    window_law: str | None = None


#: Name in the study -> what it is.
SCENARIOS: dict[str, Scenario] = {
    "reno periodic": Scenario("mathis"),
    "reno random": Scenario("mathis", is_random=True, window_law="reno"),
    "scalable periodic": Scenario("scalable", result="periodic_window_packets"),
    "scalable random": Scenario("scalable", is_random=True, window_law="scalable"),
    "highspeed periodic": Scenario("highspeed"),
    "highspeed random": Scenario("highspeed", is_random=True, window_law="highspeed"),
    "bic periodic": Scenario("bic"),
    "bic random": Scenario("bic", is_random=True, window_law="bic"),
    "cubic periodic": Scenario("cubic"),
    "cubic random": Scenario("cubic", is_random=True, window_law="cubic"),
    # Without a queue the adaptive back-off keeps its most.
    "htcp periodic": Scenario("htcp", {"retention": 0.8}),
    "htcp random": Scenario("htcp", {"retention": 0.5}, is_random=True, window_law="htcp"),
    "hybla periodic": Scenario("hybla"),
    "hybla random": Scenario("hybla", is_random=True, window_law="hybla"),
    "cubic converging": Scenario("cubic"),
    "bic-linux periodic": Scenario("bic-linux"),
    "scalable-linux random": Scenario("scalable-linux", is_random=True),
    "westwood+ random": Scenario("westwood+path", is_random=True, window_law="westwood+"),
    "pftk random": Scenario("pftk", result="throughput_pps", is_random=True),
    "pftk delayed": Scenario("pftk", {"packets_per_ack": 2.0}, "throughput_pps", is_random=True),
}

#: Further laws of the same measurements: their table -> scenario, law.
OTHERS = {"balance": ("reno random", "reno-balance"), "search": ("bic periodic", "bic-small")}


def answer(scenario: Scenario, loss: float, delay: str) -> Any:
    """What the law of a scenario says at a point."""
    given = dict(scenario.given)
    if scenario.law == "westwood+path":
        given["capacity_pps"] = bottleneck_bps(delay) / 8 / DATA_BYTES
    if scenario.law == "pftk":
        given["rto_s"] = TIMEOUT_ROUNDS * RTTS_S[delay]
    return ask(scenario.law, loss=loss, rtt_s=smallest_rtt_s(scenario, delay), **given)


def bottleneck_bps(delay: str) -> float:
    """Rate at which Westwood+'s path holds `PIPE_PACKETS`, in its smallest round-trip time."""
    # PIPE·DATA·8 = rate·(rtt + 2·HANDSHAKE·8/rate), the handshake being shorter than data.
    return (PIPE_PACKETS * DATA_BYTES - 2 * HANDSHAKE_BYTES) * 8 / RTTS_S[delay]


def smallest_rtt_s(scenario: Scenario, delay: str) -> float:
    """The smallest round-trip time that the connection sees."""
    if scenario.law != "westwood+path":
        return RTTS_S[delay]
    return RTTS_S[delay] + 2 * HANDSHAKE_BYTES * 8 / bottleneck_bps(delay)


def window_path(scenario: Scenario, delay: str) -> WindowPath:
    """The path of a scenario, as the window laws have it."""
    if scenario.law != "westwood+path":
        return WindowPath(rtt_s=RTTS_S[delay])
    rate = bottleneck_bps(delay)
    data_s = RTTS_S[delay] + (DATA_BYTES + ACK_BYTES) * 8 / rate
    shortest = smallest_rtt_s(scenario, delay) / data_s
    return WindowPath(rtt_s=data_s, pipe=data_s * rate / 8 / DATA_BYTES, shortest=shortest)


def law_table() -> list[dict[str, Any]]:
    """What each law says at each point: a window in packets, or packets a second."""
    return _table(lambda loss, delay: {
        name: f"{getattr(answer(scenario, loss, delay), scenario.result):.6g}"
        for name, scenario in SCENARIOS.items()
    })  # fmt: skip


def other_table(name: str) -> list[dict[str, Any]]:
    """What one of `OTHERS` says at each point."""
    column, law = OTHERS[name]
    return _table(lambda loss, delay: {
        column: f"{ask(law, loss=loss, rtt_s=RTTS_S[delay]).window_packets:.6g}"
    })  # fmt: skip


def random_table() -> list[dict[str, Any]]:
    """Windows under random losses, where timeouts are few; takes minutes."""

    def windows(loss: float, delay: str) -> dict[str, Any]:
        found = {}
        for name, scenario in SCENARIOS.items():
            if scenario.window_law is not None:
                found[name] = f"{_random_window(scenario, loss, delay):.4g}" if loss < 0.02 else ""
        return found

    return _table(windows)


def _random_window(scenario: Scenario, loss: float, delay: str) -> float:
    """The mean over some thousands of losses."""
    start = answer(scenario, loss, delay).window_packets
    rounds = max(100, round(15 / (loss * start)))
    path, name = window_path(scenario, delay), scenario.window_law or ""
    return mean_window(name, loss, path, flows=400, rounds=rounds, start=start)


def _table(row: Any) -> list[dict[str, Any]]:
    return [
        {"loss": loss, "delay": delay, **row(loss, delay)} for loss in LOSSES for delay in RTTS_S
    ]


def point_table() -> list[dict[str, Any]]:
    """How long each point is run, from where on, and with what."""
    return [
        {"scenario": name, "loss": loss, "delay": delay, **_settings(scenario, loss, delay)}
        for name, scenario in SCENARIOS.items()
        for loss in LOSSES
        for delay in RTTS_S
    ]


def _settings(scenario: Scenario, loss: float, delay: str) -> dict[str, Any]:
    said = answer(scenario, loss, delay)
    rate_pps = getattr(said, scenario.result)
    if scenario.result.endswith("_packets"):
        # Westwood+'s own queue makes its round trips longer.
        rate_pps = said.rate_pps if scenario.law == "westwood+path" else rate_pps / RTTS_S[delay]
    before, measured = RARE.get(loss, RANDOM) if scenario.is_random else PERIODIC
    packets = max(measured / loss, LEAST_PACKETS)
    first_s = before / loss / rate_pps
    last_s = first_s + packets / rate_pps
    sample_s = max(ROUNDS_PER_SAMPLE * RTTS_S[delay], (last_s - first_s) / MOST_SAMPLES)
    window = max(2, round(rate_pps * RTTS_S[delay]))
    if scenario.law == "westwood+path":
        window = round(said.window_packets)
    found: dict[str, Any] = {
        "repetitions": RANDOM_REPETITIONS if scenario.is_random else 1,
        "duration": f"{last_s:.3f} s",
        "measure.window.0": f"{first_s:.3f} s",
        "measure.window.1": f"{last_s:.3f} s",
        "measure.sample": f"{sample_s * 1e3:.1f} ms",
        "stack.initial_ssthresh": f"{window} segments",
        "topology.bottleneck.rate": "100 Gbit/s",
        "topology.bottleneck.loss.first": "",
        "stack.rto_min": "",
        "stack.delayed_ack": "",
    }
    if scenario.law == "westwood+path":
        found["topology.bottleneck.rate"] = f"{bottleneck_bps(delay):.0f} bit/s"
    if scenario.law == "cubic" and not scenario.is_random:
        # It remembers where it began: at the end of an epoch, to which slow start takes twice the
        # window in packets.
        peak = max(2, round(window / CUBIC_MEAN))
        found["stack.initial_ssthresh"] = f"{peak} segments"
        found["topology.bottleneck.loss.first"] = 2 * peak
    if scenario.law == "pftk":
        rtt_ms = RTTS_S[delay] * 1e3
        found["stack.rto_min"] = f"{TIMEOUT_ROUNDS * rtt_ms:g} ms"
        if "packets_per_ack" in scenario.given:
            found["stack.delayed_ack"] = f"{ACK_DELAY_ROUNDS * rtt_ms:g} ms"
    return found


def _write(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    with (STUDY / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write the tables."""
    _write("points.csv", point_table())
    _write("published/laws.csv", law_table())
    for name in OTHERS:
        _write(f"published/{name}.csv", other_table(name))
    if "--random" in sys.argv[1:]:
        _write("published/random_losses.csv", random_table())


if __name__ == "__main__":
    main()
