"""Studies, before they are run: what each asks, what varies in it, what it claims."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairway.ground import text
from fairway.plot.page import Table
from fairway.study.model import Part, Study


def overview(studies: Sequence[Study]) -> Table:
    """A line for each study."""
    rows = [
        [one.key, one.question or one.title, text.number(points(one)), text.number(len(one.claims))]
        for one in studies
    ]
    return Table("Studies", ["key", "question", "points", "claims"], rows, labels=2)


def introduction(one: Study) -> Iterator[str]:
    """Title, source, question and summary, a paragraph each."""
    for paragraph in (one.title, one.source, one.question, one.summary):
        if paragraph:
            yield " ".join(paragraph.split())


def in_full(one: Study) -> list[Table]:
    """What varies, in each part, and the claims."""
    tables = [
        _axes(f"What varies: {name}" if name else "What varies", part)
        for name, part in one.parts.items()
    ]
    claims = [[claim.id, claim.statement, claim.where] for claim in one.claims]
    return [*tables, Table("Claims", ["id", "statement", "where"], claims, labels=3)]


def summary(one: Study) -> dict[str, Any]:
    """A study as plain data."""
    return {
        "key": one.key,
        "title": one.title,
        "source": one.source,
        "question": one.question,
        "summary": one.summary,
        "points": points(one),
        "parts": {part.key: _part(part) for part in one.parts.values()},
        "claims": [
            {"id": claim.id, "statement": claim.statement, "where": claim.where}
            for claim in one.claims
        ],
    }


def points(one: Study) -> int:
    """Points of all parts; each is run as often as the study says."""
    return sum(sum(1 for _ in part.points()) for part in one.parts.values())


def _axes(caption: str, study: Part) -> Table:
    rows = [
        [study.name(axis), axis, "; ".join(text.label(value) for value in values)]
        for axis, values in study.axes.items()
    ]
    rows.append(["repetitions", text.ABSENT, _repetitions(study.repetitions)])
    return Table(caption, ["", "path", "values"], rows, labels=3)


def _repetitions(given: int | Mapping[str, Any]) -> str:
    if isinstance(given, int):
        return str(given)
    return f"until {given.get('until', text.ABSENT)}, at most {given.get('at_most', math.inf):g}"


def _part(study: Part) -> dict[str, Any]:
    return {
        "backend": study.backend,
        "points": sum(1 for _ in study.points()),
        "repetitions": study.repetitions,
        "axes": {axis: list(values) for axis, values in study.axes.items()},
        "metrics": [column.metric for column in study.compared],
        "has_quick": study.quick is not None,
    }
