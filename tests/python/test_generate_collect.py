"""`fairway generate` and `fairway collect`, and experiments on the path between them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairway
from conftest import command
from fairway import _core
from fairway.backends.xfer import Xfer
from fairway.experiment.plan import plan
from transfer_ends import Waiting

EXPERIMENT = """
title = "two flows and a call"
duration = "2 s"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "50 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail", limit = "50 packets" }
[measure]
sample = "100 ms"
[[flow]]
id = "call"
kind = "cbr"
rate = "100 kbit/s"
packet = "228 bytes"
[[flow]]
id = "limited"
cc = "reno"
app_rate = "1 Mbit/s"
[[flow]]
id = "file"
cc = "cubic"
bytes = "300 kB"
start = "500 ms"
direction = "reverse"
"""


def summary(*arguments: str) -> dict[str, Any]:
    done = command("generate", *arguments, "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def collector() -> Iterator[tuple[str, str]]:
    """Address and token of a collector."""
    with Waiting("collect") as waiting:
        yield waiting.address, waiting.token()


def test_both_ends_agree_to_the_byte(collector: tuple[str, str]) -> None:
    address, token = collector
    said = summary(
        address, "--token", token, "-n", "4", "--bytes", "2 MB", "--ways", "both", "--verify"
    )
    report = said["transfer"]["report"]
    for way in ("forward", "reverse"):
        assert report[way]["sent_bytes"] == report[way]["received_bytes"] == 2_000_000
    assert [flow["corrupt"] for flow in report["flows"]] == [0] * 8
    assert said["transfer"]["payload_bytes"] == 4_000_000


def test_datagrams_are_told_as_any_run_tells_them(collector: tuple[str, str]) -> None:
    address, token = collector
    said = summary(
        address, "--token", token, "--udp", "--poisson", "1 Mbit/s", "--message", "500 bytes",
        "--duration", "1 s", "--seed", "7",
    )  # fmt: skip
    [flow] = said["flows"]
    assert (flow["kind"], flow["cc"]) == ("poisson", None)
    # 1 Mbit/s in datagrams of 4000 bits: 250 a second, with a standard deviation of √250 = 15.8.
    assert 100 < flow["sent_segments"] < 400
    assert flow["received_packets"] + flow["lost_segments"] == flow["sent_segments"]
    assert flow["p99_one_way_delay_s"] is not None


def test_a_wrong_token_and_nonsense_are_refused_in_words(collector: tuple[str, str]) -> None:
    address, token = collector
    wrong = command("generate", address, "--token", token[:-4] + "aaaa", "--bytes", "1 kB")
    assert wrong.returncode in (1, 2) and "token" in wrong.stderr
    both = command("generate", address, "--token", token, "--rate", "1 Mbit/s", "--every", "1 s")
    assert both.returncode == 2 and "give one of them" in both.stderr
    lonely = command("run", "nothing.toml", "--peer", address)
    assert lonely.returncode == 2 and "--backend xfer" in lonely.stderr


def test_an_experiment_is_carried_out_on_the_path(
    collector: tuple[str, str], tmp_path: Path
) -> None:
    address, token = collector
    real = fairway.run(EXPERIMENT, backend=Xfer(address, token))
    simulated = fairway.run(EXPERIMENT)
    assert real.experiment == simulated.experiment
    ids = [flow["id"] for flow in simulated.summary["flows"]]
    assert [flow["id"] for flow in real.summary["flows"]] == ids == ["call", "limited", "file"]
    call, limited, file = real.summary["flows"]
    assert (call["kind"], limited["cc"], file["cc"]) == ("cbr", "reno", "cubic")
    # A datagram of 200 bytes every 16 ms for two seconds; the file as a whole.
    assert call["sent_segments"] <= 125 and file["fct_s"] is not None
    assert real.summary["transfer"]["report"]["reverse"]["received_bytes"] == 300_000
    assert any("topology" in warning for warning in real.warnings)
    directories = [tmp_path / "real", tmp_path / "simulated"]
    for run, directory in zip((real, simulated), directories, strict=True):
        run.save(directory)
    compared = command("compare", *map(str, directories), "--json")
    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout)["differences"] == {"backend": ["xfer", "sim"]}


def test_a_run_on_a_path_is_stopped_and_the_next_one_goes(collector: tuple[str, str]) -> None:
    backend = Xfer(*collector)
    experiment = plan(EXPERIMENT.replace('"2 s"', '"600 s"')).points[0].experiment
    control = backend.control()
    control.cancel()
    with pytest.raises(_core.Cancelled):
        backend.run(experiment, control)
    assert control.fraction < 0.5
    short = plan(EXPERIMENT).points[0].experiment
    control = backend.control()
    run = backend.run(short, control)
    assert len(run.summary["flows"]) == 3 and control.fraction > 0.5


def test_what_a_path_cannot_do_is_refused_by_name(collector: tuple[str, str]) -> None:
    text = EXPERIMENT.replace('app_rate = "1 Mbit/s"', "both_ways = true")
    with pytest.raises(fairway.ExperimentError, match=r"flow\.limited\.both_ways"):
        fairway.run(text, backend=Xfer(*collector))


def test_without_a_peer_it_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRWAY_PEER", raising=False)
    with pytest.raises(fairway.InputError, match="fairway collect"):
        fairway.run(EXPERIMENT, backend="xfer")
