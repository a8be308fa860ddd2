"""Tuning: `from fairway.tune import tune`."""

from fairway.compare.tune import Tuning, tune

__all__ = ["Tuning", "tune"]
