"""Where the nodes of a network are drawn: senders on the left, receivers on the right."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

#: How often the order of the rows is improved, forth and back.
_SWEEPS = 4
#: Room between a host and its node, as a share of that for a link.
_STUB = 0.35

#: Two nodes with a link between them.
Edge = tuple[str, str]


def positions(
    links: Sequence[Edge], stubs: Sequence[Edge], sources: Sequence[str], hosts: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """A place for each node, both coordinates from 0 to 1.

    A node's column is its distance from the first source. A host with a single link stands beside
    its router: away from other routers, or where there are some on both sides or none, on the left
    if it sends and else on the right. In a column hosts stand outside, routers inside, each near
    the rows of those that it is linked to.
    """
    beside = _neighbours([*links, *stubs])
    column = _columns(beside, sources, hosts)
    first, last = min(column.values()), max(column.values())
    columns: list[list[str]] = [[] for _ in range(first, last + 1)]
    for name, at in column.items():
        columns[at - first].append(name)
    columns = [names for names in columns if names]
    _order(columns, beside, set(hosts))
    across = _across(columns, links)
    return {
        name: (at, (row + 0.5) / len(names))
        for at, names in zip(across, columns, strict=True)
        for row, name in enumerate(names)
    }


def _across(columns: Sequence[Sequence[str]], links: Sequence[Edge]) -> list[float]:
    """Where each column stands: nearer to the one before it if no link leads there."""
    number = {name: index for index, names in enumerate(columns) for name in names}
    crossed = {gap for one, other in links for gap in range(*sorted((number[one], number[other])))}
    at = [0.0]
    for gap in range(len(columns) - 1):
        at.append(at[-1] + (1.0 if gap in crossed else _STUB))
    return [place / (at[-1] or 1.0) for place in at]


def _neighbours(edges: Sequence[Edge]) -> dict[str, list[str]]:
    beside: dict[str, list[str]] = {}
    for one, other in edges:
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    return {name: list(dict.fromkeys(names)) for name, names in beside.items()}


def _columns(
    beside: Mapping[str, Sequence[str]], sources: Sequence[str], hosts: Sequence[str]
) -> dict[str, int]:
    distance: dict[str, int] = {}
    for begin in (*sources, *beside):
        if begin in distance or begin not in beside:
            continue
        distance[begin] = 0
        waiting = deque([begin])
        while waiting:
            name = waiting.popleft()
            for other in beside[name]:
                if other not in distance:
                    distance[other] = distance[name] + 1
                    waiting.append(other)
    column = dict(distance)
    leaves = {name for name in hosts if len(beside.get(name, ())) == 1}
    for name in leaves - {next(iter(distance))}:
        router = beside[name][0]
        others = [distance[one] for one in beside[router] if one not in leaves]
        is_before = name in sources
        if others and (min(others) > distance[router] or max(others) < distance[router]):
            is_before = min(others) > distance[router]
        column[name] = distance[router] + (-1 if is_before else 1)
    return column


def _order(columns: list[list[str]], beside: Mapping[str, Sequence[str]], hosts: set[str]) -> None:
    """Order the rows of each column by the means of their neighbours' rows."""
    row: dict[str, float] = {}

    def place(names: list[str]) -> None:
        row.update({name: (number + 0.5) / len(names) for number, name in enumerate(names)})

    def mean(name: str) -> float:
        known = [row[other] for other in beside[name] if other in row]
        return sum(known) / len(known) if known else 0.5

    for names in columns:
        place(names)
    for sweep in range(_SWEEPS):
        for names in columns if sweep % 2 == 0 else reversed(columns):
            names.sort(key=mean)
            outside = [name for name in names if name in hosts and len(beside[name]) == 1]
            inside = [name for name in names if name not in outside]
            half = len(outside) // 2 if inside else len(outside)
            names[:] = [*outside[:half], *inside, *outside[half:]]
            place(names)
