"""Charts: each is one Vega-Lite document, drawn in reports, notebooks and on paper alike."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairway import _core
from fairway.ground import inventory, store
from fairway.plot import vega
from fairway.plot.formats import check_formats

if TYPE_CHECKING:
    import polars as pl

#: Okabe and Ito, "Color Universal Design" (2008): told apart with any colour vision. Black is
#: left out (it is the text), and yellow, which is too faint on paper.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]

#: Shapes of the groups of a chart, which tell them apart without colour. There are seven for six
#: colours, so that of 42 groups no two have the same of both.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
#: Dashes of lines, which tell them apart without colour; the first is solid.
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 1], [1, 3]]
#: What is published stands back from what is measured: told from both pages by 4.5 : 1.
PUBLISHED = "#767676"

#: Family of the algorithms that do not go by ssthresh.
_RATE_BASED = "model- and rate-based"

Width = int | Literal["container"]


def layered(
    layers: Sequence[vega.Chart], title: str, width: Width, height: int | vega.Options
) -> vega.Chart:
    """Layers as one chart; `title` is its accessible name."""
    return vega.layer(*layers).properties(width=width, height=height, description=title)


def is_rate_based(cc: str) -> bool:
    """Whether an algorithm has a model of the path in place of ssthresh."""
    return cc in _rate_based()


@functools.cache
def _rate_based() -> frozenset[str]:
    known = json.loads(_core.algorithms())
    return frozenset(one["name"] for one in known if one["family"] == _RATE_BASED)


def measuring_window(experiment: Mapping[str, Any]) -> tuple[float, float] | None:
    """The measuring window in seconds; none if that is the whole run."""
    window = experiment.get("measure", {}).get("window")
    if not isinstance(window, Sequence) or isinstance(window, str):
        return None
    return _core.Experiment(experiment).window_s


#: The key of a matrix's colours, under it.
_KEY = vega.legend(
    orient="bottom", direction="horizontal", title=None, tickCount=5, gradientLength=180,
    gradientThickness=8, offset=6,
)  # fmt: skip


def heat_map(
    cells: pl.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    x_title: str,
    y_title: str,
    title: str,
    limit: float | None = None,
    span: tuple[float, float] | None = None,
    numbers: bool = True,
    width: Width = 300,
    height: int = 300,
) -> vega.Chart:
    """A matrix of numbers, coloured from −limit through white at 0 to +limit if limit is given.

    Without a limit the scale is sequential, and `span` gives its ends where matrices are compared.
    `x`, `y` and `value` name columns of `cells`; a null value leaves its cell empty.
    """
    import polars as pl

    data = cells.select(
        pl.col(x).cast(pl.String).alias("x"),
        pl.col(y).cast(pl.String).alias("y"),
        pl.col(value).round_sig_figs(4).alias("v"),
    )
    order_x, order_y = (list(data[name].unique(maintain_order=True)) for name in ("x", "y"))
    if limit is not None:
        scale = vega.scale(domain=[-limit, 0, limit], range=["#0072B2", "#F7F7F7", "#D55E00"],
                          clamp=True, interpolate="lab")  # fmt: skip
        dark = f"isValid(datum.v) && abs(datum.v) > {0.62 * limit}"
    else:
        span = span or _ends(data["v"])
        scale = vega.scale(scheme="cividis", domain=list(span))
        middle = sum(span) / 2
        dark = f"isValid(datum.v) && datum.v < {middle}"
    # A key of one colour says nothing.
    key = _KEY if limit is not None or (span and span[0] < span[1]) else None
    base = vega.Chart(inline(data, v="number"), description=title).encode(
        x=vega.field("x:N", sort=order_x, title=x_title,
                axis=vega.axis(orient="top", labelAngle=0, domain=False, ticks=False)),
        y=vega.field("y:N", sort=order_y, title=y_title, axis=vega.axis(domain=False, ticks=False)),
    )  # fmt: skip
    titles = {"y:N": y_title, "x:N": x_title, "v:Q": title}
    tooltip = [vega.field(field, title=shown) for field, shown in titles.items()]
    cell = base.mark("rect", stroke="white", strokeWidth=1).encode(
        color=vega.field("v:Q", scale=scale, legend=key), tooltip=tooltip
    )
    text = base.mark("text", fontSize=12).encode(
        text=vega.field("v:Q", format=".3~g" if limit is None else ".3f"),
        color=vega.condition(dark, vega.value("white"), vega.value("#1a1a1a")),
    )
    return layered([cell, text] if numbers else [cell], title, width, height)


def metric_over_axis(
    rows: pl.DataFrame,
    *,
    axis: str,
    metric: str,
    group: str | None = None,
    predicted: pl.DataFrame | None = None,
    published: pl.DataFrame | None = None,
    log: bool = False,
    trend: int | None = None,
    width: Width = 480,
    height: int = 240,
) -> vega.Chart:
    """A metric against one axis: the mean with its 95 % interval, one line and shape per group.

    What models say of it is dashed and hollow, and so is what is published, in grey where it is
    the same for every group. Where the axis has no numbers, what belongs to one of its values
    stands side by side.

    Args:
        rows: Columns `axis`, `mean`, `low`, `high` and `group` if given.
        axis: Column of the horizontal axis.
        metric: Name of the metric.
        group: Column that tells lines apart.
        predicted: What models say: columns `axis`, `mean`, and `group` if given.
        published: Columns `axis`, `mean`, and `group` if it differs between groups.
        log: Whether the metric's axis is logarithmic. Measurements of zero or less are left out
            then, and an interval that reaches zero ends at half of the smallest mean.
        trend: Degree of the polynomial through the means of each group, by least squares; none
            where the axis has no numbers.
        width: In pixels, or as wide as its place on the page.
        height: In pixels.
    """
    import polars as pl

    numeric = rows[axis].dtype.is_numeric()
    x, kinds = _axis_of(rows[axis]), {"mean": "number"} | ({"x": "number"} if numeric else {})
    groups = list(rows[group].cast(pl.String).unique(maintain_order=True)) if group else ["all"]
    color, shape = group_encoding(groups if group else [], COLUMNS_OF_LEGEND)
    label = f"{metric} against {axis}"
    if log:
        rows = rows.filter(pl.col("mean") > 0)
        low = pl.max_horizontal("low", pl.col("mean").min() / 2)
        rows = rows.with_columns(pl.when(pl.col("low").is_not_null()).then(low).alias("low"))
    scale = vega.scale(type="log") if log else vega.scale(zero=False)
    y = vega.field("mean:Q", title=metric, scale=scale)
    told = {"g:N": "group", "x:Q" if numeric else "x:N": axis, "mean:Q": metric}
    tooltip = [vega.field(field, title=title) for field, title in told.items()]

    beside = {"model": predicted, "published": published}
    sides = {kind: one for kind, one in beside.items() if not (one is None or one.is_empty())}
    places = [f"{one}{kind}" for one in groups for kind in ("", *sides)]

    def chart(frame: pl.DataFrame, *more: str, kind: str = "") -> vega.Chart:
        by = pl.col(group).cast(pl.String) if group in frame.columns else pl.lit("all")
        # What is published once for all groups stands in the middle of them.
        is_common = group is not None and group not in frame.columns
        is_beside = not (numeric or len(places) == 1 or is_common)
        data = frame.select(
            pl.col(axis).alias("x"),
            pl.col("mean", *more).round_sig_figs(5),
            by.alias("g"),
            *([(by + kind).alias("place")] if is_beside else []),
        )
        own = kinds | dict.fromkeys(more, "number")
        drawn = vega.Chart(inline(data, **own), description=label).encode(x=x)
        if not is_beside:
            return drawn
        return drawn.encode(xOffset=vega.field("place:N", scale=vega.scale(domain=places)))

    measured = chart(rows, "low", "high").encode(color=color)
    layers: list[Any] = [measured.mark("line", strokeWidth=1.4).encode(y=y)] if numeric else []
    if not rows["low"].drop_nulls().is_empty():  # one run of a point has no interval
        layers.append(
            measured.mark("rule").encode(y=vega.field("low:Q", title=metric), y2="high:Q")
        )
    points = measured.mark("point", filled=True, size=50, opacity=1)
    layers.append(points.encode(y=y, shape=shape, tooltip=tooltip))
    if trend and numeric:
        through = measured.transform(
            on="x", regression="mean", groupby=["g"], method="poly", order=trend
        )
        layers.append(through.mark("line", strokeWidth=2, strokeDash=[2, 2]).encode(y=y))
    for kind, frame in sides.items():
        ours = color if kind == "model" or group in frame.columns else vega.value(PUBLISHED)
        base = chart(frame, kind=kind).encode(color=ours, y=y, tooltip=tooltip[1:])
        layers.append(_beside(base, kind, numeric=numeric))
    return layered(layers, label, width, height)


#: Entries of a legend beside each other where there are more than four: a narrow chart has no room.
COLUMNS_OF_LEGEND = 3


def group_encoding(
    groups: Sequence[str], columns: int = 0, field: str = "g"
) -> tuple[vega.Options, vega.Options]:
    """Colour and shape of each group, with one legend; none for fewer than two groups.

    The legend of more than four groups has that many `columns`.
    """
    legend = vega.legend(
        orient="top", columns=columns if len(groups) > 4 else 0, labelLimit=240, symbolOpacity=1
    )
    shown = legend if len(groups) > 1 else None
    domain = vega.scale(domain=list(groups)) if groups else vega.UNSET
    shapes = [SHAPES[index % len(SHAPES)] for index in range(len(groups))]
    color = vega.field(f"{field}:N", title=None, legend=shown, scale=domain)
    scale = vega.scale(domain=list(groups), range=shapes) if groups else vega.UNSET
    return color, vega.field(f"{field}:N", title=None, legend=shown, scale=scale)


def _beside(base: vega.Chart, kind: str, *, numeric: bool) -> vega.Chart:
    """What was not measured: hollow diamonds, joined where the axis has numbers, with a legend."""
    # A scale of its own, which no other layer has, makes a legend of its own.
    scale = vega.scale(domain=[kind], range=[[1, 0]])
    legend = vega.legend(orient="top", symbolType="diamond", symbolStrokeColor=PUBLISHED,
                        symbolFillColor="transparent")  # fmt: skip
    entry = vega.field("kind:N", title=None, scale=scale, legend=legend)
    base = base.transform(calculate=f"'{kind}'", **{"as": "kind"})
    marks = base.mark("point", shape="diamond", filled=False, size=80, strokeWidth=1.4, opacity=1)
    line = base.mark("line", strokeWidth=1.2, strokeDash=[5, 3])
    layers = [line] if numeric else []
    return vega.layer(*layers, marks.encode(strokeDash=entry))


def _axis_of(values: pl.Series) -> vega.Options:
    """The horizontal axis of some values: logarithmic where numbers are spaced geometrically."""
    name = values.name
    if not values.dtype.is_numeric():
        order = list(values.unique(maintain_order=True))
        return vega.field("x:N", title=name, sort=order, axis=vega.axis(labelAngle=0))
    places = sorted(map(float, values.unique()))
    axis = vega.axis(values=places, format="~r") if len(places) <= MAX_TICKS else vega.UNSET
    kind: Any = "log" if is_geometric(places) else "linear"
    scale = vega.scale(type=kind, zero=False, nice=False, padding=16)
    return vega.field("x:Q", title=name, scale=scale, axis=axis)


#: Values of an axis that have a tick each; of more, there are ticks at round numbers.
MAX_TICKS = 8
#: From this ratio of the largest to the smallest on, few of the values of an axis could be told
#: apart on a linear one.
_WIDE = 50


def is_geometric(values: Sequence[float]) -> bool:
    """Whether ascending values are spaced by ratios rather than by differences.

    >>> is_geometric([1, 2, 5, 10, 20]), is_geometric([10, 20, 30, 40]), is_geometric([0, 1, 10])
    (True, False, False)
    """
    if len(values) < 2 or values[0] <= 0:
        return False
    if values[-1] / values[0] > _WIDE:
        return True
    steps = [after - before for before, after in itertools.pairwise(values)]
    ratios = [math.log(after / before) for before, after in itertools.pairwise(values)]
    return _variation(ratios) < _variation(steps)


def _variation(steps: Sequence[float]) -> float:
    """Standard deviation over mean."""
    return statistics.pstdev(steps) / statistics.fmean(steps)


def response(
    models: pl.DataFrame,
    measured: pl.DataFrame,
    *,
    x_title: str,
    y_title: str,
    title: str,
    domain: tuple[float, float] | None = None,
    width: Width = 300,
    height: int = 220,
) -> vega.Chart:
    """Models as lines and measurements as points with intervals, on logarithmic axes.

    `models` has columns `model`, `x` and `y`, and `measured` has `x`, `mean`, `low` and `high`; the
    line of the first model is solid. `domain` is of the vertical axis.
    """
    import polars as pl

    names = list(models["model"].unique(maintain_order=True))
    points = "measured"
    rounded = pl.col("x", "y").round_sig_figs(5)
    lines = inline(models.select("model", rounded), x="number", y="number")
    ends = pl.col("mean", "low", "high").round_sig_figs(5)
    dots = inline(measured.select(pl.lit(points).alias("model"), "x", ends),
                  **dict.fromkeys(("x", "mean", "low", "high"), "number"))  # fmt: skip
    x_domain = _around([models["x"], measured["x"]])
    y_domain = domain or _around([models["y"], measured["mean"]])
    x = vega.field("x:Q", title=x_title, scale=_log_scale(x_domain), axis=_decades(x_domain, "~e"))
    y = vega.field("y:Q", title=y_title, scale=_log_scale(y_domain), axis=_decades(y_domain, "~g"))
    legend = vega.legend(orient="top", labelLimit=240, symbolType="stroke")
    shown = [*names, points]
    color = vega.field("model:N", title=None, scale=vega.scale(domain=shown), legend=legend)
    dashes = [_DASHES[index % len(_DASHES)] for index in range(len(names))]
    scale = vega.scale(domain=shown, range=[*dashes, [1, 0]])
    dash = vega.field("model:N", title=None, scale=scale, legend=legend)
    line = (
        vega.Chart(lines, description=title)
        .mark("line", strokeWidth=1.6)
        .encode(x=x, y=y, color=color, strokeDash=dash, tooltip=["model:N", "x:Q", "y:Q"])
    )
    base = vega.Chart(dots).encode(x=x, color=color)
    layers: list[vega.Chart] = [line]
    if not measured["low"].drop_nulls().is_empty():
        layers.append(base.mark("rule", strokeWidth=1.5).encode(y=vega.field("low:Q"), y2="high:Q"))
    layers.append(base.mark("point", filled=True, size=36, opacity=1).encode(
        y=vega.field("mean:Q"), tooltip=["x:Q", "mean:Q", "low:Q", "high:Q"]))  # fmt: skip
    return layered(layers, title, width, height)


def _around(columns: Sequence[pl.Series]) -> tuple[float, float]:
    """Ends of a logarithmic axis that leave room around positive values."""
    import polars as pl

    values = pl.concat([column.rename("v") for column in columns]).drop_nulls()
    low, high = values.min(), values.max()
    return float(low) / 1.6, float(high) * 1.6  # type: ignore[arg-type]


def _log_scale(domain: tuple[float, float]) -> vega.Options:
    return vega.scale(type="log", domain=list(domain), nice=False)


def _decades(domain: tuple[float, float], number: str) -> vega.Options:
    """Ticks at powers of ten."""
    first, last = math.ceil(math.log10(domain[0])), math.floor(math.log10(domain[1]))
    return vega.axis(format=number, values=[10.0**power for power in range(first, last + 1)])


def inline(frame: pl.DataFrame, **kinds: str) -> vega.Options:
    """A data frame as data of a chart."""
    return vega.csv(frame.write_csv(null_value=""), kinds)


def _ends(values: pl.Series) -> tuple[float, float]:
    return float(values.min() or 0.0), float(values.max() or 0.0)  # type: ignore[arg-type]


def print_config() -> vega.Options:
    """Looks for paper: no frame, thin grid, the same colours."""
    return vega.options(
        background="white",
        font="Helvetica, Arial, sans-serif",
        range={"category": PALETTE},
        axis=vega.axis(grid=True, gridColor="#e4e4e4", domainColor="#888", tickColor="#888"),
        view={"stroke": None},
    )


def save_charts(
    charts: Mapping[str, vega.Chart], directory: Path, formats: Sequence[str]
) -> list[Path]:
    """Write each chart as `directory/<name>.<format>`, all or none; a result lists them."""
    check_formats(formats)
    files = {
        f"{re.sub(r'[^A-Za-z0-9_-]+', '-', name)}.{kind}": drawn(chart, kind)
        for name, chart in charts.items()
        for kind in formats
    }
    if not files:  # and no directory without one
        return []
    if inventory.read(directory.parent) is not None:  # they are in the directory of a result
        within = {f"{directory.name}/{name}": figure for name, figure in files.items()}
        store.add(directory.parent, within)
    else:
        store.add(directory, files)
    return [directory / name for name in files]


def drawn(chart: vega.Chart, kind: str) -> bytes:
    """A chart for paper as a file of that format."""
    import vl_convert

    converters: dict[str, Callable[[str], bytes]] = {
        "pdf": lambda spec: bytes(
            vl_convert.svg_to_pdf(_one_face(vl_convert.vegalite_to_svg(spec)))
        ),
        "png": lambda spec: bytes(vl_convert.vegalite_to_png(spec, ppi=200)),
        "svg": lambda spec: str(vl_convert.vegalite_to_svg(spec)).encode(),
    }
    return converters[kind](chart.properties(config=print_config()).to_json())


def _one_face(svg: str) -> str:
    """The drawing without bold text.

    svg2pdf, which vl-convert has, writes the faces of a font in the order of a hash map, another
    one each time: with one face, the same chart is the same file.
    """
    return re.sub(r' font-weight="(?:bold|[6-9]00)"', "", svg)
