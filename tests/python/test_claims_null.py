"""Claims judged on data in which there is nothing, or just not enough: how often they are believed.

Each kind of claim on 600 studies of which the truth is known; 5 % of them have a standard error of
0.9 %.
"""

import numpy as np
import pytest

from fairway.stats import mean_interval
from fairway.study.claims import Cell, Claim, check_test, judge_all

STUDIES, REPETITIONS = 600, 10
NAMES = ["a", "b", "c", "d", "e"]


def cells_of(samples, published=None):
    """One cell for each variant, at each of two numbers of flows."""
    for (name, flows), values in samples.items():
        found = mean_interval(values)
        yield Cell({"cc": name, "flows": flows}, "m", published, found.mean, found.low, found.high,
                   tuple(values))  # fmt: skip


def study(rng, means, skewed):
    """Repetitions with noise that variants of the same seed have in common, and their own."""
    samples = {}
    draw = (lambda: rng.exponential(1, REPETITIONS)) if skewed else (
        lambda: rng.normal(0, 1, REPETITIONS)
    )  # fmt: skip
    for flows in (1, 10):
        common = 3 * draw()
        for name in NAMES:
            samples[name, flows] = (means.get(name, 0) + 20 + common + draw()).tolist()
    return list(cells_of(samples, published=20))


def verdicts(test, means=None, skewed=False, family=1, seed=1):
    check_test(test, "test")
    rng = np.random.default_rng(seed)
    claims = [Claim(str(i), "s", "w", (test,), "f") for i in range(family)]
    found = []
    for _ in range(STUDIES):
        cells = study(rng, means or {}, skewed)
        found += [finding.verdict for finding in judge_all(claims, cells, cells)]
    return {v: found.count(v) / len(found) for v in ("supported", "refuted", "undecided")}


BETTER = {
    "kind": "compare", "metric": "m", "how": "difference",
    "left": {"cc": "a"}, "right": {"cc": "b"}, "at_least": 0,
}  # fmt: skip
RATIO = {**BETTER, "how": "ratio", "at_least": 1}
ORDER = {"kind": "order", "metric": "m", "axis": "cc", "order": [["a"], ["b"], ["c"]]}
BEST = {"kind": "order", "metric": "m", "axis": "cc", "order": [["a"], NAMES[1:]]}
TREND = {"kind": "trend", "metric": "m", "axis": "flows", "direction": "increasing"}
EACH = {**BETTER, "for_each": ["flows"]}


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("test", [BETTER, RATIO, ORDER, BEST, TREND, EACH])
def test_nothing_is_rarely_taken_for_something(test, skewed):
    found = verdicts(test, skewed=skewed)
    assert found["supported"] < 0.05
    # One family: of all its comparisons together, five in a hundred would refute.
    assert found["refuted"] < 0.07


def test_better_by_a_margin_is_not_believed_of_what_is_better_by_the_margin_alone():
    found = verdicts({**BETTER, "at_least": 1.0}, {"a": 1.0})
    assert found["supported"] < 0.05
    assert found["refuted"] < 0.05
    # And twice the margin is mostly seen: error √2/√20 = .32.
    assert verdicts({**BETTER, "at_least": 1.0}, {"a": 3.0})["supported"] > 0.9
    assert verdicts({**BETTER, "at_least": 1.0}, {"a": -1.0})["refuted"] > 0.9


def test_no_difference_is_rarely_believed_of_what_differs_by_the_margin():
    same = {"kind": "no_difference", "metric": "m", "left": {"cc": "a"}, "right": {"cc": "b"}}
    differs = verdicts({**same, "margin": 1.5}, {"a": 1.5})
    assert differs["supported"] < 0.07
    assert verdicts({**same, "margin": 1.5})["supported"] > 0.9
    every = {"kind": "no_difference", "metric": "m", "axis": "cc", "margin": 1.5}
    assert verdicts(every, {"a": 1.5})["supported"] < 0.05


def test_a_number_is_rarely_believed_of_what_is_at_the_end_of_its_tolerance():
    value = {"kind": "value", "metric": "m", "at": {"cc": "a"}, "expected": 20, "tolerance": 3.0}
    assert verdicts(value, {"a": 3.0})["supported"] < 0.05
    # The mean of exponential noise of 3 and 1 is 4: the same from that.
    assert verdicts({**value, "expected": 21}, skewed=True)["supported"] < 0.05


def test_a_published_number_is_rarely_believed_of_what_is_off_by_its_margin():
    # Ten cells, of which all are off by the margin: each would be believed in 5 % of cases.
    off = dict.fromkeys(NAMES, 3.0)
    test = {"kind": "published", "metric": "m", "margin": 3.0}
    assert verdicts(test, off)["supported"] < 0.05
    assert verdicts(test, dict.fromkeys(NAMES, 8.0))["refuted"] > 0.9
    # The error of a mean is √10/√10 = 1: a margin of six is enough for ten at once.
    assert verdicts({**test, "margin": 6.0})["supported"] > 0.9


def test_a_family_of_claims_as_a_whole():
    # Of twenty claims that "x is better", on one study, whose noise is each one's own.
    claims = []
    for index in range(20):
        test = {**BETTER, "left": {"cc": f"l{index}"}, "right": {"cc": f"r{index}"}}
        claims.append((Claim(str(index), "s", "w", (test,), "f"), test))
    rng = np.random.default_rng(3)
    believed = {"f": 0, None: 0}
    for _ in range(200):
        cells = list(
            cells_of({
                (f"{side}{index}", 1): rng.normal(0, 1, REPETITIONS).tolist()
                for index in range(20)
                for side in "lr"
            })
        )  # fmt: skip
        for family in believed:
            own = [Claim(c.id, "s", "w", c.tests, family) for c, _ in claims]
            found = judge_all(own, cells, cells)
            believed[family] += any(f.verdict == "supported" for f in found)
    assert believed["f"] / 200 < 0.05
    # Each for itself is wrong in 2.5 %: 1 − .975²⁰ = 40 % of these studies have a wrong one.
    assert 0.3 < believed[None] / 200 < 0.5
