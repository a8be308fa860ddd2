"""File formats of figures, known without loading what draws them."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.errors import InputError

FORMATS = ("pdf", "png", "svg")


def check_formats(formats: Sequence[str]) -> None:
    """Refuse unknown figure formats before anything is computed."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f'figure format "{name}": expected {", ".join(FORMATS)}')
