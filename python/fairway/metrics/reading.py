"""Reads one number of a run by its name, as sweeps, studies and claims write it."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fairway.errors import InputError
from fairway.ground import text
from fairway.metrics import flow_monitor
from fairway.metrics.catalogue import by_name
from fairway.metrics.subject import Counters, Subject, Traced
from fairway.metrics.transfer import transfer_figure


class Measured(Protocol):
    """A finished point of a sweep."""

    @property
    def summary(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def experiment(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def run(self) -> Traced: ...  # noqa: D102


def measure(
    summary: Mapping[str, Any],
    name: str,
    run: Callable[[], Traced] | None = None,
    experiment: Mapping[str, Any] | None = None,
) -> float | None:
    """Read one number of a run.

    Args:
        summary: As in `summary.json`.
        name: A metric of the summary ("asymmetry") or of `catalogue.OF_FLOWS` for all flows that
            are compared; `flow.<id or index>.<column or metric>`;
            `flow.<id or index>.flow_monitor.<figure>`; `group.<id>.<metric>` for flows together;
            `link.<id or index>.<column or metric>`;
            `application.<id or index>.<column or figure>`; `transfer.<id or index>.<figure>` of a
            finished transfer over its own time (`fairway.metrics.transfer`);
            `phases.<id or index>.<figure>` of what a sender did (`fairway.metrics.phases`); or
            `completions.<flow>[.<smallest size in bytes>].<column>`. An id of a flow, link or group
            may have a `*`, which stands for anything; of columns that is the sum.
        run: The run with its tables, for metrics that need more than the summary.
        experiment: What was run, to save opening the run for it.

    Returns:
        The value; None where it does not exist, or nothing has an id with a `*`.

    Raises:
        InputError: If there is no such number.
    """
    kind, _, rest = name.partition(".")
    of = Subject(name, [], run, experiment)
    if not rest:
        return _of_all(summary, of)
    if kind not in _KINDS:
        known = ", ".join(f'"{one}.…"' for one in _KINDS)
        raise InputError(f"metric {name}: expected a metric, or {known}")
    return _KINDS[kind](summary, rest, of)


#: What a flow's row has of ns-3's FlowMonitor.
_MONITOR = "flow_monitor"
#: Metrics of a summary that are of the path, and so not of any flows.
_OF_PATH = ("utilisation", "loss_ratio")


def check_names(names: Iterable[str]) -> None:
    """Refuse names that no run can have a metric of, before anything is computed.

    Raises:
        InputError: If there is such a one.
    """
    known = [*_OF_PATH, *by_name(of_links=False)]
    for name in names:
        kind, _, rest = name.partition(".")
        if kind in _KINDS if rest else name in known:
            continue
        hint = _hint(kind, _KINDS, f".{rest}") if rest else _hint(name, known)
        raise InputError(
            f"metric {name}: there is none; {hint}docs/metrics.md has all; those of one "
            'flow or link are written as "flow.0.mean_srtt_s", "link.bottleneck.p99_sojourn_s"'
        )


def _hint(name: str, known: Iterable[str], rest: str = "") -> str:
    """The names that one may be a misspelling of, for a message."""
    near = difflib.get_close_matches(name, list(dict.fromkeys(known)), n=3, cutoff=0.55)
    return f"did you mean {' or '.join(one + rest for one in near)}? " if near else ""


def of_outcome(outcome: Measured, name: str) -> float | None:
    """One number of a point of a sweep, as `measure`; its run is opened only if it has to be."""
    return all_of_outcome(outcome, [name])[name]


def all_of_outcome(
    outcome: Measured, names: Iterable[str], summary: Mapping[str, Any] | None = None
) -> dict[str, float | None]:
    """Numbers of a point of a sweep by their names; its run is opened once, if it has to be.

    A summary that is at hand saves reading it, which takes time where it is kept as JSON.
    """
    summary, experiment = summary or outcome.summary, outcome.experiment
    # Let go with this call: the tables of all runs of a sweep may not fit into memory.
    run = functools.cache(lambda: outcome.run)
    return {name: measure(summary, name, run, experiment) for name in names}


def _of_all(summary: Mapping[str, Any], of: Subject) -> float | None:
    """A metric of all flows that are compared."""
    known = by_name(of_links=False)
    if of.name in summary["metrics"] or of.name not in known:
        return _number(summary["metrics"], of.name, of.name, known)
    return known[of.name].read(replace(of, rows=_compared(summary["flows"])))


def of_compared(
    columns: Mapping[str, Sequence[Any]], counts: Sequence[int], names: Sequence[str]
) -> dict[str, list[float | None]]:
    """Metrics of `catalogue.OF_FLOWS`, made of counters, of all flows that are compared.

    The flows of many runs are given as columns, with how many of them each run has.
    """
    known = by_name(of_links=False)
    reads = [(known[name].read, list[float | None]()) for name in names]
    ids, ccs = columns["id"], columns["cc"]
    kept: list[int] = []
    ends: list[int] = []
    begin = 0
    for count in counts:
        end = begin + count
        kept += [begin + place for place in _places(tuple(ids[begin:end]), tuple(ccs[begin:end]))]
        ends.append(len(kept))
        begin = end
    if len(kept) < len(ids):
        columns = {name: [column[index] for index in kept] for name, column in columns.items()}
    of: Any = Counters(columns)
    for begin, end in itertools.pairwise([0, *ends]):
        of.place = slice(begin, end)
        for read, found in reads:
            found.append(read(of))
    return {name: found for name, (_, found) in zip(names, reads, strict=True)}


@functools.lru_cache(maxsize=256)
def _places(ids: tuple[str, ...], ccs: tuple[str | None, ...]) -> list[int]:
    """Which flows of a run are compared: runs of a sweep seldom differ in these columns."""
    flows = zip(ids, ccs, strict=True)
    rows = [{"id": name, "cc": cc, "place": place} for place, (name, cc) in enumerate(flows)]
    return [int(row["place"]) for row in _compared(rows)]


def _of_flow(summary: Mapping[str, Any], rest: str, of: Subject) -> float | None:
    entry, _, figure = rest.rpartition(".")
    if entry.endswith(f".{_MONITOR}"):
        return _of_monitor(summary, entry.removesuffix(f".{_MONITOR}"), figure, of)
    return _of_row(summary["flows"], "flow", rest, of)


def _of_monitor(summary: Mapping[str, Any], entry: str, figure: str, of: Subject) -> float | None:
    """A figure of ns-3's FlowMonitor; of flows that fit a pattern, the sum."""
    rows = [{"id": row["id"], **row.get(_MONITOR, {})} for row in summary["flows"]]
    if "*" in entry:
        return _sum(rows, "flow", entry, figure)
    row = _entry(rows, entry, of.name)
    if len(row) == 1:
        raise InputError(
            f"metric {of.name}: the summary of {row['id']} has no {_MONITOR}; only flows of the "
            'simulator with ns-3\'s stack have one: write preset = "ns3-3.29" in [stack]'
        )
    if figure in flow_monitor.FIGURES:
        return flow_monitor.FIGURES[figure](row, lambda: of.experiment)
    return _number(row, figure, of.name, flow_monitor.FIGURES)


def _of_row(rows: Sequence[Mapping[str, Any]], kind: str, rest: str, of: Subject) -> float | None:
    """A column or a metric of one row; of rows that fit a pattern, the sum of a column."""
    entry, _, column = rest.rpartition(".")
    known = by_name(of_links=kind == "link")
    if "*" in entry:
        if column in known and rows and column not in rows[0]:
            raise InputError(f'metric {of.name}: no sum of it means anything; write "group.{rest}"')
        return _sum(rows, kind, entry, column)
    row = _entry(rows, entry, of.name)
    if column in row or column not in known:
        return _number(row, column, of.name, known)
    return known[column].read(replace(of, rows=[row]))


def _of_group(summary: Mapping[str, Any], rest: str, of: Subject) -> float | None:
    """A metric of all flows together that fit a pattern; None if there is none."""
    pattern, _, metric = rest.rpartition(".")
    known = by_name(of_links=False)
    if metric not in known:
        raise InputError(f"metric {of.name}: {_hint(metric, known)}there is {', '.join(known)}")
    rows = [row for row in summary["flows"] if fnmatch.fnmatchcase(row["id"], pattern)]
    return known[metric].read(replace(of, rows=rows)) if rows else None


def _of_transfer(summary: Mapping[str, Any], rest: str, of: Subject) -> float | None:
    entry, _, figure = rest.rpartition(".")
    row = _entry(summary["flows"], entry, of.name)
    return transfer_figure(summary, row, of.experiment, figure)


def _of_phases(summary: Mapping[str, Any], rest: str, of: Subject) -> float | None:
    # It loads NumPy.
    from fairway.metrics import phases as window_phases

    entry, _, figure = rest.rpartition(".")
    row = _entry(summary["flows"], entry, of.name)
    return window_phases.figure(of.run, str(row["id"]), figure)


def _of_application(summary: Mapping[str, Any], rest: str, of: Subject) -> float | None:
    entry, _, column = rest.rpartition(".")
    found = _entry(summary.get("applications", []), entry, of.name)
    table = {**{k: v for k, v in found.items() if k != "figures"}, **found["figures"]}
    return _number(table, column, of.name)


def _of_completions(summary: Mapping[str, Any], rest: str, of: Subject) -> float | None:
    name = of.name
    *place, column = rest.rsplit(".", 2)
    rows = summary.get("completions", [])
    sized = place[-1].isdecimal() and len(place) == 2
    flow = place[0] if sized else ".".join(place)
    size = int(place[-1]) if sized else None
    for row in rows:
        if row["flow"] == flow and row["from_bytes"] == size:
            return _number(row, column, name)
    known = [
        row["flow"] + ("" if row["from_bytes"] is None else f".{row['from_bytes']}") for row in rows
    ]
    raise InputError(
        f"metric {name}: there is {', '.join(known) or 'no flow of several transfers'}"
    )


#: What may stand before a metric -> how it is read then.
_KINDS: dict[str, Callable[[Mapping[str, Any], str, Subject], float | None]] = {
    "flow": _of_flow,
    "group": _of_group,
    "link": lambda summary, rest, of: _of_row(summary["links"], "link", rest, of),
    "application": _of_application,
    "transfer": _of_transfer,
    "phases": _of_phases,
    "completions": _of_completions,
}


def _compared(flows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Flows that are compared: TCP towards the sinks, or datagrams where there is no TCP."""
    towards = [row for row in flows if not row["id"].endswith("/reverse")]
    return [row for row in towards if row["cc"] is not None] or towards


def _sum(rows: Sequence[Mapping[str, Any]], kind: str, pattern: str, column: str) -> float | None:
    """Of all rows whose ids fit a pattern; None if any of them has no value."""
    fitting = [row for row in rows if fnmatch.fnmatchcase(row["id"], pattern)]
    values = [_number(row, column, f"{kind}.{row['id']}.{column}") for row in fitting]
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) if numbers and len(numbers) == len(values) else None


def _entry(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> Mapping[str, Any]:
    for row in rows:
        if row["id"] == key:
            return row
    if (place := text.whole(key)) is not None and place < len(rows):
        return rows[place]
    ids = [str(row["id"]) for row in rows]
    raise InputError(f"metric {name}: {_hint(key, ids)}there is {', '.join(ids)}")


def _number(
    table: Mapping[str, Any], column: str, name: str, more: Mapping[str, Any] | None = None
) -> float | None:
    if column not in table:
        known = list(dict.fromkeys([*table, *(more or {})]))
        raise InputError(f"metric {name}: {_hint(column, known)}there is {', '.join(known)}")
    value = table[column]
    if value is None:
        return None
    if isinstance(value, str | bool | Mapping):
        raise InputError(f"metric {name}: is {value!r}, not a number")
    return float(value)
