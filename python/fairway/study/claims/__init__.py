"""Claims of a study and their verdicts.

A test asks one question of the measured cells: its effects are held against what is claimed of
them. With repetitions the confidence interval decides, corrected for how many comparisons a claim
makes: *supported* if all of it agrees with the claim, *refuted* if none of it does, else
*undecided*. With one run of a point, its value decides. Points that are missing make it *not
run*. A claim is refuted if any of its tests is, and supported if all are. Where a source leaves
something open, a claim *depends* on it if plausible values support it and others refute it.
"""

from fairway.study.claims.cells import Cell, point_is_at, same
from fairway.study.claims.judging import Finding, judge, judge_all, readable
from fairway.study.claims.reading import Claim, axes_of, check_test
from fairway.study.claims.verdicts import MEANING, Comparison, Verdict

__all__ = [
    "MEANING",
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
