"""Markdown of tables and of values, for the pages that `reference.py` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(header)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(value: Any) -> str:
    """A value as it would be written in TOML, marked as code."""
    return f"`{toml(value)}`"


def toml(value: Any) -> str:
    """A value as it would be written in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{quoted(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def quoted(key: str) -> str:
    """A TOML key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def escaped(text: str) -> str:
    """Text in which Markdown finds no marks but those of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", part) for part in parts
    )


def capitalised(text: str) -> str:
    """The text with a capital letter, its other capitals kept."""
    return text[:1].upper() + text[1:]
