"""The results of a sweep: its tables and its summary, apart from how they are drawn."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.errors import InputError
from fairway.experiment.plan import Until
from fairway.ground import program, store, text
from fairway.ground.kernels import releases
from fairway.sweep import repetitions, warm_up
from fairway.sweep.axes import Axis, axes_of
from fairway.sweep.outcome import Outcome
from fairway.sweep.repetitions import Stop
from fairway.sweep.tables import COSTS, part_table, run_table

if TYPE_CHECKING:
    import polars as pl


#: Points whose lines of the summary are in memory together.
_AT_ONCE = 1000


@dataclass(eq=False, repr=False)
class SweepData:
    """The results of a sweep, in the order of the experiment file.

    Attributes:
        until: What repeating ended at, if the experiment says so.
        stops: Where each combination's repeating ended then.
        warm_up: How its measuring window was found, as `warm_up.WarmUp.to_json`, if it was.
        metrics: Metrics of its table, by the names of `metrics.measure`; if none is named, those
            of each run's summary, delay and retransmissions.
        commit: Gives the commit of which that Fairway was built, if it is known.
    """

    title: str
    axes: Sequence[str]
    outcomes: Sequence[Outcome]
    version: str
    directory: Path | None = None
    until: Until | None = None
    stops: Sequence[Stop] = ()
    warm_up: Mapping[str, Any] | None = None
    metrics: Sequence[str] = ()
    commit: Callable[[], str | None] = program.commit

    def __len__(self) -> int:
        return len(self.outcomes)

    def __repr__(self) -> str:
        over = ", ".join(self.axes) or "seeds"
        return f"<Sweep {self.title!r}: {text.count(len(self), 'run')} over {over}>"

    @functools.cached_property
    def columns(self) -> list[Axis]:
        """Its axes as columns of its tables."""
        return axes_of(self.axes, [outcome.point.axes for outcome in self.outcomes])

    @functools.cached_property
    def _summaries(self) -> _core.Summaries:
        try:
            return _core.Summaries([outcome.line for outcome in self.outcomes])
        except ValueError as error:
            where = self.directory or self.title
            raise InputError(f"{where}: damaged summary: {error}; run the sweep again") from None

    @functools.cached_property
    def table(self) -> pl.DataFrame:
        """One row per point: its axes, repetition, seed and metrics.

        An axis of quantities is a column of numbers whose name ends in their unit:
        `topology.bottleneck.rate_bps`.
        """
        return run_table(self.outcomes, self.columns, self._summaries, self.metrics)

    @functools.cached_property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow: axes, repetition, seed, and the flow's figures."""
        return part_table("flows", self.outcomes, self.columns, self._summaries)

    @functools.cached_property
    def links(self) -> pl.DataFrame:
        """One row per run and link: axes, repetition, seed, and the link's figures."""
        return part_table("links", self.outcomes, self.columns, self._summaries)

    @functools.cached_property
    def predicted(self) -> pl.DataFrame:
        """What models say of the metrics, as `table`: of points that one of them covers."""
        import polars as pl

        rows = [
            {
                **axes,
                **{name: value for name, value in model["metrics"].items() if name != "residual"},
            }
            for axes, model in zip(
                self.table.select(axis.column for axis in self.columns).iter_rows(named=True),
                (outcome.summary.get("model", {}) for outcome in self.outcomes),
                strict=True,
            )
            if "metrics" in model
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def warnings(self) -> list[str]:
        """What has to be known before its figures are trusted, and of how many of its runs."""
        found = self._counted(self._summaries.warnings)
        found += warm_up.warnings(self.warm_up)
        found += repetitions.remark_on_alike(self.outcomes)
        return found + (repetitions.warnings(self.until, self.stops) if self.until else [])

    @property
    def caveats(self) -> list[str]:
        """Which models of `predicted` are outside of their range, why, and in how many runs."""
        from fairway.model import beside

        models = (outcome.summary.get("model", {}) for outcome in self.outcomes)
        return self._counted(
            [f"{name} is outside of its range: {why}" for name, why in beside.reasons(model)]
            for model in models
            if "metrics" in model
        )

    def _counted(self, said: Iterable[Iterable[str]]) -> list[str]:
        """Each sentence once, with the number of runs that it is said of, if not of all."""
        counted = Counter(sentence for sentences in said for sentence in sentences)
        return [
            sentence
            if count == len(self)
            else f"in {count} of {text.count(len(self), 'run')}: {sentence}"
            for sentence, count in counted.items()
        ]

    @property
    def summary(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "title": self.title,
            "axes": list(self.axes),
            "points": list(self._entries()),
            **self._how(),
        }

    def _entries(self) -> Iterator[dict[str, Any]]:
        """The points of the summary, each with the metrics of the table that its own one lacks."""
        for outcome, more in zip(self.outcomes, self._more(), strict=True):
            point = outcome.point
            yield {
                "axes": point.axes,
                "repetition": point.repetition,
                "summary": outcome.summary,
                "metrics": more,
            }

    def _more(self) -> Iterable[dict[str, Any]]:
        if not self.outcomes:
            return ()
        return self.table.select(self.metrics or COSTS).iter_rows(named=True)

    def _how(self) -> dict[str, Any]:
        """How its window was found, and what repeating ended at and where, as plain data."""
        window = {"warm_up": dict(self.warm_up)} if self.warm_up else {}
        if self.until is None:
            return window
        return {
            **window,
            "until": {**vars(self.until), "metrics": list(self.until.metrics)},
            "stops": [stop.to_json() for stop in self.stops],
        }

    def _summary_pieces(self) -> Iterator[bytes]:
        """`summary` as JSON with a line for each point, never all in memory."""
        rest = {"title": self.title, "axes": list(self.axes), **self._how()}
        yield store.to_json(rest).rstrip("}\n ").encode() + b',\n  "points": ['
        more = self.table.select(self.metrics or COSTS) if self.outcomes else self.table
        for begin in range(0, len(self), _AT_ONCE):
            outcomes = self.outcomes[begin : begin + _AT_ONCE]
            metrics = more[begin : begin + _AT_ONCE].to_dict(as_series=False)
            last = begin + _AT_ONCE >= len(self)
            pieces = _core.entries(
                [outcome.point.axes for outcome in outcomes],
                [outcome.point.repetition for outcome in outcomes],
                [outcome.line for outcome in outcomes],
                list(metrics.items()),
            )
            yield from pieces[:-1]
            yield pieces[-1].removesuffix(b",") if last else pieces[-1]
        yield b"\n  ]\n}\n"

    @property
    def _hashes(self) -> list[str]:
        return [outcome.hash_by(self.version) for outcome in self.outcomes]

    @functools.cached_property
    def content_hash(self) -> str:
        """SHA-256 over those of its runs, in their order."""
        import hashlib

        return hashlib.sha256("\n".join(self._hashes).encode()).hexdigest()

    @property
    def seeds(self) -> list[int]:
        """The seed of each run."""
        found: list[int] = self._summaries.seeds.tolist()
        return found

    def _answered_by(self) -> dict[str, Any]:
        """The backend of its runs, and the releases of their kernels if it has some."""
        if not self.outcomes:
            return {}
        backend = self.outcomes[0].summary["backend"]
        kernels = releases(outcome.summary for outcome in self.outcomes)
        return {"backend": backend, **({"kernels": kernels} if kernels else {})}

    def _manifest(self) -> str:
        """The manifest as JSON."""
        return store.to_json(
            {
                "title": self.title,
                "version": self.version,
                "content_hash": self.content_hash,
                **self._answered_by(),
                "axes": list(self.axes),
                "points": [
                    {
                        "axes": outcome.point.axes,
                        "repetition": outcome.point.repetition,
                        "seed": seed,
                        "directory": outcome.directory.name if outcome.directory else None,
                        "content_hash": content_hash,
                    }
                    for outcome, seed, content_hash in zip(
                        self.outcomes, self.seeds, self._hashes, strict=True
                    )
                ],
                **self._how(),
            }
        )
