"""How tests wait: for what has to come about, with a bound far above what a busy machine takes."""

from __future__ import annotations

import signal
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


def hearing_signals() -> None:
    """For `preexec_fn`: signals end the process, also where the tests run as a background job."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
