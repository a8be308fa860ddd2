"""Statistics of repetitions: intervals, comparisons, and how long and how often to run.

Everything here is a function of numbers alone, with the same answer on every machine. Student's
distribution and the bootstrap are SciPy's. docs/statistics.md says what is used where, and when not
to trust it.
"""

from fairway.stats.batches import BatchMeans, batch_means
from fairway.stats.bootstrap import bootstrap_interval
from fairway.stats.effect import Effect, log_ratio_effect, mean_effect, paired_effect, welch_effect
from fairway.stats.equivalence import Equivalence, equivalence, tost_paired, tost_welch
from fairway.stats.families import holm
from fairway.stats.means import (
    Difference,
    Estimate,
    mean_interval,
    paired_difference,
    paired_ratio,
    student_half_width,
    welch_half_width,
    welch_interval,
)
from fairway.stats.resampled import statistic_interval
from fairway.stats.samples import mean_and_deviation
from fairway.stats.stopping import Stopping
from fairway.stats.warm_up import WarmUp, mser, mser5

__all__ = [
    "BatchMeans",
    "Difference",
    "Effect",
    "Equivalence",
    "Estimate",
    "Stopping",
    "WarmUp",
    "batch_means",
    "bootstrap_interval",
    "equivalence",
    "holm",
    "log_ratio_effect",
    "mean_and_deviation",
    "mean_effect",
    "mean_interval",
    "mser",
    "mser5",
    "paired_difference",
    "paired_effect",
    "paired_ratio",
    "statistic_interval",
    "student_half_width",
    "tost_paired",
    "tost_welch",
    "welch_effect",
    "welch_half_width",
    "welch_interval",
]
