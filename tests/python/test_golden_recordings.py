"""Reading golden traces: forms that are understood, and what cannot be used."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import fairway
import golden_made
from fairway.compare.fidelity import kernel_traces as golden
from fairway.compare.fidelity import recording, scenarios
from fairway.errors import InputError
from golden_made import NAME, PATH, damaged, simulated, write


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One for all tests, which leave it as it is."""
    return golden_made.recording_at(tmp_path_factory.mktemp("golden") / "traces")


@pytest.fixture
def place(made, tmp_path):
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "golden"))


def test_several_flows_in_one_file_or_in_one_each(tmp_path):
    both = simulated(("cubic", "reno"))
    write(tmp_path / "one", f"{NAME}.cubic+reno.csv.gz", both)
    for index in (0, 1):
        flow = both.filter(pl.col("flow") == index).drop("flow")
        write(tmp_path / "two", f"{NAME}.cubic+reno.{index}.csv.gz", flow)
    for form in ("one", "two"):
        found = fairway.fidelity(tmp_path / form, threads=1)
        assert [cell.label for cell in found.cells] == ["cubic+reno 0", "cubic+reno 1"]
        assert [cell.flow for cell in found.cells] == ["0 cubic", "1 reno"]
        assert found.holds


def test_random_losses_are_simulated(tmp_path):
    lossy = simulated(loss=0.01).drop("flow")
    write(tmp_path, f"{NAME}-1pct.reno.csv.gz", lossy)
    (one,) = recording.read(tmp_path).recorded
    bottleneck = one.experiment["topology"]["bottleneck"]
    assert bottleneck["loss"] == {"kind": "bernoulli", "probability": 0.01}
    assert fairway.fidelity(tmp_path, threads=1).holds


def test_hosts_that_look_for_each_other_are_a_round_trip_late(tmp_path):
    """The first round-trip time is 40 ms, of a path with 20 ms."""
    frame = simulated().drop("flow")
    first = pl.col("t_s") < 0.15
    late = frame.with_columns(pl.when(first).then(40_000).otherwise("srtt_us").alias("srtt_us"))
    write(tmp_path, f"{NAME}.reno.csv.gz", late)
    assert recording.read(tmp_path).recorded[0].experiment["flow"][0]["start"] == "20 ms"


def test_the_packed_recording_is_read_whole():
    found = recording.read(recording.packed())
    assert len(found.recorded) == 34
    assert found.recorded[0].scenario == golden.scenarios()[0].name
    for one in found.recorded:
        own = next(s.document for s in golden.scenarios() if s.name == one.scenario)
        assert {**one.experiment, "flow": own["flow"]} == own


# Paths of scenarios.


def test_a_scenario_from_its_name():
    found = scenarios.by_name("1gbit-5ms-42p", "here")
    assert found == scenarios.Scenario("1gbit-5ms-42p", "1 Gbit/s", "2.5 ms", "42 packets")
    assert found.rtt_s == pytest.approx(0.005)
    assert scenarios.by_name("20mbit-80ms-133p-0.1pct", "here").loss == pytest.approx(0.001)
    assert scenarios.by_name("20mbit-80ms-133p_loss0.1%", "here").loss == pytest.approx(0.001)
    assert scenarios.by_name("10mbit-50ms-42p-2flows", "here").limit == "42 packets"


@pytest.mark.parametrize(
    "name", ["10mbit-50ms", "10mbit-50ms-42p-loss0.1", "home", "10mbit-50ms-42p-1ms"]
)
def test_a_name_that_does_not_say_enough(name):
    with pytest.raises(InputError, match=r"golden\.toml beside the traces:\n\[\[scenario\]\]"):
        scenarios.by_name(name, "here")


def test_a_scenario_from_a_readme(tmp_path):
    inner = tmp_path / "linux"
    inner.mkdir()
    (tmp_path / "README.md").write_text(
        "| where | what |\n|---|---|\n| r | s |\n\n"
        "| scenario | R | D | Q | loss | duration |\n|---|---|---|---|---|---|\n"
        "| `near` | 10 Mbit/s | 25 ms | 42 packets (1 BDP) | 0.1 % | 100 s |\n"
        "| `odd` | fast | 25 ms | 42 packets | | 100 s |\n"
    )
    assert scenarios.declared(inner) == {
        "near": scenarios.Scenario("near", "10 Mbit/s", "25 ms", "42 packets", "100 s", 0.001)
    }


def test_a_scenario_from_a_list(tmp_path):
    (tmp_path / "golden.toml").write_text(
        '[[scenario]]\nname = "home"\nrate = "2 Mbit/s"\ndelay = "10 ms"\nlimit = "20 packets"\n'
    )
    write(tmp_path, "home.reno.csv.gz", simulated().drop("flow"))
    # The duration is the trace's.
    (one,) = recording.read(tmp_path).recorded
    assert (one.scenario, one.experiment["duration"]) == ("home", "12 s")
    for wrong, message in [
        ('[[scenario]]\nname = "home"\n', "scenario.0.rate is missing"),
        ("[[scenario]", "not valid TOML"),
        ('scenario = "home"', "scenario is text"),
    ]:
        (tmp_path / "golden.toml").write_text(wrong)
        with pytest.raises(InputError, match=message):
            recording.read(tmp_path)


# What cannot be used.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: "", "empty; a trace has the columns t_s"),
        (lambda text: text.splitlines()[0] + "\n", "has no samples"),
        (lambda text: text.replace("srtt_us", "rtt"), "no column srtt_us"),
        (lambda text: "\n".join(text.splitlines()[:80]), r"ends at 7\.9 s, but figures are taken"),
        (lambda text: re.sub(r"\n0\.2,[^,]*", "\n0.2,NaN", text), "cwnd_segments in row 2: .* NaN"),
        (lambda text: re.sub(r"\n0\.2,[^,]*", "\n0.2,inf", text), "cwnd_segments in row 2: .* inf"),
        (lambda text: re.sub(r"\n0\.2,[^,]*", "\n0.2,many", text), "row 2: .* found many"),
        (lambda text: text.replace("\n0.2,", "\n,"), "t_s in row 2: .* found nothing"),
        (lambda text: text.replace("\n0.2,", "\n0.1,"), "t_s does not increase"),
        (lambda text: text.replace("\n0.2,", "\n0.2,1,1,1,1,1,1,1,1"), "not a table"),
        (lambda _: "\x00\x01", "no column t_s"),
    ],
)
def test_a_damaged_trace(place, change, message):
    damaged(place, change)
    with pytest.raises(InputError, match=message):
        recording.read(place)


@pytest.mark.parametrize("data", [b"not packed", gzip.compress(b"t_s\n" * 999, mtime=0)[:20]])
def test_a_trace_that_cannot_be_unpacked(place, data):
    (place / f"{NAME}.reno.csv.gz").write_bytes(data)
    with pytest.raises(InputError, match="cannot read this trace"):
        recording.read(place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged recording"),
        ("[]", "damaged recording: it is a list"),
        ('{"kernel": "6.1", "scenarios": ["x"]}', "algorithms is missing"),
        ('{"kernel": "6.1", "scenarios": [{}], "algorithms": []}', "scenario.0.name is missing"),
        (json.dumps({"kernel": "6", "scenarios": [NAME], "algorithms": ["bic"]}),
         "with bic, but there is no trace of it"),
        (json.dumps({"kernel": "6", "algorithms": [], "scenarios": [
            {"name": NAME, **PATH, "rate": "fast"}]}), "rate"),
    ],
)  # fmt: skip
def test_a_damaged_list_of_what_was_recorded(place, text, message):
    (place / "recorded.json").write_text(text)
    with pytest.raises(InputError, match=message):
        fairway.fidelity(place, threads=1)


def test_directories_that_are_no_recording(tmp_path, made):
    with pytest.raises(InputError, match="no such directory"):
        fairway.fidelity(tmp_path / "nowhere")
    with pytest.raises(InputError, match="has no golden traces"):
        fairway.fidelity(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        fairway.fidelity(tmp_path / "file")
    # The directory above the traces will do, if it is clear which are meant.
    shutil.copytree(made, tmp_path / "a")
    assert recording.read(tmp_path).directory == tmp_path / "a"
    shutil.copytree(made, tmp_path / "b")
    with pytest.raises(InputError, match="a, b have; name one"):
        recording.read(tmp_path)


def test_an_algorithm_that_nobody_knows(place):
    (place / f"{NAME}.reno.csv.gz").rename(place / f"{NAME}.mine.csv.gz")
    (place / "recorded.json").unlink()
    with pytest.raises(InputError, match="mine: no congestion control of that name"):
        recording.read(place)


def test_recordings_of_two_kernels_come_with_the_package():
    for release in ("6.1", "6.12"):
        found = recording.read(recording.packed(release))
        assert (found.kernel or "").startswith(f"{release}.")
        assert len(found.recorded) == 34
        assert {one.experiment["stack"]["preset"] for one in found.recorded} == {f"linux-{release}"}
    for name in ("6.2", "../fidelity/linux-6.1", ""):
        with pytest.raises(InputError, match=r"no recording .*there are 6\.1, 6\.12"):
            recording.packed(name)
    with pytest.raises(InputError, match="--golden and --kernel both name a recording"):
        fairway.fidelity("somewhere", kernel="6.12")
