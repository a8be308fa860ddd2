"""What a host's settings allow on a path, in sentences, and what would lift a limit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from fairway.host.advice import buffers, interface, sending
from fairway.host.advice.statement import Change, Statement
from fairway.host.settings import Settings
from fairway.host.windows import Path

Role = Literal["send", "receive", "both"]

__all__ = ["Advice", "Change", "Role", "Statement", "advise"]


@dataclass(frozen=True)
class Advice:
    """What was found.

    Attributes:
        changes: Settings that would lift a limit. Nothing has been changed.
        other_side: What the other host needs for the same.
        streams: Connections that fill the path without any change, if that can be told.
    """

    path: Path
    statements: tuple[Statement, ...]
    changes: tuple[Change, ...]
    other_side: tuple[str, ...]
    streams: int | None

    @property
    def limited(self) -> bool:
        """Whether something here keeps the path from being filled."""
        return any(statement.kind == "limit" for statement in self.statements)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "path": self.path.to_json(),
            "limited": self.limited,
            "streams_without_changes": self.streams,
            "statements": [asdict(statement) for statement in self.statements],
            "sysctl": [change.to_json() for change in self.changes],
            "other_side": list(self.other_side),
        }


def advise(host: Settings, path: Path, role: Role = "both") -> Advice:
    """Judge what a host can do on a path. Nothing is read or changed here."""
    roles = ("send", "receive") if role == "both" else (role,)
    said: list[Statement | Change] = [
        *(one for side in roles for one in buffers.judge(host, path, side)),
        *buffers.memory(host, path),
        *sending.judge(host, path, roles),
        *interface.judge(host, path, roles),
    ]
    changes = {one.name: one for one in said if isinstance(one, Change)}
    streams = [buffers.streams(host, path, side) for side in roles]
    return Advice(
        path,
        tuple(one for one in said if isinstance(one, Statement)),
        tuple(changes.values()),
        buffers.other_side(path, roles),
        max((one for one in streams if one is not None), default=None),
    )
