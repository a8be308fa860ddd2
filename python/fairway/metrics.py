"""Numbers that sweeps and studies read from summaries, and the fairness measures by themselves.

A summary already holds its metrics: the simulator computes them. The functions here are for
values that a user gathers, and for names such as `flow.0.goodput_bps`.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway import flow_groups, transfer_figures, window_phases
from fairway.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def jain_index(values: Sequence[float]) -> float:
    """Jain's fairness index (Σx)² / (n · Σx²): 1 is equal, 1/n is one taking all.

    Source: Jain, Chiu and Hawe, DEC-TR-301 (1984), section 3. With every value zero nobody is
    favoured, so the index is 1.

    Raises:
        ValueError: Without values, or with a negative or non-finite one.
    """
    if not values or any(not math.isfinite(x) or x < 0 for x in values):
        raise ValueError("the Jain index is for one or more finite values, none negative")
    largest = max(values)
    if largest == 0:
        return 1.0
    shares = [x / largest for x in values]  # no overflow in the squares
    return math.fsum(shares) ** 2 / (len(shares) * math.fsum(x * x for x in shares))


def asymmetry(first: float, second: float) -> float | None:
    """(x₁ − x₂) / (x₁ + x₂): 0 is equal, 1 is all to the first; none if both are zero.

    Source: Weigle, Sharma and Freeman, "Performance of Competing High-Speed TCP Flows",
    NETWORKING 2006.
    """
    total = first + second
    return (first - second) / total if total else None


def measure(
    summary: Mapping[str, Any],
    name: str,
    series: Callable[[], pl.DataFrame] | None = None,
    experiment: Mapping[str, Any] | None = None,
) -> float | None:
    """Read one number from a summary.

    Args:
        summary: As in `summary.json`.
        name: A metric ("asymmetry"), or `flow.<id or index>.<column>`,
            `link.<id or index>.<column>` or `application.<id or index>.<column or figure>`.
            An id of flows or links may have a `*`, which stands for anything: their sum.
            `group.<id>.<figure>` is a figure of all such flows together (`fairway.flow_groups`),
            `transfer.<id or index>.<figure>` one of a finished transfer over its own time
            (`fairway.transfer_figures`), and `phases.<id or index>.<figure>` one of what a sender
            did (`fairway.window_phases`).
        series: The run's time series, for the figures that are read from them.
        experiment: What was run, for the figures of transfers.

    Returns:
        The value; none where the summary says null, or nothing has an id with a `*`.

    Raises:
        InputError: If there is no such number.
    """
    kind, _, rest = name.partition(".")
    if not rest:
        table: Mapping[str, Any] = summary["metrics"]
        column = name
    elif kind in ("group", "transfer", "phases"):
        return _made(summary, name, series, experiment)
    elif kind in ("flow", "link"):
        entry, _, column = rest.rpartition(".")
        if "*" in entry:
            return _sum(summary, f"{kind}s", entry, column)
        table = _entry(summary[f"{kind}s"], entry, name)
    elif kind == "application":
        entry, _, column = rest.rpartition(".")
        found = _entry(summary.get("applications", []), entry, name)
        table = {**{k: v for k, v in found.items() if k != "figures"}, **found["figures"]}
    else:
        raise InputError(
            f'metric {name}: expected a metric, "flow.<id>.<column>", "link.…", "application.…", '
            '"group.…", "transfer.…" or "phases.…"'
        )
    if column not in table:
        raise InputError(f"metric {name}: there is {', '.join(table)}")
    value = table[column]
    if value is None:
        return None
    if isinstance(value, str | bool):
        raise InputError(f"metric {name}: is {value!r}, not a number")
    return float(value)


def _made(
    summary: Mapping[str, Any],
    name: str,
    series: Callable[[], pl.DataFrame] | None,
    experiment: Mapping[str, Any] | None,
) -> float | None:
    """A figure that is in no summary, but is made of one and of the time series or experiment."""
    kind, _, rest = name.partition(".")
    entry, _, figure = rest.rpartition(".")
    if kind == "transfer":
        if experiment is None:
            raise InputError(f"metric {name}: needs the experiment")
        row = _entry(summary["flows"], entry, name)
        return transfer_figures.transfer_figure(summary, row, experiment, figure)
    if kind == "group" and figure != flow_groups.REDUCTION:
        return flow_groups.group_figure(summary, entry, figure)
    if series is None:
        raise InputError(f"metric {name}: needs the run's time series")
    if kind == "group":
        return flow_groups.aggregate_reduction(series(), entry)
    flow = str(_entry(summary["flows"], entry, name)["id"])
    return window_phases.figure(series(), flow, figure)


def _sum(summary: Mapping[str, Any], kind: str, pattern: str, column: str) -> float | None:
    """Of all flows or links whose ids fit a pattern; none if any of them has no value."""
    ids = [row["id"] for row in summary[kind] if fnmatch.fnmatchcase(row["id"], pattern)]
    values = [measure(summary, f"{kind[:-1]}.{one}.{column}") for one in ids]
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) if numbers and len(numbers) == len(values) else None


def _entry(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> Mapping[str, Any]:
    for row in rows:
        if row["id"] == key:
            return row
    if key.isdecimal() and int(key) < len(rows):
        return rows[int(key)]
    raise InputError(f"metric {name}: there is {', '.join(str(row['id']) for row in rows)}")
