"""How tests wait: for what has to come about, with a bound far above what a busy machine takes."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

#: A bound on what never ends, in seconds. No test measures it, and none ends by it.
PATIENCE_S = 600.0


def until(holds: Callable[[], object], process: subprocess.Popen | None = None) -> None:
    """Wait until something holds, while a process that it depends on runs."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.01)


#: Lock files of the ports that this process has taken, held open until it ends.
_TAKEN: list[int] = []

#: Below what a kernel gives to whoever asks for any port (ip(7), ip_local_port_range: from 32768
#: on), so that nobody gets one of them by chance.
_PORTS = range(20_000, 30_000)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at, and that no other test is given."""
    for port in itertools.islice(itertools.cycle(_PORTS), os.getpid() % len(_PORTS), 3 * 10**4):
        lock = os.open(Path(tempfile.gettempdir(), f"fairway-test-port-{port}"), os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.create_server(("127.0.0.1", port)):
                _TAKEN.append(lock)
                return port
        except OSError:
            os.close(lock)
    raise AssertionError(f"no free port from {_PORTS.start} to {_PORTS.stop}")
