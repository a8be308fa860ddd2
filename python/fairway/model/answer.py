"""Asking a law: of one point or of many, and whether it may be believed there."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairway import _core
from fairway.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """What a law says: each result is an attribute, as `answer.window_packets`.

    Results, `in_range` and `reason` are arrays of the shape of what was asked, or plain values
    where only plain numbers were asked.

    Attributes:
        values: Results by name; each name ends with its unit.
        in_range: Whether the law may be believed there, as far as its source says.
        outside: Which of `reasons` it may not be believed for, counted from 1; 0 in range.
        reasons: Why it may not be believed, each in a few words.
    """

    values: Mapping[str, Any]
    in_range: Any
    outside: Any
    reasons: tuple[str, ...]

    @property
    def reason(self) -> Any:
        """Why it may not be believed, for each point; none in range."""
        texts = np.array([None, *self.reasons], dtype=object)
        return texts[self.outside]

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"{name}: the results are {', '.join(values)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.values]


@functools.cache
def describe() -> dict[str, dict[str, Any]]:
    """Law -> its title, equation, range, source, parameters and results."""
    return {law["name"]: law for law in json.loads(_core.model_laws())}


def ask(law: str, **given: ArrayLike) -> Answer:
    """What the law of that name says, over all points of the shape that its parameters have.

    Args:
        law: Its name.
        **given: Its parameters by name; those that are left out have their defaults.

    Raises:
        ValueError: If there is no such law or parameter, one is missing, is no number or makes no
            sense, or shapes do not fit together.
    """
    if law not in describe():
        raise ValueError(f"{law}: there is no such law; the laws are {', '.join(describe())}")
    known = {parameter["name"]: parameter for parameter in describe()[law]["parameters"]}
    for name in given:
        if name not in known:
            raise ValueError(f"{name}: {law} has no such parameter; it has {', '.join(known)}")
    arrays = {}
    for name, parameter in known.items():
        if name in given:
            arrays[name] = _floats(name, given[name])
        elif parameter["is_required"]:
            raise ValueError(f"{name}: {law} needs it; {parameter['meaning']}")
        else:
            # JSON has no infinity: null stands for no limit.
            default = parameter["default"]
            arrays[name] = np.array(inf if default is None else default)
    return _evaluate(law, arrays)


def _evaluate(law: str, arrays: Mapping[str, Floats]) -> Answer:
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise ValueError(f"{law}: shapes do not fit together: {shapes}") from None
    columns: list[NDArray[Any]] = [
        array.reshape(1)
        if array.size == 1
        else np.ascontiguousarray(np.broadcast_to(array, shape)).reshape(-1)
        for array in arrays.values()
    ]
    results = [result["name"] for result in describe()[law]["results"]]
    found, outside, reasons = _core.model_law(law, columns, list(shape))
    if not shape:
        plain = {name: float(column[0]) for name, column in zip(results, found, strict=True)}
        number = int(outside[0])
        return Answer(plain, number == 0, number, tuple(reasons))
    values = {name: column.reshape(shape) for name, column in zip(results, found, strict=True)}
    outside = outside.reshape(shape)
    return Answer(values, outside == 0, outside, tuple(reasons))


def _floats(name: str, value: ArrayLike) -> Floats:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected numbers, got {str(value)[:40]!r}") from None


def answered(model: Callable[[str], str], question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a compiled model, both as plain data."""
    try:
        found: dict[str, Any] = json.loads(model(json.dumps(question, allow_nan=False)))
    except ValueError as error:
        raise InputError(str(error)) from None
    return found
