"""`fairway send` and `fairway recv`: files arrive whole, and both ends say how it went."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import fairway
from conftest import command
from transfer_ends import Waiting
from waiting import PATIENCE_S, until

STREAMS = 3


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Some megabytes, the same in every run."""
    path = tmp_path / "data.bin"
    path.write_bytes(random.Random(5).randbytes(5_000_001))
    return path


@pytest.mark.parametrize("security", [[], ["--plain"]])
def test_a_file_arrives_and_both_ends_keep_records(source, tmp_path, security):
    out = tmp_path / "in"
    records = {end: tmp_path / end for end in ("sender", "receiver")}
    with Waiting("recv", "--out", out, "--once", "--record", records["receiver"],
                 *security) as receiver:  # fmt: skip
        done = command(
            "send", source, receiver.address, "--token", receiver.token(), "--streams", STREAMS,
            "--cc", "reno", "--chunk", "256 KiB", "--interval", "50 ms",
            # A part for each: otherwise one stream may take all before the others begin.
            "--striping", "static", "--record", records["sender"], *security,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert receiver.ended() == 0, receiver.printed
    assert digest(out / source.name) == digest(source)
    assert "5 MB in" in done.stdout and f"over {STREAMS} streams" in done.stdout
    for end, record in records.items():
        run = fairway.load(record)
        said = run.summary["transfer"]
        assert (said["end"], said["kind"], said["failure"]) == (end, "transfer", None)
        assert said["payload_bytes"] == 5_000_001
        assert [flow["id"] for flow in run.summary["flows"]] == [
            f"transfer/{lane}" for lane in range(STREAMS)
        ]
        # What the receiving end would use itself says nothing of the sender's.
        used = {"sender": "reno", "receiver": "unknown"}[end]
        assert {flow["cc"] for flow in run.summary["flows"]} == {used}
    experiment = fairway.load(records["sender"]).experiment
    assert experiment["flow"][0]["connections"] == STREAMS
    done = command("compare", records["sender"], records["receiver"])
    assert done.returncode == 0, done.stderr


def test_a_directory_and_standard_input(tmp_path):
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    for number in range(20):
        (tree / "deep" / f"{number}.txt").write_text(f"file {number}\n" * number)
    out = tmp_path / "in"
    with Waiting("recv", "--out", out) as receiver:
        token = {**os.environ, "FAIRWAY_TOKEN": receiver.token()}
        sent = [sys.executable, "-m", "fairway", "send"]
        kinds: list[tuple[list[str], bytes]] = [
            ([str(tree)], b""),
            (["-", "--name", "piped"], b"a pipe has no length"),
        ]
        for what, given in kinds:
            done = subprocess.run(
                [*sent, what[0], receiver.address, *what[1:]],
                input=given, env=token, capture_output=True, timeout=PATIENCE_S, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        receiver.interrupt()
    names = sorted(path.name for path in (out / "tree" / "deep").iterdir())
    assert names == sorted(f"{number}.txt" for number in range(20))
    assert (out / "tree" / "deep" / "19.txt").read_text() == "file 19\n" * 19
    assert (out / "piped").read_bytes() == b"a pipe has no length"


def test_json_of_both_ends(source, tmp_path):
    with Waiting("recv", "--out", tmp_path / "in", "--once", "--json",
                 listening='{"event": "listening", "address": "') as receiver:  # fmt: skip
        token = receiver.told('{"event": "token", "token": "').partition('"')[0]
        done = command("send", source, receiver.address, "--token", token, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["transfer"]["payload_bytes"] == 5_000_001
        assert receiver.ended() == 0
        events = [json.loads(line) for line in receiver.printed["stdout"]]
    sessions = [event for event in events if event["event"] == "session"]
    assert len(sessions) == 1
    assert sessions[0]["summary"]["transfer"]["payload_bytes"] == 5_000_001


def test_a_wrong_token_and_a_missing_file_are_said(source, tmp_path):
    with Waiting("recv", "--out", tmp_path / "in") as receiver:
        token = receiver.token()
        wrong = command("send", source, receiver.address, "--token", "a" * len(token))
        assert wrong.returncode in (1, 2) and "token" in wrong.stderr
        missing = command("send", tmp_path / "none", receiver.address, "--token", token)
        assert missing.returncode == 2 and "none" in missing.stderr
        for done in (wrong, missing):
            assert done.stdout == "" and "Traceback" not in done.stderr


def test_a_sender_that_is_stopped_says_so_and_goes_on_when_it_is_started_again(source, tmp_path):
    out = tmp_path / "in"
    with Waiting("recv", "--out", out, "--once") as receiver:
        token = receiver.token()
        slow = subprocess.Popen(
            [sys.executable, "-m", "fairway", "send", str(source), receiver.address,
             "--token", token, "--limit", "80 kbit/s", "--chunk", "1 MiB"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until(lambda: any(" sends " in line for line in receiver.printed["stderr"]), slow)
        slow.send_signal(2)
        _, said = slow.communicate(timeout=PATIENCE_S)
        assert slow.returncode == 130, said
        assert "stopped" in said and "Traceback" not in said
        assert not (out / source.name).exists()
        done = command("send", source, receiver.address, "--token", token)
        assert done.returncode == 0, done.stderr
        assert receiver.ended() == 0
    assert digest(out / source.name) == digest(source)


def test_a_sparse_file_stays_sparse(tmp_path):
    source, out = tmp_path / "disk.img", tmp_path / "in"
    with source.open("wb") as file:
        file.truncate(200_000_000)
        file.seek(100_000_000)
        file.write(b"boot")
    stored = source.stat().st_blocks * 512
    if stored > 1_000_000:
        pytest.skip(f"the file system of {tmp_path} has no holes")
    with Waiting("recv", "--out", out, "--once", "--patience", "1 h") as receiver:
        done = command("send", source, receiver.address, "--token", receiver.token())
        assert done.returncode == 0, done.stderr
        assert receiver.ended() == 0, receiver.printed
    assert digest(out / source.name) == digest(source)
    # A file system may keep some pages for the map of the holes.
    assert (out / source.name).stat().st_blocks * 512 <= stored + 16_384


def test_a_private_file_of_the_receiver_is_not_compared(tmp_path):
    source, out = tmp_path / "pin", tmp_path / "in"
    source.write_bytes(b"1234")
    out.mkdir()
    (out / "pin").write_bytes(b"1234")
    (out / "pin").chmod(0o600)
    said = set()
    with Waiting("recv", "--out", out) as receiver:
        token = receiver.token()
        for guess in (b"1234", b"4321", b"12345"):
            source.write_bytes(guess)
            done = command("send", source, receiver.address, "--token", token)
            assert done.returncode == 1
            said.add(done.stderr.partition("pin ")[2])
        receiver.interrupt()
    assert len(said) == 1 and "is there already" in said.pop()
