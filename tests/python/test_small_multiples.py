"""Small charts of every point, runs beside others in them, and trend lines."""

import csv
import json

import polars as pl
import pytest

import fairway
from fairway.errors import InputError
from fairway.plot.figures import metric_over_axis
from fairway.study.figures import figure_section
from fairway.study.files import find
from small_studies import compare, study_of, write

FIGURE = """
[[figure]]
kind = "small_multiples"
quantity = "cwnd"
title = "cwnd"
"""
DOTS = """
[[figure]]
kind = "dots"
metric = "asymmetry"
title = "asymmetry"
axis = "flow.0.cc"
panel = "flow.0.cc"
at = { "flow.0.cc" = "htcp" }
"""


def drawn(tmp_path, figure):
    study = study_of("Tiny", compare(), keys="repetitions = 1") + figure
    directory = write(tmp_path / "tiny", study, "", "cc,a\nbic,0\nhtcp,0\n")
    result = fairway.reproduce(str(directory), tmp_path / "out")
    return figure_section(result.parts[""], result.study.part.figures[0]).figures


def lines(figure):
    tables = figure.chart.to_dict()["datasets"].values()
    return {row["id"] for table in tables for row in csv.DictReader(table.splitlines())}


def test_a_chart_for_each_point(tmp_path):
    assert [figure.title for figure in drawn(tmp_path, FIGURE)] == ["bic", "htcp"]


def test_the_run_beside_others_stands_in_their_charts(tmp_path):
    (figure,) = drawn(tmp_path, FIGURE + 'beside = { "flow.0.cc" = "bic" }\n')
    assert figure.title == "htcp"
    # Both flows of both runs.
    assert {name.split(":")[0] for name in lines(figure)} == {"htcp", "bic"}
    assert len(lines(figure)) == 4


def test_dots_at_some_values_of_the_axes(tmp_path):
    assert [figure.title for figure in drawn(tmp_path, DOTS)] == ["htcp"]


def test_small_multiples_have_no_metric(tmp_path):
    study = study_of("Tiny", compare(), keys="") + FIGURE + 'metric = "asymmetry"\n'
    with pytest.raises(InputError, match="metric: unknown"):
        find(str(write(tmp_path / "tiny", study, "", "cc,a\nbic,0\n")))


@pytest.mark.parametrize(("axis", "orders"), [([1, 2, 3, 4, 5], [3]), (list("abcde"), [])])
def test_a_trend_line_goes_through_numbers(axis, orders):
    rows = pl.DataFrame({"n": axis, "mean": [1.0, 3.0, 2.0, 5.0, 4.0]})
    rows = rows.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    spec = metric_over_axis(rows, axis="n", metric="x", trend=3).to_dict()
    found = [t for layer in spec["layer"] for t in layer.get("transform", []) if "regression" in t]
    assert [(t["method"], t["order"]) for t in found] == [("poly", order) for order in orders]
    assert "regression" not in json.dumps(metric_over_axis(rows, axis="n", metric="x").to_dict())
