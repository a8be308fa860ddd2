"""The page of results lists what runs leave: every column of a table, every key of a summary."""

import json
import re
import sys
from pathlib import Path

import polars as pl
import pytest

import fairway
from fairway.ground import result_schema

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="no documentation here: this is not a source tree"
)

LINK = """
[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "5 Mbit/s"
delay = "10 ms"
"""
BOTH = f"""
title    = "both"
duration = "5 s"
{LINK}
[measure]
losses = true

[[flow]]
cc          = "reno"
connections = 2

[[flow]]
kind = "cbr"
rate = "1 Mbit/s"
"""
FILES = f"""
title    = "files"
duration = "5 s"
{LINK}
[[flow]]
kind = "ftp"
cc   = "reno"
size = "20 kB"
"""
ONE = f"""
title    = "one"
duration = "5 s"
{LINK}
[[flow]]
cc = "reno"
"""
WLAN = """
title    = "cell"
duration = "2 s"

[topology]
kind     = "wlan"
standard = "802.11b"
stations = 2
server   = { rate = "100 Mbit/s", delay = "1 ms" }

[[flow]]
cc   = "reno"
from = "server"
to   = "sta0"
"""
SWEEP = ONE + '[sweep]\n"flow.0.cc" = ["reno", "cubic"]\n'


def told(page):
    """What stands as code in the first column of a page's tables, by the head of that column."""
    import reference

    found = {}
    head = None
    for line in reference.expanded((ROOT / "docs" / page).read_text(), {}).splitlines():
        if not line.startswith("|"):
            head = None
            continue
        cell = line.strip("|").split(" | ")[0].strip()
        if head is None:
            head = cell
            found.setdefault(head, set())
        found[head] |= set(re.findall(r"`([^`]+)`", cell))
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Directories of small runs, by the name of their experiment."""
    place = tmp_path_factory.mktemp("results")
    texts = {"both": BOTH, "files": FILES, "one": ONE, "wlan": WLAN, "sweep": SWEEP}
    for name, text in texts.items():
        (place / f"{name}.toml").write_text(text)
        fairway.run(place / f"{name}.toml", place / name, quiet=True)
    fairway.run(place / "one.toml", place / "model", backend="model", quiet=True)
    return place


def summary(runs, name):
    return json.loads((runs / name / "summary.json").read_text())


def columns(directory, table):
    return set(pl.read_parquet(directory / table).columns)


def test_summaries(runs):
    page = told("results.md")
    for name in ("both", "files", "one", "wlan"):
        found = summary(runs, name)
        others = {"applications", "wlan"}  # each has a heading of its own
        assert set(found) <= page["of a run"] | others
        for flow in found["flows"]:
            assert set(flow) <= page["of a flow"] | page["of a datagram flow"]
        for link in found["links"]:
            assert set(link) == page["of a link direction"]
        for application in found.get("applications", []):
            assert set(application) == page["of an application"]
        assert set(found["metrics"]) <= page["metric"]
    cell = summary(runs, "wlan")["wlan"]
    assert set(cell) == page["of a WLAN"]
    assert all(set(node) == page["of a node"] for node in cell["nodes"])
    assert summary(runs, "both")["applications"]
    assert summary(runs, "files")["completions"]


def test_what_models_say(runs):
    text = (ROOT / "docs" / "results.md").read_text()
    beside = summary(runs, "one")["model"]
    assert set(beside) <= {"sources", "flows", "links", "metrics"}
    for entry in (*beside["flows"], *beside["links"]):
        assert all(f'"{key}":' in text for key in entry)
    alone = summary(runs, "model")
    for entry in (*alone["flows"], *alone["links"]):
        assert set(entry["model"]) == {"name", "source", "in_range", "outside"}


def test_tables(runs):
    page = told("results.md")
    fields = set(result_schema.columns("tcp_info")) - {"t_s", "flow"}
    both = columns(runs / "one", "series.parquet") | columns(runs / "one", "queues.parquet")
    # Only stacks that inflate their windows have this one.
    assert page["column"] - fields == both | {"inflated_cwnd_segments"}
    # Counts of FlowMonitor have columns of their own.
    flows = (page["of a flow"] | page["of a datagram flow"]) - {"flow_monitor"}
    assert columns(runs / "both", "flows.parquet") == flows
    assert columns(runs / "both", "losses.parquet") == told("metrics.md")["column"]
    axes = {"flow.0.cc", "repetition", "seed"}
    assert columns(runs / "sweep", "flows.parquet") - axes <= flows
    assert columns(runs / "sweep", "links.parquet") - axes == page["of a link direction"]
    # What a sweep's table has beside the metrics of a run.
    more = {"mean_one_way_delay_s", "retransmission_ratio"}
    assert columns(runs / "sweep", "sweep.parquet") - axes <= page["metric"] | more
