"""The numbers of a comparison with golden traces, as tables of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.compare.fidelity.data import JUDGED, TOLERANCES, Cell, Comparison, FidelityData
from fairway.ground import text
from fairway.plot.page import Table

#: Behind a difference that is out of tolerance, and one that is not judged.
_OUT, _SHOWN = "*", " "


#: Tables of a scenario: what each shows -> of each quantity its heading, its name, and whether the
#: difference stands beside it.
_TABLES = {
    "means": [
        ("goodput (Mbit/s)", "goodput_bps", True),
        ("mean cwnd", "mean_cwnd_segments", True),
        ("srtt (ms)", "mean_srtt_s", True),
    ],
    "reductions, and the exit from slow start": [
        ("reductions", "reductions", False),
        ("interval (s)", "reduction_interval_s", True),
        ("exit (s)", "exit_s", False),
        ("exit window", "exit_window_segments", True),
    ],
    "windows, and all in all": [
        ("cwnd 5 %", "p5_cwnd_segments", False),
        ("cwnd 50 %", "p50_cwnd_segments", False),
        ("cwnd 95 %", "p95_cwnd_segments", False),
        ("retrans.", "retransmitted_segments", False),
    ],
}


def tables(result: FidelityData) -> list[Table]:
    """Three tables for each scenario, and one of what is out of tolerance."""
    found = [
        _table(f"{name}: {about}", shown, cells, is_last=about == list(_TABLES)[-1])
        for name, cells in result.scenarios.items()
        for about, shown in _TABLES.items()
    ]
    return [*found, missed(result)]


def _table(
    caption: str, shown: Sequence[tuple[str, str, bool]], cells: Sequence[Cell], *, is_last: bool
) -> Table:
    columns = ["algorithm"]
    for heading, _, judged in shown:
        columns += [heading, f"real {heading}"]
        columns += [f"{heading.partition(' (')[0]} off (%)"] if judged else []
    rows = []
    for cell in cells:
        row = [cell.label]
        for _, name, judged in shown:
            row += (_judged if judged else _both)(cell.comparisons[name])
        if is_last:
            area = None if cell.area is None else 100 * cell.area
            row += [text.decimal(area, 1), verdict(cell)]
        rows.append(row)
    return Table(caption, [*columns, *(["area %", "all"] if is_last else [])], rows)


def missed(result: FidelityData) -> Table:
    """Each quantity that is out of tolerance, with both values."""
    rows = [
        [
            cell.scenario,
            cell.label,
            one.quantity.title,
            *_both(one),
            difference(one),
            text.percent(one.tolerance, signed=False),
        ]
        for cell in result.cells
        for one in cell.misses
    ]
    columns = ["scenario", "", "out of tolerance", "sim", "real", "apart", "±"]
    return Table("Out of tolerance", columns, rows, labels=3)


def tolerances() -> Table:
    """What is judged, and how far it may be off."""
    rows = [[one.title, text.percent(TOLERANCES[one.column], signed=False)] for one in JUDGED]
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
