"""Many experiments at once: spread over threads or a cluster, kept as they finish, resumed."""

from fairway.sweep.outcome import Outcome
from fairway.sweep.result import Sweep, load_sweep
from fairway.sweep.run import MAX_DIRECTORIES, Keep, run_plan
from fairway.sweep.threads import available_cores

__all__ = [
    "MAX_DIRECTORIES",
    "Keep",
    "Outcome",
    "Sweep",
    "available_cores",
    "load_sweep",
    "run_plan",
]
