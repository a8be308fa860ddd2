"""The arithmetic of the kernel modules, compiled in user space, against Fairway's sums by hand."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from collections.abc import Callable
from ctypes import c_bool, c_uint32, c_uint64
from fractions import Fraction
from pathlib import Path

import pytest

import fairway

HERE = Path(__file__).parent
RULES = Path(fairway.__file__).parent / "backends" / "linux" / "kernel"
MSS = 1448
#: `WESTWOOD_PLUS_RATE_SHIFT`: a byte per microsecond, in the unit of rates.
BYTE_PER_US = 1 << 24
#: A segment, in the unit of its parts.
SEGMENT = 1 << 32
#: `WESTWOOD_PLUS_MAX_SEGMENTS`.
MOST = 1 << 30


class Rate(ctypes.Structure):
    """`struct westwood_plus_rate`."""

    _fields_ = [
        ("rate", c_uint64),
        ("round_start_us", c_uint64),
        ("round_bytes", c_uint32),
        ("ahead_bytes", c_uint32),
    ]


class Rtts(ctypes.Structure):
    """`struct dcm_plus_rtts`."""

    _fields_ = [("new_us", c_uint32), ("old_us", c_uint32), ("min_us", c_uint32)]


Rules = ctypes.CDLL


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Rules:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: cc is not on the path")
    library = tmp_path_factory.mktemp("rules") / "rules.so"
    # What the language leaves undefined, a shift too far or a signed overflow, ends the test.
    flags = ["-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror"]
    flags += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", f"-I{RULES}"]
    source = str(HERE / "kernel_rules.c")
    subprocess.run([compiler, *flags, "-o", str(library), source], check=True)
    loaded = ctypes.CDLL(str(library))
    for name, result, arguments in [
        ("acked", c_uint32, [ctypes.POINTER(Rate), c_uint32, c_uint32, c_bool, c_uint32]),
        ("filter", c_uint64, [c_uint64, c_uint64, c_bool]),
        ("on_ack", None, [ctypes.POINTER(Rate), c_uint32, c_uint64, c_uint32, c_bool]),
        ("pipe_segments", c_uint32, [c_uint64, c_uint32, c_uint32]),
        ("threshold", c_uint32, [ctypes.POINTER(Rate), c_uint32, c_uint32, c_uint32]),
        ("sample", None, [ctypes.POINTER(Rtts), c_uint32]),
        ("increment", c_uint64, [ctypes.POINTER(Rtts), c_uint32, c_uint32, c_bool]),
        ("grow", c_uint32, [c_uint32, ctypes.POINTER(c_uint32), c_uint64, c_uint32]),
        ("timeout_ns", c_uint32, [ctypes.POINTER(Rtts), c_uint32]),
    ]:
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def rtts(rules: Rules, *samples_us: int) -> Rtts:
    seen = Rtts()
    for sample_us in samples_us:
        rules.sample(seen, sample_us)
    return seen


def acknowledgements(
    rules: Rules, seen: Rtts, cwnd: int, count: int, ssthresh: int
) -> tuple[int, float]:
    """The window after `count` of them, whole and exact, as `dcm_plus_cong_avoid` calls them."""
    fraction = c_uint32()
    for _ in range(count):
        added = rules.increment(seen, cwnd, fraction, cwnd < ssthresh)
        cwnd = rules.grow(cwnd, fraction, added, MOST)
    return cwnd, cwnd + fraction.value / SEGMENT


def kept_of_twenty(rules: Rules, is_dcm: bool) -> int:
    """Three rounds of 20 segments, one every 5 ms, and a loss."""
    path, now_us = Rate(), 5_000_000
    for _ in range(60):
        now_us += 5_000
        rules.on_ack(path, MSS, now_us, 100_000, is_dcm)
    return int(rules.threshold(path, 100_000, MSS, 20))


def tripled(rules: Rules) -> int:
    """Three rounds below ssthresh."""
    cwnd = 10
    for _ in range(3):
        cwnd, _ = acknowledgements(rules, rtts(rules, 100_000), cwnd, cwnd, 2**31)
    return cwnd


def divided(rules: Rules) -> int:
    seen = rtts(rules, 100_000, 110_000, 110_000)
    timeout_ns = 1_000_000_000
    for _ in range(24):
        timeout_ns = rules.timeout_ns(seen, timeout_ns)
    return timeout_ns


def at_150(rules: Rules) -> Rtts:
    return rtts(rules, 100_000, 150_000, 150_000)


#: Beginning of a sum, what the kernel's rules make of it, and how far it may be from the sum:
#: a millionth, where the sum is not whole.
SUMS: dict[str, list[tuple[str, Callable[[Rules], float], float]]] = {
    "westwood+": [
        ("steady 20 per round", lambda rules: kept_of_twenty(rules, is_dcm=False), 0),
        (
            "BWE 10 Mbit/s, RTTmin 100 ms",
            lambda rules: rules.pipe_segments(BYTE_PER_US * 125 // 100, 100_000, 1250),
            0,
        ),
    ],
    "dcm+": [
        ("reading 0, rateCA = 1, W = 10", tripled, 0),
        (
            "reading 0, rateCA = 1.5, W = 100",
            lambda rules: rules.increment(at_150(rules), 100, 0, False) / SEGMENT,
            1e-6,
        ),
        # The sum has two decimals.
        (
            "and a round of them",
            lambda rules: acknowledgements(rules, at_150(rules), 100, 100, 100)[1],
            0.01,
        ),
        ("reading 0, rateCA = 1.1, 24 samples", divided, 500),
        ("steady 20 per round", lambda rules: kept_of_twenty(rules, is_dcm=True), 0),
    ],
}
#: Beginnings of sums about what is not in the kernel: the code of the thesis (readings 1 and 2, and
#: the sums that go on from theirs), ns-3.29, and Linux's own module.
ELSEWHERE = {
    "westwood+": ("Linux", "ns-3.29"),
    "dcm+": ("reading 1", "reading 2", "rateCA = ", "not below, ", "and another"),
}


@pytest.mark.parametrize("name", sorted(SUMS))
def test_the_rules_give_the_sums_by_hand(rules: Rules, name: str) -> None:
    sums = {entry["name"]: entry["vectors"] for entry in fairway.algorithms()}[name]
    left = list(SUMS[name])
    for vector in sums:
        known = [entry for entry in left if vector["sum"].startswith(entry[0])]
        if not known:
            assert vector["sum"].startswith(ELSEWHERE[name]), f"untried: {vector['sum']}"
            continue
        left.remove(known[0])
        _, compute, tolerance = known[0]
        assert compute(rules) == pytest.approx(vector["expected"], rel=0, abs=tolerance)
    assert not left, f"no such sums any more: {left}"


def test_samples_of_a_round_and_the_first_loads(rules: Rules) -> None:
    # 8, 12, 10 with 0.9: 8; 0.9·8 + 0.1·12 = 8.4; 0.9·8.4 + 1 = 8.56. Rounded: half a unit each.
    rate = 0
    for sample, expected in [(8, 8), (12, 8.4), (10, 8.56)]:
        rate = rules.filter(rate, sample * BYTE_PER_US, False)
        assert rate == pytest.approx(expected * BYTE_PER_US, abs=1)
    # With 19/21: (19·8 + 2·12)/21 = 8.381.
    assert rules.filter(8 * 21_000, 12 * 21_000, True) == (19 * 8 + 2 * 12) * 1000


def test_a_round_ends_a_smoothed_round_trip_after_its_start(rules: Rules) -> None:
    # Ten segments in the 100 ms after the first acknowledgement: 144800 B/s. The one after 99 ms
    # ends nothing; the one that ends the round counts in it.
    path = Rate()
    for now_ms in [1_000, *range(1_010, 1_100, 10), 1_099]:
        rules.on_ack(path, MSS if now_ms != 1_099 else 0, now_ms * 1000, 100_000, False)
        assert path.rate == 0
    rules.on_ack(path, MSS, 1_100_000, 100_000, False)
    assert path.rate == 144_800 * BYTE_PER_US // 1_000_000
    assert (path.round_bytes, path.round_start_us) == (0, 1_100_000)


def test_duplicates_count_once(rules: Rules) -> None:
    # Three duplicates, one segment each; then four acknowledged, three of them counted already.
    path = Rate()
    for _ in range(3):
        assert rules.acked(path, 0, 1, False, MSS) == MSS
    assert rules.acked(path, 4 * MSS, 1, False, MSS) == MSS
    assert rules.acked(path, 4 * MSS, 1, False, MSS) == 4 * MSS
    # More ahead than acknowledged: one segment, the rest still ahead.
    path.ahead_bytes = 5 * MSS
    assert rules.acked(path, 2 * MSS, 1, False, MSS) == MSS
    assert path.ahead_bytes == 3 * MSS
    # A duplicate that reports three at once is three; a window update reports none.
    assert rules.acked(path, 0, 3, False, MSS) == 3 * MSS
    assert rules.acked(path, 0, 0, True, MSS) == 0
    assert path.ahead_bytes == 6 * MSS


def test_before_the_first_sample_a_loss_halves_and_two_remain(rules: Rules) -> None:
    assert rules.threshold(Rate(), 100_000, MSS, 40) == 20
    assert rules.threshold(Rate(), 100_000, MSS, 3) == 2
    # 1 B/us · 1448 us = 1 segment.
    assert rules.threshold(Rate(rate=BYTE_PER_US), 1_448, MSS, 40) == 2


def test_a_segment_is_not_lost_to_rounding(rules: Rules) -> None:
    # 20 segments in any round trip and back are 20, whatever the quotient.
    for rtt_us in [*range(10, 2_000), *range(33_000, 34_000), 2_000_000, 2_147_483_647]:
        path = Rate()
        rules.on_ack(path, 0, 1, rtt_us, False)
        rules.on_ack(path, 20 * MSS, 1 + rtt_us, rtt_us, False)
        expected = 20 if rtt_us <= BYTE_PER_US else 19
        assert rules.pipe_segments(path.rate, rtt_us, MSS) >= expected, rtt_us
        assert rules.pipe_segments(path.rate, rtt_us, MSS) <= 20


def test_growth_of_the_thesis(rules: Rules) -> None:
    # An acknowledgement counts once: 10 + 2. Reading 0 oversteps: 10, 12, and then by 2/12.
    seen = rtts(rules, 100_000)
    assert acknowledgements(rules, seen, 10, 1, 2**31) == (12, 12)
    assert acknowledgements(rules, seen, 10, 2, 12)[1] == pytest.approx(12 + 2 / 12, abs=1e-6)
    # Round trips 0.1 (smallest), 0.2 (old), 0.16 (new): 2·2, and 2/(2·10).
    seen = rtts(rules, 100_000, 200_000, 160_000)
    assert rules.increment(seen, 10, 0, True) == 4 * SEGMENT
    assert rules.increment(seen, 10, 0, False) == SEGMENT // 10
    # No sample yet: rateCA is 1. A clamp stops growth and drops the part.
    assert rules.increment(Rtts(), 10, 0, True) == 2 * SEGMENT
    fraction = c_uint32(SEGMENT // 2)
    assert rules.grow(10, fraction, 3 * SEGMENT, 12) == 12
    assert fraction.value == 0
    assert rules.grow(15, fraction, SEGMENT, 12) == 15


def test_a_round_trip_of_nothing_is_harmless(rules: Rules) -> None:
    seen = rtts(rules, 0, 0)
    assert rules.increment(seen, 10, 0, True) == 2 * SEGMENT
    # The grain of the clock is 1 us: 2 s over it is more than a million, which is the most.
    seen = rtts(rules, 0, 2_000_000, 2_000_000)
    assert rules.increment(seen, 10, 0, True) == 2_000_000 * SEGMENT
    assert rules.timeout_ns(seen, 1_000_000_000) == 1_000


def test_the_timeout_is_divided_at_each_sample(rules: Rules) -> None:
    # The old round trip is 100, then 200 twice: 1 s, 0.5 s, 0.25 s.
    seen, timeout = rtts(rules, 100_000), 1_000_000_000
    for expected in [1_000, 500, 250]:
        rules.sample(seen, 200_000)
        timeout = rules.timeout_ns(seen, timeout)
        assert timeout == expected * 1_000_000


def test_nothing_overflows_within_the_ranges(rules: Rules) -> None:
    # Against exact fractions, at the edges and in between.
    dice = random.Random(1)
    edges = [1, 2, 1447, 2**16, 2**24, 2**30, 2**31 - 1]
    pick = lambda most: min(dice.choice([*edges, dice.randrange(1, 2**31)]), most)  # noqa: E731
    for _ in range(20_000):
        old, least, cwnd = pick(2**31 - 1), pick(2**31 - 1), pick(2**30)
        least = min(old, least)
        old = min(old, least * 1_000_000)
        fraction, timeout = dice.randrange(SEGMENT), dice.randrange(1_000_000_001)
        seen = Rtts(old, old, least)
        assert rules.increment(seen, cwnd, fraction, True) == 2 * SEGMENT * old // least
        exact = Fraction(2 * SEGMENT * least) / (old * (cwnd + Fraction(fraction, SEGMENT)))
        assert abs(rules.increment(seen, cwnd, fraction, False) - exact) <= 1 + exact / (old * cwnd)
        assert abs(rules.timeout_ns(seen, timeout) - Fraction(timeout * least, old)) <= Fraction(
            1, 2
        )
        # The window never passes the limit, and never wraps.
        part = c_uint32(fraction)
        added = rules.increment(seen, cwnd, fraction, True)
        assert rules.grow(cwnd, part, added, MOST) == min(
            MOST, (cwnd * SEGMENT + fraction + added) // SEGMENT
        )
        rate, sample = dice.randrange(1, 2**56), dice.randrange(2**56)
        assert abs(rules.filter(rate, sample, True) - Fraction(19 * rate + 2 * sample, 21)) <= 0.5
        mss = dice.randrange(88, 65_536)
        held = (((rate * least) >> 24) + 1) // mss if rate * least < 2**64 else MOST
        assert rules.pipe_segments(rate, least, mss) == min(held, MOST)
    # A round with more bytes than 32 bits hold stays at the most.
    path = Rate(0, 1, 2**32 - 10, 0)
    rules.on_ack(path, 100, 2, 10, False)
    assert path.round_bytes == 2**32 - 1
