"""What the core declares: congestion controls, presets of the stack, keys of experiments."""

from __future__ import annotations

import json
from typing import Any

from fairway import _core


def algorithms() -> list[dict[str, Any]]:
    """Every congestion control.

    Each has name, title, summary, family, signal, year, source, variants, parameters, sums worked
    out by hand (`vectors`), the header of its file, which is its documentation, and the file.
    """
    return list(json.loads(_core.algorithms()))


#: The preset of experiments that name none (crates/tcp/src/preset/mod.rs, `PRESETS`: the first).
DEFAULT_PRESET = "linux-6.1"


def presets() -> list[dict[str, Any]]:
    """Every preset of the TCP stack; the first is the default.

    Each has a name, a summary, its `switches` by name as an experiment file would write them (None
    for one to leave out), and their `sources`: where each value is from.
    """
    return list(json.loads(_core.presets()))


def schema() -> dict[str, Any]:
    """JSON Schema of experiment files, for editors."""
    return dict(json.loads(_core.schema()))
