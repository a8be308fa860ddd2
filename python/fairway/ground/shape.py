"""Whether plain data, read from a file that anyone may have edited, has the shape it should."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBER = (int, float)
NUMBER_OR_NONE = (int, float, type(None))
TEXT_OR_NONE = (str, type(None))
#: The range of all numbers: whole ones have 64 bits with a sign or without, others are finite.
_LEAST, _MOST = -sys.float_info.max, sys.float_info.max
_LEAST_WHOLE, _MOST_WHOLE = -(2**63), 2**64 - 1


@dataclass(frozen=True)
class Whole:
    """A whole number in a range, or null if it may be missing."""

    least: int
    most: int
    nullable: bool = False


COUNT, COUNT_OR_NONE = Whole(0, _MOST_WHOLE), Whole(0, _MOST_WHOLE, nullable=True)
INTEGER = Whole(_LEAST_WHOLE, -_LEAST_WHOLE - 1)
INTEGER_OR_NONE = Whole(INTEGER.least, INTEGER.most, nullable=True)


@dataclass(frozen=True)
class Each:
    """A mapping with any keys, whose values all have one shape."""

    shape: Any


@dataclass(frozen=True)
class Maybe:
    """Of a mapping, a value that may be missing."""

    shape: Any


@dataclass(frozen=True)
class Distinct:
    """A list of mappings of one shape, of which no two have the same value of a key."""

    shape: Any
    key: str


@dataclass(frozen=True)
class Either:
    """One of several shapes; what is wrong is said by the last."""

    shapes: tuple[Any, ...]


def problem(value: Any, shape: Any, path: str = "") -> str | None:
    """What is wrong with `value`; none if nothing is.

    Args:
        value: Plain data, as JSON gives it.
        shape: A type or a tuple of types; `Whole`; a list of one shape, for a list of any length; a
            mapping of keys that must be there to shapes, further keys being allowed; `Each`,
            `Distinct`, `Either`, or in a mapping `Maybe`.
        path: Where `value` stands.

    >>> problem({"flows": [{"id": 3}]}, {"flows": [{"id": str}]})
    'flows.0.id is a number'
    >>> problem({}, {"flows": [str]}, "summary")
    'summary.flows is missing'
    """
    # Most shapes are types.
    if isinstance(shape, type | tuple):
        return _of_type(value, shape, path)
    if isinstance(shape, Whole):
        return _of_whole(value, shape, path)
    if isinstance(shape, Distinct):
        return problem(value, [shape.shape], path) or _twice(value, shape.key, path)
    if isinstance(shape, Each):
        keys = value if isinstance(value, Mapping) else ()
        return problem(value, dict.fromkeys(keys, shape.shape), path)
    if isinstance(shape, Either):
        found = [problem(value, one, path) for one in shape.shapes]
        return found[-1] if all(found) else None
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            return _is(value, path)
        for key, inner in shape.items():
            place = f"{path}.{key}" if path else str(key)
            if key not in value:
                if isinstance(inner, Maybe):
                    continue
                return f"{place} is missing"
            wanted = inner.shape if isinstance(inner, Maybe) else inner
            if wrong := problem(value[key], wanted, place):
                return wrong
        return None
    if not isinstance(value, list):
        return _is(value, path)
    parts = (problem(v, shape[0], f"{path}.{i}") for i, v in enumerate(value))
    return next((part for part in parts if part), None)


def _of_type(value: Any, types: Any, path: str) -> str | None:
    """The fault of a value that has none of these types; a truth value is no number."""
    wanted = types if isinstance(types, tuple) else (types,)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        return _is(value, path)
    least, most = (_LEAST, _MOST) if isinstance(value, float) else (_LEAST_WHOLE, _MOST_WHOLE)
    if isinstance(value, int | float) and not least <= value <= most:
        return f"{path or 'it'} is a number that no result has"
    return None


def _of_whole(value: Any, shape: Whole, path: str) -> str | None:
    if value is None and shape.nullable:
        return None
    if wrong := _of_type(value, int, path):
        return wrong
    is_within = shape.least <= value <= shape.most
    return None if is_within else f"{path or 'it'} is a number that no result has"


def _twice(rows: list[Any], key: str, path: str) -> str | None:
    known: dict[Any, int] = {}
    for index, row in enumerate(rows):
        if (first := known.setdefault(row[key], index)) != index:
            return f"{path}.{index}.{key} is that of {path}.{first}: {row[key]!r}"
    return None


def _is(value: Any, path: str) -> str:
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "a table",
             bool: "true or false", type(None): "null"}  # fmt: skip
    return f"{path or 'it'} is {names.get(type(value), 'something else')}"
