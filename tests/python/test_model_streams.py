"""Models of parallel streams: the function, the command, and its figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fairway.cli.main import program
from fairway.errors import InputError
from fairway.model import quantities
from fairway.model.streams import RedQueue, algorithms, streams

PATH: dict[str, Any] = {
    "rate": "10 Mbit/s", "rtt": "200 ms", "buffer": "300 packets", "mss": 1000, "cc": "reno"
}  # fmt: skip


def asked(*extra: str, **changes: str) -> Any:
    given = {**PATH, **changes}
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return CliRunner().invoke(program(), ["model", "streams", *options, *extra])


@pytest.mark.parametrize(
    ("changes", "threshold", "limit"),
    [
        # C = 1250 packets/s, windows of 65.536: 0.99 · 250/65.536 = 3.8, · 500/65.536 = 7.6.
        ({"window": "64 KiB"}, 4, "window"),
        ({"window": "64 KiB", "rtt": "400 ms"}, 8, "window"),
        ({}, 1, "nothing"),
        ({"rtt": "600 ms"}, 2, "sawtooth"),
        ({"buffer": "30 packets"}, 4, "sawtooth"),
        ({"buffer": "0.12 bdp"}, 4, "sawtooth"),
        ({"buffer": "24 ms"}, 4, "sawtooth"),
        ({"buffer": "30 kB"}, 4, "sawtooth"),
        # sqrt(1.5/0.001) = 38.7 and sqrt(1.5/0.002) = 27.4 packets of 247.5.
        ({"loss": "0.1 %"}, 7, "loss"),
        ({"loss": 0.002}, 10, "loss"),
        ({"loss": 0.001, "cc": "cubic"}, 5, "loss"),
        # 9.9/1.25 streams of 1.25 Mbit/s.
        ({"application": "1.25 Mbit/s"}, 8, "application"),
    ],
)
def test_worked_paths(changes: dict[str, Any], threshold: int, limit: str) -> None:
    found = streams(**{**PATH, **changes})
    assert (found.threshold, found.answer["limit"]) == (threshold, limit)
    assert len(found.table) == 2 * threshold
    assert found.in_range
    assert f"{threshold} stream" in found.reason or found.reason.startswith("One stream")
    reached = found.table["utilisation"][threshold - 1]
    assert reached >= 0.99
    if threshold > 1:
        assert found.table["utilisation"][threshold - 2] < 0.99


def test_headers_leave_less_for_packets() -> None:
    # 1000 of 1250 bytes: 1000 packets/s, P = 200, 0.99 · 200/27.386 = 7.2 streams.
    assert streams(**{**PATH, "loss": 0.002, "headers": 250}).threshold == 8


def test_red_and_losers() -> None:
    red = RedQueue(10, 50, 0.1)
    assert streams(**{**PATH, "buffer": "60 packets", "red": red}).threshold == 9
    together = streams(**{**PATH, "buffer": "30 packets", "losers": "all"})
    assert together.threshold is None
    assert not together.in_range
    assert "No number of streams" in together.reason


def test_contract_of_the_command() -> None:
    done = asked("--json", buffer="30 packets")
    assert done.exit_code == 0
    answer = json.loads(done.output)
    assert answer["threshold"] == 4
    assert answer["in_range"] is True
    assert isinstance(answer["model"], str)
    assert [row["streams"] for row in answer["table"]] == list(range(1, 9))
    assert answer["table"][0]["utilisation"] == pytest.approx(29_400 / 35_450)
    # 1.5 · 64 / 280².
    assert answer["table"][7]["loss_ratio"] == pytest.approx(96 / 78_400)


def test_the_printed_table_fits(tmp_path: Path) -> None:
    done = asked("--figure", str(tmp_path / "streams.svg"), loss="2 %", rate="1 Gbit/s")
    assert done.exit_code == 0
    # The name of a file is as long as it is.
    lines = [line for line in done.output.splitlines() if str(tmp_path) not in line]
    assert all(len(line) <= 80 for line in lines)
    assert "threshold" in done.output
    assert "random losses" in done.output
    assert len(done.output.splitlines()) < 50
    drawn = (tmp_path / "streams.svg").read_text()
    assert "Utilisation" in drawn
    assert "Packets lost" in drawn


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cc": "of-my-own"}, "cc: no model of"),
        ({"rate": "10"}, "rate: expected"),
        ({"rate": "0 Mbit/s"}, "capacity in packets a second"),
        ({"rtt": "0 ms"}, "round-trip time in seconds"),
        ({"buffer": "300"}, 'write "300 packets"'),
        ({"buffer": "many packets"}, "buffer: expected packets or bytes"),
        ({"loss": "100 %"}, "loss: expected"),
        ({"mss": "0"}, "mss: expected"),
        ({"window": "10 bytes"}, "window limit in packets"),
        ({"target": "1"}, "target: expected"),
        ({"target": "0.99999"}, "at most 0.9999"),
        ({"red": "10:50"}, "--red: expected MIN:MAX:P"),
        ({"red": "50:10:0.1"}, "upper threshold in packets"),
        ({"red": "10:50:nan"}, "red"),
        ({"rto": "0 s"}, "retransmission timeout"),
        ({"figure": "streams.gif"}, "a figure ends in"),
    ],
)
def test_mistakes_are_told(changes: dict[str, str], expected: str) -> None:
    done = asked(**changes)
    assert isinstance(done.exception, InputError)
    assert expected in str(done.exception)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True])
def test_numbers_that_are_none(value: float) -> None:
    with pytest.raises(InputError, match="finite number"):
        streams(**{**PATH, "rtt": value})
    with pytest.raises(InputError, match="finite number"):
        streams(**{**PATH, "red": RedQueue(10, value, 0.1)})


def test_as_many_streams_as_nobody_opens() -> None:
    found = streams(**{**PATH, "rate": "100 Tbit/s", "loss": 0.9})
    assert found.threshold is not None
    assert found.threshold > 10**6
    assert len(found.table) == 20_000


def test_units() -> None:
    assert quantities.packets(12, "buffer", packet_bytes=1000) == 12
    assert quantities.packets("1 packet", "buffer", packet_bytes=1000) == 1
    with pytest.raises(InputError, match="expected packets or bytes"):
        quantities.packets("1.0 bdp", "window", packet_bytes=1000)
    assert {"reno", "cubic", "bbr"} <= set(algorithms())


def test_sizes_have_a_unit_or_none() -> None:
    plain, written = (json.loads(asked("--json", mss=mss).output) for mss in ("1000", "1 kB"))
    assert plain == written
    for changes in ({"mss": "many"}, {"headers": "-1"}):
        refused = asked(**changes)
        assert refused.exit_code == 2 and "expected a size in bytes" in refused.output
