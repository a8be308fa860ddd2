"""Charts and reports: what they keep, and that they stand alone."""

import html.parser
import re

import polars as pl
import pytest

from conftest import SMALL, run_of
from fairway.errors import InputError
from fairway.experiment import parse_toml
from fairway.figures import QUANTITIES, heat_map, metric_over_axis, thin
from fairway.formats import check_formats
from fairway.report import run_report


def test_thinning_keeps_peaks_of_a_state_and_the_mean_of_a_rate():
    frame = pl.DataFrame({"t_s": [i / 10 for i in range(1000)], "flow": ["a"] * 1000,
                          "v": [float(i % 2) for i in range(1000)]})  # fmt: skip
    frame[537, "v"] = 100.0
    states = thin(frame, "flow", "v", 100, "extremes")
    assert states.height <= 100
    assert states["v"].max() == 100
    assert states.filter(pl.col("v") == 100)["t_s"].to_list() == [53.7]
    assert states["t_s"].is_sorted()
    rates = thin(frame, "flow", "v", 100, "mean")
    assert rates.height == 100
    # 500 ones, of which number 537 became 100: (499 + 100) / 1000.
    assert rates["v"].mean() == pytest.approx(0.599)


def test_short_series_stay_whole():
    frame = pl.DataFrame({"t_s": [0.0, 1.0], "flow": ["a", "a"], "v": [1.0, None]})
    assert thin(frame, "flow", "v", 100, "extremes").rows() == [(0.0, "a", 1.0)]


def test_thinning_handles_each_flow_alone():
    frame = pl.DataFrame({"t_s": [float(i // 2) for i in range(400)], "flow": ["a", "b"] * 200,
                          "v": [1.0, 5.0] * 200})  # fmt: skip
    found = thin(frame, "flow", "v", 20, "mean")
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
    assert len(written) == 3 * len(QUANTITIES)
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
