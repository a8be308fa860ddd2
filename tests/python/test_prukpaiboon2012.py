"""The study prukpaiboon2012: published numbers, claims on numbers by hand, UDP beside TCP."""

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

import fairway
from fairway.errors import InputError
from fairway.study.data import cells_of, measured_cells
from fairway.study.files import find
from fairway.study.reproduce import findings
from fairway.sweep.outcome import Outcome

KEY = "prukpaiboon2012"
DIRECTORY = Path(str(files("fairway"))) / "studies" / KEY
LOSS = "topology.bottleneck.loss.probability"

#: Mbit/s of four algorithms whose means are those of figure 4, with what figure 3's text says.
READINGS = {
    0.0: {"cubic": 95, "reno": 95, "bic": 95, "vegas": 62},
    0.01: {"cubic": 72, "reno": 85, "bic": 88, "vegas": 57.2},
    0.03: {"cubic": 37, "reno": 38, "bic": 45, "vegas": 29.76},
    0.05: {"cubic": 15, "reno": 16, "bic": 20, "vegas": 11.68},
    0.1: {"cubic": 2.8, "reno": 2.84, "bic": 3.6, "vegas": 2.0},
}


def goodput_summary(mbit_per_s):
    return {"flows": [{"id": "iperf", "goodput_bps": mbit_per_s * 1e6}], "links": [], "metrics": {}}


def judged(part, summary_of, scenario):
    """Claim -> its verdict if a part had measured this at one scenario, and no other ran."""
    study = find(KEY)
    one = study.parts[part]
    points = [p for p in one.plan(quick=False).points if p.axes.get("scenario") == scenario]
    outcomes = [Outcome(point, summary_of(point), None) for point in points]
    cells = cells_of({part: list(measured_cells(one, outcomes))})
    skipped = {name: "not asked here" for name in study.parts if name != part}
    found = findings(study, cells, skipped)
    return {
        claim.id: next((f for at, f in verdict.by_value if at == {"scenario": scenario}), verdict)
        for claim, verdict in zip(study.claims, found, strict=True)
    }


def test_published_numbers_are_those_of_the_text():
    parts = find(KEY).parts
    columns = {column.name: column for column in parts["losses"].compared}
    mean = columns["mean flow.0.goodput_bps"]
    found = [mean.at({LOSS: p}) for p in READINGS]
    assert found == pytest.approx([86.75e6, 75.55e6, 37.44e6, 15.67e6, 2.81e6])
    each = columns["flow.0.goodput_bps"]
    assert each.at({"flow.0.cc": "bic", LOSS: 0.01}) == pytest.approx(88e6)
    assert each.at({"flow.0.cc": "vegas", LOSS: 0.01}) is None
    # 1470 of 1536 bytes, and a share of 15 % lost: 95.703125 · 0.85.
    line = parts["datagrams"].references[0]
    assert line.at({"scenario": "UDP", LOSS: 0.15}) == pytest.approx(81.348e6)


def test_every_claim_and_hypothesis_has_a_place():
    ids = [claim.id for claim in find(KEY).claims]
    assert ids[:14] == [f"p{i}" for i in range(1, 8)] + [f"h{i}" for i in range(1, 8)]


def test_readings_as_in_the_report_support_its_first_experiment():
    def reading(point):
        # A thousandth more or less from one repetition to the next.
        value = READINGS[point.axes[LOSS]][point.axes["flow.0.cc"]]
        return goodput_summary(value * (1 + 0.001 * (point.repetition % 2)))

    found = judged("losses", reading, "0.5 ms")
    for claim in ("p1", "p2", "p3", "p4", "h1", "h3"):
        assert found[claim].verdict == "supported", (claim, found[claim].reason)
    assert found["h2"].verdict == "refuted"


def test_readings_of_a_short_path_without_loss_alone_refute_it():
    found = judged("losses", lambda point: goodput_summary(94 + 0.01 * point.repetition), "1 ms")
    for claim in ("p1", "p3", "p4", "h1", "h3"):
        assert found[claim].verdict == "refuted", (claim, found[claim].reason)


@pytest.mark.parametrize(("shape", "verdict"), [("hyperbola", "supported"), ("flat", "refuted")])
def test_tcp_beside_udp(shape, verdict):
    """1.6 Gbit of TCP and 0.16 Gbit of each UDP session at 95 Mbit/s, or as if there was none."""

    def mixed(point):
        sessions = point.axes["flow.udp.count"] if shape == "hyperbola" else 0
        fct_s = (1600 + 160 * sessions) / 95 + 0.001 * point.repetition
        tcp = {"id": "tcp", "fct_s": fct_s, "throughput_bps": 1e6, "sent_segments": 1}
        rows = [{**tcp, "lost_segments": 0}]
        rows += [{"id": f"udp/{i}"} for i in range(point.axes["flow.udp.count"])]
        return {"flows": rows, "links": [], "metrics": {}}

    found = judged("mixed", mixed, "waits")
    assert {found[claim].verdict for claim in ("p6", "h5")} == {verdict}


def test_the_fitted_scenario_is_one_path_in_every_part():
    parts = find(KEY).parts
    names = {
        "losses": "fitted",
        "sessions": "fitted",
        "mixed": "fitted",
        "datagrams": "TCP, fitted",
    }
    path = parts["losses"].scenarios["fitted"]
    assert {key.split(".")[0] for key in path} == {"stack", "topology"}
    for part, name in names.items():
        scenario = parts[part].scenarios[name]
        assert {key: scenario[key] for key in path} == path, part
    # With every number of sessions and every loss that the report has.
    grid = [p.axes for p in parts["sessions"].plan(quick=False).points if p.repetition == 0]
    assert [a["flow.0.count"] for a in grid if a["scenario"] == "fitted"] == [*range(1, 51)]
    grid = [p.axes for p in parts["datagrams"].plan(quick=False).points if p.repetition == 0]
    for name in ("UDP", "TCP, fitted"):
        assert [round(100 * a[LOSS]) for a in grid if a["scenario"] == name] == [*range(31)]
    # The client sends 150 Mbit/s in all, a session no more than it is asked for.
    points = parts["mixed"].plan(quick=False).points
    rates = {
        p.axes["flow.udp.count"]: float(p.experiment["flow"][1]["rate"].removesuffix(" Mbit/s"))
        for p in points
        if p.axes["scenario"] == "fitted"
    }
    assert [*rates] == [*range(1, 31), 50, 100, 200]
    assert all(rates[n] == pytest.approx(min(100, 150 / n), rel=1e-3) for n in rates)


def test_udp_of_the_same_host_takes_what_its_buffers_hold():
    """A TCP of 20 MB beside 5 sessions of 10 MB: with buffers the link carries nearly all of it;
    without them, much of UDP is dropped at the host."""
    changes = {"flow.tcp.bytes": "20 MB", "flow.udp.bytes": "10 MB", "flow.udp.start": "0 s"}
    changes |= {"flow.udp.count": 5, "duration": "30 s"}
    document = DIRECTORY / "mixed" / "mixed.toml"
    without = fairway.run(document, overrides=changes)
    buffer = {"flow.udp.send_buffer": "165888 bytes"}
    waits = fairway.run(document, overrides=changes | buffer)
    lost = [
        sum(row["lost_segments"] for row in run.summary["flows"][1:]) for run in (without, waits)
    ]
    assert lost[0] > 20_000 and lost[1] < 500
    # All bytes, with 66 of 1536 and 90 of 1538 for headers, have left when the last has arrived.
    last_s = max(row["fct_s"] or 0 for row in waits.summary["flows"])
    assert last_s > (50e6 * 1536 / 1470 * 0.99) * 8 / 100e6


def test_a_part_does_not_reach_outside_of_its_study(tmp_path):
    study = tmp_path / "mine"
    shutil.copytree(DIRECTORY, study)
    text = (study / "losses" / "study.toml").read_text()
    (study / "losses" / "study.toml").write_text(text.replace("../ethernet.toml", "../../e.toml"))
    with pytest.raises(InputError, match="outside the study's directory"):
        find(str(study))
