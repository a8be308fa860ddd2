"""The path of a simulated transfer is recovered from its capture, and simulated again."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import fairway
from conftest import command
from fairway import InputError
from fairway.capture.replay import report
from fairway.capture.replay.command import fit, replay
from fairway.ground import store
from fairway.results.run import Run

#: How far a fitted path may be from the simulated one.
RATE, RTT, BUFFER = 0.02, 0.02, 0.15

EXPERIMENT = """\
duration = "{seconds} s"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "{mbps} Mbit/s"
delay = "{delay} ms"
queue = {{ kind = "droptail", limit = "{limit} packets" }}
{loss}

[[flow]]
cc = "{cc}"
{flow}

[capture]
at = ["s0"]
"""


def captured(
    place: Path,
    mbps: float,
    rtt_ms: float,
    limit: int,
    cc: str,
    seconds: float,
    loss: str = "",
    flow: str = "",
) -> tuple[Path, Run]:
    """A capture at the sender."""
    text = EXPERIMENT.format(
        mbps=mbps, delay=rtt_ms / 2, limit=limit, cc=cc, seconds=seconds, loss=loss, flow=flow
    )
    run = fairway.run(text, place / "run")
    assert isinstance(run, Run)
    assert run.captures is not None
    return run.captures / "s0.pcapng", run


@pytest.mark.parametrize(
    ("mbps", "rtt_ms", "limit", "cc", "seconds"),
    [
        (2, 40, 13, "cubic", 30),
        (2, 200, 67, "reno", 40),
        (20, 40, 20, "reno", 20),
        (20, 40, 67, "cubic", 20),
        (20, 200, 333, "bbr", 20),
        (20, 5, 17, "vegas", 10),
        (100, 5, 42, "reno", 5),
        (100, 40, 333, "vegas", 5),
        (500, 5, 62, "cubic", 2),
    ],
)
def test_the_path_is_recovered(
    tmp_path: Path, mbps: float, rtt_ms: float, limit: int, cc: str, seconds: float
) -> None:
    capture, _ = captured(tmp_path, mbps, rtt_ms, limit, cc, seconds)
    path = fit(capture).path
    assert path["rate_bps"] == pytest.approx(mbps * 1e6, rel=RATE)
    assert path["base_rtt"]["s"] == pytest.approx(rtt_ms / 1e3, rel=RTT)
    assert path["buffer"]["source"] == "drops"
    assert path["buffer"]["packets"] == pytest.approx(limit, rel=BUFFER)
    assert path["random_loss"]["losses"] == 0


def test_random_losses_are_no_drops(tmp_path: Path) -> None:
    loss = 'loss = { kind = "bernoulli", probability = 0.01 }'
    capture, run = captured(tmp_path, 20, 40, 67, "reno", 30, loss)
    found = fit(capture)
    lost = run.summary["links"][0]["losses"]
    assert run.summary["links"][0]["drops"] == 0
    assert found.path["random_loss"]["losses"] == pytest.approx(lost, rel=0.1)
    assert found.path["random_loss"]["probability"] == pytest.approx(0.01, rel=0.2)
    assert found.path["buffer"]["source"] == "at_least"
    assert any("never dropped" in doubt for doubt in found.doubts())


def test_the_same_algorithm_does_the_same_over_the_fitted_path(tmp_path: Path) -> None:
    capture, run = captured(tmp_path, 20, 40, 67, "cubic", 30, flow='bytes = "20 MB"')
    out = tmp_path / "replay"
    done = replay(capture, ["reno", "vegas"], out, same="cubic")
    measured, same, reno, vegas = done.rows()
    assert [row["cc"] for row in (same, reno, vegas)] == ["cubic", "reno", "vegas"]
    flow = run.summary["flows"][0]
    assert measured["duration_s"] == pytest.approx(flow["ctt_s"], rel=0.02)
    assert same["duration_s"] == pytest.approx(flow["ctt_s"], rel=0.02)
    # The same time, and not that of the receiver, which ends half of a round trip earlier.
    simulated = done.sweep.outcomes[0].summary["flows"][0]
    assert same["duration_s"] == simulated["ctt_s"] > simulated["fct_s"]
    assert same["goodput_bps"] == 160e6 / simulated["ctt_s"]
    assert same["mean_rtt_s"] == pytest.approx(flow["mean_srtt_s"], rel=0.1)
    assert measured["retransmitted_segments"] == flow["retransmitted_segments"]
    # Vegas keeps a few packets in a queue that CUBIC fills.
    assert vegas["mean_rtt_s"] < 0.8 * same["mean_rtt_s"]

    # The file is what was run, and is accepted as it stands.
    text = (out / "replay.toml").read_text()
    assert text == done.experiment
    again = fairway.load(out)
    assert len(again) == 3
    assert json.loads((out / "replay.json").read_text()) == done.to_json()


def test_a_directory_is_the_replays_from_its_first_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture, _ = captured(tmp_path, 10, 20, 30, "reno", 2)
    marked = []
    mark = store.mark

    def spy(directory: Path, kind: str, source: str | None, check: Callable[[], object]) -> None:
        marked.append((kind, source))
        mark(directory, kind, source, check)

    monkeypatch.setattr(store, "mark", spy)
    for _ in range(2):
        replay(capture, ["vegas"], tmp_path / "replay", same="reno")
    assert len(set(marked)) == 1
    with pytest.raises(InputError, match="of a different experiment"):
        replay(capture, ["vegas"], tmp_path / "replay", same="reno", overhead_bytes=38)


def test_the_command(tmp_path: Path) -> None:
    capture, _ = captured(tmp_path, 10, 20, 30, "reno", 5)
    shown = command("replay", str(capture), "--cc", "cubic", "--as", "reno", "--quiet")
    assert shown.returncode == 0, shown.stderr
    for words in ("[topology.bottleneck]", "measured", "reno (as measured)", "cubic"):
        assert words in shown.stdout
    as_json = command("replay", str(capture), "--cc", "cubic", "--as", "reno", "--quiet", "--json")
    assert [row["what"] for row in json.loads(as_json.stdout)["transfers"]] == [
        "measured",
        "simulated",
        "simulated",
    ]


def test_the_report_and_the_terminal_show_one_table(tmp_path: Path) -> None:
    capture, run = captured(tmp_path, 20, 40, 67, "cubic", 30, flow='bytes = "20 MB"')
    out = tmp_path / "replay"
    shown = command("replay", str(capture), "--cc", "bbr", "--as", "cubic", "--out", out, "-q")
    assert shown.returncode == 0, shown.stderr
    page = (out / "report.html").read_text()
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", page.partition("<script")[0])
    assert "Simulated: data that was delivered in order." in page
    head, *rows = (cells[first : first + 5] for first in range(0, len(cells), 5))
    assert head == ["", "duration", "goodput", "mean RTT", "retransmitted"]
    assert [row[0] for row in rows] == ["measured", "cubic (as measured)", "bbr"]
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    for row in rows:
        assert " ".join(row) in lines
    # 20 MB in the time that the transfer took, and not in that of the simulated run.
    seconds = run.summary["flows"][0]["fct_s"]
    assert float(rows[0][2].split()[0]) == pytest.approx(160 / seconds, rel=0.02)

    result, series, sweep = report.load(out) or pytest.fail("no replay")
    assert report.page(result, series, sweep) == page
    assert command("report", out, "--figures", "svg").returncode == 0
    assert (out / "report.html").read_text() == page
    assert {path.stem for path in (out / "figures").iterdir()} == {
        "delivered", "goodput", "in-flight", "srtt",
    }  # fmt: skip


def test_every_transfer_is_drawn_until_all_is_delivered(tmp_path: Path) -> None:
    capture, _ = captured(tmp_path, 20, 40, 67, "cubic", 30, flow='bytes = "20 MB"')
    done = replay(capture, ["vegas"], tmp_path / "replay", same="cubic")
    drawn = report.charts(done.to_json(), done.transfer.series, done.sweep)
    for name, chart in drawn.items():
        data = pl.read_csv(io.StringIO(chart.parts["data"]["values"]))
        ends = data.group_by("id", maintain_order=True).agg(pl.col("t").max(), pl.col("v").last())
        found = {label: rest for label, *rest in ends.iter_rows()}
        names = ("measured", "cubic (as measured)", "vegas")
        assert set(found) == set(names), name
        for row, label in zip(done.rows(), names, strict=True):
            end_s, last = found[label]
            assert end_s == pytest.approx(row["duration_s"], rel=0.02), name
            if name == "delivered":
                assert last == pytest.approx(20, rel=1e-3)


def test_frames_count_with_what_is_around_packets(tmp_path: Path) -> None:
    capture, _ = captured(tmp_path, 10, 20, 30, "reno", 5)
    path = fit(capture, overhead_bytes=38).path
    assert path["rate_bps"] == pytest.approx(10e6 * 1538 / 1500, rel=0.005)


def test_what_cannot_be_replayed_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no-such"):
        fit(tmp_path / "no-such.pcap")
    capture, _ = captured(tmp_path, 10, 20, 30, "reno", 2)
    with pytest.raises(InputError, match="no connection 7; it has connections 1 to 1"):
        fit(capture, connection=7)
    with pytest.raises(fairway.ExperimentError, match="nonsense"):
        replay(capture, ["nonsense"])
