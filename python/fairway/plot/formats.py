"""File formats of figures, known without loading what draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairway.errors import InputError
from fairway.ground import extras

FORMATS = ("pdf", "png", "svg")


def check_formats(formats: Sequence[str]) -> None:
    """Refuse formats that are unknown, or cannot be drawn here, before anything is computed."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f'figure format "{name}": expected {", ".join(FORMATS)}')
        extras.require(f"a figure as {name.upper()}", "vl_convert")


def format_of(path: Path) -> str:
    """The format of a figure's file, by the end of its name."""
    name = path.suffix.removeprefix(".").lower()
    if name not in FORMATS:
        raise InputError(f"{path}: a figure ends in .{', .'.join(FORMATS)}")
    extras.require(f"a figure as {name.upper()}", "vl_convert")
    return name
