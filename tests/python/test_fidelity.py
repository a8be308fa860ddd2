"""`fairway fidelity`: figures by hand, episodes in hand-made traces, and the command."""

from __future__ import annotations

import gzip
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairway
import golden_made
from fairway import _core
from fairway.cli import main as cli
from fairway.compare.fidelity import kernel_traces as golden
from fairway.compare.fidelity import recording
from fairway.compare.fidelity.data import QUANTITIES, Cell, Comparison, area, compare, measured
from fairway.compare.fidelity.run import Fidelity
from fairway.errors import InputError
from fairway.metrics.episodes import Trace, reductions, slow_start_exit
from golden_made import NAME, PATH, damaged, simulated, write


def trace(
    cwnd: list[float],
    *,
    start: float = 10.0,
    step: float = 0.1,
    rtt: float = 0.05,
    ssthresh: list[float] | None = None,
    delivered: list[float] | None = None,
    retransmitted: int = 0,
) -> Trace:
    """A trace of these windows."""
    count = len(cwnd)
    return Trace(
        t_s=start + step * np.arange(count),
        cwnd=np.array(cwnd, dtype=float),
        ssthresh=np.array(ssthresh or [math.nan] * count, dtype=float),
        srtt_s=np.full(count, rtt),
        delivered_bytes=np.array(delivered or [0] * count, dtype=float),
        retransmitted=retransmitted,
    )


# Reductions.


@pytest.mark.parametrize(
    ("cwnd", "at"),
    [
        # A halving between two samples, and one that takes three (proportional rate reduction).
        ([80, 82, 84, 42, 43, 44], [3]),
        ([80, 82, 84, 70, 56, 42, 43], [3]),
        # Two sawteeth: the second fall counts from where the window had grown to.
        ([84, 42, 50, 60, 70, 80, 40, 41], [1, 6]),
        # Scalable's eighth, of which growth hid some: 80 -> 72.
        ([80, 72, 73, 74, 76, 78, 80, 71], [1, 7]),
        # Vegas steps down by one each round trip, two between samples: no reduction.
        ([46, 44, 42, 40, 38, 36, 35], []),
        # A slow fall that is large in the end is none either.
        ([1000, 980, 960, 940, 920, 900, 880], []),
        # BBR looks for the round-trip time with four segments.
        ([96, 96, 4, 4, 96, 96], [2]),
        # A timeout after a reduction: two, because the window rose between them.
        ([80, 40, 41, 42, 1, 2, 4], [1, 4]),
        # Growth, and a window that stays as it is.
        ([10, 20, 40, 80, 80, 80], []),
        # A small window is halved: a quarter of it or more counts however few segments it is.
        ([4, 2, 3, 4, 2], [1, 4]),
        ([10], []),
    ],
)
def test_reductions_in_windows_by_hand(cwnd, at):
    found = reductions(trace(cwnd)) if len(cwnd) > 1 else []
    assert found == pytest.approx([10 + 0.1 * index for index in at])


def test_a_fall_over_a_long_round_trip_is_one_reduction():
    """With 400 ms proportional rate reduction takes four samples, or stands still between."""
    found = reductions(trace([84, 74, 74, 63, 53, 42, 43, 44], rtt=0.4))
    assert found == pytest.approx([10.1])


def test_ssthresh_does_not_matter_for_reductions():
    """Reno's is the same after each sawtooth; Vegas's is another after each step."""
    cwnd = [84.0, 42, 60, 84, 42, 43]
    assert reductions(trace(cwnd, ssthresh=[42] * 6)) == reductions(trace(cwnd))
    assert reductions(trace([46, 45, 44, 43], ssthresh=[45, 44, 43, 42])) == []


def test_samples_before_the_first_round_trip_time():
    """Nothing is known of the round trip yet: NaN does no harm."""
    assert reductions(trace([80, 40, 41], rtt=math.nan)) == pytest.approx([10.1])


def test_the_recording_s_reductions_are_the_kernel_s():
    """Where losses decide, there are as many as entries into recovery (`ca_state` 2 and above)."""
    traces = {
        one.algorithm: one.traces[0]
        for one in recording.read(recording.packed()).recorded
        if one.scenario == "10mbit-50ms-42p"
    }
    with gzip.open(recording.packed() / golden.TABLE) as opened:
        samples = pl.read_csv(opened.read(), infer_schema_length=None)
    for name in ("reno", "cubic", "scalable", "htcp", "illinois", "veno"):
        key = {"scenario": "10mbit-50ms-42p", "congestion_control": name}
        frame = samples.filter(**key)
        states = frame["ca_state"].to_numpy()
        entered = (states[1:] >= 2) & (states[:-1] < 2) & (frame["t_s"].to_numpy()[1:] >= 10)
        assert measured(traces[name])["reductions"] == entered.sum(), name


# The exit from slow start.


def test_slow_start_ends_with_the_first_threshold():
    inf = math.nan
    found = slow_start_exit(
        trace([10, 40, 158, 100, 79], start=0.1, ssthresh=[inf, inf, inf, 79, 79])
    )
    assert found is not None
    assert (found.t_s, found.window, found.largest) == (pytest.approx(0.4), 79, 158)


def test_a_slow_start_that_lasts_has_no_end():
    assert slow_start_exit(trace([10, 20, 40])) is None
    both = compare(trace([10, 20, 40]), trace([10, 20, 40]))["exit_window_segments"]
    assert (both.judged, both.within) == (False, True)
    # If one side has an end and the other has none, they differ.
    left = trace([10, 20, 40], ssthresh=[math.nan, 20, 20])
    both = compare(left, trace([10, 20, 40]))["exit_window_segments"]
    assert (both.judged, both.within) == (True, False)


# Figures.


def test_figures_by_hand():
    """From 10 s on: two of five samples are before that."""
    found = measured(
        trace(
            [500, 500, 10, 20, 60],
            start=8,
            step=1,
            rtt=0.06,
            delivered=[0, 0, 1000, 2000, 251_000],
            retransmitted=7,
        )
    )
    assert found["goodput_bps"] == 1_000_000  # 250000 bytes in 2 s
    assert found["mean_cwnd_segments"] == 30
    # Between the samples 10, 20, 60: 5 % is a tenth of the way from 10 to 20.
    assert found["p5_cwnd_segments"] == pytest.approx(11)
    assert found["p50_cwnd_segments"] == 20
    assert found["p95_cwnd_segments"] == pytest.approx(56)
    assert found["mean_srtt_s"] == pytest.approx(0.06)
    assert found["retransmitted_segments"] == 7
    # The fall from 500 to 10 is seen in the first sample that counts.
    assert (found["reductions"], found["reduction_interval_s"]) == (1, None)


def test_the_mean_interval_between_reductions():
    """Falls at 10.1, 10.4 and 10.9 s: the mean of 0.3 and 0.5."""
    found = measured(trace([80, 40, 60, 80, 40, 50, 60, 70, 80, 40]))
    assert found["reductions"] == 3
    assert found["reduction_interval_s"] == pytest.approx(0.4)


@pytest.mark.parametrize(("real_teeth", "judged"), [(5, True), (4, False)])
def test_the_interval_is_judged_from_five_reductions_on(real_teeth, judged):
    real = trace([80, 40, 60] * real_teeth)
    other = trace([80, 40, 60, 62, 64, 66] * real_teeth)
    found = compare(other, real)["reduction_interval_s"]
    assert found.judged == judged
    assert found.within == (not judged)
    assert found.relative == pytest.approx(1.0)
    # A simulator that never reduces its window has no interval, which is out as well.
    assert compare(trace([80] * 15), real)["reduction_interval_s"].within == (not judged)


def test_the_area_between_two_windows():
    """12 beside 10 all the time: 0.2. Before 10 s nothing counts."""
    real = trace([10] * 6, start=9, step=0.5)
    assert area(trace([999, 999, 12, 12, 12, 12], start=9, step=0.5), real) == pytest.approx(0.2)
    # Sampled at other times: 10 + t meets 10 over a second in a triangle of area 1/2.
    ramp = Trace(np.array([10.0, 11.0]), np.array([10.0, 11.0]), *[np.zeros(2)] * 3, 0)
    assert area(ramp, trace([10] * 11)) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("name", "sim", "within"),
    [
        ("goodput_bps", 98, True), ("goodput_bps", 102, True), ("goodput_bps", 97.9, False),
        ("mean_cwnd_segments", 105, True), ("mean_cwnd_segments", 105.1, False),
        ("mean_srtt_s", 95, True), ("mean_srtt_s", 94.9, False),
        ("reduction_interval_s", 115, True), ("reduction_interval_s", 84.9, False),
        ("exit_window_segments", 110, True), ("exit_window_segments", 89.9, False),
    ],
)  # fmt: skip
def test_tolerances(name, sim, within):
    quantity = next(quantity for quantity in QUANTITIES if quantity.name == name)
    assert Comparison(quantity, sim, 100, judged=True).within == within


def test_a_difference_from_nothing():
    quantity = QUANTITIES[0]
    assert Comparison(quantity, 0, 0, judged=True).within
    assert not Comparison(quantity, 1, 0, judged=True).within
    assert Comparison(quantity, 1, 0, judged=True).relative is None


def test_cells_are_counted():
    alike, other = trace([10, 10, 10]), trace([20, 20, 20])
    found = Fidelity(
        "here", "6.1", [Cell("s", "a", "", alike, alike), Cell("s", "b", "", other, alike)], "0"
    )
    assert (found.within, found.holds) == (1, False)
    assert found.sentence == "1 of 2 cells within tolerance"
    (row,) = found.tables()[-1].rows
    assert row == ["s", "b", "mean cwnd (segments)", "20", "10", "+100 %", "5 %"]


# Whole recordings.


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One for all tests, which leave it as it is."""
    return golden_made.recording_at(tmp_path_factory.mktemp("golden") / "traces")


@pytest.fixture
def place(made, tmp_path):
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "golden"))


def test_what_the_simulator_did_itself_is_within(made):
    found = fairway.fidelity(made, threads=1)
    by_name = {cell.algorithm: cell for cell in found.cells}
    assert found.kernel == "6.1.0"
    assert by_name["reno"].within
    assert by_name["reno"].area == pytest.approx(0, abs=1e-3)
    assert by_name["reno"].comparisons["goodput_bps"].relative == pytest.approx(0, abs=1e-6)
    assert by_name["reno"].comparisons["retransmitted_segments"].relative == 0
    # 1/1.1 is 9 % less.
    (miss,) = by_name["htcp"].misses
    assert miss.quantity.name == "mean_cwnd_segments"
    assert miss.relative == pytest.approx(1 / 1.1 - 1, abs=1e-3)
    assert by_name["htcp"].area == pytest.approx(1 - 1 / 1.1, abs=1e-3)


# The command.


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """The command in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        code = cli.guarded(["fidelity", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_the_command(command, made, tmp_path):
    code, out, err = command("--golden", made, "--figures", "svg,pdf")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.splitlines()[-1] == "1 of 2 cells within tolerance."
    assert "Out of tolerance" in out
    place = tmp_path / "runs" / "fidelity" / "traces"
    assert err.strip().endswith("Report: runs/fidelity/traces/report.html")
    assert "1 of 2 cells within tolerance" in (place / "report.html").read_text()
    assert sorted(path.name for path in (place / "figures").iterdir()) == [
        "windows.pdf", "windows.svg",
    ]  # fmt: skip
    # Again: nothing is run again, and the same comes out.
    before = {path: path.stat().st_mtime_ns for path in (place / "sim/points").rglob("*")}
    assert command("--golden", made, "--quiet")[1] == out
    assert {path: path.stat().st_mtime_ns for path in (place / "sim/points").rglob("*")} == before


def test_json_and_check(command, made, tmp_path):
    code, out, err = command("--golden", made, "--json", "--quiet", "--check", "--out", "o")
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert found["within"] == 1
    assert json.loads((tmp_path / "o" / "fidelity.json").read_text()) == found
    reno = next(cell for cell in found["cells"] if cell["algorithm"] == "reno")
    assert set(reno["quantities"]) == {quantity.name for quantity in QUANTITIES}
    assert reno["quantities"]["goodput_bps"]["tolerance"] == 0.02


def test_check_passes_where_all_hold(command, tmp_path):
    write(tmp_path / "own", f"{NAME}.reno.csv.gz", simulated().drop("flow"))
    assert command("--golden", "own", "--check", "--quiet")[0] == 0


def test_errors_are_sentences(command, place, tmp_path):
    code, _, err = command("--golden", tmp_path / "nowhere")
    assert code == 2
    assert "no such directory" in err
    assert "Traceback" not in err
    damaged(place, lambda text: re.sub(r"\n0\.2,[^,]*", "\n0.2,NaN", text))
    code, _, err = command("--golden", place)
    assert code == 2
    assert "Traceback" not in err
    assert command("--figures", "gif")[0] == 2
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    code, _, err = command("--golden", place, "--out", "full")
    assert code == 2


def test_results_of_another_kind_are_not_replaced(made, tmp_path):
    fairway.fidelity(made, tmp_path / "out", threads=1)
    with pytest.raises(InputError, match="holds a comparison with golden traces"):
        fairway.run(golden.document("x", **PATH), tmp_path / "out")
    with pytest.raises(InputError, match="need a directory"):
        fairway.fidelity(made, figures=["svg"])
    assert _core.version() == json.loads((tmp_path / "out/fidelity.json").read_text())["version"]
