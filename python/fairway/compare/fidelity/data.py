"""What came of holding the simulator against a recording: a cell for each flow of each trace."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairway.compare.fidelity.kernel_traces import SETTLED_S
from fairway.compare.fidelity.quantities import JUDGED, Comparison, area, compare
from fairway.ground import text
from fairway.metrics.episodes import Trace


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


class FidelityData:
    """How closely the simulator follows golden traces.

    Attributes:
        kernel: Release of the kernel that was recorded; none if it does not say.
    """

    def __init__(
        self, directory: str, kernel: str | None, cells: Sequence[Cell], version: str
    ) -> None:
        self.directory = directory
        self.kernel = kernel
        self.cells = tuple(cells)
        self.version = version

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
            "tolerances": {quantity.name: quantity.tolerance for quantity in JUDGED},
            "within": self.within,
            "cells": [cell.to_json() for cell in self.cells],
        }

    def __repr__(self) -> str:
        return f"<Fidelity to {self.directory}: {self.sentence}>"
