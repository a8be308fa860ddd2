"""What is compared of two traces, and what came of it: a cell for each flow of each trace."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairway.compare.agree.curves import Curves, area_between
from fairway.compare.agree.quantities import Quantity, declared
from fairway.compare.fidelity.kernel_traces import SETTLED_S, settled
from fairway.ground import text
from fairway.ground.result_schema import Tolerance
from fairway.metrics.episodes import Trace, reductions, slow_start_exit

#: With fewer reductions than this in the recording, their interval is not judged.
FEWEST_REDUCTIONS = 5


def _of_trace(column: str, words: str, tolerance: float | None = None) -> Quantity:
    """A quantity that summaries do not have, or that is shown and not judged."""
    accepted = None if tolerance is None else Tolerance(tolerance)
    return Quantity(column, "flow", column, words, accepted)


# The reasons for the tolerances are in docs/fidelity.md. Where summaries have the quantity too, two
# kernels may differ as two backends may.
QUANTITIES = (
    declared("goodput_bps", "flow", "goodput_bps", "goodput"),
    declared("mean_cwnd_segments", "flow", "mean_cwnd_segments", "mean cwnd"),
    _of_trace("p5_cwnd_segments", "5 % cwnd"),
    _of_trace("p50_cwnd_segments", "50 % cwnd"),
    _of_trace("p95_cwnd_segments", "95 % cwnd"),
    declared("mean_srtt_s", "flow", "mean_srtt_s", "mean srtt"),
    _of_trace("retransmitted_segments", "retransmitted"),
    _of_trace("reductions", "reductions"),
    _of_trace("reduction_interval_s", "interval between reductions", 0.15),
    _of_trace("exit_s", "slow-start exit"),
    _of_trace("exit_window_segments", "slow-start exit window", 0.1),
    _of_trace("exit_largest_cwnd_segments", "largest cwnd until then"),
)
#: Column -> largest difference of no account, as a share of the recording's.
TOLERANCES = {one.column: one.tolerance.relative for one in QUANTITIES if one.tolerance}
JUDGED = tuple(quantity for quantity in QUANTITIES if quantity.tolerance)


@dataclass(frozen=True)
class Comparison:
    """One quantity of both sides.

    Attributes:
        sim: The simulator's value; none if it has none, such as an interval of one reduction.
        judged: Whether it is held against the tolerance.
    """

    quantity: Quantity
    sim: float | None
    real: float | None
    judged: bool

    @property
    def tolerance(self) -> float | None:
        """The largest difference of no account, as a share; none if the quantity has none."""
        return TOLERANCES.get(self.quantity.column)

    @property
    def relative(self) -> float | None:
        """Simulated less real, over the real value; none if a side has no value or that is zero."""
        if self.sim is None or self.real is None:
            return None
        if self.sim == self.real:
            return 0.0
        return (self.sim - self.real) / abs(self.real) if self.real else None

    @property
    def within(self) -> bool:
        """Whether the tolerance holds; where nothing is judged, it does."""
        if not self.judged:
            return True
        assert self.tolerance is not None
        # Room for rounding, so that what is just as far off as may be is not out by 1e-16.
        return self.relative is not None and abs(self.relative) <= self.tolerance * (1 + 1e-9)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "sim": self.sim,
            "real": self.real,
            "relative_difference": self.relative,
            "tolerance": self.tolerance,
            "judged": self.judged,
            "within": self.within,
        }


def measured(trace: Trace) -> dict[str, float | None]:
    """Every quantity of a trace: from `SETTLED_S` on, but for the exit from slow start."""
    is_settled = settled(trace)
    t, window = trace.t_s[is_settled], trace.cwnd[is_settled]
    delivered, srtt = trace.delivered_bytes[is_settled], trace.srtt_s[is_settled]
    p5, p50, p95 = (float(value) for value in np.percentile(window, [5, 50, 95]))
    known = srtt[np.isfinite(srtt)]
    at = [time for time in reductions(trace) if time >= t[0]]
    left = slow_start_exit(trace)
    return {
        "goodput_bps": float((delivered[-1] - delivered[0]) * 8 / (t[-1] - t[0])),
        "mean_cwnd_segments": float(window.mean()),
        "p5_cwnd_segments": p5,
        "p50_cwnd_segments": p50,
        "p95_cwnd_segments": p95,
        "mean_srtt_s": float(known.mean()) if len(known) else None,
        "retransmitted_segments": trace.retransmitted,
        "reductions": len(at),
        "reduction_interval_s": (at[-1] - at[0]) / (len(at) - 1) if len(at) > 1 else None,
        "exit_s": left.t_s if left else None,
        "exit_window_segments": left.window if left else None,
        "exit_largest_cwnd_segments": left.largest if left else None,
    }


def compare(sim: Trace, real: Trace) -> dict[str, Comparison]:
    """Every quantity of both sides, by name."""
    ours, theirs = measured(sim), measured(real)
    return {
        quantity.name: Comparison(
            quantity,
            ours[quantity.name],
            theirs[quantity.name],
            quantity.tolerance is not None and _counts(quantity, ours, theirs),
        )
        for quantity in QUANTITIES
    }


def _counts(
    quantity: Quantity, sim: Mapping[str, float | None], real: Mapping[str, float | None]
) -> bool:
    if quantity.name == "reduction_interval_s":
        return (real["reductions"] or 0) >= FEWEST_REDUCTIONS
    # What neither side has, such as an exit from a slow start that lasts, is the same.
    return sim[quantity.name] is not None or real[quantity.name] is not None


def area(sim: Trace, real: Trace) -> float | None:
    """The area between both windows from `SETTLED_S` on, over that under the recording's.

    The simulator's window is interpolated at the times of the recording's samples.

    None if the recording's window is zero throughout.
    """
    times = real.t_s[settled(real) & (real.t_s <= sim.t_s[-1])]
    if len(times) < 2:
        return None
    curves = [
        Curves(times, np.interp(times, trace.t_s, trace.cwnd)[np.newaxis]) for trace in (sim, real)
    ]
    found = area_between("", curves[0], curves[1], Tolerance(0))
    return found.area if found else None


def what_is_taken() -> str:
    """What of a trace the figures are of, in a sentence."""
    return f"From t = {SETTLED_S} s on; the exit from slow start is the first."


@dataclass(frozen=True)
class Cell:
    """One flow, simulated and recorded.

    Attributes:
        algorithm: As the recording calls it; of several flows "cubic+reno".
        flow: Which of several flows: "0 cubic"; empty if there is one.
    """

    scenario: str
    algorithm: str
    flow: str
    sim: Trace
    real: Trace

    @property
    def label(self) -> str:
        """The algorithm, and which flow of several: "cubic+reno 0"."""
        return f"{self.algorithm} {self.flow.split()[0]}" if self.flow else self.algorithm

    @functools.cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """Every quantity, by name."""
        return compare(self.sim, self.real)

    @functools.cached_property
    def area(self) -> float | None:
        """The area between the two windows over the recording's."""
        return area(self.sim, self.real)

    @property
    def misses(self) -> list[Comparison]:
        """What is out of tolerance."""
        return [one for one in self.comparisons.values() if not one.within]

    @property
    def within(self) -> bool:
        """Whether all tolerances hold."""
        return not self.misses

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "scenario": self.scenario,
            "algorithm": self.algorithm,
            "flow": self.flow or None,
            "within": self.within,
            "quantities": {name: one.to_json() for name, one in self.comparisons.items()},
            "cwnd_area": self.area,
        }


@dataclass(frozen=True, repr=False)
class FidelityData:
    """How closely the simulator follows golden traces.

    Attributes:
        kernel: Release of the kernel that was recorded; none if it does not say.
    """

    directory: str
    kernel: str | None
    cells: Sequence[Cell]
    version: str

    @property
    def title(self) -> str:
        """What a report of it is called."""
        return f"The simulator and {f'Linux {self.kernel}' if self.kernel else 'golden traces'}"

    @property
    def within(self) -> int:
        """How many cells are within all tolerances."""
        return sum(cell.within for cell in self.cells)

    @property
    def holds(self) -> bool:
        """Whether all are."""
        return self.within == len(self.cells)

    @property
    def sentence(self) -> str:
        """How many are."""
        return f"{self.within} of {text.count(len(self.cells), 'cell')} within tolerance"

    @property
    def scenarios(self) -> dict[str, list[Cell]]:
        """The cells of each scenario."""
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.scenario, []).append(cell)
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "golden": self.directory,
            "kernel": self.kernel,
            "version": self.version,
            "from_s": SETTLED_S,
            "tolerances": TOLERANCES,
            "within": self.within,
            "cells": [cell.to_json() for cell in self.cells],
        }

    def __repr__(self) -> str:
        return f"<Fidelity to {self.directory}: {self.sentence}>"
