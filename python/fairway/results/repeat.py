"""The same experiment again with the same seed: how far its figures differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fairway.ground import text

if TYPE_CHECKING:
    from fairway.results.data import RunData

#: What of a summary has figures, by name or by `id`.
_PARTS = ("flows", "links")


def repeated(first: RunData, again: Callable[[], RunData], times: int) -> dict[str, Any]:
    """Run again and compare.

    Returns:
        For `summary["repeated"]`: `times`; `figures`, how many were compared; `samples_equal`,
        whether every sample of every table was the same; `differences`, one entry for each figure
        that was not always the same, largest first: `figure`, `first`, `least`, `most`, and
        `relative`, the largest difference from the first as a part of the larger of the two.
    """
    seen = {name: [value] for name, value in figures(first.summary)}
    samples_equal = True
    for _ in range(times):
        other = again()
        for name, value in figures(other.summary):
            seen.setdefault(name, [None]).append(value)
        samples_equal = samples_equal and _same_tables(first, other)
    differences: list[dict[str, Any]] = [
        {
            "figure": name,
            "first": values[0],
            "least": min(known) if (known := [one for one in values if one is not None]) else None,
            "most": max(known) if known else None,
            "relative": max(relative_difference(values[0], value) for value in values),
        }
        for name, values in seen.items()
        if any(value != values[0] for value in values)
    ]
    differences.sort(key=lambda entry: -entry["relative"])
    return {
        "times": times,
        "figures": len(seen),
        "samples_equal": samples_equal,
        "differences": differences,
    }


def sentence(found: Mapping[str, Any]) -> str:
    """What came of it, for a reader."""
    how = f"Run {text.count(found['times'], 'more time')} with the same seed: "
    if not found["differences"]:
        samples = "and every sample" if found["samples_equal"] else "but not every sample"
        return how + f"all {found['figures']} figures {samples} were the same to the last bit."
    worst = found["differences"][0]
    return how + (
        f"{len(found['differences'])} of {found['figures']} figures differed, most of all "
        f"{worst['figure']}, by {worst['relative']:.2%}."
    )


def figures(summary: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Every figure of a summary with its name: `flow s1 goodput_bps`, `metric jain_index`."""
    for part in _PARTS:
        for entry in summary[part]:
            for name, value in entry.items():
                if name not in ("cc", "route") and (value is None or _is_number(value)):
                    yield f"{part[:-1]} {entry['id']} {name}", value
    for name, value in summary["metrics"].items():
        yield f"metric {name}", value


def relative_difference(one: float | None, other: float | None) -> float:
    """The difference as a part of the larger; 1 if only one of them is a number."""
    if one == other:
        return 0.0
    if one is None or other is None:
        return 1.0
    return abs(one - other) / max(abs(one), abs(other))


def _same_tables(one: RunData, other: RunData) -> bool:
    pairs = ((one.table(name), other.table(name)) for name in ("series", "queues", "tcp_info"))
    return all(
        mine is theirs or (mine is not None and theirs is not None and mine.equals(theirs))
        for mine, theirs in pairs
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
