"""What follows a run and stops it, of backends that are not the compiled simulator."""

from __future__ import annotations

import threading


class Control:
    """Follows one run, and stops it; safe to use from any thread."""

    def __init__(self) -> None:
        """Start before the beginning."""
        self._cancelled = threading.Event()
        self._fraction = 0.0

    @property
    def fraction(self) -> float:
        """Part of the experiment's duration that has passed, 0 to 1."""
        return self._fraction

    def cancel(self) -> None:
        """Ask for the end; the backend's `run` then raises `Cancelled`."""
        self._cancelled.set()

    def is_cancelled(self) -> bool:
        """Whether it was asked for."""
        return self._cancelled.is_set()

    def reached(self, fraction: float) -> None:
        """Note how far the run is."""
        self._fraction = min(max(fraction, 0.0), 1.0)
