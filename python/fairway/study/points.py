"""The points of a study that has a table of them, and what each sets in the experiment."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.errors import InputError, read_text
from fairway.experiment.plan import MAX_BYTES, parse_override

#: The column that is no path in the experiment.
REPETITIONS = "repetitions"


@dataclass(frozen=True)
class Points:
    """A table of points.

    Attributes:
        match: Axis -> column that holds its values.
        settings: Values of these axes -> what is set in the experiment, and `REPETITIONS`.
    """

    path: Path
    match: Mapping[str, str]
    settings: Mapping[tuple[str, ...], Mapping[str, Any]]

    def at(self, point: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What a point sets; none if it is no point of the study."""
        return self.settings.get(tuple(_alike(point.get(axis)) for axis in self.match))


def _line(row: Mapping[Any, Any]) -> str:
    """The beginning of a line, to find it by."""
    return ",".join(str(value) for value in row.values() if isinstance(value, str))[:40]


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table in CSV, by the names of its columns."""
    lines = csv.DictReader(read_text(path, "table", MAX_BYTES).splitlines())
    try:
        rows = list(lines)
    except csv.Error as error:
        raise InputError(f"{path}: not a table in CSV: {error}") from None
    for row in rows:
        # `csv` puts the rest of a long line under None, and fills a short one with None.
        if None in row or None in row.values():
            columns = len(lines.fieldnames or ())
            raise InputError(
                f"{path}: {_line(row)}: expected {columns} values, one for each column"
            )
    return rows


def read_points(path: Path, match: Mapping[str, str], axes: Sequence[str], where: str) -> Points:
    """Read a table of points; messages call it `where`.

    Raises:
        InputError: If a column or an axis is missing, or two lines are of one point.
    """
    rows = read_table(path)
    found = list(rows[0]) if rows else []
    for axis, column in match.items():
        if axis not in axes:
            raise InputError(f"{where}.match: no axis {axis}; the study has {', '.join(axes)}")
        if column not in found:
            raise InputError(f"{where}: {path} has no column {column}; it has {', '.join(found)}")
    settings: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for line, row in enumerate(rows, start=2):
        key = tuple(_alike(row[column]) for column in match.values())
        if key in settings:
            raise InputError(f"{path}: line {line}: {', '.join(key)} is there already")
        settings[key] = dict(
            parse_override(f"{name}={cell}")
            for name, cell in row.items()
            if name not in match.values() and cell
        )
        count = settings[key].get(REPETITIONS, 1)
        if not isinstance(count, int) or count < 1:
            raise InputError(f"{path}: line {line}: {REPETITIONS}: {count!r}; expected 1 or more")
    return Points(path, match, settings)


def _alike(value: Any) -> str:
    """Text that is the same for equal values, however numbers are written."""
    try:
        return f"{float(value):.9g}"
    except (TypeError, ValueError):
        return str(value)
