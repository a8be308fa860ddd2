"""One transfer over a network that misbehaves by chance, and what has to hold of it."""

from __future__ import annotations

import contextlib
import random
import subprocess
import threading
from pathlib import Path

from transfer_world import Proxy, Receiver, Sent, Wire, no_traceback, noise, sending

#: What happens to a connection that is picked, and how often of all that are.
FAULTS = {"reset": 5, "stall": 1, "flip": 2}


class Chance(Wire):
    """Does something to some of the connections, after as many bytes as chance says."""

    def __init__(self, seed: int, share: float, largest: int) -> None:
        self._seed = seed
        self._share = share
        self._largest = largest
        self._mutex = threading.Lock()
        #: Faults that have been done, by name.
        self.done: list[str] = []

    def piece(self, number: int, of_client: bool, before: int, data: bytes) -> bytes:
        # The fate of a connection is drawn by its number, so that threads cannot change it.
        chance = random.Random(self._seed * 1000 + number)
        if chance.random() >= self._share or of_client is (chance.random() < 0.3):
            return data
        at = int(self._largest ** chance.random()) - before
        if not 0 <= at < len(data):
            return data
        (what,) = chance.choices(list(FAULTS), list(FAULTS.values()))
        with self._mutex:
            self.done.append(what)
        if what == "flip":
            return data[:at] + bytes([data[at] ^ 1 << number % 8]) + data[at + 1 :]
        return Wire.RESET if what == "reset" else Wire.STALL


def disturbed_transfer(seed: int, place: Path) -> str:
    """Send something while connections break and senders die; then once more in peace.

    Args:
        seed: Of sizes, options and faults.
        place: Empty directory for both ends.

    Returns:
        What was sent and what happened, in a line.

    Raises:
        AssertionError: If anything is under its final name that differs from what was sent, a
            program crashes, or the sending in peace fails.
    """
    chance = random.Random(seed)
    source, out = place / "source", place / "out"
    out.mkdir()
    contents = _something(chance, source)
    mode = chance.choice([(), ("--plain",)])
    streams = chance.randint(1, 8)
    ours = ["--streams", str(streams), "--chunk", f"{chance.choice([64, 512, 8192])} KiB"]
    ours += ["--striping", chance.choice(["dynamic", "static"])]
    if chance.random() < 0.5:
        ours += ["--limit", f"{chance.choice([20, 100, 400])} Mbit/s"]
    quick = ("--timeout", "1500 ms")
    size = sum(map(len, contents.values()))
    wire = Chance(seed, chance.choice([0.2, 0.5, 0.8]), max(size // streams, 1000))
    killed = 0
    with Receiver(out, *mode, *quick) as receiver, Proxy(receiver.port, wire) as proxy:
        for _ in range(chance.randint(1, 3)):
            process = sending(
                source, proxy.address, receiver.token, *mode, *quick, "--patience", "6 s", *ours
            )
            if chance.random() < 0.4:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(chance.uniform(0.3, 4.0))
                killed += process.poll() is None
                process.kill()
            said = Sent(process).said
            no_traceback(said, receiver.output)
            _compare(out, source.name, contents, whole=process.returncode == 0)
        last = Sent(sending(source, receiver.address, receiver.token, *mode, *ours))
        assert last.code == 0, last.said + receiver.output
        no_traceback(last.said, receiver.output)
        _compare(out, source.name, contents, whole=True)
    return f"{len(contents)} files, {size} bytes, {len(wire.done)} faults, {killed} kills"


def _something(chance: random.Random, source: Path) -> dict[str, bytes]:
    """A file, or a directory of some; name below the source -> content."""
    if chance.random() < 0.5:
        return {"": noise(source, int(10 ** chance.uniform(0, 7.3)), chance.randrange(1 << 30))}
    source.mkdir()
    return {
        name: noise(source / name, int(10 ** chance.uniform(0, 5.5)), chance.randrange(1 << 30))
        for name in (f"{number:03}" for number in range(chance.randint(1, 60)))
    }


def _compare(out: Path, name: str, contents: dict[str, bytes], *, whole: bool) -> None:
    """What has a final name is what was sent; all of it if the sender has confirmed."""
    for below, content in contents.items():
        arrived = out / name / below if below else out / name
        if arrived.exists():
            assert arrived.read_bytes() == content, f"{arrived} differs"
        else:
            assert not whole, f"{arrived} is confirmed and not there"
