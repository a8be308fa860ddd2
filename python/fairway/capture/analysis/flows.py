"""Directions of connections that carry data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Flow:
    """A direction of a connection that carries data.

    Attributes:
        id: The connection's number; that of its lesser direction ends in `/reverse`.
    """

    id: str
    connection: Mapping[str, Any]
    index: int

    @property
    def direction(self) -> Mapping[str, Any]:
        """Everything of the direction."""
        return dict(self.connection["directions"][self.index])

    @property
    def window(self) -> Mapping[str, Any]:
        """What is known of its window: nothing where there is too little to tell by."""
        return self.direction.get("window") or {}


def flows(connections: Sequence[Mapping[str, Any]]) -> Iterator[Flow]:
    """Directions that carry data; of a connection without data, that of its first packet."""
    for connection in connections:
        first, second = sorted(
            (0, 1), key=lambda index: -connection["directions"][index]["data_bytes"]
        )
        yield Flow(str(connection["id"]), connection, first)
        if connection["directions"][second]["data_bytes"]:
            yield Flow(f"{connection['id']}/reverse", connection, second)


def largest(connections: Sequence[Mapping[str, Any]], top: int) -> list[Mapping[str, Any]]:
    """The connections with most bytes of data, those with as many in the order of their ids."""
    return sorted(connections, key=lambda one: (-data_bytes(one), one["id"]))[:top]


def data_bytes(connection: Mapping[str, Any]) -> int:
    """Bytes of data in both directions."""
    return sum(direction["data_bytes"] for direction in connection["directions"])
