"""Fits what the report of the study prukpaiboon2012 leaves open: the scenario "fitted".

    .venv/bin/python tools/docs/prukpaiboon2012_fit.py

One path, one limit of the windows and one speed of the client are to give figures 4, 5 and 6
together; figures 2, 3 and 7 are held out, for the study to predict. It goes down one coordinate
after the other until no step is better, which takes some minutes, and writes the misfit of every
step. The last line is what the study's parts set in the scenario "fitted".
"""

from __future__ import annotations

import functools
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import fairway
from fairway.metrics import all_of_outcome
from fairway.study.files import library
from fairway.sweep.outcome import Outcome

STUDY = library() / "prukpaiboon2012"
LOSS = "topology.bottleneck.loss.probability"
TCP, UDP = "transfer.tcp.utilisation", "flow.udp.count"

#: Figure 4: loss -> mean throughput of four algorithms, Mbit/s. To be met within a tenth.
FIGURE_4 = {0.0: 86.75, 0.01: 75.55, 0.03: 37.44, 0.05: 15.67, 0.1: 2.81}
SHARE = 0.1
#: Figure 5: sessions that are fair, and that are less so; unfairness between the two.
FAIR, UNFAIR, NEAR_ZERO = (10, 20, 30), (35, 40, 50), 0.1
#: Figure 6: sessions of UDP; how much of the link the statements about it may be off.
SESSIONS, STEP = (1, 2, 3, 5, 10, 15, 30, 50, 100, 200), 0.05

#: As the study's parts have them: CUBIC 2.2, Reno that counts acknowledgements.
CUBIC = {"beta": 0.7002, "max_increment": 1000000}
PARAMS: Mapping[str, Mapping[str, Any]] = {
    "cubic": CUBIC, "reno": {"abc": 0}, "vegas": {}, "bic": {},
}  # fmt: skip


@dataclass(frozen=True)
class Guess:
    """What the report does not say.

    Attributes:
        round_trip_ms: Propagation there and back, mean delays of both cards included.
        jitter_ms: Mean delay of a card, packets' and acknowledgements', and its standard deviation.
        window_kb: Largest window of a session.
        client_mbit_per_s: What the client sends of UDP at most, in all.
    """

    round_trip_ms: float
    jitter_ms: float
    window_kb: int
    client_mbit_per_s: int

    def common(self) -> dict[str, Any]:
        """What is set in every experiment: half of a receive buffer is window."""
        each_way = self.round_trip_ms / 2 - self.jitter_ms
        return {
            "stack.delayed_ack": False,
            "stack.receive_buffer": f"{2 * self.window_kb} kB",
            "topology.bottleneck.delay": f"{each_way:g} ms",
            "topology.bottleneck.jitter": {
                "mean": f"{self.jitter_ms:g} ms", "deviation": f"{self.jitter_ms:g} ms",
                "direction": "both",
            },
        }  # fmt: skip


START = Guess(0.7, 0.25, 48, 150)
STEPS: Mapping[str, Sequence[Any]] = {
    "round_trip_ms": (0.4, 0.5, 0.6, 0.7, 0.8, 1.0),
    "jitter_ms": (0.15, 0.2, 0.25, 0.3),
    "window_kb": (44, 48, 52, 56),
    "client_mbit_per_s": (125, 150, 200, 300),
}


def outcomes(
    name: str, guess: Guess, changes: Mapping[str, Any], sweep: Mapping[str, Any]
) -> Sequence[Outcome]:
    """Runs of an experiment of the study."""
    overrides = {**guess.common(), **changes, "sweep": sweep}
    found = fairway.run(STUDY / name, overrides=overrides, keep="summaries")
    assert isinstance(found, fairway.Sweep)
    return found.outcomes


@functools.cache
def figure_4(path: Guess) -> dict[float, float]:
    """Loss -> mean throughput of the four algorithms, Mbit/s; the client's speed plays no part."""
    rates: dict[float, list[float]] = {}
    for cc, params in PARAMS.items():
        changes = {"duration": "10 s", "flow.0.cc": cc, "flow.0.cc_params": params}
        sweep = {"repetitions": 3, LOSS: list(FIGURE_4)}
        for outcome in outcomes("ethernet.toml", path, changes, sweep):
            rate = outcome.summary["flows"][0]["goodput_bps"] / 1e6
            rates.setdefault(outcome.point.axes[LOSS], []).append(rate)
    return {loss: statistics.fmean(found) for loss, found in rates.items()}


@functools.cache
def figure_5(path: Guess) -> dict[int, float]:
    """Sessions -> unfairness over 60 s."""
    changes = {
        "duration": "68 s", "measure.window": ["8 s", "68 s"], "flow.0.stagger": "160 ms",
        "flow.0.cc_params": CUBIC, "flow.0.slow_start": "hystart", "stack.send_jitter": "100 us",
    }  # fmt: skip
    found = outcomes("ethernet.toml", path, changes, {"flow.0.count": [*FAIR, *UNFAIR]})
    return {o.point.axes["flow.0.count"]: value(o, "unfairness") for o in found}


@functools.cache
def figure_6(guess: Guess) -> dict[int, float]:
    """Sessions of UDP -> throughput of the TCP, in parts of the link."""
    found = {}
    for sessions in SESSIONS:
        each = min(100.0, guess.client_mbit_per_s / sessions)
        changes = {"flow.udp.send_buffer": "165888 bytes", "flow.udp.rate": f"{each:g} Mbit/s"}
        (outcome,) = outcomes("mixed/mixed.toml", guess, changes, {UDP: [sessions]})
        found[sessions] = value(outcome, TCP)
    return found


def value(outcome: Outcome, metric: str) -> float:
    """What was measured in a run; nothing counts as zero."""
    return all_of_outcome(outcome, [metric])[metric] or 0.0


def misfits(guess: Guess) -> Iterator[float]:
    """How far each number and statement of figures 4 to 6 is off, in what it may be off."""
    path = replace(guess, client_mbit_per_s=0)
    means = figure_4(path)
    yield from ((means[loss] / wanted - 1) / SHARE for loss, wanted in FIGURE_4.items())
    unfairness = figure_5(path)
    yield from (max(0.0, unfairness[n] - NEAR_ZERO) / NEAR_ZERO for n in FAIR)
    yield from (max(0.0, NEAR_ZERO - unfairness[n]) / NEAR_ZERO for n in UNFAIR)
    rates = figure_6(guess)
    # "Very fast with only one or two", slower up to 15, then up and down, but "still decreasing".
    falls = {3: (1, 0.08), 15: (10, 0.0), 30: (15, 0.0), 50: (30, 0.0), 100: (50, 0.0)}
    for later, (before, at_least) in {**falls, 200: (100, 0.0)}.items():
        yield max(0.0, at_least - (rates[before] - rates[later])) / STEP
    yield max(0.0, (rates[10] - rates[15]) / 5 - (rates[1] - rates[3]) / 2) / STEP


def misfit(guess: Guess) -> float:
    """The sum of squares."""
    return sum(off * off for off in misfits(guess))


def main() -> None:
    """Go down from the start, and print every step."""
    best, least = START, misfit(START)
    moved = True
    while moved:
        moved = False
        for name, values in STEPS.items():
            for number in values:
                guess = replace(best, **{name: number})
                if guess.round_trip_ms < 2 * guess.jitter_ms:
                    continue
                found = misfit(guess)
                say(f"{guess} {found:.2f}")
                if found < least:
                    best, least, moved = guess, found, True
    path = replace(best, client_mbit_per_s=0)
    means = figure_4(path)
    say("figure 4:", {loss: round(mean, 2) for loss, mean in means.items()})
    say("figure 5:", figure_5(path))
    say("figure 6:", figure_6(best))
    say(f"{best} {least:.2f}")


def say(*words: object) -> None:
    """Write a line."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
