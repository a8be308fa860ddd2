"""Our congestion controls in a kernel: the sampled trace beside the papers' rules."""

from __future__ import annotations

import numpy as np
import pytest

import fairway
from fairway.backends.linux import cache
from kernel_trace import DcmPlus, Replay, Verdict, WestwoodPlus

RULES = {"westwood+": WestwoodPlus, "dcm+": DcmPlus}

#: An acknowledgement comes each 1.2 ms or more; the sampling sees every one of them.
PATH = """
title = "One flow under random losses"
duration = "{seconds} s"
seed = 9

[stack]
mtu = "1500 bytes"

[topology]
kind = "dumbbell"
frame_overhead = "14 bytes"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "25 ms"
queue = {{ kind = "droptail", limit = "42 packets" }}
loss = {{ kind = "bernoulli", probability = {probability} }}

[[flow]]
cc = "{cc}"
cc_variant = "paper"

[measure]
window = ["1 s", "{seconds} s"]
sample = "200 us"
"""
#: Losses that leave room for a queue, and losses of which each meets a window of some ten segments;
#: for as many seconds as some twenty reductions take, each of which takes a kernel a second.
LOSSES = {0.006: 8, 0.03: 5}


@pytest.fixture(scope="module", params=sorted(RULES))
def cc(request: pytest.FixtureRequest) -> str:
    kernel = cache.find()
    if kernel is None or not kernel.virtual_time:
        pytest.skip("no kernel with virtual time: `fairway linux build` makes one")
    missing = {"tcp_dcm_plus", "tcp_westwood_plus"} - set(kernel.modules)
    if missing:
        pytest.skip(f"the kernel {kernel.path} has no {', '.join(sorted(missing))}")
    return str(request.param)


@pytest.fixture(scope="module", params=LOSSES.items())
def verdict(request: pytest.FixtureRequest, cc: str) -> Verdict:
    probability, seconds = request.param
    experiment = PATH.format(cc=cc, probability=probability, seconds=seconds)
    run = fairway.run(experiment, backend="linux")
    assert run.tcp_info is not None
    return Replay(RULES[cc]()).run(run.tcp_info.to_dict(as_series=False))


def test_a_reduction_is_to_bandwidth_times_the_smallest_round_trip(verdict: Verdict) -> None:
    # The kernel rounds down to whole segments, so it is less than one below the rule. The trace
    # knows times to 0.2 ms of a round trip of 50 ms and round trips to 8 us, and now and then takes
    # a round for one acknowledgement longer or shorter than it was: that moves the rule by a part
    # of a segment, mostly by less than a fifth.
    rule, kernel = verdict.thresholds.rule, verdict.thresholds.kernel
    assert len(kernel) >= 15
    assert np.all((kernel > rule - 1.7) & (kernel < rule + 0.7))
    assert np.mean((kernel > rule - 1.2) & (kernel < rule + 0.2)) > 0.9


def test_recovery_ends_at_the_threshold_and_never_above_where_it_began(verdict: Verdict) -> None:
    # The row that shows the end may be one acknowledgement late: two segments of DCM+, one of
    # Reno's slow start.
    rule, kernel = verdict.windows.rule, verdict.windows.kernel
    assert len(kernel) >= 15
    assert np.all((kernel >= rule) & (kernel <= rule + 2))
    assert np.mean(kernel == rule) > 0.85


def test_between_reductions_the_window_grows_by_the_rule(verdict: Verdict) -> None:
    # Growth over a period has at most an acknowledgement more or less than the rule: at its ends,
    # which the trace knows to a sample, and where the receiver's window held the sender back.
    rule, kernel = verdict.growth.rule, verdict.growth.kernel
    assert len(kernel) >= 15
    assert np.all(np.abs(kernel - rule) < 3)
    assert np.mean(np.abs(kernel - rule) <= 1) > 0.85


def test_the_timeout_of_dcm_plus_is_divided_at_every_sample(verdict: Verdict, cc: str) -> None:
    if cc != "dcm+":
        assert len(verdict.timeouts) == 0
        return
    # 1 s at first, over the round trip; each part of it is rounded up to a tick of 1 ms.
    rule, kernel = verdict.timeouts.rule, verdict.timeouts.kernel
    assert rule[0] == pytest.approx(1.05, abs=0.01)
    assert np.all(kernel > rule - 0.001)
    # Below the 200 ms that Linux has for the variance at first, that takes its time to fall.
    governs = rule > 0.05 + 0.25
    assert np.count_nonzero(governs) >= 10
    assert np.all(kernel[governs] < rule[governs] + 0.003)
    # In the end the value is less than a tick, and the round trip's own variance is the timeout.
    assert kernel[-1] < 0.15
