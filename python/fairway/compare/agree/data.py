"""What came of a comparison: for each point of the experiment, each quantity with its verdict."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.compare.agree.curves import Area, Curves, area_between, common_times, curves
from fairway.compare.agree.quantities import (
    CONFIDENCE,
    CURVES,
    VERDICTS,
    Judgement,
    Quantity,
    entries,
    judge,
)
from fairway.compare.releases import mismatch
from fairway.ground import text
from fairway.ground.result_schema import Tolerance
from fairway.sweep.outcome import Outcome

#: What a reader has to know of verdicts.
NOTE = (
    "Each verdict is of one metric by itself, and errs with a probability of up to 5 %: "
    "of twenty, one may be wrong."
)


@dataclass(frozen=True)
class Finding:
    """One quantity of one flow, one link or the run.

    Attributes:
        owner: Id of the flow or link; "run" for the run.
    """

    quantity: Quantity
    owner: str
    judgement: Judgement

    def to_json(self) -> dict[str, Any]:
        """As plain data, in the units of summaries."""
        return {
            "metric": self.quantity.name,
            "column": self.quantity.column,
            "of": self.quantity.of,
            "id": self.owner,
            **self.judgement.to_json(),
        }


class PointAgreement:
    """One side held against the reference at one point of the experiment.

    Attributes:
        axes: What the point sets: path -> value.
        missing: Quantities that a side does not have, and which: "delay of cubic#0: linux".
        is_paired: Whether both sides draw the same random numbers from a seed.
        caution: What to say if a kernel is not that of the experiment's preset; else empty.
    """

    def __init__(
        self,
        ours: Sequence[Outcome],
        reference: Sequence[Outcome],
        names: tuple[str, str],
        tolerances: Mapping[str, Tolerance],
    ) -> None:
        self.axes = dict(ours[0].point.axes)
        self.title = str(ours[0].summary["title"])
        self.side, self.reference = names
        self._outcomes = {names[0]: tuple(ours), names[1]: tuple(reference)}
        experiment = ours[0].point.experiment
        self.is_paired = _draw_alike(names, experiment)
        self.caution = mismatch(experiment, (ours[0].summary, reference[0].summary))
        self.missing: list[str] = []
        self.findings = list(self._findings(tolerances))
        self.areas = self._areas(tolerances[CURVES])

    @property
    def flows(self) -> list[str]:
        """Ids of the flows that both sides have."""
        of = [
            [str(flow["id"]) for flow in side[0].summary["flows"]]
            for side in self._outcomes.values()
        ]
        return [flow for flow in of[0] if flow in of[1]]

    @functools.cached_property
    def curves(self) -> dict[str, dict[str, Curves]]:
        """Windows at common times: flow -> side -> curves, where all runs have them."""
        runs = {side: [o.run for o in outcomes] for side, outcomes in self._outcomes.items()}
        found: dict[str, dict[str, Curves]] = {}
        for flow in self.flows:
            times = common_times([run for some in runs.values() for run in some], flow)
            if times is None:
                continue
            drawn = {side: curves(some, flow, times) for side, some in runs.items()}
            whole = {side: curve for side, curve in drawn.items() if curve is not None}
            if len(whole) == len(runs):
                found[flow] = whole
        return found

    def finding(self, name: str, owner: str) -> Finding | None:
        """The finding on a quantity, by its name, of a flow or link, by its id."""
        named = (f for f in self.findings if (f.quantity.name, f.owner) == (name, owner))
        return next(named, None)

    def area(self, flow: str) -> Area | None:
        """The area between the mean windows of a flow."""
        return next((area for area in self.areas if area.flow == flow), None)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each verdict, quantities that are zero on both sides left out."""
        verdicts = Counter(
            finding.judgement.verdict
            for finding in self.findings
            if finding.judgement.method != "zero"
        )
        verdicts.update(area.verdict for area in self.areas)
        return {verdict: verdicts[verdict] for verdict in VERDICTS}

    def spread(self, side: str, names: Sequence[str]) -> tuple[float, Finding] | None:
        """How far seeds lie apart at most on a side, over the mean, and in which of `names`.

        Where they are apart by no more than what is of no account anyway, such as one event, that
        is passed over.
        """
        found = []
        for finding in self.findings:
            if finding.quantity.name not in names:
                continue
            judged = finding.judgement
            sample = judged.ours if side == self.side else judged.reference
            accepted = finding.quantity.tolerance
            if sample.spread is not None and accepted and sample.range > accepted.floor:
                found.append((sample.spread, finding))
        return max(found, key=lambda one: one[0], default=None)

    @property
    def seeds(self) -> int:
        """Seeds on each side."""
        return min(len(outcomes) for outcomes in self._outcomes.values())

    @property
    def label(self) -> str:
        """The point in words: its axes' values."""
        return ", ".join(text.label(value) for value in self.axes.values()) or self.title

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "axes": self.axes,
            "title": self.title,
            "side": self.side,
            "counts": self.counts,
            "metrics": [finding.to_json() for finding in self.findings],
            "curves": [area.to_json() for area in self.areas],
            "missing": self.missing,
            "caution": self.caution,
        }

    def _findings(self, tolerances: Mapping[str, Tolerance]) -> Iterator[Finding]:
        values = [
            [_by_key(outcome.summary) for outcome in outcomes]
            for outcomes in self._outcomes.values()
        ]
        for key, (quantity, _) in {**values[0][0], **values[1][0]}.items():
            sides = [[run[key][1] if key in run else None for run in side] for side in values]
            ours, reference = ([v for v in side if v is not None] for side in sides)
            lacking = [
                name
                for name, all_values, known in zip(
                    self._outcomes, sides, (ours, reference), strict=True
                )
                if len(known) < len(all_values)
            ]
            if not lacking:
                judged = judge(ours, reference, tolerances[key[0]], is_paired=self.is_paired)
                yield Finding(quantity, key[1], judged)
            elif ours or reference:
                self.missing.append(f"{quantity.name} of {key[1]}: {' and '.join(lacking)}")

    def _areas(self, tolerance: Tolerance) -> list[Area]:
        areas = []
        for flow in self.flows:
            both = self.curves.get(flow)
            area = both and area_between(
                flow, both[self.side], both[self.reference], tolerance, is_paired=self.is_paired
            )
            if area:
                areas.append(area)
            else:
                self.missing.append(f"windows over time of {flow}")
        return areas


@dataclass(frozen=True, repr=False)
class AgreementData:
    """An experiment on several backends.

    Attributes:
        sides: Names of the backends that are judged.
        axes: Paths that the experiment varies.
        points: For each side, each point of the experiment.
        tolerances: Quantity -> the negligible difference.
    """

    title: str
    sides: tuple[str, ...]
    reference: str
    axes: tuple[str, ...]
    points: tuple[PointAgreement, ...]
    tolerances: Mapping[str, Tolerance]
    version: str

    @property
    def seeds(self) -> int:
        """Seeds on each side."""
        return self.points[0].seeds

    @property
    def counts(self) -> dict[str, int]:
        """How many of each verdict."""
        return {
            verdict: sum(point.counts[verdict] for point in self.points) for verdict in VERDICTS
        }

    @property
    def agrees(self) -> bool:
        """Whether nothing is different."""
        return self.counts["different"] == 0

    def of(self, side: str) -> list[PointAgreement]:
        """Each point for one side."""
        return [point for point in self.points if point.side == side]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "title": self.title,
            "version": self.version,
            "sides": list(self.sides),
            "reference": self.reference,
            "axes": list(self.axes),
            "seeds": self.seeds,
            "confidence": CONFIDENCE,
            "tolerances": {name: one.to_json() for name, one in self.tolerances.items()},
            "note": NOTE,
            "counts": self.counts,
            "points": [point.to_json() for point in self.points],
        }

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items())
        sides = " and ".join(self.sides)
        return f"<Agreement of {sides} with {self.reference} on {self.title!r}: {counts}>"


def _draw_alike(sides: tuple[str, str], experiment: Mapping[str, Any]) -> bool:
    """Whether the nth packet on a link meets the same fate on both sides with the same seed."""
    network = experiment.get("linux", {}).get("network", "fairway")
    return set(sides) == {"sim", "linux"} and network == "fairway"


def _by_key(summary: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Quantity, float | None]]:
    """Each compared number by quantity and owner."""
    return {
        (quantity.name, owner): (quantity, None if value is None else float(value))
        for quantity, owner, value in entries(summary)
    }
