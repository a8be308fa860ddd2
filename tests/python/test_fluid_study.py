"""The study that holds the fluid model beside packets."""

import csv

import pytest

import fluid_study
from fairway.study.files import find
from fairway.study.model import SCENARIO
from fairway.study.reproduce import reproduce_study


def test_published_is_what_the_model_says() -> None:
    with (fluid_study.STUDY / "published" / "fluid.csv").open() as file:
        published = list(csv.DictReader(file))
    assert published == fluid_study.rows(), "python tools/fluid_study.py writes it again"


def test_a_scenario_as_a_fluid() -> None:
    scenario = {
        "topology.bottleneck.rate": "12 Mbit/s",
        "topology.bottleneck.delay": "25 ms",
        "topology.bottleneck.queue": {"kind": "droptail", "limit": "42 packets"},
        "flow.0.count": 7,
    }
    fluid = fluid_study.fluid_of(scenario, "cubic")
    flows = fluid.classes[0]
    assert (fluid.rate_bps, flows.flows, flows.rtt_s, flows.cc) == (12e6, 7, 0.05, "cubic")
    assert fluid.queue is not None and fluid.queue.limit_packets == 42


def test_packets_have_the_windows_and_the_queue_of_the_fluid(tmp_path) -> None:  # type: ignore[no-untyped-def]
    found = reproduce_study(find("fluid"), tmp_path / "out", quick=True)
    assert len(found.cells) == 8
    for cell in found.cells:
        assert cell.measured == pytest.approx(cell.published, rel=0.1), cell
    assert {cell.point[SCENARIO] for cell in found.cells} == {"red-50", "tail-50"}
