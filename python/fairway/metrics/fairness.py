"""How evenly rates are shared, and what sharing costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def jain_index(values: Sequence[float]) -> float | None:
    """Jain's fairness index (Σx)² ÷ (n · Σx²), without a unit: 1 is equal, 1/n is one taking all.

    None where every value is zero: nobody is favoured, and nothing is shared. [1, 2, 3, 4] has
    0.8333.

    Source: Jain, Chiu and Hawe, DEC-TR-301 (1984), section 3.

    Raises:
        ValueError: Without values, or with a negative or non-finite one.
    """
    _check(values, "the Jain index")
    largest = max(values)
    if largest == 0:
        return None
    shares = [x / largest for x in values]  # no overflow in the squares
    return math.fsum(shares) ** 2 / (len(shares) * math.fsum(x * x for x in shares))


def asymmetry(first: float, second: float) -> float | None:
    """A = (x₁ − x₂) ÷ (x₁ + x₂), without a unit: 0 is equal, 1 all to the first, −1 to the second.

    For two: Jain's index is 1/(1 + A²) and the ratio of rates (1 + A)/(1 − A); A = 0.815 is 0.6009
    and 9.81. None where both are zero.

    Source: Weigle, Sharma and Freeman, "Performance of Competing High-Speed TCP Flows",
    NETWORKING 2006; Gelle 2008, section 3, over [250 s, 500 s].
    """
    total = first + second
    return (first - second) / total if total else None


def unfairness(values: Sequence[float]) -> float | None:
    """(max − min) ÷ min, without a unit: 0 is equal, without a bound.

    For two it is 2·|A|/(1 − |A|) of their asymmetry A. None where the smallest is zero: it is
    infinite then, or nothing is shared.

    Source: Prukpaiboon 2012.

    Raises:
        ValueError: Without values, or with a negative or non-finite one.
    """
    _check(values, "unfairness")
    least = min(values)
    return (max(values) - least) / least if least > 0 else None


def epsilon(values: Sequence[float]) -> float | None:
    """1 − min ÷ max, without a unit: the smallest ε for which a sharing is ε-fair.

    A sharing is ε-fair if the smallest rate is at least 1 − ε of the largest: 0 is equal, 1 has one
    with nothing. None where all are zero (0 ÷ 0).

    Source: RFC 5166 section 2.3.1.

    Raises:
        ValueError: Without values, or with a negative or non-finite one.
    """
    _check(values, "epsilon-fairness")
    most = max(values)
    return 1 - min(values) / most if most > 0 else None


def product_measure(values: Sequence[float]) -> float:
    """(Πx)^(1/n) = exp(mean of ln x), in the unit of x: the product measure, as a geometric mean.

    The root orders sharings among equally many as the product does, and neither overflows nor
    depends on how many there are. 0 as soon as one has nothing.

    Source: RFC 5166 section 2.3.1; Bansal and Liu, "Capacity, delay and mobility", 2003, for the
    product; Kelly 1997 for the sum of logarithms.

    Raises:
        ValueError: Without values, or with a negative or non-finite one.
    """
    _check(values, "the product measure")
    if min(values) == 0:
        return 0.0
    return math.exp(math.fsum(math.log(x) for x in values) / len(values))


def max_min_rates(
    routes: Mapping[str, Sequence[str]], capacities: Mapping[str, float]
) -> dict[str, float]:
    """Max-min fair rates, in the unit of the capacities, by progressive filling.

    All rates rise together until a link is full; flows across it keep what they have, the rest goes
    on rising. No rate can be raised then but at the cost of one that is not larger.

    Args:
        routes: Flow -> the links that it crosses.
        capacities: Link -> what it carries.

    Source: Bertsekas and Gallager, *Data Networks*, section 6.5.2.

    Raises:
        ValueError: If a flow crosses no link, or one without a capacity.
    """
    for flow, links in routes.items():
        if not links or any(link not in capacities for link in links):
            raise ValueError(f"flow {flow}: expected links that have a capacity, got {list(links)}")
    left = dict(capacities)
    rates: dict[str, float] = {}
    while len(rates) < len(routes):
        open_flows = {flow: links for flow, links in routes.items() if flow not in rates}
        crossing = {
            link: sum(link in links for links in open_flows.values()) for link in capacities
        }
        share, full = min((left[link] / count, link) for link, count in crossing.items() if count)
        for flow in [flow for flow, links in open_flows.items() if full in links]:
            rates[flow] = share
            for link in set(routes[flow]):
                left[link] -= share
    return rates


def max_min_ratio(rates: Mapping[str, float], fair: Mapping[str, float]) -> float | None:
    """The smallest of x ÷ its max-min fair rate, without a unit: 1 is max-min fair, 0 is starved.

    From a run: of flows across one bottleneck, whose fair rate is the n-th part of what all of them
    got. None where there is no flow or a fair rate is zero.

    Source: Bertsekas and Gallager, *Data Networks*, section 6.5.2; RFC 5166 section 2.3.1.
    """
    if not fair or min(fair.values()) <= 0:
        return None
    return min(rates[flow] / fair[flow] for flow in fair)


def harm(alone: float, beside: float, *, more_is_better: bool = True) -> float | None:
    """What a competitor costs: (x − y) ÷ x where more is better, (y − x) ÷ y where less is.

    x is had alone, y beside the competitor; without a unit, 0 is no harm, 1 is everything, below 0
    it helps. Compare it with what the algorithm in use does to itself. It is of two runs, so a
    study's claim compares their ratio: harm of at most h is `at_least = 1 − h` of y ÷ x. None where
    what it is divided by is zero.

    Source: Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's fairness index", HotNets 2019.
    """
    whole = alone if more_is_better else beside
    cost = alone - beside if more_is_better else beside - alone
    return cost / whole if whole else None


def _check(values: Sequence[float], what: str) -> None:
    if not values or any(not math.isfinite(x) or x < 0 for x in values):
        raise ValueError(f"{what} is for one or more finite values, none negative")
