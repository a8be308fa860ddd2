"""Golden traces of the real stack."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from fairway import _core
from fairway.backends.linux import cache
from fairway.compare.fidelity import kernel_traces as golden
from fairway.compare.fidelity import recording
from fairway.errors import InputError

COMMITTED = recording.packed()


def a_trace() -> pl.DataFrame:
    """Three samples: before, at and after the moment that the summary begins at."""
    columns = {name: [0, 0, 0] for name in golden.TRACE_COLUMNS}
    columns |= {
        "t_s": [9.0, 10.0, 12.0],
        "cwnd_segments": [100, 10, 20],
        "srtt_us": [9_000_000, 50_000, 70_000],
        "total_retrans": [1, 3, 8],
        "bytes_acked": [0, 1_000, 251_000],
    }
    return pl.DataFrame(columns)


def test_a_summary_by_hand() -> None:
    # 250000 bytes in 2 s are 1 Mbit/s; (10 + 20)/2; (50 + 70)/2 ms; 8 − 3.
    assert golden.summary_row("s", "reno", a_trace()) == {
        "scenario": "s",
        "congestion_control": "reno",
        "goodput_bps_after_10s": 1_000_000,
        "mean_cwnd_segments_after_10s": 15.0,
        "mean_srtt_us_after_10s": 60_000,
        "total_retransmits": 8,
        "retransmits_after_10s": 5,
    }


def test_all_samples_are_written_to_one_table(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(golden, "trace", lambda _: a_trace())
    golden._write(tmp_path, [("s", "reno", None), ("s", "cubic", None)], {})  # type: ignore[list-item]
    table = pl.read_csv(gzip.decompress((tmp_path / golden.TABLE).read_bytes()))
    assert table.columns == [*golden.KEY, *golden.TRACE_COLUMNS]
    assert table["congestion_control"].to_list() == ["reno"] * 3 + ["cubic"] * 3
    assert table["bytes_acked"].to_list() == [0, 1_000, 251_000] * 2
    assert pl.read_csv(tmp_path / "summary.csv").height == 2


def test_an_unknown_algorithm_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nosuch: no such algorithm"):
        golden.record(tmp_path / "out", None, names=["nosuch"])  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_traces_are_named_as_the_kernel_names_what_it_runs() -> None:
    """Of Westwood+, the kernel has its own variant and Fairway's."""
    for scenario in golden.scenarios():
        for name, cc in golden.algorithms().items():
            document = {**scenario.document, "flow": [{"cc": cc}]}
            layout = json.loads(_core.linux_layout(json.dumps(document), None))
            assert layout["plan"]["flows"][0]["cc"] == name


def test_other_files_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="it holds other files"):
        golden.record(tmp_path, None, names=["reno"])  # type: ignore[arg-type]
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_the_recording_is_complete() -> None:
    """Seventeen algorithms in two scenarios, and a row of the summary for each."""
    recorded = json.loads((COMMITTED / "recorded.json").read_text())
    names = {(s["name"], a) for s in recorded["scenarios"] for a in recorded["algorithms"]}
    assert len(names) == 34
    summary = pl.read_csv(COMMITTED / "summary.csv")
    assert set(summary.select("scenario", "congestion_control").iter_rows()) == names
    with gzip.open(COMMITTED / golden.TABLE) as file:
        traces = pl.read_csv(file.read())
    assert set(traces.select(golden.KEY).iter_rows()) == names
    assert traces.columns == [*golden.KEY, *golden.TRACE_COLUMNS]


def test_a_new_recording_is_the_old_one(tmp_path: Path) -> None:
    """The kernel does again what it did when the traces were recorded."""
    from fairway.backends import backend

    kernel = cache.find()
    if kernel is None or not kernel.virtual_time:
        pytest.skip("no kernel with virtual time: run `fairway linux build`")
    recorded = golden.record(tmp_path / "again", backend("linux"), names=["cubic", "reno"])
    if recorded["kernel"].split(".")[:2] != ["6", "1"]:
        pytest.skip(f"the traces are of Linux 6.1, and the kernel here is {recorded['kernel']}")
    key = ["scenario", "congestion_control"]
    new = pl.read_csv(tmp_path / "again" / "summary.csv")
    old = pl.read_csv(COMMITTED / "summary.csv").join(new.select(key), on=key, how="inner")
    for before, after in zip(old.sort(key).rows(), new.sort(key).rows(), strict=True):
        # A release within 6.1 may differ by a little; the same kernel does not at all.
        assert after[:2] == before[:2]
        assert after[2:5] == pytest.approx(before[2:5], rel=0.005), before[:2]
