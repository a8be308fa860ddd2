"""Which numbers of a study's published files its cells and references do not show."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from fairway.errors import read_text
from fairway.experiment.plan import MAX_BYTES
from fairway.study.cells import Column, averaged
from fairway.study.model import Part, Study

#: Where a study keeps what was published.
PUBLISHED = "published"


class Place(NamedTuple):
    """Where a published number stands.

    Attributes:
        file: The file.
        line: Its line in the file; the heading is line 1.
        column: Its column.
    """

    file: Path
    line: int
    column: str


def unused(study: Study) -> list[Place]:
    """Numbers of the files in `published/` that no cell and no reference shows.

    A column that says which point a line is of counts as used, and so does text.
    """
    parts = list(study.parts.values())
    used = {place for part in parts for place in _used(part)}
    keys = {key for part in parts for column in _columns(part) for key in _keys(part, column)}
    top = study.directory.resolve()
    files = [path for path in sorted(top.rglob("*.csv")) if path.parent.name == PUBLISHED]
    return [
        place
        for path in files
        for place in _numbers(path)
        if place not in used and (place.file, place.column) not in keys
    ]


def _columns(part: Part) -> list[Column]:
    return [*part.compared, *part.references]


def _keys(part: Part, column: Column) -> Iterator[tuple[Path, str]]:
    """Columns of a file that say which point, or where in a figure, a line is."""
    for name in column.match.values():
        yield column.path, name
    for figure in part.figures:
        for value in figure.values():
            if isinstance(value, str) and column.rows and value in column.rows[0]:
                yield column.path, value


def _used(part: Part) -> Iterator[Place]:
    """The numbers that the cells of a study show."""
    points = list(part.points())
    for compared in part.compared:
        beside = [other for other in part.references if other.name == compared.name]
        for point in points:
            if not compared.covers(point):
                continue
            own = averaged(point, compared.mean_over)
            for column in (compared, *beside):
                index = column.index(own)
                if index is not None:
                    yield Place(column.path, index + 2, column.column_of(own))


def _numbers(path: Path) -> Iterator[Place]:
    rows: list[Mapping[str, str]] = list(
        csv.DictReader(read_text(path, "table", MAX_BYTES).splitlines())
    )
    for index, row in enumerate(rows):
        for name, value in row.items():
            try:
                float(value or "")
            except (TypeError, ValueError):
                continue
            yield Place(path, index + 2, name)
