"""`fairway analyze`: what it prints, and what it says of captures that are damaged."""

import fcntl
import json
import random
import signal
import subprocess
import sys
import termios

import pytest

import fairway
import made_capture
from conftest import command
from fairway import InputError
from waiting import PATIENCE_S, until

#: What the contract names of a connection and of a direction; JSON may have more.
CONNECTION = {"id": int, "directions": list}
DIRECTION = {
    "from": str,
    "to": str,
    "data_bytes": int,
    "unique_bytes": int,
    "retransmitted_segments": int,
    "rtt_s": dict,
}


@pytest.fixture
def capture(tmp_path):
    return made_capture.write(tmp_path / "made.pcap")


def printed(*arguments, code=0, **options):
    done = command("analyze", *map(str, arguments), **options)
    assert done.returncode == code, done.stderr
    return done


def found(*arguments, **options):
    return json.loads(printed(*arguments, "--json", **options).stdout)


def there(report):
    """The direction with data of the only connection."""
    return report["connections"][0]["directions"][0]


def test_the_contract(capture):
    report = found(capture)
    assert {"connections", "damaged"} <= set(report)
    assert report["damaged"] == []
    for connection in report["connections"]:
        for name, kind in CONNECTION.items():
            assert isinstance(connection[name], kind)
        assert len(connection["directions"]) == 2
        for direction in connection["directions"]:
            for name, kind in DIRECTION.items():
                assert isinstance(direction[name], kind), name
            assert {"min", "mean", "p99"} <= set(direction["rtt_s"])


def test_the_figures_of_a_connection_made_by_hand(capture):
    report = found(capture)
    assert len(report["connections"]) == 1
    direction = there(report)
    assert direction["from"] == "192.0.2.1:40000"
    assert direction["to"] == "198.51.100.7:80"
    assert direction["data_bytes"] == 11_000
    assert direction["unique_bytes"] == 10_000
    assert direction["retransmitted_segments"] == 1
    assert direction["rtt_s"]["min"] == pytest.approx(0.050, abs=1e-9)
    back = report["connections"][0]["directions"][1]
    assert back["data_bytes"] == 0
    assert report["connections"][0]["state"] == "complete"
    causes = direction["window"]["losses"]["causes"]
    assert (causes["segments"], causes["timeout"]) == (1, 0)


def test_one_connection_in_full(capture):
    text = printed(capture, "--connection", "1").stdout
    told = " ".join(text.split())
    assert "The SYN of 192.0.2.1:40000 is acknowledged after 50 ms" in told
    assert "1 segment (9.1 %) was sent again" in told
    assert "closed by both ends" in told
    assert "an MSS of 1,000 bytes and SACK" in told
    assert max(map(len, text.splitlines())) <= 80


def test_the_overview_fits_eighty_columns(capture):
    text = printed(capture).stdout
    assert "made.pcap: 27 packets in 0.350 s" in text
    assert "10 kB" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("packed", [False, True])
def test_from_a_pipe_as_from_a_file(capture, tmp_path, packed):
    data = made_capture.write(tmp_path / "packed", packed=packed).read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "fairway", "analyze", "-", "--json", "--quiet"],
        input=data, capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["connections"] == found(capture)["connections"]


def test_a_pipe_can_be_followed_packet_by_packet(capture, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "fairway", "analyze", "-", "--out", tmp_path / "run", "--quiet"],
        input=capture.read_bytes(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert fairway.load(tmp_path / "run").packets.height > 10


WHOLE = made_capture.capture()
RECORD = 16 + 20 + 20 + 8


@pytest.mark.parametrize(
    ("name", "data", "connections"),
    [
        ("cut in a packet", WHOLE[:-10], 1),
        ("cut in a header", WHOLE[: 24 + RECORD + 7], 1),
        ("with a length that cannot be", WHOLE[:32] + b"\xff" * 8 + WHOLE[40:], None),
        ("with rubbish at its end", WHOLE + b"\xff" * 100, 1),
    ],
)
def test_what_can_be_read_of_a_damaged_capture_is(tmp_path, name, data, connections):
    path = made_capture.write(tmp_path / "damaged.pcap", data)
    done = printed(path, "--json")
    report = json.loads(done.stdout)
    assert report["damaged"]
    assert {"offset_bytes", "packet", "what"} <= set(report["damaged"][0])
    if connections is not None:
        assert len(report["connections"]) == connections
    assert "Warning: byte " in done.stderr
    assert report["damaged"][0]["what"] in done.stderr


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"no capture at all, but text\n", "not a capture file"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
        (random.Random(1).randbytes(64), "not a capture file"),
    ],
)
def test_what_is_no_capture_is_refused_in_words(tmp_path, data, said):
    path = made_capture.write(tmp_path / "other", data)
    done = printed(path, code=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert str(path) in done.stderr


def test_a_file_that_is_missing(tmp_path):
    done = printed(tmp_path / "none.pcap", code=2)
    assert "none.pcap" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_capture_without_packets(tmp_path):
    path = made_capture.write(tmp_path / "quiet.pcap", WHOLE[:24])
    assert found(path)["connections"] == []
    assert "0 packets" in printed(path).stdout
    assert printed(path, "--out", tmp_path / "run").returncode == 0


def test_a_connection_that_is_not_there(capture):
    assert "no connection 7; there are 1 to 1" in printed(capture, "-c", "7", code=2).stderr


def test_a_time_that_is_none(capture):
    done = printed(capture, "--from", "2 s", "--to", "1 s", code=2)
    assert "no time is between" in done.stderr
    assert "soon" in printed(capture, "--from", "soon", code=2).stderr


def test_figures_need_a_place(capture):
    assert "--out" in printed(capture, "--figures", "png", code=2).stderr


def unread_bytes(pipe):
    """What is in a pipe (FIONREAD of pipe(7))."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_what_is_stopped_leaves_nothing(tmp_path):
    # The pipe never ends: whoever waits for it is stopped.
    child = subprocess.Popen(
        [sys.executable, "-m", "fairway", "analyze", "-", "--quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    child.stdin.write(WHOLE[:-10])
    child.stdin.flush()
    until(lambda: unread_bytes(child.stdin) == 0, child)
    child.send_signal(signal.SIGINT)
    # Only then does the pipe end.
    _, said = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 130, said
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_windows_over_time_are_of_connections_that_are_followed(capture):
    def intervals(analysis):
        ways = [way for one in analysis.connections for way in one["directions"]]
        return sum(len(way["window"]["series"]["t_s"]) for way in ways if way["window"])

    assert intervals(fairway.analyze(capture)) > 0
    plain = fairway.analyze(capture, detail=False)
    assert intervals(plain) == 0
    assert plain.series.is_empty() and plain.packets.is_empty()
    assert plain.shown == []


def test_in_python(capture):
    analysis = fairway.analyze(capture)
    assert [flow.id for flow in analysis.shown] == ["1"]
    assert analysis.connection(1)["state"] == "complete"
    sent = analysis.packets.filter(analysis.packets["what"].is_in(["data", "retransmission"]))
    # The last is the FIN.
    assert sent["from_byte"].to_list() == [*range(0, 10_000, 1000), 3000, 10_000]
    assert sent["t_s"].to_list()[-2:] == pytest.approx([0.2, 0.3])
    with pytest.raises(InputError, match="no connection 2"):
        analysis.connection(2)


def test_only_a_part_of_the_time(capture):
    part = fairway.analyze(capture, start="0.15 s", end=0.2).packets
    assert part["t_s"].min() == pytest.approx(0.15)
    assert part["t_s"].max() == pytest.approx(0.2)
    assert set(part["what"]) == {"ack", "sack", "retransmission"}
