"""What Fairway brings to a kernel: configuration, edits and congestion controls of its own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from fairway.backends.linux.edits import EDITS, Edit

#: Where the data lies.
DATA = Path(__file__).resolve().parent / "kernel"


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a kernel besides its source.

    Attributes:
        fragment: The configuration, as `fragment.config` has it.
        random: `fairway_random.h`.
        edits: Replacements in the source.
        modules: Congestion controls of ours: name of the file and its text.
        headers: What they include of ours: likewise.
    """

    fragment: str
    random: str
    edits: tuple[Edit, ...]
    modules: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]

    def digest(self, source_identity: str) -> str:
        """SHA-256 over the recipe and a source."""
        content = {
            "source": source_identity,
            "fragment": self.fragment,
            "random": self.random,
            "edits": [(edit.file, edit.find, edit.replace) for edit in self.edits],
            "modules": self.modules,
            "headers": self.headers,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def recipe(data: Path = DATA) -> Recipe:
    """The recipe of this version of Fairway.

    Every `tcp_*.c` in `data` is built in, every `*_rules.h` lies beside it.
    """
    return Recipe(
        fragment=(data / "fragment.config").read_text("utf-8"),
        random=(data / "fairway_random.h").read_text("utf-8"),
        edits=EDITS,
        modules=_texts(data, "tcp_*.c"),
        headers=_texts(data, "*_rules.h"),
    )


def _texts(data: Path, pattern: str) -> tuple[tuple[str, str], ...]:
    return tuple((file.name, file.read_text("utf-8")) for file in sorted(data.glob(pattern)))
