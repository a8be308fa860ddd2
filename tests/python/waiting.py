"""How tests wait: for what has to come about, with a bound far above what a busy machine takes."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import time
from collections.abc import Callable

#: A bound on what never ends, in seconds. No test measures it, and none ends by it.
PATIENCE_S = 600.0


def until(holds: Callable[[], object], process: subprocess.Popen | None = None) -> None:
    """Wait until something holds, while a process that it depends on runs."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.01)


#: Below what a kernel gives to whoever asks for any port (ip(7), ip_local_port_range: from 32768
#: on), so that nobody gets one of them by chance.
_PORTS = range(20_000, 30_000)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at, and that no other test is given."""
    for port in itertools.islice(itertools.cycle(_PORTS), os.getpid() % len(_PORTS), 3 * 10**4):
        # An abstract name (unix(7)) is one process's at a time, and goes with it.
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0fairway-test-port-{port}")
            with socket.create_server(("127.0.0.1", port)):
                mark.detach()  # stays open until this process ends
                return port
        except OSError:
            mark.close()
    raise AssertionError(f"no free port from {_PORTS.start} to {_PORTS.stop}")
