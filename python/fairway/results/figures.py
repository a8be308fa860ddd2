"""Charts of one run over time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway.ground.columns import Columns
from fairway.plot import vega
from fairway.plot.figures import is_rate_based, measuring_window, save_charts
from fairway.plot.over_time import over_time
from fairway.plot.quantities import QUANTITIES, Quantity

if TYPE_CHECKING:
    from fairway.results.data import RunData


class Figures:
    """Charts of one run by the names of `QUANTITIES`: `run.figures.cwnd()`."""

    def __init__(self, run: RunData) -> None:
        self._run = run

    def draw(self, name: str, **size: Any) -> vega.Chart:
        """The chart of that name in `QUANTITIES`; `size` as for `over_time`."""
        quantity = QUANTITIES[name]
        window = measuring_window(self._run.experiment)
        return over_time(drawn_table(self._run, quantity), quantity, window=window, **size)

    def save(self, directory: str | Path, formats: Sequence[str] = ("pdf", "png")) -> list[Path]:
        """Write every figure in every format and return the files."""
        charts: dict[str, vega.Chart] = {
            name: self.draw(name, width=640, height=260)
            for name, quantity in QUANTITIES.items()
            if is_measured(self._run, quantity)
        }
        charts |= self._run.own_charts()
        return save_charts(charts, Path(directory), formats)

    def __getattr__(self, name: str) -> Callable[..., vega.Chart]:
        if name not in QUANTITIES:
            raise AttributeError(f"a run has no chart {name!r}")
        return functools.partial(self.draw, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *QUANTITIES]

    def __repr__(self) -> str:
        return f"<Figures of {self._run.title!r}: {', '.join(QUANTITIES)}>"


def is_measured(run: RunData, quantity: Quantity) -> bool:
    """Whether a run has any value of a quantity, so that a chart of it has a mark."""
    return bool(drawn_table(run, quantity).known(quantity.column).any())


def drawn_table(run: RunData, quantity: Quantity) -> Columns:
    """The table that a quantity is drawn from, without values that say nothing.

    Rate-based algorithms do not go by the ssthresh that the stack keeps for them: BBR only leaves
    it as it is (`bbr_ssthresh` of Linux 6.1, net/ipv4/tcp_bbr.c).
    """
    table = run.sampled(quantity.table)
    if quantity.column != "ssthresh_segments":
        return table
    unused = [flow["id"] for flow in run.summary["flows"] if is_rate_based(flow["cc"])]
    is_unused = table.text("flow").is_in(unused)
    return table.replace(
        ssthresh_segments=np.where(is_unused, np.nan, table.numbers("ssthresh_segments"))
    )
