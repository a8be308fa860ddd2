"""How many repetitions are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairway.stats.effect import mean_effect

#: Repetitions before the first look, and between one look and the next.
FIRST, STEP = 10, 5


@dataclass(frozen=True)
class Stopping:
    """Repeat until the 95 % interval is narrow enough, or until there are enough of them.

    Looked at after `first` repetitions and after every `step` more. It stops when half the interval
    is at most e/(1 + e) of the |mean|, which bounds the error by the share e of the true mean (Law
    and Kelton, Simulation Modeling and Analysis, "relative error" procedure; without the division
    the error of the true mean would be up to e/(1 − e)). The looks make the interval cover a
    little less than it says: 94 % instead of 95 % of normal values (simulated).

    Attributes:
        share: e, above 0 and below 1: 0.02 for "±2 %".
        at_most: Repetitions at which it gives up.
        first: Repetitions before the first look, at least 2.
        step: Repetitions between looks.
    """

    share: float
    at_most: int
    first: int = FIRST
    step: int = STEP

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share {self.share}: expected a number between 0 and 1")
        if self.first < 2 or self.step < 1:
            raise ValueError(f"first {self.first}, step {self.step}: expected at least 2 and 1")
        if self.at_most < 1:
            raise ValueError(f"at most {self.at_most}: expected at least 1")

    def half_width(self, values: Sequence[float]) -> float | None:
        """Half of the 95 % interval as a share of the |mean|; none where there is no such share."""
        if len(values) < 2:
            return None
        effect = mean_effect(values)
        interval = effect.interval()
        if interval is None:
            return 0.0  # every value is the same
        half = (interval[1] - interval[0]) / 2
        return half / abs(effect.mean) if effect.mean else None

    def precise(self, values: Sequence[float]) -> bool:
        """Whether the interval is narrow enough."""
        found = self.half_width(values)
        return found is not None and found <= self.share / (1 + self.share)

    def next_look(self, done: int) -> int:
        """How many repetitions there are at the look after the one with `done`."""
        return min(self.at_most, self.first if done < self.first else done + self.step)
