"""Claims of a study and their verdicts.

A test asks one question of the measured cells: its effects are held against what is claimed of
them. With repetitions the confidence interval decides, corrected for how many comparisons a claim
makes: *supported* if all of it agrees with the claim, *refuted* if none of it does, else
*undecided*. With one run of a point, its value decides. A claim is refuted if any of its tests is,
supported if all are, else undecided.
"""

from fairway.claims.cells import Cell, point_is_at, same
from fairway.claims.judging import Finding, judge, judge_all, readable
from fairway.claims.reading import Claim, axes_of, check_test
from fairway.claims.verdicts import Comparison, Verdict

__all__ = [
    "Cell",
    "Claim",
    "Comparison",
    "Finding",
    "Verdict",
    "axes_of",
    "check_test",
    "judge",
    "judge_all",
    "point_is_at",
    "readable",
    "same",
]
