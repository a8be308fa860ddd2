"""Reports of runs and sweeps: what is drawn, and what becomes of results when drawing fails."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import fairway
from conftest import SMALL, command
from fairway.cli.layout import lines
from fairway.cli.main import guarded
from fairway.compare.runs import compare
from fairway.experiment.plan import parse_toml
from fairway.plot.figures import is_geometric
from fairway.plot.quantities import QUANTITIES
from fairway.results.report import partial_sentence, window_sentence
from fairway.sweep.axes import axis_of
from fairway.sweep.charts import estimates
from fairway.sweep.report import mean_tables, sweep_table

#: A pair of which the models answer some metrics, but `loss_ratio` at no point.
PAIR = SMALL.replace('"bic"', '"bbr"')

AXES = {
    "topology.bottleneck.delay": '["10 ms"]',
    "topology.bottleneck.rate": '["5 Mbit/s", "10 Mbit/s"]',
    "topology.bottleneck.queue.limit": '["10 packets", "20 packets"]',
    "flow.0.cc": '["bbr"]',
}


@pytest.mark.parametrize("axis", AXES)
def test_a_metric_without_any_prediction_is_drawn_without_a_model(axis, tmp_path):
    text = f'{PAIR}\n[sweep]\n"{axis}" = {AXES[axis]}\n'
    sweep = fairway.run(text, tmp_path / "s")
    assert sweep.predicted["loss_ratio"].drop_nulls().is_empty(), "a model answers it after all"
    assert "loss_ratio" in sweep.figures.names
    assert "mark" in str(sweep.figures.draw("loss_ratio").to_dict())
    assert fairway.load(tmp_path / "s").table.equals(sweep.table)


def test_estimates_of_nothing_have_their_columns():
    nothing = pl.DataFrame({"rate": ["1 Mbit/s"], "m": [None]})
    found = estimates(nothing, ["rate"], "m")
    assert found.is_empty()
    assert found.schema == {"rate": pl.String} | dict.fromkeys(("mean", "low", "high"), pl.Float64)


# Axes as columns.


@pytest.mark.parametrize(
    ("values", "column", "numbers", "shown", "unit"),
    [
        (["5 Mbit/s", "1 Gbit/s"], "a.b_bps", [5e6, 1e9], [5.0, 1000.0], "Mbit/s"),
        (["57 ms", "0.1 s"], "a.b_s", [0.057, 0.1], [57.0, 100.0], "ms"),
        (["64 KiB", "1 MB"], "a.b_bytes", [65536.0, 1e6], [64.0, 976.5625], "KiB"),
        (["1 packet", "2.5 packets"], "a.b_packets", [1.0, 2.5], [1.0, 2.5], "packets"),
        (["2 segments"], "a.b_segments", [2.0], [2.0], "segments"),
        (["0.5 bdp", "1.0 bdp"], "a.b_bdp", [0.5, 1.0], [0.5, 1.0], "bdp"),
        ([1, 0.5], "a.b", [1.0, 0.5], [1.0, 0.5], ""),
        # Two that are one as floating point.
        ([2**53, 2**53 + 1], "a.b", ["9,007,199,254,740,992", "9,007,199,254,740,993"], None, ""),
        (["10 packets", "1.0 bdp"], "a.b", ["10 packets", "1.0 bdp"], None, ""),
        (["1 Mbit/s", "unlimited"], "a.b", ["1 Mbit/s", "unlimited"], None, ""),
        (["cubic", "5"], "a.b", ["cubic", "5"], None, ""),
        ([True, False], "a.b", [True, False], None, ""),
        ([{"kind": "codel"}, 5], "a.b", ["codel", "5"], None, ""),
    ],
)
def test_an_axis_is_a_column_of_numbers_where_its_values_are_of_one_kind(
    values, column, numbers, shown, unit
):
    axis = axis_of("a.b", values)
    assert (axis.column, list(axis.values), axis.unit) == (column, numbers, unit)
    assert list(axis.shown) == (numbers if shown is None else shown)
    assert axis.is_numeric == (type(numbers[0]) is float)
    assert axis.series().to_list() == numbers


def test_values_spaced_by_ratios_have_a_logarithmic_axis():
    assert is_geometric([5, 10, 20, 40])
    assert is_geometric([1, 2, 5, 10, 20])
    assert is_geometric([1, 100])
    assert not is_geometric([10, 20, 30, 40])
    assert not is_geometric([10, 20])
    assert not is_geometric([0, 1, 10, 100])
    assert not is_geometric([7])


# Charts.


def swept(*axes):
    return fairway.run(f"{PAIR}\n[sweep]\n" + "\n".join(axes))


RATES = '"topology.bottleneck.rate" = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]'
DELAYS = '"topology.bottleneck.delay" = ["10 ms", "20 ms"]'
CCS = '"flow.1.cc" = ["cubic", "reno"]'


def marks(spec):
    """The kinds of marks of a chart, in the order of its layers."""
    if "layer" in spec:
        return [mark for layer in spec["layer"] for mark in marks(layer)]
    return [spec["mark"]["type"]]


def rows_of(spec):
    """The lines of the CSV inside a chart."""
    (data,) = spec["datasets"].values()
    return data.splitlines()


def test_two_numeric_axes_span_a_heat_map():
    sweep = swept(RATES, DELAYS)
    assert sweep.figures.is_heat_map
    spec = sweep.figures.draw("goodput_bps").to_dict()
    assert marks(spec) == ["rect", "text"]
    encoded = spec["layer"][0]["encoding"]
    assert encoded["x"]["title"] == "rate (Mbit/s)" and encoded["x"]["sort"] == ["5", "10", "20"]
    assert encoded["y"]["title"] == "delay (ms)" and encoded["y"]["sort"] == ["20", "10"]
    at = (pl.col("topology.bottleneck.rate_bps") == 20e6) & (
        pl.col("topology.bottleneck.delay_s") == 0.02
    )
    mbps = sweep.table.filter(at)["goodput_bps"].item() / 1e6
    cell = next(line for line in rows_of(spec) if line.startswith("20,20,"))
    assert float(cell.split(",")[2]) == pytest.approx(mbps, rel=1e-3)


def test_asymmetry_is_in_the_table_and_diverges_from_zero_in_a_heat_map():
    sweep = swept(RATES, DELAYS)
    table = sweep_table(sweep)
    assert {"jain index", "asymmetry"} <= set(table.columns)
    assert "unfairness" not in " ".join(table.columns)
    scale = {
        name: sweep.figures.draw(name).to_dict()["layer"][0]["encoding"]["color"]["scale"]
        for name in ("asymmetry", "goodput_bps")
    }
    assert scale["asymmetry"]["domain"] == [-1, 0, 1]
    assert scale["goodput_bps"]["scheme"] == "cividis"


LONG_QUEUE = {"topology.bottleneck.queue.limit": "10000 packets"}
LOSS = {"topology.bottleneck.loss": {"kind": "bernoulli", "probability": 0.01}}


def test_repetitions_of_one_experiment_have_means_with_intervals():
    sweep = fairway.run(f"{PAIR}\n[sweep]\nrepetitions = 3\n", overrides=LOSS)
    [table] = mean_tables(sweep)
    assert table.caption == "Means over 3 repetitions, and their 95 % intervals"
    row = next(row for row in table.rows if row[0] == "loss ratio")
    values = sweep.table["loss_ratio"].to_list()
    mean = sum(values) / 3
    # Student's t of 2 degrees of freedom at 97.5 %, from a printed table: 4.303.
    half = 4.303 * (sum((value - mean) ** 2 for value in values) / 2) ** 0.5 / 3**0.5
    found = [float(cell) for cell in row[1:]]
    assert found == pytest.approx([mean, mean - half, mean + half], rel=5e-3)
    assert "Means over 3 repetitions" in sweep.report()
    assert mean_tables(swept(RATES)) == []


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ((RATES, DELAYS), ""),
        ((RATES, DELAYS, "repetitions = 2"), "<p>Means over repetitions.</p>"),
        ((RATES,), ""),
        ((RATES, "repetitions = 2"),
         "<p>Means over repetitions, with 95 % confidence intervals.</p>"),
    ],
)  # fmt: skip
def test_what_the_charts_of_a_sweep_show(axes, said):
    sweep = fairway.run(f"{PAIR}\n[sweep]\n" + "\n".join(axes), overrides=LOSS)
    page = sweep.report()
    assert re.findall(r"<p>Means over .*?</p>", page) == ([said] if said else [])


def test_models_outside_of_their_range_are_named_where_a_sweep_shows_them():
    # The law for a share of BBR's is of buffers above one bandwidth-delay product.
    axes = {"topology.bottleneck.queue.limit": ["0.5 bdp", "4 bdp"]}
    experiment = PAIR.replace("htcp", "cubic").replace('start = "0.5 s"', "")
    caveat = "in 1 of 2 runs: bbr-share is outside of its range: a buffer of"
    measured = fairway.run(experiment, overrides={"sweep": axes})
    assert any(said.startswith(caveat) for said in measured.caveats), measured.caveats
    assert f"Warning: {caveat}" in measured.report().partition(">Metrics</h2>")[2]
    assert "in range" not in sweep_table(measured).columns
    predicted = fairway.run(experiment, overrides={"sweep": axes}, backend="model")
    table = sweep_table(predicted)
    assert table.columns[-1] == "in range"
    assert [row[-1] for row in table.rows] == ["no", "yes"]


def test_one_numeric_axis_has_lines_and_the_rest_tells_them_apart():
    sweep = swept(CCS, RATES)
    spec = sweep.figures.draw("mean_one_way_delay_s").to_dict()
    assert marks(spec)[0] == "line"
    x = spec["layer"][0]["encoding"]["x"]
    assert (x["type"], x["title"], x["scale"]["type"]) == ("quantitative", "rate (Mbit/s)", "log")
    assert x["axis"]["values"] == [5, 10, 20]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["cubic", "reno"]
    third = swept(CCS, RATES, '"flow.0.cc" = ["bbr", "bic"]')
    spec = third.figures.draw("goodput_bps").to_dict()
    groups = spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert groups == ["cubic, bbr", "cubic, bic", "reno, bbr", "reno, bic"]


def test_marks_of_groups_and_models_stand_beside_each_other():
    sweep = fairway.run(
        SMALL.replace('"bic"', '"cubic"').replace('start = "0.5 s"', "")
        + f'\n[sweep]\n{CCS}\n"flow.0.cc" = ["cubic", "reno"]\n'
    )
    spec = sweep.figures.draw("goodput_bps").to_dict()
    offsets = [
        layer["encoding"]["xOffset"]["scale"]["domain"]
        for layer in spec["layer"]
        if "xOffset" in layer.get("encoding", {})
    ]
    assert not sweep.predicted.is_empty()
    assert offsets == [["cubic", "cubicmodel", "reno", "renomodel"]] * len(offsets) != []
    model = spec["layer"][-1]["layer"][-1]
    assert model["mark"]["shape"] == "diamond" and not model["mark"]["filled"]
    assert model["encoding"]["strokeDash"]["scale"]["domain"] == ["model"]


def test_figures_of_a_sweep_by_name(tmp_path):
    sweep = swept(RATES)
    assert {"goodput_bps", "mean_one_way_delay_s", "retransmission_ratio"} <= set(
        sweep.figures.names
    )
    assert sweep.figures.goodput_bps().to_dict() == sweep.figures.draw("goodput_bps").to_dict()
    assert "goodput_bps" in dir(sweep.figures)
    with pytest.raises(AttributeError):
        sweep.figures.goodput()
    with pytest.raises(KeyError, match="expected one of goodput_bps"):
        sweep.figures.draw("goodput")
    few = sweep.with_metrics(["goodput_bps"])
    (file,) = few.figures.save(tmp_path, ["svg"])
    assert file.name == "goodput_bps.svg" and "<svg" in file.read_text()


# Metrics that are chosen.


def test_delay_and_retransmissions_are_in_every_sweep():
    sweep = swept(RATES)
    flows = sweep.flows.filter(pl.col("topology.bottleneck.rate_bps") == 10e6)
    row = sweep.table.filter(pl.col("topology.bottleneck.rate_bps") == 10e6)
    sent, again = flows["sent_segments"].sum(), flows["retransmitted_segments"].sum()
    assert row["retransmission_ratio"].item() == pytest.approx(again / sent)
    arrived = flows["sent_segments"] - flows["lost_segments"]
    mean_s = (flows["mean_one_way_delay_s"] * arrived).sum() / arrived.sum()
    assert row["mean_one_way_delay_s"].item() == pytest.approx(mean_s)
    table = sweep_table(sweep)
    assert table.columns[0] == "rate (Mbit/s)" and table.rows[1][0] == "10"
    assert table.columns[-2:] == ["mean one-way delay (ms)", "retrans. ratio"]
    assert float(table.rows[1][-2]) == pytest.approx(1e3 * mean_s, rel=1e-3)


def test_every_block_of_a_narrow_table_tells_repetitions_apart():
    sweep = swept("repetitions = 2", RATES, DELAYS)
    blocks = [[line.split() for line in block] for block in blocks_of(sweep_table(sweep), 60)]
    assert len(blocks) > 1
    for block in blocks:
        labels = [tuple(row[:3]) for row in block]
        assert len(set(labels)) == len(labels) == len(sweep) and labels[0][2] == "0"


def blocks_of(table, width):
    """The rows of each block of a table in a terminal of that width, without their headings."""
    (drawn,) = lines([table], width)
    starts = [index for index, line in enumerate(drawn) if set(line) <= set("─ ") and "─" in line]
    count = len(table.rows)
    return [drawn[start + 1 : start + 1 + count] for start in starts]


def test_metrics_are_chosen_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(f"{PAIR}\n[sweep]\n{DELAYS}\n")
    names = ["link.bottleneck.p99_sojourn_s", "power"]
    chosen = [word for name in names for word in ("--metric", name)]
    assert guarded(["run", "s.toml", "--out", "s", "-q", "--json", *chosen]) == 0
    sweep = fairway.load("s")
    shown = json.loads(capsys.readouterr().out)["points"]
    sojourn = [o.summary["links"][0]["p99_sojourn_s"] for o in sweep.outcomes]
    assert [point["metrics"]["link.bottleneck.p99_sojourn_s"] for point in shown] == sojourn
    page = (tmp_path / "s" / "report.html").read_text("utf-8")
    assert "link bottleneck p99 sojourn" in page and "utilisation" not in page
    # What is kept does not depend on what is shown.
    assert "utilisation" in pl.read_parquet("s/sweep.parquet").columns
    assert guarded(["report", "s", "--metric", "jain_index"]) == 0
    assert "p99 sojourn" not in (tmp_path / "s" / "report.html").read_text("utf-8")
    points = [str(outcome.directory) for outcome in sweep.outcomes]
    capsys.readouterr()
    assert guarded(["compare", *points, *chosen, "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["metrics"]["link.bottleneck.p99_sojourn_s"] == sojourn
    assert list(compared["metrics"]) == names


@pytest.mark.parametrize(
    ("name", "says"),
    [("goodput", "did you mean goodput_bps"), ("links.bottleneck.drops", "there is none")],
)
def test_a_metric_that_does_not_exist_is_refused_before_anything_runs(name, says, tmp_path, capsys):
    (tmp_path / "s.toml").write_text(f"{PAIR}\n[sweep]\n{DELAYS}\n")
    assert guarded(["run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "s"),
                    "--metric", name]) == 2  # fmt: skip
    assert says in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_a_metric_that_no_run_has_leaves_the_results(tmp_path, capsys):
    (tmp_path / "s.toml").write_text(f"{PAIR}\n[sweep]\n{DELAYS}\n")
    assert guarded(["run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "s"), "-q",
                    "--metric", "flow.9.fct_s"]) == 2  # fmt: skip
    err = capsys.readouterr().err
    assert "metric flow.9.fct_s: there is bbr#0, cubic#1" in err and "Traceback" not in err
    assert fairway.load(tmp_path / "s").table.height == 2
    assert guarded(["report", str(tmp_path / "s"), "--metric", "flow.9.fct_s"]) == 2


# Comparisons.


def line_of(chart):
    """The layer of a chart that has its lines, beside that of the measuring window."""
    return next(layer for layer in chart["layer"] if layer["mark"]["type"] == "line")


def test_charts_of_a_comparison_have_the_same_ends(tmp_path):
    fairway.run(PAIR, tmp_path / "a")
    fairway.run(PAIR, tmp_path / "b", overrides={"duration": "5 s", "seed": 8,
                "topology.bottleneck.queue.limit": "80 packets"})  # fmt: skip
    comparison = compare([tmp_path / "a", tmp_path / "b"])
    for quantity in QUANTITIES.values():
        charts = (figure.chart.to_dict() for figure in comparison.charts(quantity))
        one, other = (line_of(chart)["encoding"] for chart in charts)
        assert one["y"]["scale"] == other["y"]["scale"]
        assert one["x"]["scale"]["domain"] == other["x"]["scale"]["domain"] == [0, 5]
    low, high = one["y"]["scale"]["domain"]
    most = max(run.queues["backlog_packets"].max() for run in comparison.runs)
    assert low == 0 and most <= high <= 1.1 * most
    goodput = comparison.charts(QUANTITIES["goodput"])[0].chart.to_dict()
    drawn = goodput["datasets"][line_of(goodput)["data"]["name"]].splitlines()
    assert 2 < len(drawn) <= 1 + 2 * 100
    tables = {table.caption: table for table in comparison.tables()}
    assert any(row[0] == "mean one-way delay (ms)" for row in tables["Metrics"].rows)
    retransmitted = tables["Retransmitted segments of each flow"].rows[0][1:]
    assert retransmitted == [
        str(run.summary["flows"][0]["retransmitted_segments"]) for run in comparison.runs
    ]


def test_flows_of_many_names_are_headed_by_their_place(tmp_path):
    names = ["bbr", "cubic", "htcp"]
    for name in names:
        fairway.run(PAIR, tmp_path / name, overrides={"flow.0.cc": name})
    two = compare([tmp_path / name for name in names[:2]])
    assert two.tables()[4].rows[0][0] == "bbr#0 / cubic#0"
    four = compare([tmp_path / name for name in [*names, "bbr"]])
    assert four.tables()[4].columns == ["run", "flow 0", "cubic#1"]


def test_a_page_says_what_can_be_done_with_the_charts_it_has():
    over_time, metrics = fairway.run(PAIR).report(), swept(RATES, DELAYS).report()
    for page, can in ((over_time, True), (metrics, False)):
        footer = page.partition("<footer>")[2].partition("</footer>")[0]
        assert ("Charts over time: drag" in footer) is can
        assert ("click a name in a legend" in footer.lower()) is can


def test_a_chart_of_goodput_says_why_a_sample_may_be_above_the_rate():
    said = "a sample may be above the rate of the link"
    lossy, unhurt = fairway.run(SMALL, overrides=LOSS), fairway.run(SMALL, overrides=LONG_QUEUE)
    assert sum(flow["retransmitted_segments"] for flow in unhurt.summary["flows"]) == 0
    assert said in lossy.report()
    assert said not in unhurt.report()


def test_flows_that_run_for_a_part_of_the_window_are_named():
    flows = [
        {"cc": "cubic"},
        {"cc": "reno", "start": "10 s"},
        {"id": "b", "cc": "reno", "stop": "1 min"},
    ]
    experiment = {**parse_toml(SMALL, "small"), "duration": "100 s", "flow": flows}
    experiment.pop("measure", None)
    said = window_sentence(experiment)
    assert "over the whole run" in said and "reno from 10 s, b until 1 min." in said
    windowed = {**experiment, "measure": {"window": ["10 s", "60 s"]}}
    assert window_sentence(windowed) == "Averages over the measuring window from 10 s to 60 s."
    assert partial_sentence(windowed) == ""


def test_a_report_can_be_written_again(small, tmp_path):
    fairway.run(small, tmp_path / "r")
    (tmp_path / "r" / "report.html").unlink()
    done = command("report", tmp_path / "r", "--figures", "svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r" / "report.html").is_file()
    assert (tmp_path / "r" / "figures" / "cwnd.svg").is_file()
