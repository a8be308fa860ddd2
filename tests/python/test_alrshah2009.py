"""The study alrshah2009: its claims and published numbers, judged on numbers by hand."""

import csv
import itertools
import shutil
import statistics
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairway.errors import InputError
from fairway.study.data import cells_of, measured_cells
from fairway.study.files import find
from fairway.study.reproduce import findings
from fairway.sweep.outcome import Outcome

DIRECTORY = Path(str(files("fairway"))) / "studies" / "alrshah2009"
SCENARIO = "9 ms, RED 10-50"

#: Segments sent again of each hundred, of 30 connections; of 1, 5 and 10 none.
LOSSES = {"scalable": 64, "htcp": 60, "highspeed": 59, "cubic": 52, "reno": 51}


def summary(cc, connections, repetition):
    """What a run would say if the thesis were right to the letter."""
    used = min(1.0, connections / 10)
    lost = {1: 0, 5: 0, 10: 0, 30: LOSSES[cc]}[connections]
    flows = [
        {
            "id": f"parallel/{i}",
            "goodput_bps": used * 1e7 / connections,
            "throughput_bps": used * 1e7 / connections,
            "sent_segments": 10_000,
            "retransmitted_segments": 100 * lost + (repetition if lost else 0),
        }
        for i in range(connections)
    ]
    link = {"id": "bottleneck", "utilisation": used}
    # What differs from one repetition to the next decides nothing, and shows that they are several.
    return {"flows": flows, "links": [link], "metrics": {}, "packets": repetition}


def outcome(point, repetition):
    """A point of the sweep as if it had been run, with the numbers of a repetition."""
    made = summary(point.axes["flow.0.cc"], point.axes["flow.0.count"], repetition)
    return Outcome(point, made, in_memory=SimpleNamespace(summary=made))


def by_scenario(study):
    """Claim -> its verdict at the one scenario that was run."""
    bench = study.parts["bench"]
    points = [p for p in bench.plan(quick=True).points if p.axes["scenario"] == SCENARIO]
    outcomes = [outcome(p, p.repetition) for p in points]
    cells = cells_of({"bench": list(measured_cells(bench, outcomes))})
    found = findings(study, cells, {"linux": "no kernel here"})
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
    loss = columns["mean group.parallel*.retransmission_ratio"]
    # Section 5.1: "around 16 %" and "around 13 %".
    assert loss.at({"flow.0.cc": "scalable"}) == 0.16
    assert loss.at({"flow.0.cc": "reno"}) == loss.at({"flow.0.cc": "cubic"}) == 0.13
    assert loss.at({"flow.0.cc": "htcp"}) is None
    used = columns["group.parallel*.throughput_ratio"]
    assert [used.at({"flow.0.count": n}) for n in (1, 5, 10, 30)] == [None, None, 1.0, 1.0]
    cut = columns["group.parallel*.aggregate_reduction"]
    assert cut.at({"scenario": "three connections"}) == 0.18


def test_numbers_as_in_the_thesis_support_its_claims():
    found = by_scenario(find("alrshah2009"))
    # Mean losses over four stages: 64/4 = 16 %, 51/4 = 13 %.
    for claim in ("a1", "a2", "a4", "a5", "a7"):
        assert found[claim].verdict == "supported", (claim, found[claim].reason)
    # Equal fairness of all algorithms is no order.
    assert found["a6"].verdict == "refuted"
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
    outcomes = [outcome(p, 0) for p in points]
    cells = [c for c in measured_cells(study, outcomes) if c.metric.startswith("mean ")]
    (loss,) = [c for c in cells if c.metric == "mean group.parallel*.retransmission_ratio"]
    assert loss.point["flow.0.count"] == "mean"
    # 52 of a hundred are sent again at 30 connections; none at the other three.
    assert loss.values == pytest.approx((0.13,) * 4)


def test_the_bench_on_linux_is_asked_of_a_kernel():
    parts = find("alrshah2009").parts
    assert {name: part.backend for name, part in parts.items()} == {
        "bench": "sim",
        "linux": "linux",
    }
    # Four of each, and 52 more where four decide nothing.
    assert len(parts["linux"].plan(quick=False).points) == 5 * 7 * 4 + 52
    assert parts["linux"].key == "alrshah2009/linux"


def test_a_backend_that_is_none_is_refused(tmp_path):
    directory = tmp_path / "alrshah2009"
    shutil.copytree(DIRECTORY, directory)
    path = directory / "bench" / "study.toml"
    text = path.read_text()
    path.write_text(text.replace("experiment  =", 'backend = "ns2"\nexperiment ='))
    with pytest.raises(InputError, match="backend: 'ns2'; expected sim or linux"):
        find(str(directory))


def printed(name):
    """A printed trace of the thesis."""
    with (DIRECTORY / "traces" / name).open(encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def test_the_printed_traces_are_those_of_a_queue_at_10_mbit():
    rows = printed("figure_4_6.csv")
    gaps = [b["time_ms"] - a["time_ms"] for a, b in itertools.pairwise(rows)]
    # 1448 bytes, 52 of headers and 38 of framing take 1.23 ms.
    assert statistics.median(gaps) == pytest.approx(1538 * 8 / 1e4, abs=0.005)
    # Ports and offsets go on from figure 4.5: it is one run.
    ends = {row["port"]: row["to_byte"] for row in printed("figure_4_5.csv")}
    first = {row["port"]: row["from_byte"] for row in reversed(rows)}
    both = ends.keys() & first.keys()
    assert len(both) == 4
    assert all(first[port] in (ends[port], 3001) for port in both)


def test_the_oldest_echo_is_a_syn_cookie_and_no_time():
    rows = printed("figure_4_5.csv")
    echoes = {int(row["echoed_ticks"]) for row in rows if row["from_byte"] == 1}
    # All handshakes echo one number. Linux 2.6.26 to 2.6.35 keep options in nine bits of a SYN
    # cookie's timestamp: here window scales of 6 at both ends, and SACK.
    assert echoes == {4294955878}
    assert echoes.pop() % 512 == 6 + (6 << 4) + (1 << 8)
    # Acknowledgements of data released a segment that came within 7 ticks.
    released = [row for row in rows if row["from_byte"] == 2449]
    assert [row["receiver_ticks"] - row["echoed_ticks"] for row in released] == [7, 7]
