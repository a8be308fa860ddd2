"""Transfers that are disturbed: content arrives identical, or no file has the final name."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from transfer_world import Proxy, Receiver, Sent, Wire, no_traceback, noise, send, sending
from waiting import PATIENCE_S, free_port, until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")

MODES = pytest.mark.parametrize("mode", [(), ("--plain",)], ids=["encrypted", "plain"])
MB = 1_000_000


def visible(out: Path) -> list[str]:
    """What is in a receiver's directory under a final name."""
    return sorted(entry.name for entry in out.iterdir() if entry.name != ".fairway-partial")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    place.mkdir()
    return place


@MODES
def test_a_wrong_token_is_refused_in_words(tmp_path, out, mode):
    source = tmp_path / "source"
    noise(source, 1000, 1)
    with Receiver(out, *mode) as receiver, Receiver(out, *mode) as other:
        sent = send(source, receiver.address, other.token, *mode)
        assert not sent.well and "token" in sent.said
        right = receiver.token
        mistyped = right[:7] + ("b" if right[7] == "a" else "a") + right[8:]
        typed = send(source, receiver.address, mistyped, *mode)
        assert not typed.well and "mistyped" in typed.said
        no_traceback(sent.said, typed.said, receiver.output)
        assert visible(out) == []
        assert send(source, receiver.address, receiver.token, *mode).well


def test_ends_of_which_one_encrypts_tell_so(tmp_path, out):
    source = tmp_path / "source"
    noise(source, 1000, 1)
    with Receiver(out) as receiver:
        said = send(source, receiver.address, receiver.token, "--plain").said
        assert "leave out --plain" in " ".join(said.split())
    with Receiver(out, "--plain") as receiver:
        said = send(source, receiver.address, receiver.token).said
        assert "give --plain, too" in " ".join(said.split())
    assert visible(out) == []


class Once(Wire):
    """Does something once to each of the first connections, when it has carried so much.

    To `most` of them at most.
    """

    def __init__(self, what: bytes, after: list[int], most: int = 1000) -> None:
        self._what = what
        self._after = after
        self._most = most
        self._mutex = threading.Lock()
        self.done = 0

    def piece(self, number: int, of_client: bool, before: int, data: bytes) -> bytes:
        at = self._after[number] if number < len(self._after) else None
        if at is None or not of_client or before + len(data) <= at:
            return data
        with self._mutex:
            if self.done == self._most:
                return data
            self.done += 1
        return self._what


@MODES
def test_connections_that_are_reset_are_replaced(tmp_path, out, mode):
    content = noise(tmp_path / "source", 24 * MB, 2)
    # The control connection comes first; it is reset, too.
    wire = Once(Wire.RESET, [2000, 1 * MB, 3 * MB, 300_000, 100, 5 * MB, 2 * MB])
    with Receiver(out, *mode) as receiver, Proxy(receiver.port, wire) as proxy:
        sent = send(tmp_path / "source", proxy.address, receiver.token, "--streams", "3", *mode)
        assert sent.well, sent.said + receiver.output
        assert wire.done >= 3
        assert (out / "source").read_bytes() == content
        no_traceback(sent.said, receiver.output)


@MODES
def test_a_connection_that_stalls_is_replaced(tmp_path, out, mode):
    content = noise(tmp_path / "source", 24 * MB, 3)
    # Whichever stream is the first to carry so much: all but the one that controls.
    wire = Once(Wire.STALL, [1 << 60, *[2 * MB] * 100], most=1)
    quick = ("--timeout", "3 s")
    with Receiver(out, *mode, *quick) as receiver, Proxy(receiver.port, wire) as proxy:
        sent = send(
            tmp_path / "source", proxy.address, receiver.token, "--streams", "2", *mode, *quick
        )
        assert sent.well, sent.said + receiver.output
        assert wire.done == 1
        assert (out / "source").read_bytes() == content


@MODES
def test_a_receiver_that_stalls_altogether_ends_in_an_error(tmp_path, out, mode):
    noise(tmp_path / "source", 4 * MB, 4)
    wire = Once(Wire.STALL, [500] * 1000)
    quick = ("--timeout", "2 s")
    with Receiver(out, *mode, *quick) as receiver, Proxy(receiver.port, wire) as proxy:
        options = (*mode, *quick, "--patience", "4 s")
        sent = send(tmp_path / "source", proxy.address, receiver.token, *options)
        assert not sent.well
        no_traceback(sent.said, receiver.output)
        assert visible(out) == []


@MODES
def test_a_sender_killed_at_any_moment_and_started_again_finishes(tmp_path, out, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    contents = {
        f"{number:03}": noise(folder / f"{number:03}", 20_000, number) for number in range(100)
    }
    contents["large"] = noise(folder / "large", 30 * MB, 5)
    chance = random.Random(6)
    with Receiver(out, *mode) as receiver:
        slowly = (*mode, "--streams", "3", "--limit", "160 Mbit/s")
        for _ in range(6):
            process = sending(folder, receiver.address, receiver.token, *slowly)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.2, 2.0))
            process.kill()
            process.communicate()
            for path in (out / "folder").glob("*"):
                assert path.read_bytes() == contents[path.name]
        sent = send(folder, receiver.address, receiver.token, "--streams", "3", *mode)
        assert sent.well, sent.said + receiver.output
        found = {path.name: path.read_bytes() for path in (out / "folder").iterdir()}
        assert found == contents
        no_traceback(sent.said, receiver.output)


@MODES
def test_a_receiver_killed_at_any_moment_and_started_again_finishes(tmp_path, out, mode):
    content = noise(tmp_path / "source", 40 * MB, 7)
    chance = random.Random(8)
    options = ("--keep-token", str(tmp_path / "token"), *mode)
    port = free_port()
    with contextlib.ExitStack() as stack:
        receiver = stack.enter_context(Receiver(out, *options, port=port))
        slowly = ("--streams", "3", "--limit", "100 Mbit/s", "--timeout", "5 s")
        process = sending(tmp_path / "source", receiver.address, receiver.token, *mode, *slowly)
        # A sender that has never been let in does not wait for a receiver.
        partial = out / ".fairway-partial"
        until(lambda: process.poll() is not None or _allocated(partial) > 0)
        for _ in range(4):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.4, 1.5))
            receiver.kill()
            if (out / "source").exists():
                assert (out / "source").read_bytes() == content
            receiver = stack.enter_context(Receiver(out, *options, port=port))
            assert receiver.token
        sent = Sent(process)
        assert sent.well, sent.said + receiver.output
        assert (out / "source").read_bytes() == content
        no_traceback(sent.said, receiver.output)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 48 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "fairway-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted: it needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@MODES
def test_a_full_disk_ends_in_words_and_leaves_no_file(tmp_path, small_disk, mode):
    noise(tmp_path / "large", 60 * MB, 9)
    medium = noise(tmp_path / "medium", 30 * MB, 9)
    small = noise(tmp_path / "small", 4 * MB, 10)
    # Half a minute for all of it: the disk is full long before.
    slowly = (*mode, "--limit", "8 Mbit/s")
    with Receiver(small_disk, "--spare", "1 MB", *mode) as receiver:
        where = (receiver.address, receiver.token)
        # More than there is room for from the start.
        sent = send(tmp_path / "large", *where, *mode)
        assert not sent.well and "is full" in sent.said, sent.said + receiver.output
        assert visible(small_disk) == []
        # Others take the room of a file that has begun: in memory none is set aside. With room
        # again the rest goes.
        process = sending(tmp_path / "medium", *where, *slowly)
        _fill(small_disk, process)
        sent = Sent(process)
        assert not sent.well and "is full" in sent.said, sent.said + receiver.output
        assert visible(small_disk) == ["filler"]
        (small_disk / "filler").unlink()
        sent = send(tmp_path / "medium", *where, *mode)
        assert sent.well, sent.said + receiver.output
        assert (small_disk / "medium").read_bytes() == medium
        (small_disk / "medium").unlink()
        # Nobody knows how much room a stream will need.
        with (tmp_path / "medium").open("rb") as stream:
            process = sending("-", *where, "--name", "stream", *slowly, stdin=stream)
        _fill(small_disk, process)
        sent = Sent(process)
        assert not sent.well and "is full" in sent.said, sent.said + receiver.output
        assert visible(small_disk) == ["filler"]
        (small_disk / "filler").unlink()
        sent = send(tmp_path / "small", *where, *mode)
        assert sent.well, sent.said + receiver.output
        assert (small_disk / "small").read_bytes() == small
        no_traceback(sent.said, receiver.output)


def _fill(disk: Path, process: subprocess.Popen) -> None:
    """Take all the room of a disk when a sender has begun to fill it."""
    partial = disk / ".fairway-partial"
    until(lambda: process.poll() is not None or _allocated(partial) > 0)
    with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(MB // 10))


def _allocated(place: Path) -> int:
    """Bytes on the disk of what is in a directory, and may go while it is looked at."""
    total = 0
    for path in place.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += 512 * path.lstat().st_blocks
    return total


class Flip(Wire):
    """Flips one bit of the bytes that all connections carry in one direction."""

    def __init__(self, of_client: bool, at: int) -> None:
        self._of_client = of_client
        self._at = at
        self._mutex = threading.Lock()
        self._before = 0
        self.done = False

    def piece(self, number: int, of_client: bool, before: int, data: bytes) -> bytes:
        if of_client is not self._of_client:
            return data
        with self._mutex:
            at = self._at - self._before
            self._before += len(data)
        if not 0 <= at < len(data):
            return data
        self.done = True
        return data[:at] + bytes([data[at] ^ 1 << self._at % 8]) + data[at + 1 :]


@MODES
def test_a_flipped_bit_is_never_in_what_arrives(tmp_path, out, mode):
    content = noise(tmp_path / "source", 3 * MB, 11)
    chance = random.Random(12)
    places = [(True, chance.randrange(3 * MB)) for _ in range(4)]
    places += [(True, chance.randrange(1200)) for _ in range(4)]
    places += [(False, chance.randrange(1500)) for _ in range(4)]
    flipped = 0
    with Receiver(out, *mode) as receiver:
        for number, place in enumerate(places):
            wire = Flip(*place)
            with Proxy(receiver.port, wire) as proxy:
                options = ("--name", f"{number}", "--timeout", "3 s", *mode)
                sent = send(tmp_path / "source", proxy.address, receiver.token, *options)
            arrived = out / f"{number}"
            no_traceback(sent.said, receiver.output)
            assert sent.well == arrived.exists(), f"{place}: {sent.said}{receiver.output}"
            assert not sent.well or arrived.read_bytes() == content
            # Among the first bytes nobody can know what is a fault and what somebody between.
            assert sent.well or place[1] < 1500, f"{place}: {sent.said}{receiver.output}"
            flipped += wire.done
    assert flipped >= 8


@MODES
def test_a_crowd_at_the_door_does_not_shut_out_a_sender(tmp_path, out, mode):
    content = noise(tmp_path / "source", 2 * MB, 13)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    crowd: list[socket.socket] = []
    try:
        with Receiver(out, *mode) as receiver:
            assert receiver.token
            for number in range(min(10_000, hard - 500)):
                one = socket.create_connection(("127.0.0.1", receiver.port), timeout=PATIENCE_S)
                crowd.append(one)
                with contextlib.suppress(OSError):
                    # Nothing, the beginning of TLS, that of the plain protocol.
                    one.sendall((b"", b"\x16\x03\x01", b"fair")[number % 3])
            sent = send(
                tmp_path / "source", receiver.address, receiver.token, "--streams", "8", *mode
            )
            assert sent.well, sent.said + receiver.output
            assert (out / "source").read_bytes() == content
            # What the whole process has had at most, in kB, and the places of both rooms.
            assert receiver.status("VmHWM") < 100_000
            assert receiver.files() < 2500
            no_traceback(sent.said, receiver.output)
    finally:
        for one in crowd:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit (util-linux) is not there")
def test_a_receiver_with_few_files_serves_in_a_crowd(tmp_path, out):
    content = noise(tmp_path / "source", 2 * MB, 16)
    crowd: list[socket.socket] = []
    try:
        with Receiver(out, files=200) as receiver:
            assert receiver.token
            for _ in range(600):
                one = socket.create_connection(("127.0.0.1", receiver.port), timeout=PATIENCE_S)
                crowd.append(one)
            sent = send(tmp_path / "source", receiver.address, receiver.token, "--streams", "4")
            assert sent.well, sent.said + receiver.output
            assert (out / "source").read_bytes() == content
            no_traceback(sent.said, receiver.output)
    finally:
        for one in crowd:
            one.close()


@MODES
def test_noise_at_the_door_is_survived(tmp_path, out, mode):
    content = noise(tmp_path / "source", MB, 14)
    chance = random.Random(15)
    with Receiver(out, *mode) as receiver:
        assert receiver.token
        for _ in range(300):
            beginning = chance.choice(
                (b"", b"fairway2", b"\x16\x03\x01\x00\x80", b"GET / HTTP/1.1\r\n")
            )
            one = socket.create_connection(("127.0.0.1", receiver.port), timeout=PATIENCE_S)
            with one, contextlib.suppress(OSError):
                one.sendall(beginning + chance.randbytes(chance.randrange(3000)))
        sent = send(tmp_path / "source", receiver.address, receiver.token, *mode)
        assert sent.well, sent.said + receiver.output
        assert (out / "source").read_bytes() == content
        no_traceback(sent.said, receiver.output)
