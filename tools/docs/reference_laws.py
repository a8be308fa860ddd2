"""The throughput laws: what each tells, and its parameters and results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markdown_text import code, escaped, table

from fairway import _core


def laws() -> str:
    """The throughput laws."""
    rows = [
        (
            f"[{code(law['name'])}](laws.md#{anchor(law['name'])})",
            law["title"],
            law["equation"],
            law["range"],
            law["source"],
        )
        for law in known()
    ]
    return table(["law", "what it tells", "equation", "range", "source"], rows)


def law_sections() -> str:
    """Each law with its parameters and results."""
    return "\n".join(section(law) for law in known())


def section(law: Mapping[str, Any]) -> str:
    """One law."""
    inputs = [
        [f"`{one['name']}`", escaped(one["meaning"]), one["expected"], absent(one)]
        for one in law["parameters"]
    ]
    outputs = [[f"`{one['name']}`", escaped(one["meaning"])] for one in law["results"]]
    parts = [
        f"## {law['name']} {{ #{anchor(law['name'])} }}",
        f"{law['title']}: {escaped(law['equation'])}.",
        f"In range: {law['range']}. Source: {law['source']}.",
        table(["parameter", "meaning", "takes", "default"], inputs).rstrip(),
        table(["result", "meaning"], outputs).rstrip(),
    ]
    return "\n\n".join(parts) + "\n"


def absent(parameter: Mapping[str, Any]) -> str:
    """What holds where a parameter is not given."""
    if parameter["is_required"]:
        return "required"
    return "none" if parameter["default"] is None else f"{parameter['default']:g}"


def anchor(name: str) -> str:
    """The anchor of a law."""
    return str(name).replace("+", "-plus")


def known() -> list[dict[str, Any]]:
    """Every law."""
    return list(json.loads(_core.model_laws()))
