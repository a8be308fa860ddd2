"""The numbers of a comparison with golden traces, as tables of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.compare.fidelity.data import JUDGED, Cell, Comparison, FidelityData
from fairway.ground import text
from fairway.plot.page import Table

#: Behind a difference that is out of tolerance, and one that is not judged.
_OUT, _SHOWN = "*", " "


def tables(result: FidelityData) -> list[Table]:
    """Three tables for each scenario, and one of what is out of tolerance."""
    found = []
    for name, cells in result.scenarios.items():
        found += [_means(name, cells), _events(name, cells), _windows(name, cells)]
    return [*found, missed(result)]


def _means(name: str, cells: Sequence[Cell]) -> Table:
    columns = [
        "algorithm",
        *_with_difference("goodput (Mbit/s)"),
        *_with_difference("mean cwnd"),
        *_with_difference("srtt (ms)"),
    ]
    shown = ("goodput_bps", "mean_cwnd_segments", "mean_srtt_s")
    rows = [
        [cell.label, *(part for what in shown for part in _judged(cell.comparisons[what]))]
        for cell in cells
    ]
    return Table(f"{name}: means", columns, rows)


def _events(name: str, cells: Sequence[Cell]) -> Table:
    columns = [
        "algorithm",
        *_with_real("reductions"),
        *_with_difference("interval (s)"),
        *_with_real("exit (s)"),
        *_with_difference("exit window"),
    ]
    rows = [
        [
            cell.label,
            *_both(cell.comparisons["reductions"]),
            *_judged(cell.comparisons["reduction_interval_s"]),
            *_both(cell.comparisons["exit_s"]),
            *_judged(cell.comparisons["exit_window_segments"]),
        ]
        for cell in cells
    ]
    return Table(f"{name}: reductions, and the exit from slow start", columns, rows)


def _windows(name: str, cells: Sequence[Cell]) -> Table:
    columns = [
        "algorithm",
        *_with_real("cwnd 5 %"),
        *_with_real("cwnd 50 %"),
        *_with_real("cwnd 95 %"),
        *_with_real("retrans."),
        "area %",
        "all",
    ]
    shown = ("p5_cwnd_segments", "p50_cwnd_segments", "p95_cwnd_segments", "retransmitted_segments")
    rows = [
        [
            cell.label,
            *(part for what in shown for part in _both(cell.comparisons[what])),
            text.decimal(None if cell.area is None else 100 * cell.area, 1),
            verdict(cell),
        ]
        for cell in cells
    ]
    return Table(f"{name}: windows, and all in all", columns, rows)


def _with_real(quantity: str) -> list[str]:
    """Headings of a quantity: simulated, and of the real kernel."""
    return [quantity, f"real {quantity}"]


def _with_difference(quantity: str) -> list[str]:
    """Those headings, and that of the difference."""
    return [*_with_real(quantity), f"{quantity.partition(' (')[0]} off (%)"]


def missed(result: FidelityData) -> Table:
    """Each quantity that is out of tolerance, with both values."""
    rows = [
        [cell.scenario, cell.label, one.quantity.title, *_both(one), difference(one), _limit(one)]
        for cell in result.cells
        for one in cell.misses
    ]
    columns = ["scenario", "", "out of tolerance", "sim", "real", "apart", "±"]
    return Table("Out of tolerance", columns, rows, labels=3)


def tolerances() -> Table:
    """What is judged, and how far it may be off."""
    rows = [[quantity.title, text.percent(quantity.tolerance, signed=False)] for quantity in JUDGED]
    return Table("", ["quantity", "±"], rows)


def verdict(cell: Cell) -> str:
    """A cell's verdict in a word."""
    return "in" if cell.within else "out"


def value(comparison: Comparison, side: float | None) -> str:
    """A side's value in the unit of tables."""
    if side is None:
        return text.ABSENT
    scaled = side * comparison.quantity.scale
    # A time of a sample is as exact as what was written down.
    return (
        text.label(round(scaled, 3))
        if comparison.quantity.name == "exit_s"
        else text.number(scaled)
    )


def _both(comparison: Comparison) -> list[str]:
    return [value(comparison, comparison.sim), value(comparison, comparison.real)]


def _judged(comparison: Comparison) -> list[str]:
    """Both values and the difference in per cent, marked where it is out of tolerance."""
    apart = comparison.relative
    written = text.ABSENT if apart is None else text.with_sign(100 * apart)
    return [*_both(comparison), written + (_SHOWN if comparison.within else _OUT)]


def difference(comparison: Comparison) -> str:
    """How far the simulator is off, as a share of the real value."""
    return text.percent(comparison.relative)


def _limit(comparison: Comparison) -> str:
    return text.percent(comparison.quantity.tolerance, signed=False)
