"""Axes of a sweep as columns: numbers in a base unit that their names say, or text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.ground import text

if TYPE_CHECKING:
    import polars as pl

#: What a quantity counts -> how the names of columns end that hold it, as in all other results.
_ENDINGS = {"s": "_s", "bit/s": "_bps", "bytes": "_bytes", "packets": "_packets",
            "segments": "_segments", "bdp": "_bdp"}  # fmt: skip
#: Digits that a number of units has at most: 0.057 s is 57 ms, and not 57.00000000000001.
_DIGITS = 12
#: The column of an axis of seeds: `seed` is the run's, which in repetitions derives from it.
_EXPERIMENT_SEED = "experiment_seed"


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep.

    Attributes:
        path: What varies, as in the experiment file.
        column: The column of its values: with the unit where these are quantities.
        values: Its value at each point: a number in the unit of the column, or text.
        unit: The unit that people read it in, which is that of the first value; empty if none.
        size: How much of the column's unit that is.
    """

    path: str
    column: str
    values: tuple[Any, ...]
    unit: str = ""
    size: float = 1.0

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers."""
        return bool(self.values) and all(type(value) is float for value in self.values)

    @property
    def shown(self) -> tuple[Any, ...]:
        """Its value at each point as people read it: numbers in `unit`, or text."""
        if not self.unit:
            return self.values
        return tuple(float(f"{value / self.size:.{_DIGITS}g}") for value in self.values)

    def series(self) -> pl.Series:
        """The column."""
        import polars as pl

        return pl.Series(self.column, self.values)

    def heading(self, short: str) -> str:
        """A short name of it with the unit that it is read in."""
        return f"{short} ({self.unit})" if self.unit else short


def axis_of(path: str, values: Sequence[Any]) -> Axis:
    """An axis of the values that it has at each point.

    Quantities of one kind, such as rates, become numbers; what is mixed with other text, such as
    "10 packets" with "1.0 bdp", and integers of more digits than are shown, stay text.
    """
    kinds = {type(value) for value in values}
    if kinds <= {int, float}:
        column = _EXPERIMENT_SEED if path == "seed" else path
        if any(type(value) is int and abs(value) >= 10**_DIGITS for value in values):
            return Axis(path, column, tuple(map(text.label, values)))
        return Axis(path, column, tuple(map(float, values)))
    if kinds == {str}:
        found = [_core.measured(value) for value in values]
        measured = [one for one in found if one is not None]
        bases = {base for _, base, _, _ in measured}
        if len(measured) == len(values) and len(bases) == 1:
            _, base, unit, size = measured[0]
            numbers = tuple(value for value, _, _, _ in measured)
            return Axis(path, path + _ENDINGS[base], numbers, unit, size)
    if len(kinds) == 1 and kinds <= {str, bool}:
        return Axis(path, path, tuple(values))
    return Axis(path, path, tuple(map(text.label, values)))


def axes_of(paths: Sequence[str], points: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """The axes of a sweep, given the values of each of its points."""
    return [axis_of(path, [point[path] for point in points]) for path in paths]


def headings(axes: Sequence[Axis]) -> list[str]:
    """A name for each axis as short as tells them apart, with its unit."""
    short = text.short_paths([axis.path for axis in axes])
    return [axis.heading(name) for axis, name in zip(axes, short, strict=True)]
