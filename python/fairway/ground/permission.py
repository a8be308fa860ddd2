"""Permission for code that an experiment names: classes in Python, programs of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from fairway.errors import InputError

#: Commands that a refusal lists before it counts the rest.
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Permission:
    """Code that experiments may run.

    Attributes:
        python: Whether they may name classes to import.
        programs: Whether they may start programs of this machine on hosts of a kernel.
        backend: The backend that answers; only the simulator can run a class.
    """

    python: bool = False
    programs: bool = False
    backend: str = "sim"


_NONE = Permission()
_permission: ContextVar[Permission] = ContextVar("permission", default=_NONE)


@contextmanager
def permitting(
    *, python: bool | None = None, programs: bool | None = None, backend: str | None = None
) -> Iterator[None]:
    """Let experiments that are read meanwhile run code, or not; None leaves it as it was."""
    now = _permission.get()
    wanted = Permission(
        now.python if python is None else python,
        now.programs if programs is None else programs,
        backend or now.backend,
    )
    token = _permission.set(wanted)
    try:
        yield
    finally:
        _permission.reset(token)


def permission() -> Permission:
    """The permission of experiments that are read now."""
    return _permission.get()


@dataclass(frozen=True)
class Origin:
    """The place that an experiment was read from.

    Attributes:
        name: Path of its file, or "experiment" for a text or a mapping.
        text: Its text; None for a mapping.
    """

    name: str = "experiment"
    text: str | None = None

    def __str__(self) -> str:
        import hashlib

        if self.text is None:
            return self.name
        digest = hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.name} (SHA-256 {digest})"


@dataclass(frozen=True)
class Command:
    """A program with its arguments, and the host of the experiment's network that it runs on."""

    host: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        # In ASCII, so that no letter looks like another and none changes the order of others.
        return f"on {self.host}: {json.dumps(self.words)}"


@dataclass(frozen=True)
class KeptPath:
    """A file of a host, by default one of this machine, that would go into the results."""

    host: str
    path: str

    def __str__(self) -> str:
        return f"keep of {self.host}: {json.dumps(self.path)}"


class PermissionNeededError(InputError):
    """An experiment names programs or files of this machine, and nobody has permitted them.

    Attributes:
        origins: The files that name them, each once.
        commands: The commands and the files that are kept, each once.
    """

    def __init__(self, origins: Iterable[Origin], commands: Iterable[Command | KeptPath]) -> None:
        self.origins = tuple(dict.fromkeys(origins))
        self.commands = tuple(dict.fromkeys(commands))
        listed = [f"  {command}" for command in self.commands[:_MOST_LISTED]]
        if more := len(self.commands) - len(listed):
            listed.append(f"  and {more} more")
        keeps = any(isinstance(command, KeptPath) for command in self.commands)
        and_keep = " or keep files of it" if keeps else ""
        super().__init__(
            f"{', '.join(map(str, self.origins))} would run programs of this machine{and_keep}:\n"
            + "\n".join(listed)
            + "\nread them, and give --allow-programs (in Python, allow_programs=True) if you "
            "trust them"
        )

    @classmethod
    def together(cls, refusals: Iterable[PermissionNeededError]) -> PermissionNeededError:
        """The refusal of several experiments, so that whoever permits them has seen all."""
        all_of_them = tuple(refusals)
        return cls(
            (origin for one in all_of_them for origin in one.origins),
            (command for one in all_of_them for command in one.commands),
        )
