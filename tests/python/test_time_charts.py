"""Figures of studies over time: which quantities share a chart, at which points, and until when."""

import csv
import json

import pytest

import fairway
from fairway.errors import InputError
from fairway.plot.quantities import QUANTITIES
from fairway.study.files import OVER_TIME, load_study
from fairway.study.time_charts import time_section
from small_studies import compare, study_of, write

STUDY = study_of(
    "Tiny",
    compare(match='"flow.0.cc" = "cc"'),
    keys='[set]\n"flow.0.bytes" = "300 kB"\n',
    axes='"flow.0.cc" = ["reno", "cubic"]',
)
PUBLISHED = "cc,a\nreno,0.0\ncubic,0.0\n"
FIGURE = {"title": "Windows", "kind": "over_time", "quantity": ["cwnd", "ssthresh", "srtt"]}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    place = tmp_path_factory.mktemp("over-time")
    directory = write(place / "tiny", STUDY, "", PUBLISHED)
    return fairway.reproduce(str(directory), place / "out")


def drawn(figure):
    """The points of a chart: a mapping for each."""
    text = json.loads(figure.spec)
    rows = next(value for value in _strings(text) if value.startswith(("t,", '"t"', "t\n")))
    return list(csv.DictReader(rows.splitlines()))


def _strings(node):
    if isinstance(node, str):
        yield node
    for inner in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        yield from _strings(inner)


def test_quantities_of_one_unit_share_a_chart_and_points_have_their_own(result):
    section = time_section(result.parts[""], FIGURE)
    assert [figure.title for figure in section.figures] == [
        "reno: cwnd, ssthresh", "reno: Smoothed RTT",
        "cubic: cwnd, ssthresh", "cubic: Smoothed RTT",
    ]  # fmt: skip


def test_at_chooses_points_and_is_left_out_of_their_titles(result):
    section = time_section(
        result.parts[""], {**FIGURE, "quantity": "cwnd", "at": {"flow.0.cc": "cubic"}}
    )
    assert [figure.title for figure in section.figures] == ["tiny: cwnd"]


def test_a_chart_has_the_samples_of_the_run_until_its_flow_ends(result):
    outcome = result.sweep.outcomes[0]
    flow = outcome.summary["flows"][0]
    figure = time_section(result.parts[""], FIGURE).figures[0]
    points = drawn(figure)
    shown = {(p["id"], round(float(p["t"]), 3)): float(p["v"]) for p in points}
    series = outcome.run.series.filter(outcome.run.series["flow"] == flow["id"])
    expected = {
        (name, round(t, 3)): value
        for name in ("cwnd", "ssthresh")
        for t, value in series.select("t_s", f"{name}_segments").iter_rows()
        if value is not None and t <= flow["fct_s"]
    }
    assert flow["fct_s"] < 3
    assert shown == pytest.approx(expected, rel=1e-4)


def test_a_part_of_the_time_is_shown(result):
    figure = time_section(
        result.parts[""], {**FIGURE, "quantity": "cwnd", "from_s": 0.2, "until_s": 0.4}
    )
    times = [float(p["t"]) for p in drawn(figure.figures[0])]
    assert times == pytest.approx([0.2, 0.3, 0.4])
    assert '"domain":[0.2,0.4]' in figure.figures[0].spec


def test_a_quantity_that_there_is_not_is_refused(tmp_path):
    figure = '[[figure]]\nkind = "over_time"\ntitle = "No"\nquantity = ["cwnd", "rtt"]\n'
    directory = write(tmp_path / "tiny", f"{STUDY}\n{figure}", "", PUBLISHED)
    with pytest.raises(InputError, match="quantity: 'rtt'; expected goodput, cwnd, ssthresh, srtt"):
        load_study(directory)


def test_the_quantities_are_those_of_flows():
    series = {name for name, quantity in QUANTITIES.items() if quantity.table == "series"}
    assert set(OVER_TIME) == series
