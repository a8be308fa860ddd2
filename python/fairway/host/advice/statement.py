"""A sentence of advice, and a setting that would lift a limit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["fine", "limit", "hint", "unknown"]


@dataclass(frozen=True)
class Statement:
    """A sentence.

    Attributes:
        topic: "receiver", "sender", "congestion control" ….
        kind: "fine"; "limit" if it keeps the path from being filled; "hint" if it may matter;
            "unknown" if the system does not tell.
    """

    topic: str
    kind: Kind
    text: str


@dataclass(frozen=True)
class Change:
    """A setting that would lift a limit.

    Attributes:
        name: As `sysctl` knows it.
        value: What to write.
    """

    name: str
    value: str
    why: str

    @property
    def line(self) -> str:
        """The command, which only root may run."""
        quoted = f'"{self.value}"' if " " in self.value else self.value
        return f"sysctl -w {self.name}={quoted}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "line": self.line}
