"""Much data: a large file and many small ones arrive identical, in little memory."""

from __future__ import annotations

import hashlib
import random
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from transfer_ends import Waiting
from waiting import PATIENCE_S

MIB = 1 << 20
#: Most memory that either end may ever have had resident.
MEMORY_BYTES = 100_000_000


@dataclass
class Peaks:
    """Largest resident sizes that were seen, in bytes, by process."""

    sender: int = 0
    receiver: int = 0


def peak_bytes(pid: int) -> int:
    """`VmHWM` of proc(5): the largest resident size that a process has had; 0 once it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def move(source: Path, there: Path, *words: str, receiver_words: tuple[str, ...] = ()) -> Peaks:
    """Send `source` over the loopback interface; both processes must end well."""
    peaks = Peaks()
    with Waiting("recv", "--out", there, "--once", *receiver_words) as receiver:
        command = ("send", str(source), receiver.address, "--token", receiver.token(), *words)
        with subprocess.Popen(
            [sys.executable, "-m", "fairway", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as sender:
            watching = threading.Event()

            def watch() -> None:
                while not watching.wait(0.02):
                    peaks.sender = max(peaks.sender, peak_bytes(sender.pid))
                    peaks.receiver = max(peaks.receiver, peak_bytes(receiver.pid))

            watcher = threading.Thread(target=watch)
            watcher.start()
            try:
                told, _ = sender.communicate(timeout=PATIENCE_S)
                assert sender.returncode == 0, told
                assert receiver.ended() == 0, receiver.printed
            finally:
                watching.set()
                watcher.join()
                sender.kill()
    return peaks


def digest(path: Path) -> str:
    with path.open("rb") as file:
        sha256 = hashlib.sha256()
        while piece := file.read(MIB):
            sha256.update(piece)
    return sha256.hexdigest()


@pytest.mark.parametrize("words", [("--streams", "4"), ("--streams", "4", "--plain")])
def test_a_file_of_four_times_the_memory_arrives_identical_in_little_memory(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    source, there = tmp_path / "large", tmp_path / "there"
    draw = random.Random(1)
    with source.open("wb") as file:
        for _ in range(4 * MEMORY_BYTES // (16 * MIB)):
            file.write(draw.randbytes(16 * MIB))
        file.write(draw.randbytes(MIB - 7))
    there.mkdir()
    receiver_words = ("--plain",) if "--plain" in words else ()
    peaks = move(source, there, *words, receiver_words=receiver_words)
    assert digest(there / "large") == digest(source)
    assert 0 < peaks.sender < MEMORY_BYTES and 0 < peaks.receiver < MEMORY_BYTES, peaks
    source.unlink()


def test_ten_thousand_small_files_arrive_identical_in_little_memory(tmp_path: Path) -> None:
    source, there = tmp_path / "many", tmp_path / "there"
    draw = random.Random(2)
    for directory in range(100):
        below = source / f"{directory:02}" / "below"
        below.mkdir(parents=True)
        for number in range(100):
            below.joinpath(f"{number:02}").write_bytes(draw.randbytes(draw.randrange(20_000)))
    (source / "empty").mkdir()
    there.mkdir()
    peaks = move(source, there, "--streams", "4")
    expected = {path.relative_to(source) for path in source.rglob("*")}
    found = {path.relative_to(there / "many") for path in (there / "many").rglob("*")}
    assert found == expected and len(found) == 10_000 + 200 + 1
    for path in expected:
        if (source / path).is_file():
            assert (there / "many" / path).read_bytes() == (source / path).read_bytes(), path
    assert 0 < peaks.sender < MEMORY_BYTES and 0 < peaks.receiver < MEMORY_BYTES, peaks
