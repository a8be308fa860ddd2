"""Time series as charts: thinned out to what a page has room for, one line per flow or link."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway.ground.columns import Columns, Text
from fairway.plot import vega
from fairway.plot.figures import Width
from fairway.plot.quantities import Keep, Quantity

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from fairway.ground.columns import Floats

#: Points along one line of a report's chart: about one per pixel.
MAX_POINTS = 800

#: Room beyond the last and the highest of points, which are cut at the edges of a chart.
_AROUND = 1.05

#: Names in a legend: with more, colours come again so often that it tells nothing.
MAX_LEGEND = 32
#: Width of a legend above a chart that fills a page, in pixels.
LEGEND_WIDTH = 880
#: Width of a character in a legend, and of a line's sample with its gaps.
_CHARACTER_WIDTH, _SAMPLE_WIDTH = 6, 28


def over_time(
    table: Columns | pl.DataFrame,
    quantity: Quantity,
    *,
    width: Width = 640,
    height: int = 220,
    points: int = MAX_POINTS,
    domain: Sequence[str] | None = None,
    legend: bool = True,
    y_max: float | None = None,
    y_min: float = 0.0,
    begin_s: float = 0.0,
    end_s: float | None = None,
    titles: bool = True,
    legend_width: int = LEGEND_WIDTH,
    window: tuple[float, float] | None = None,
) -> vega.Chart:
    """One line per flow or link over time; a point where there is one sample only.

    `table` is a run's series or queues, and `domain` the names in the order of their colours.
    `y_min` applies where `y_max` is given, both in the units of the axis title. The measuring
    window is shaded. A click on an entry of the legend singles that line out.
    """
    table = Columns.of(table)
    key = quantity.key
    names = list(domain or table.text(key).present)
    end = end_s or float(table.numbers("t_s").max(initial=0.0)) or 1.0
    thinned = thin(table, key, quantity.column, points, quantity.keep)
    decimals = max(3, 3 - math.floor(math.log10(end)))
    data = Columns(
        {
            "t": rounded(thinned.numbers("t_s"), decimals),
            "id": thinned[key],
            "v": to_figures(thinned.numbers(quantity.column) * quantity.scale, 5),
        }
    )
    ids = data.text("id")
    alone = data.keep(np.bincount(ids.codes, minlength=1)[ids.codes] == 1)
    if alone.rows:
        end *= _AROUND
    drawn = set(ids.present)
    drawn_names = [name for name in names if name in drawn]
    y_scale = (
        _y_scale(data.numbers("v"), quantity, has_points=alone.rows > 0)
        if y_max is None
        else vega.scale(domain=[y_min, y_max])
    )
    legend = legend and len(names) <= MAX_LEGEND
    lit = vega.parameter("lit", "point", bind="legend", fields=["id"])
    time: dict[str, Any] = {
        "title": "Time (s)" if titles else None,
        "scale": vega.scale(domain=[begin_s, end], nice=False),
        "axis": vega.axis(tickCount=10) if titles else vega.axis(tickCount=4, labelSeparation=8),
    }

    x = vega.field("t:Q", **time)
    y_title = quantity.title if titles else None
    y_axis = vega.axis(tickCount=5) if titles else vega.axis(tickCount=5, minExtent=22)
    y = vega.field("v:Q", title=y_title, scale=y_scale, axis=y_axis)
    key_of_lines = vega.legend(
        orient="top", title=None, symbolType="stroke", labelLimit=240,
        columns=_legend_columns(names, legend_width) if titles else 1,
        values=drawn_names if 0 < len(drawn_names) < len(names) else vega.UNSET,
        rowPadding=vega.UNSET if titles else 0,
    )  # fmt: skip
    shown = key_of_lines if legend and len(names) > 1 else None
    scale = vega.scale(domain=names)
    color = vega.field("id:N", title=key.capitalize(), scale=scale, legend=shown)
    told = {"id:N": key.capitalize(), "t:Q": "Time (s)", "v:Q": quantity.title}
    tooltip = [vega.field(field, title=title) for field, title in told.items()]

    def base(rows: Columns) -> vega.Chart:
        chart = vega.Chart(inline(rows, t="number", v="number"), description=quantity.alt)
        return chart.encode(x=x, y=y, color=color, tooltip=tooltip)

    line = base(data).mark("line", strokeWidth=1.4, strokeJoin="round", clip=True)
    if legend and len(names) > 1:
        line = line.encode(opacity=vega.condition(lit, vega.value(1), vega.value(0.12)))
        line = line.add_params(lit)
    layers: list[vega.Chart] = [line]
    if alone.rows:  # a line of one point has no length
        layers.append(base(alone).mark("point", filled=True, size=40, opacity=1))
    if window is not None and not (window[0] <= 0 and window[1] >= end):
        layers.insert(0, _shade((window[0], min(window[1], end)), time))
    whole = line if len(layers) == 1 else vega.layer(*layers)
    return whole.properties(width=width, height=height, description=quantity.alt).add_params(zoom())


def _shade(window: tuple[float, float], time: Mapping[str, Any]) -> vega.Chart:
    """A band behind the lines, from one time to another."""
    # `t` as of the lines, so that zooming has one name for both.
    data = inline({"t": [window[0]], "u": [window[1]]}, t="number", u="number")
    band = vega.Chart(data).mark("rect", color="#888888", opacity=0.12, clip=True)
    return band.encode(x=vega.field("t:Q", **time), x2="u:Q")


def _y_scale(values: Floats, quantity: Quantity, *, has_points: bool) -> vega.Options:
    """The vertical axis; points, and a value that is always the same, have room around them."""
    least, most = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if most == 0:
        return vega.scale(domain=[0, 1])
    if quantity.from_zero and has_points:
        return vega.scale(domain=[0, _AROUND * most])
    if quantity.from_zero or least < most:
        return vega.scale(zero=quantity.from_zero)
    return vega.scale(domain=[0.5 * most, 1.5 * most])


def _legend_columns(names: Sequence[str], width: int) -> Any:
    """Columns of a legend whose names do not fit into one line."""
    column = _SAMPLE_WIDTH + _CHARACTER_WIDTH * max(map(len, names), default=0)
    room = max(width // column, 1)
    return vega.UNSET if len(names) <= room else room


def thin(table: Columns | pl.DataFrame, key: str, column: str, points: int, keep: Keep) -> Columns:
    """Thin a time series out to at most `points` rows per line; the column `key` names the lines.

    To keep the mean averages neighbours, which is right for a rate; to keep extremes takes the
    smallest and the largest of each group of neighbours, so that no peak disappears. Lines stand in
    the order of their names.
    """
    table = Columns.of(table)
    table = table.keep(table.known(column))
    ranks = table.text(key).ranks
    table = table.keep(np.lexsort((table.numbers("t_s"), ranks)))
    lines, times, values = table.text(key), table.numbers("t_s"), table.numbers(column)
    begins = _begins(lines.codes)
    longest = int(np.diff(begins, append=len(times)).max(initial=0))
    if longest > points:
        size = -(-longest // (points if keep == "mean" else points // 2))
        places = np.arange(len(times)) - _spread(begins, begins, len(times))
        # A line's first group begins where the line does.
        starts = np.union1d(begins, np.flatnonzero(places % size == 0))
        lines = Text(lines.codes[starts], lines.names, lines.is_ordered)
        if keep == "mean":
            counts = np.diff(starts, append=len(times))
            times, values = (np.add.reduceat(one, starts) / counts for one in (times, values))
        else:
            lines = Text(np.repeat(lines.codes, 2), lines.names, lines.is_ordered)
            ends = np.stack(
                [_first(values, starts, np.minimum), _first(values, starts, np.maximum)]
            )
            # The earlier of the two first.
            ends.sort(axis=0)
            times, values = times[ends.T.ravel()], values[ends.T.ravel()]
    return Columns({"t_s": times, key: lines, column: values})


def _begins(codes: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Where lines begin whose rows stand behind each other."""
    return np.flatnonzero(np.diff(codes, prepend=-2))


def _spread(values: npt.NDArray[Any], starts: npt.NDArray[np.int64], rows: int) -> npt.NDArray[Any]:
    """A value for each group, for each of its rows."""
    spread: npt.NDArray[Any] = np.repeat(values, np.diff(starts, append=rows))
    return spread


def _first(
    values: Floats, starts: npt.NDArray[np.int64], extreme: np.ufunc
) -> npt.NDArray[np.int64]:
    """Where in each group its extreme value first stands."""
    rows = np.flatnonzero(values == _spread(extreme.reduceat(values, starts), starts, len(values)))
    return rows[np.searchsorted(rows, starts)]


def rounded(values: Floats, decimals: int) -> Floats:
    """To so many digits behind the point, halves to even."""
    scale = 10.0**decimals
    return np.rint(values * scale) / scale


def to_figures(values: Floats, digits: int) -> Floats:
    """To so many significant digits."""
    found = values.copy()
    some = np.isfinite(values) & (values != 0)
    kept = values[some]
    exponents = digits - 1 - np.floor(np.log10(np.abs(kept))).astype(np.int64)
    # 10ⁿ as 2ⁿ, which loses nothing, and 5ⁿ, so that no number is too large or too small for it.
    fives = np.where(exponents < 0, 1 / 5.0 ** np.abs(exponents), 5.0 ** np.abs(exponents))
    scaled = np.ldexp(kept, exponents) * fives
    whole = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    found[some] = np.ldexp(whole / fives, -exponents)
    return found


def inline(table: Mapping[str, Any], **kinds: str) -> vega.Options:
    """A table, or lists as its columns, as data of a chart."""
    columns = [_cells(column) for column in table.values()]
    lines = [",".join(table), *(",".join(row) for row in zip(*columns, strict=True))]
    return vega.csv("\n".join(lines) + "\n", kinds)


def _cells(column: Any) -> Iterable[str]:
    if isinstance(column, Text):
        names = [*map(_quoted, column.names), ""]
        return [names[code] for code in column.codes.tolist()]
    values = column.tolist() if isinstance(column, np.ndarray) else column
    return [_quoted(one) if isinstance(one, str) else number(one) for one in values]


def _quoted(text: str) -> str:
    if text and not any(mark in text for mark in ',"\n\r'):
        return text
    return '"' + text.replace('"', '""') + '"'


def number(value: float) -> str:
    """A number in the fewest characters that tell it apart; nothing for NaN.

    >>> number(1e-05), number(2.5e-06), number(1.5e16), number(0.1), number(3)
    ('0.00001', '2.5e-6', '1.5e+16', '0.1', '3')
    """
    if math.isnan(value):
        return ""
    digits, _, exponent = repr(value).partition("e")
    if not exponent:
        return digits
    if int(exponent) == -5:
        return "0.0000" + digits.replace(".", "")
    return f"{digits}e{int(exponent):+d}"


def zoom() -> vega.Options:
    """Drag to move, Shift and wheel to zoom (the wheel alone scrolls the page), double-click.

    Its name is that by which a page links the charts of one run (templates/charts.js).
    """
    return vega.parameter(
        "zoom", "interval", bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]"
    )
