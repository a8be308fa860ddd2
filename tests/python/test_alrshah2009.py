"""The study alrshah2009: its claims and published numbers, judged on numbers by hand."""

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.study import find, measured_cells
from fairway.study_parts import cells_of, whole_findings
from fairway.sweep import Outcome

DIRECTORY = Path(str(files("fairway"))) / "studies" / "alrshah2009"
SCENARIO = "bench, RED 5-15"

#: Segments lost for each hundred received, of 30 connections and of 1, 5 and 10.
LOSSES = {"scalable": 64, "htcp": 60, "highspeed": 59, "cubic": 52, "reno": 51}


def summary(cc, connections, repetition):
    """What a run would say if the thesis were right to the letter."""
    used = min(1.0, connections / 10)
    lost = {1: 0, 5: 0, 10: 0, 30: LOSSES[cc]}[connections]
    flows = [
        {
            "id": f"parallel/{i}",
            "goodput_bps": used * 1e7 / connections,
            "sent_segments": 10_000 + 100 * lost,
            "lost_segments": 100 * lost + (repetition if lost else 0),
            "retransmitted_segments": 100 * lost,
        }
        for i in range(connections)
    ]
    link = {"id": "bottleneck", "utilisation": used}
    # What differs from one repetition to the next decides nothing, and shows that they are several.
    return {"flows": flows, "links": [link], "metrics": {}, "packets": repetition}


def by_scenario(study):
    """Claim -> its verdict at the one scenario that was run."""
    bench = study.parts["bench"]
    points = [p for p in bench.plan(quick=True).points if p.axes["scenario"] == SCENARIO]
    outcomes = [
        Outcome(p, summary(p.axes["flow.0.cc"], p.axes["flow.0.count"], p.repetition), None)
        for p in points
    ]
    cells = cells_of({"bench": list(measured_cells(bench, outcomes))})
    found = whole_findings(study, cells, {"linux": "no kernel here"})
    return {
        claim.id: next((f for at, f in one.by_value if at == {"scenario": SCENARIO}), one)
        for claim, one in zip(study.claims, found, strict=True)
    }


def test_every_claim_of_the_thesis_has_a_verdict():
    ids = [claim.id for claim in find("alrshah2009").claims]
    assert ids[:8] == ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"]


def test_published_numbers_are_those_of_the_text():
    study = find("alrshah2009").parts["bench"]
    columns = {column.name: column for column in study.compared}
    loss = columns["mean group.parallel*.loss_of_received"]
    # Section 5.1: "around 16 %" and "around 13 %".
    assert loss.at({"flow.0.cc": "scalable"}) == 0.16
    assert loss.at({"flow.0.cc": "reno"}) == loss.at({"flow.0.cc": "cubic"}) == 0.13
    assert loss.at({"flow.0.cc": "htcp"}) is None
    used = columns["link.bottleneck.utilisation"]
    assert [used.at({"flow.0.count": n}) for n in (1, 5, 10, 30)] == [None, None, 1.0, 1.0]
    cut = columns["group.parallel*.aggregate_reduction"]
    assert cut.at({"scenario": "three connections"}) == 0.18


def test_numbers_as_in_the_thesis_support_its_claims():
    found = by_scenario(find("alrshah2009"))
    # Mean losses over four stages: 64/4 = 16 % of what was received, 51/4 = 13 %.
    for claim in ("a1", "a2", "a4", "a5", "a7"):
        assert found[claim].verdict == "supported", (claim, found[claim].reason)
    # Equal fairness of all algorithms is no order.
    assert found["a6"].verdict != "supported"
    # What was not asked of a kernel is open, and says why.
    assert found["a2-linux"].verdict == "not run"
    assert "no kernel here" in found["a2-linux"].reason


@pytest.mark.parametrize(
    ("file", "old", "new", "claim"), [("means.csv", "scalable,0.16", "scalable,0.48", "a4")]
)
def test_another_published_number_turns_the_verdict(tmp_path, file, old, new, claim):
    directory = tmp_path / "alrshah2009"
    shutil.copytree(DIRECTORY, directory)
    path = directory / "published" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert by_scenario(find(str(directory)))[claim].verdict == "refuted"


def test_a_mean_over_an_axis_takes_each_repetition_by_itself():
    study = find("alrshah2009").parts["bench"]
    points = [
        p
        for p in study.plan(quick=True).points
        if p.axes["scenario"] == SCENARIO and p.axes["flow.0.cc"] == "cubic"
    ]
    outcomes = [Outcome(p, summary("cubic", p.axes["flow.0.count"], 0), None) for p in points]
    cells = [c for c in measured_cells(study, outcomes) if c.metric.startswith("mean ")]
    (loss,) = [c for c in cells if c.metric == "mean group.parallel*.loss_of_received"]
    assert loss.point["flow.0.count"] == "mean"
    # 5200 of 15,200 sent are lost at 30 connections, for 10,000 received; 0 at the other three.
    assert loss.values == pytest.approx((0.13,) * 4)


def test_the_bench_on_linux_is_asked_of_a_kernel():
    parts = find("alrshah2009").parts
    assert {name: part.backend for name, part in parts.items()} == {
        "bench": "sim",
        "linux": "linux",
    }
    assert len(parts["linux"].plan(quick=False).points) == 5 * 7 * 4
    assert parts["linux"].key == "alrshah2009/linux"


def test_a_backend_that_is_none_is_refused(tmp_path):
    directory = tmp_path / "alrshah2009"
    shutil.copytree(DIRECTORY, directory)
    path = directory / "bench" / "study.toml"
    text = path.read_text()
    path.write_text(text.replace("experiment  =", 'backend = "ns2"\nexperiment ='))
    with pytest.raises(InputError, match="backend: 'ns2'; expected sim or linux"):
        find(str(directory))
