"""Ctrl-C at every step of a command: `python interrupted.py REPORT FIRST STEP ARGUMENT…`.

Runs the command in this process. At step FIRST, at every STEP steps after it and when Python itself
ends, a copy of the process (fork(2)) gets SIGINT in place of the step; what comes of each goes to
the file REPORT as a line of JSON. A step is an audit event of Python (PEP 578: an import, an opened
file, compiled code, ...) in the main thread, from where the program has its own handler of the
signal on.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import sys
import tempfile
import threading
import traceback

from waiting import PATIENCE_S


class Steps:
    """Counts steps, and tries what an interrupt does at some of them."""

    def __init__(self, report: str, first: int, step: int) -> None:
        self._report = report
        self._first = first
        self._step = step
        self._count = 0
        self._is_within = False

    def __call__(self, event: str, _: object) -> None:
        # What the copies of a process with threads do without these is not what the process does.
        if self._is_within or threading.active_count() > 1:
            return
        self._is_within = True
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or self._count:
            self._count += 1
            past = self._count - self._first
            if past >= 0 and past % self._step == 0:
                self._try(event)
        self._is_within = False

    def at_exit(self) -> None:
        if not self._is_within:
            self._is_within = True
            self._try("exit")

    def _try(self, event: str) -> None:
        with tempfile.TemporaryFile() as printed:
            child = os.fork()
            if child == 0:
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
                signal.alarm(int(PATIENCE_S))
                signal.raise_signal(signal.SIGINT)
                return
            _, status = os.waitpid(child, 0)
            said = os.pread(printed.fileno(), 1 << 20, 0).decode()
        stack = [f"{one.filename}:{one.lineno}" for one in traceback.extract_stack(limit=6)[:-2]]
        found = {
            "step": self._count,
            "event": event,
            "stack": stack,
            "code": os.waitstatus_to_exitcode(status),
            "said": said,
        }
        with open(self._report, "a") as report:  # noqa: PTH123 — the smallest footprint
            report.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    report, first, step, *arguments = sys.argv[1:]
    sys.argv = ["fairway", *arguments]
    steps = Steps(report, int(first), int(step))
    atexit.register(steps.at_exit)
    sys.addaudithook(steps)
    runpy.run_module("fairway", run_name="__main__", alter_sys=True)
