"""WLAN cells from the experiment file to the report."""

from pathlib import Path

import pytest

import fairway
from conftest import command
from fairway import ExperimentError

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="no examples here")


@pytest.fixture(scope="module")
def run():
    return fairway.run(EXAMPLES / "wlan.toml")


def test_the_example_shares_by_windows(run):
    download, upload = run.summary["flows"]
    # 4.4 Mbit/s of payload are what TCP gets out of 802.11b, more for the larger window.
    total = download["goodput_bps"] + upload["goodput_bps"]
    assert 4.3e6 < total < 4.5e6
    assert download["goodput_bps"] > 2 * upload["goodput_bps"]
    assert [link["id"] for link in run.summary["links"]] == [
        "ap", "sta0", "sta1", "server", "server/reverse",
    ]  # fmt: skip


def test_a_summary_has_the_nodes_of_the_cell(run):
    wlan = run.summary["wlan"]
    assert run.metrics["utilisation"] == wlan["busy"]
    assert 0 < wlan["collided"] < wlan["busy"] < 1
    ap, *stations = wlan["nodes"]
    assert ap["id"] == "ap"
    assert abs(ap["delivered"] - sum(node["delivered"] for node in stations)) < 50


def test_the_nodes_are_in_the_report_and_on_the_screen(run, tmp_path):
    run.save(tmp_path / "run")
    report = (tmp_path / "run" / "report.html").read_text()
    assert "WLAN, busy" in report and "given up" in report
    shown = command("run", EXAMPLES / "wlan.toml")
    assert "WLAN, busy" in shown.stdout


@pytest.mark.parametrize("name", ["wlan-anomaly", "wlan-protection"])
def test_examples_run(name):
    sweep = fairway.run(EXAMPLES / f"{name}.toml")
    assert len(sweep) == 4
    assert sweep.table["utilisation"].min() > 0.5


def test_a_kernel_refuses():
    with pytest.raises(ExperimentError, match="--backend sim"):
        fairway.run(EXAMPLES / "wlan.toml", backend="linux")
