"""What a metric of a run is read from: its counters, and more if the metric asks for it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fairway import _core
from fairway.errors import InputError

if TYPE_CHECKING:
    from fairway.ground.columns import Columns


class Traced(Protocol):
    """What metrics read of a run: its summary, its experiment and its tables."""

    @property
    def experiment(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def summary(self) -> Mapping[str, Any]: ...  # noqa: D102
    def table(self, name: str) -> Columns | None: ...  # noqa: D102
    def sampled(self, name: str) -> Columns: ...  # noqa: D102
    @property
    def phases_of(self) -> Callable[[str], list[Any]]: ...  # noqa: D102


@dataclass(frozen=True)
class Subject:
    """Flows or a link of a run that a metric is of.

    Attributes:
        name: The metric as it was asked for, for errors.
        rows: Rows of the summary's flows, or the one of a link.
        get_run: The run with its tables, if it is at hand.
        document: Its experiment, if that is at hand.
    """

    name: str
    rows: Sequence[Mapping[str, Any]]
    get_run: Callable[[], Traced] | None
    document: Mapping[str, Any] | None

    @functools.cached_property
    def run(self) -> Traced:
        """The run itself."""
        if self.get_run is None:
            raise InputError(f"metric {self.name}: needs the run's time series")
        return self.get_run()

    @property
    def experiment(self) -> Mapping[str, Any]:
        """The experiment's document."""
        if self.document is None and self.get_run is None:
            raise InputError(f"metric {self.name}: needs the experiment")
        return self.run.experiment if self.document is None else self.document

    @property
    def ids(self) -> list[str]:
        """Names of the flows or the link."""
        return [str(row["id"]) for row in self.rows]

    def total(self, column: str) -> int | None:
        """A counter of all rows; None where one of them has none."""
        values: list[Any] = [row.get(column) for row in self.rows]
        return None if None in values else sum(map(int, values))

    def values(self, column: str) -> list[float] | None:
        """A column of all rows; None where one of them has no value."""
        found: list[Any] = [row.get(column) for row in self.rows]
        return None if None in found else list(map(float, found))

    def mean(self, column: str) -> float | None:
        """Mean of a column over the rows; None where one of them has no value."""
        values = self.values(column)
        return math.fsum(values) / len(values) if values else None

    @functools.cached_property
    def resolved(self) -> _core.Experiment:
        """What the experiment says of its times and rates."""
        return _core.Experiment(self.experiment)

    def samples(self, flow: str, column: str) -> list[float]:
        """A flow's samples in the measuring window, those without a value left out."""
        low, high = self.resolved.window_s
        series = self.run.sampled("series")
        # A sample is of the time before it.
        times, known = series.numbers("t_s"), series.known(column)
        is_inside = series.text("flow").equals(flow) & (times > low) & (times <= high)
        found: list[float] = series.numbers(column)[is_inside & known].tolist()
        return found

    @property
    def losses(self) -> Columns:
        """Losses of these flows in the measuring window, one by one."""
        losses = self.run.table("losses")
        if losses is None:
            raise InputError(
                f"metric {self.name}: is made of single losses; write losses = true in [measure] "
                "and use the simulator"
            )
        low, high = self.resolved.window_s
        times = losses.numbers("t_s")
        return losses.keep(losses.text("flow").is_in(self.ids) & (times >= low) & (times < high))

    def link_rate_bps(self, link: str) -> float:
        """Rate of a link direction.

        Raises:
            InputError: If there is no such link, or its rate changes or is unlimited.
        """
        try:
            return float(self.resolved.link_rate_bps(link))
        except ValueError as error:
            raise InputError(f"metric {self.name}: {error}") from None

    def bottleneck_bps(self) -> float:
        """Rate of the bottleneck: the link that is reported first.

        Raises:
            InputError: As `link_rate_bps`.
        """
        return self.link_rate_bps(str(self.run.summary["links"][0]["id"]))


class Counters:
    """Rows of one run among columns of many: in place of a `Subject` for metrics of counters.

    A subject with mappings of its own for each of many runs takes three times as long.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = columns
        #: Where its rows are.
        self.place = slice(0, 0)

    def total(self, column: str) -> int | None:
        """As `Subject.total`."""
        found = self._found(column)
        return None if None in found else sum(map(int, found))

    def values(self, column: str) -> list[float] | None:
        """As `Subject.values`."""
        found = self._found(column)
        return None if None in found else list(map(float, found))

    def _found(self, column: str) -> Sequence[Any]:
        return self._columns[column][self.place] if column in self._columns else (None,)
