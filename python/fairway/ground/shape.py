"""Whether plain data, read from a file that anyone may have edited, has the shape it should."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBER = (int, float)
NUMBER_OR_NONE = (int, float, type(None))
COUNT_OR_NONE = (int, type(None))
TEXT_OR_NONE = (str, type(None))


@dataclass(frozen=True)
class Each:
    """A mapping with any keys, whose values all have one shape."""

    shape: Any


@dataclass(frozen=True)
class Maybe:
    """Of a mapping, a value that may be missing."""

    shape: Any


@dataclass(frozen=True)
class Either:
    """One of several shapes; what is wrong is said by the last."""

    shapes: tuple[Any, ...]


def problem(value: Any, shape: Any, path: str = "") -> str | None:
    """What is wrong with `value`; none if nothing is.

    Args:
        value: Plain data, as JSON gives it.
        shape: A type or a tuple of types; a list of one shape, for a list of any length; a
            mapping of keys that must be there to shapes, further keys being allowed; `Each`,
            `Either`, or in a mapping `Maybe`.
        path: Where `value` stands.

    >>> problem({"flows": [{"id": 3}]}, {"flows": [{"id": str}]})
    'flows.0.id is a number'
    >>> problem({}, {"flows": [str]}, "summary")
    'summary.flows is missing'
    """
    # Most shapes are types.
    if isinstance(shape, type | tuple):
        return None if isinstance(value, shape) else _is(value, path)
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


def _is(value: Any, path: str) -> str:
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "a table",
             bool: "true or false", type(None): "null"}  # fmt: skip
    return f"{path or 'it'} is {names.get(type(value), 'something else')}"
