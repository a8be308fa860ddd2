"""What is searched: parameters of an algorithm or paths in an experiment, and their ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.errors import InputError
from fairway.experiment.plan import parse_override

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: Bounds further apart than this are searched by their logarithm, and only near the default.
_WIDE = 100.0
#: How far from the default then, as a factor either way.
_NEAR = 10.0
#: Whole bounds at most this far apart, with whole defaults, are those of a switch or a code.
_CODES = 3
#: Digits of a value that is tried: what is written into a file is what was run.
_DIGITS = 4

_NUMBER = r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\s+(?!log\b)([A-Za-z][A-Za-z/]*))?(\s+log)?")


@dataclass(frozen=True)
class Parameter:
    """One thing that is searched.

    Attributes:
        name: Of the algorithm's parameter, or a path in the experiment.
        low: Lower end; none with choices.
        log: Whether its logarithm is searched evenly.
        whole: Whether only whole numbers are tried.
        unit: Written behind the number, such as "ms".
        default: What stands in the experiment, or is the algorithm's default; none if unknown.
    """

    name: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    unit: str = ""
    choices: tuple[Any, ...] = ()
    default: Any = None

    @property
    def is_path(self) -> bool:
        """Whether it is a path in the experiment, and not a parameter of the algorithm."""
        return "." in self.name

    def distribution(self) -> BaseDistribution:
        """How Optuna knows it."""
        from optuna import distributions as d

        if self.choices:
            return d.CategoricalDistribution(range(len(self.choices)))
        assert self.low is not None and self.high is not None
        if self.whole:
            return d.IntDistribution(int(self.low), int(self.high), log=self.log)
        return d.FloatDistribution(self.low, self.high, log=self.log)

    def setting(self, drawn: float) -> Any:
        """What Optuna drew, as the experiment has it: rounded, and with its unit."""
        if self.choices:
            return self.choices[int(drawn)]
        assert self.low is not None and self.high is not None
        if self.whole:
            number: float = int(drawn)
        else:
            number = min(max(float(f"{drawn:.{_DIGITS}g}"), self.low), self.high)
        return f"{number} {self.unit}" if self.unit else number

    def drawn(self, setting: Any) -> float | None:
        """The reverse of `setting`; none where it is outside what is searched."""
        if self.choices:
            same = [index for index, choice in enumerate(self.choices) if choice == setting]
            return same[0] if same else None
        number = number_of(setting, self.unit)
        assert self.low is not None and self.high is not None
        if number is None or not self.low <= number <= self.high:
            return None
        return int(number) if self.whole else number

    def range_text(self) -> str:
        """What is searched, for people."""
        if self.choices:
            return ", ".join(str(choice) for choice in self.choices)
        unit = f" {self.unit}" if self.unit else ""
        log = ", log" if self.log else ""
        return f"{self.low:.{_DIGITS}g} to {self.high:.{_DIGITS}g}{unit}{log}"

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        searched: dict[str, Any] = (
            {"choices": list(self.choices)}
            if self.choices
            else {"low": self.low, "high": self.high, "log": self.log, "whole": self.whole,
                  "unit": self.unit}
        )  # fmt: skip
        return {"name": self.name, **searched, "default": self.default}


def number_of(setting: Any, unit: str = "") -> float | None:
    """The number in a setting with that unit; none if there is none."""
    if isinstance(setting, str):
        measured = _core.measured(setting) if unit else None
        if measured is None or measured[2] != unit:
            return None
        return float(f"{measured[0] / measured[3]:.12g}")
    if unit or isinstance(setting, bool) or not isinstance(setting, (int, float)):
        return None
    return float(setting)


def parse_parameter(text: str) -> Parameter:
    """Read `name`, `name=low..high`, `name=low..high unit log` or `name=one,other`.

    Ends that are both written as whole numbers ask for whole numbers.

    >>> parse_parameter("c=0.04..4 log").range_text()
    '0.04 to 4, log'
    >>> parse_parameter("flow.0.cc=reno,cubic").choices
    ('reno', 'cubic')
    """
    where = f"--param {text}"
    name, equals, wanted = (part.strip() for part in text.partition("="))
    if not name:
        raise InputError(f'{where}: expected a parameter, such as "beta=0.5..0.9"')
    if not equals:
        return Parameter(name)
    if found := _RANGE.fullmatch(wanted):
        return _ranged(name, found, where)
    if ".." in wanted or "," not in wanted:
        raise InputError(
            f'{where}: expected a range "0.5..0.9", "1..300 ms", "0.01..10 log", or values '
            '"reno,cubic"'
        )
    values = [parse_override(f"value={part}")[1] for part in wanted.split(",")]
    if any(value == "" for value in values) or len(set(map(str, values))) < len(values):
        raise InputError(f"{where}: expected values that differ, such as 0,1")
    return Parameter(name, choices=tuple(values))


def _ranged(name: str, found: re.Match[str], where: str) -> Parameter:
    try:
        low, high = float(found[1]), float(found[2])
    except ValueError:
        raise InputError(f"{where}: {found[1]}..{found[2]}: these are no numbers") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"{where}: expected a lower end that is below the upper end")
    log = found[4] is not None
    if log and low <= 0:
        raise InputError(f"{where}: a logarithmic range begins above 0")
    whole = found[1].lstrip("+-").isdecimal() and found[2].lstrip("+-").isdecimal()
    return Parameter(name, low, high, log=log, whole=whole, unit=found[3] or "")


def known_parameter(entry: Mapping[str, Any], default: float) -> Parameter | None:
    """The range of an algorithm's parameter, if none is asked for.

    Its bounds are those of the algorithm. Where they are more than a factor of 100 apart they hold
    whatever makes sense anywhere, so the logarithm is searched within a factor of ten either way of
    the default. Whole bounds at most three apart, with whole defaults, are a switch or a code: each
    value is tried.

    The parameter; none where the bounds are wide and the default is 0, which no factor is near.
    """
    name, low, high = entry["name"], float(entry["min"]), float(entry["max"])
    ends = (low, high, *entry["default"].values())
    if high - low <= _CODES and all(float(end).is_integer() for end in ends):
        return Parameter(name, choices=tuple(range(int(low), int(high) + 1)), default=default)
    if high > _WIDE * (low if low > 0 else 1):
        if default <= 0:
            return None
        return Parameter(name, max(low, default / _NEAR), min(high, default * _NEAR), log=True,
                         default=default)  # fmt: skip
    return Parameter(name, low, high, default=default)


def within(parameter: Parameter, entry: Mapping[str, Any]) -> None:
    """Refuse a range of an algorithm's parameter that reaches beyond its bounds."""
    low, high = entry["min"], entry["max"]
    ends: Sequence[Any] = parameter.choices or (parameter.low, parameter.high)
    for end in ends:
        is_number = isinstance(end, (int, float)) and not isinstance(end, bool)
        if parameter.unit or not is_number or not low <= end <= high:
            shown = f"{end} {parameter.unit}".strip()
            raise InputError(
                f"--param {parameter.name}: {shown}: expected numbers from {low:g} to {high:g}"
            )
