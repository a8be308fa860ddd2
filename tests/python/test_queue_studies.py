"""The studies of queue disciplines, shortened; and studies with scenarios and rows of dots."""

from __future__ import annotations

import shutil

import pytest

from fairway.errors import InputError
from fairway.study.files import find, load_study
from fairway.study.model import SCENARIO
from fairway.study.reproduce import reproduce_study

QUEUE = "topology.link.0.queue.kind"


@pytest.fixture(scope="module")
def rfc7928(tmp_path_factory):
    return reproduce_study(find("rfc7928"), tmp_path_factory.mktemp("s") / "out", quick=True)


def verdicts(result):
    claims = zip(result.study.claims, result.findings, strict=True)
    return {claim.id: finding.verdict for claim, finding in claims}


def test_queues_hold_their_target(rfc7928):
    # Of the shortened form, twice over: from 20 s to 50 s, CoDel is still on its way to the target.
    found = verdicts(rfc7928)
    assert found["pie-target"] in ("supported", "undecided")
    assert found["varying-others"] == found["mixed"] == "not run"
    for cell in rfc7928.cells:
        if cell.metric == "link.bottleneck.mean_sojourn_s" and cell.point[SCENARIO] == "steady":
            if cell.published is not None:
                assert cell.measured < 1.5 * cell.published, cell
            else:
                assert cell.measured > 0.04


def test_the_whole_study_has_every_point():
    study = find("rfc7928")
    points = list(study.part.points())
    assert len(points) == 7 * 7
    assert points[0] == {SCENARIO: "steady", QUEUE: "droptail"}
    plan = study.part.plan(quick=False)
    assert (len(plan.points), plan.axes) == (7 * 7 * 5, (SCENARIO, QUEUE))
    assert plan.points[-1].axes == {SCENARIO: "mixed", QUEUE: "dualpi2"}
    assert [flow["id"] for flow in plan.points[-1].experiment["flow"]] == [
        "bulk",
        "files",
        "calls",
        "film",
    ]


def test_the_report_draws_a_chart_for_each_scenario(rfc7928):
    report = rfc7928.report.read_text()
    assert "Mean sojourn in the queue (s)" in report
    assert "upright lines target of the queue" in report


def test_low_latency_beside_a_classic_flow(tmp_path):
    result = reproduce_study(find("rfc9332"), tmp_path / "out", quick=True)
    found = verdicts(result)
    assert (found["low-latency"], found["classic-delay"]) == ("supported", "supported")
    # Few seeds of little time leave the shares over the longest path open.
    assert "refuted" not in found.values()


def test_an_unknown_scenario_is_refused(tmp_path):
    shutil.copytree(find("rfc7928").directory, tmp_path / "s")
    path = tmp_path / "s" / "study.toml"
    text = path.read_text().replace('["steady", "rtt", "unresponsive"]', '["idle"]')
    path.write_text(text)
    with pytest.raises(InputError, match=r"quick\.axes: no scenario idle; steady, aggressive"):
        load_study(tmp_path / "s")
