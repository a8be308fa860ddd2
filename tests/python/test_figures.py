"""Charts and reports: what they keep, and that they stand alone."""

import html.parser
import io
import re

import polars as pl
import pytest
import vl_convert

import fairway
from conftest import SMALL, run_of
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml
from fairway.plot.figures import (
    drawn,
    heat_map,
    metric_over_axis,
)
from fairway.plot.formats import check_formats
from fairway.plot.over_time import over_time, thin
from fairway.plot.quantities import QUANTITIES
from fairway.results.figures import is_measured
from fairway.results.report import metric_table, run_report
from fairway.study.figures import shown_as


def test_thinning_keeps_peaks_of_a_state_and_the_mean_of_a_rate():
    frame = pl.DataFrame({"t_s": [i / 10 for i in range(1000)], "flow": ["a"] * 1000,
                          "v": [float(i % 2) for i in range(1000)]})  # fmt: skip
    frame[537, "v"] = 100.0
    states = thin(frame, "flow", "v", 100, "extremes").frame()
    assert states.height <= 100
    assert states["v"].max() == 100
    assert states.filter(pl.col("v") == 100)["t_s"].to_list() == [53.7]
    assert states["t_s"].is_sorted()
    rates = thin(frame, "flow", "v", 100, "mean").frame()
    assert rates.height == 100
    # 500 ones, of which number 537 became 100: (499 + 100) / 1000.
    assert rates["v"].mean() == pytest.approx(0.599)


def test_short_series_stay_whole():
    frame = pl.DataFrame({"t_s": [0.0, 1.0], "flow": ["a", "a"], "v": [1.0, None]})
    assert thin(frame, "flow", "v", 100, "extremes").frame().rows() == [(0.0, "a", 1.0)]


def test_thinning_handles_each_flow_alone():
    frame = pl.DataFrame({"t_s": [float(i // 2) for i in range(400)], "flow": ["a", "b"] * 200,
                          "v": [1.0, 5.0] * 200})  # fmt: skip
    found = thin(frame, "flow", "v", 20, "mean").frame()
    assert found.group_by("flow").agg(pl.col("v").unique()).sort("flow").rows() == [
        ("a", [1.0]), ("b", [5.0]),
    ]  # fmt: skip


@pytest.fixture
def run():
    experiment = parse_toml(SMALL, "small")
    experiment["title"] = '</script><script>alert("x")</script>'
    experiment["flow"][0]["cc"] = "<b>bic</b>"
    return run_of(experiment, [3.0, 1.0])


def test_every_figure_can_be_saved_for_print(run, tmp_path):
    written = run.figures.save(tmp_path, ["png", "pdf", "svg"])
    # Of all quantities but ssthresh, which stayed infinite.
    assert len(written) == 3 * (len(QUANTITIES) - 1)
    magic = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<svg"}
    for path in written:
        assert path.read_bytes().startswith(magic[path.suffix]), path
    with pytest.raises(InputError, match="gif"):
        check_formats(["gif"])


def test_a_report_needs_no_network_and_escapes_what_it_shows(run):
    report = run_report(run)
    assert 'alert("x")</script>' not in report
    assert "<b>bic" not in report
    for attribute in ("src=", 'rel="stylesheet"', "@import"):
        assert attribute not in re.sub(r"<script.*?</script>", "", report, flags=re.S)
    assert not re.search(r'<(img|script|iframe)[^>]+(src|href)="http', report)


def test_a_report_is_well_formed_and_named(run):
    class Checker(html.parser.HTMLParser):
        void = frozenset({"meta", "link", "br", "img"})

        def __init__(self):
            super().__init__()
            self.open, self.headings, self.figures = [], 0, 0

        def handle_starttag(self, tag, _):
            if tag not in self.void:
                self.open.append(tag)
            self.headings += tag == "h1"
            self.figures += tag == "figure"

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    checker = Checker()
    report = run_report(run)
    checker.feed(report)
    assert checker.open == []
    assert checker.headings == 1
    # ssthresh stays infinite in this run, so it has no chart.
    assert checker.figures == len(QUANTITIES) - 1
    assert report.count('"description":') >= checker.figures
    assert report.index("<caption>Metrics") < report.index("<figure>")


def test_a_heat_map_keeps_the_order_given_and_empty_cells():
    cells = pl.DataFrame({"x": ["b", "a"], "y": ["r", "r"], "v": [0.5, None]})
    spec = heat_map(cells, x="x", y="y", value="v", x_title="X", y_title="Y", title="T",
                    limit=1).to_dict()  # fmt: skip
    assert spec["layer"][0]["encoding"]["x"]["sort"] == ["b", "a"]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-1, 0, 1]


def test_a_logarithmic_axis_shows_what_is_above_zero():
    columns = {"n": [1, 2, 3], "mean": [8.0, 0.0, 2.0], "low": [-1.0, 0.0, 1.5]}
    rows = pl.DataFrame({**columns, "high": [9.0, 0.0, 3.0]})
    chart = metric_over_axis(rows, axis="n", metric="x", log=True).to_dict()
    points = chart["layer"][-1]
    assert points["encoding"]["y"]["scale"] == {"type": "log"}
    # The row of zero is gone, and the interval from −1 begins at half of 2.
    values = "x,mean,low,high,g\n1,8.0,1.0,9.0,all\n3,2.0,1.5,3.0,all\n"
    assert list(chart["datasets"].values()) == [values]


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_a_chart_is_the_same_file_each_time(kind):
    rows = pl.DataFrame({"n": [1, 2], "mean": [8.0, 2.0], "low": [7.0, 1.0], "high": [9.0, 3.0]})
    chart = metric_over_axis(rows, axis="n", metric="x")
    # A PDF with two faces of a font has their objects in one of several orders, by chance.
    assert len({drawn(chart, kind) for _ in range(8)}) == 1


def test_one_flow_is_not_compared_with_itself():
    experiment = parse_toml(SMALL, "small")
    both = {row[0] for row in metric_table(run_of(experiment, [1e6, 2e6])).rows}
    assert {"jain_index", "asymmetry", "unfairness", "utilisation"} <= both
    run = run_of(experiment, [1e6, 2e6])
    run.summary["flows"].pop()
    names = {row[0] for row in metric_table(run).rows}
    assert names == both - {"jain_index", "asymmetry", "unfairness"}


def marks(chart, kind):
    """What a chart draws of a kind of mark, rendered as in reports."""
    drawn = vl_convert.vegalite_to_svg(chart.to_json())
    group = rf'<g[^>]*class="mark-{kind} role-mark[^"]*"[^>]*>(.*?)</g>'
    paths = (re.findall(r'd="([^"]*)"', part) for part in re.findall(group, drawn, re.DOTALL))
    return [path for part in paths for path in part]


def samples(*rows):
    return pl.DataFrame(rows, schema=["t_s", "flow", "goodput_bps"], orient="row")


def test_a_single_sample_is_a_point():
    quantity = QUANTITIES["goodput"]
    one = over_time(samples((0.01, "a", 2e6)), quantity)
    assert len(marks(one, "symbol")) == 1
    # Beside a flow of many, which is a line.
    both = samples((0.1, "a", 2e6), (0.1, "b", 1e6), (0.2, "b", 3e6))
    assert len(marks(over_time(both, quantity), "symbol")) == 1
    line = samples((0.1, "b", 1e6), (0.2, "b", 3e6))
    assert marks(over_time(line, quantity), "symbol") == []
    assert len(marks(over_time(line, quantity), "line")) == 1


def test_times_of_short_runs_are_told_apart():
    rows = samples(*((n * 1e-5, "a", float(n)) for n in range(1, 101)))
    chart = over_time(rows, QUANTITIES["goodput"])
    assert pl.read_csv(io.StringIO(chart.parts["data"]["values"]))["t"].n_unique() == 100


def test_the_measuring_window_is_shaded_where_it_is_not_the_whole_run():
    run = run_of(parse_toml(SMALL, "small"), [1e6, 2e6])  # samples until 0.1 s
    run.experiment = {**run.experiment, "measure": {"window": ["50 ms", "100 ms"]}}
    (shade,) = marks(run.figures.goodput(), "rect")
    # The right half of the plot: a rectangle from the middle.
    left, width = re.match(r"M([\d.]+),[\d.]+h([\d.]+)", shade).groups()
    assert float(left) == pytest.approx(float(width), abs=1)
    run.experiment = {**run.experiment, "measure": {"window": ["0 s", "3 s"]}}
    assert marks(run.figures.goodput(), "rect") == []
    run.experiment = {**run.experiment, "measure": {}}
    assert marks(run.figures.goodput(), "rect") == []


def test_rate_based_algorithms_have_no_ssthresh():
    run = fairway.run(SMALL, overrides={"flow.0.cc": "bbr", "flow.1.cc": "reno"})
    ssthresh = QUANTITIES["ssthresh"]
    known = run.series.drop_nulls("ssthresh_segments")
    assert set(known["flow"]) == {"bbr#0", "reno#1"}, "the stack keeps one for both"
    drawn = "".join(run.figures.ssthresh().to_dict()["datasets"].values())
    assert "reno#1" in drawn
    assert "bbr#0" not in drawn
    assert is_measured(run, ssthresh)
    alone = fairway.run(SMALL, overrides={"flow.0.cc": "bbr", "flow.1.cc": "bbr3"})
    assert not is_measured(alone, ssthresh)
    assert "Slow start threshold" not in run_report(alone)


def test_a_matrix_has_a_key_of_its_colours():
    cells = pl.DataFrame({"a": ["1", "2"], "b": ["1", "1"], "v": [0.25, 0.75]})
    about = {"x": "a", "y": "b", "value": "v", "x_title": "a", "y_title": "b", "title": "v"}
    drawn = vl_convert.vegalite_to_svg(heat_map(cells, **about).to_json())
    legend = drawn[drawn.index("role-legend") :]
    ends = [float(each) for each in re.findall(r">(0\.\d+)</text>", legend)]
    assert 0.25 <= min(ends) < max(ends) <= 0.75
    same = cells.with_columns(v=pl.lit(0.1))
    assert "role-legend" not in vl_convert.vegalite_to_svg(heat_map(same, **about).to_json())


def test_rates_of_studies_are_in_megabits():
    assert shown_as("goodput of all (bit/s)") == ("goodput of all (Mbit/s)", 1e-6)
    assert shown_as("flow.0.goodput_bps") == ("flow.0.goodput (Mbit/s)", 1e-6)
    assert shown_as("jain_index") == ("jain_index", 1)
