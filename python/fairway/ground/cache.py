"""Where Fairway keeps what it need not make again: Linux kernels."""

from __future__ import annotations

import os
from pathlib import Path

#: Names another directory for everything that Fairway keeps between commands.
PLACE = "FAIRWAY_CACHE"


def cache_directory(what: str) -> Path:
    """A directory for one kind: `$FAIRWAY_CACHE/what`, by default in `~/.cache/fairway`."""
    if place := os.environ.get(PLACE):
        return Path(place).expanduser().absolute() / what
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser().absolute() / "fairway" / what
