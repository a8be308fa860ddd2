"""Charts are Vega-Lite documents: those that Altair makes, and that its schema takes."""

import json
import re

import altair as alt
import polars as pl
import pytest

from conftest import SMALL, run_of
from fairway.experiment.plan import parse_toml
from fairway.plot import vega
from fairway.plot.dots import dots
from fairway.plot.figures import heat_map, inline, metric_over_axis, response
from fairway.plot.over_time import over_time, zoom
from fairway.plot.quantities import QUANTITIES

ROWS = pl.DataFrame(
    {"n": [1, 2, 4], "mean": [1.0, 2.0, 3.0], "low": [0.5, 1.5, None], "high": [1.5, 2.5, None],
     "cc": ["reno", "cubic", "reno"]}
)  # fmt: skip
CELLS = pl.DataFrame({"x": ["a", "b"], "y": ["c", "d"], "v": [1.0, -1.0]})
TITLES = {"x_title": "x", "y_title": "y", "title": "t"}


def time_chart(window=None):
    run = run_of(parse_toml(SMALL, "small"), [1e6, 2e6])
    return over_time(run.series, QUANTITIES["goodput"], window=window)


def models():
    law = pl.DataFrame({"model": ["a", "a"], "x": [1e-3, 1e-2], "y": [1.0, 2.0]})
    return response(
        law, ROWS.select(pl.col("n").cast(pl.Float64).alias("x"), "mean", "low", "high"), **TITLES
    )


def rows_of_dots():
    rows = ROWS.select(pl.col("n").cast(pl.String).alias("y"), pl.col("cc").alias("series"),
                       "mean", "low", "high", pl.col("mean").alias("published"))  # fmt: skip
    return dots(rows, order=["1", "2", "4"], x_title="x", title="t", log=False, domain=(0, 4))


CHARTS = {
    "lines": time_chart,
    "lines on a band": lambda: time_chart((0.05, 0.1)),
    "matrix": lambda: heat_map(CELLS, x="x", y="y", value="v", limit=1, **TITLES),
    "axis": lambda: metric_over_axis(
        ROWS, axis="n", metric="m", group="cc", predicted=ROWS.select("n", "mean"), trend=1
    ),
    "models": models,
    "dots": rows_of_dots,
    "beside": lambda: vega.hconcat(time_chart((0.05, 0.1)), time_chart(), models()),
}


@pytest.mark.parametrize("name", CHARTS)
def test_the_schema_takes_a_chart(name):
    chart = CHARTS[name]()
    assert chart.altair().to_dict() == chart.to_dict()  # which checks it


def test_a_chart_is_what_altair_makes_of_it():
    data = inline(ROWS, n="number", mean="number")
    ours = vega.Chart(data, description="d").encode(x="n:Q", y=vega.field("mean:Q", title=None))
    line = ours.mark("line", strokeWidth=2, clip=True)
    lit = vega.parameter("lit", "point", bind="legend", fields=["cc"])
    shown = vega.condition(lit, vega.value(1), vega.value(0.1))
    line = line.encode(color="cc:N", opacity=shown, tooltip=["n:Q", "cc:N"]).add_params(lit)
    rule = ours.mark("rule").encode(y="low:Q", y2="high:Q").transform(filter="datum.n > 1")
    drawn = vega.layer(rule, line).properties(width=200, height=90)
    drawn = drawn.add_params(zoom()).resolve_scale(color="independent")

    values = {"values": data["values"], "format": alt.CsvDataFormat(**data["format"])}
    theirs = alt.Chart(alt.InlineData(**values), description="d")
    theirs = theirs.encode(x="n:Q", y=alt.Y("mean:Q", title=None))
    chosen = alt.selection_point(name="lit", fields=["cc"], bind="legend")
    lines = theirs.mark_line(strokeWidth=2, clip=True).add_params(chosen).encode(
        color="cc:N", opacity=alt.condition(chosen, alt.value(1), alt.value(0.1)),
        tooltip=["n:Q", "cc:N"],
    )  # fmt: skip
    rules = theirs.mark_rule().encode(y="low:Q", y2="high:Q").transform_filter("datum.n > 1")
    moved = alt.selection_interval(
        name="zoom", bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]"
    )
    made = alt.layer(rules, lines).properties(width=200, height=90).add_params(moved)
    made = made.resolve_scale(color="independent")

    # Byte for byte, except for the names of views, for which Altair has digests.
    text = re.sub(r"view_[0-9a-f]+_(\d)", r"view_\1", json.dumps(made.to_dict()))
    assert json.dumps(drawn.to_dict()) == text


def test_charts_that_share_a_selection_share_it_side_by_side():
    both = vega.vconcat(time_chart(), time_chart()).to_dict()
    (zooming,) = (one for one in both["params"] if one["name"] == "zoom")
    names = [part["name"] for part in both["vconcat"]]
    assert zooming["views"] == names
    assert len(set(names)) == 2
    assert "params" not in both["vconcat"][0]


def test_in_a_notebook_a_chart_has_what_altairs_has():
    chart = CHARTS["matrix"]()
    assert any("vega" in kind or "html" in kind for kind in chart._repr_mimebundle_())
    assert chart.configure_axis(grid=False).to_dict()["config"]["axis"] == {"grid": False}
    below, beside = (chart & chart).to_dict(), (chart | chart).to_dict()
    assert len(below["vconcat"]) == len(beside["hconcat"]) == 2
    assert len((chart + chart).to_dict()["layer"]) == 2
    with pytest.raises(AttributeError):
        chart.no_such_thing  # noqa: B018
