"""What a host's settings allow on a path, in sentences, and what would lift a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fairway.host.advice import buffers, congestion, interface, limits, sending
from fairway.host.advice.statement import Change, Statement
from fairway.host.path import Path
from fairway.host.settings import Settings

Role = Literal["send", "receive", "both"]

__all__ = ["Advice", "Change", "Role", "Statement", "advise"]


@dataclass(frozen=True)
class Advice:
    """What was found.

    Attributes:
        path: What was judged.
        statements: Sentences, by topic.
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
            "statements": [statement.to_json() for statement in self.statements],
            "sysctl": [change.to_json() for change in self.changes],
            "other_side": list(self.other_side),
        }


def advise(host: Settings, path: Path, role: Role = "both") -> Advice:
    """Judge what a host can do on a path. Nothing is read or changed here.

    Args:
        host: Its settings.
        path: What it shall carry.
        role: Whether the host sends, receives or both.
    """
    roles = ("send", "receive") if role == "both" else (role,)
    verdicts = [buffers.verdict(host, path, one) for one in roles]
    statements = [statement for verdict in verdicts for statement in verdict.statements]
    changes = [change for verdict in verdicts for change in verdict.changes]
    for topic in (buffers.memory, congestion.judge, sending.judge, interface.judge, limits.judge):
        more, lines = topic(host, path, roles)
        statements += more
        changes += lines
    streams = [verdict.streams for verdict in verdicts if verdict.streams is not None]
    return Advice(
        path,
        tuple(statements),
        tuple({change.name: change for change in changes}.values()),
        buffers.other_side(path, roles),
        max(streams, default=None),
    )
