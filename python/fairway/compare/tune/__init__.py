"""Searches the parameters of an algorithm, and says on fresh seeds whether that was worth it.

docs/commands/tune.md is the guide.
"""

from fairway.compare.tune.result import Tuning
from fairway.compare.tune.run import tune

__all__ = ["Tuning", "tune"]
