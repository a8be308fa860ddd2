"""The congestion controls and the presets of the stack that the core has."""

from __future__ import annotations

import json
from typing import Any


def algorithms() -> list[dict[str, Any]]:
    """Every congestion control.

    Each has name, title, summary, family, signal, year, source, variants, parameters, sums worked
    out by hand (`vectors`), the header of its file, which is its documentation, and the file.
    """
    from fairway import _core

    return list(json.loads(_core.algorithms()))


def presets() -> list[dict[str, Any]]:
    """Every preset of the TCP stack; the first is the default.

    Each has a name, a summary, its `switches` by name as an experiment file would write them (None
    for one to leave out), and their `sources`: where each value is from.
    """
    from fairway import _core

    return list(json.loads(_core.presets()))
