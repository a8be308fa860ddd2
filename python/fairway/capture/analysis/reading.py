"""Reads captures in a thread of their own, so that Ctrl-C and a bar of progress have a turn."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.errors import InputError, Interrupted, writing
from fairway.ground.progress import Silent, State

#: What stands for standard input.
STANDARD_INPUT = "-"
#: Seconds between two looks at how far it is.
_TICK_S = 0.1


def read(path: str, options: Mapping[str, Any], progress: Silent) -> _core.AnalysisData:
    """Analyse a capture."""
    control = _core.Control()
    found: list[_core.AnalysisData] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(_core.analyse(path, json.dumps(options), control))
        except BaseException as error:
            failed.append(error)

    # Who waits for a pipe that says nothing cannot be told to stop: its thread is left behind.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_TICK_S)
            progress.update(State(under_way=control.fraction))
    except KeyboardInterrupt:
        control.cancel()
        thread.join(_TICK_S)
        raise Interrupted("stopped; nothing was written") from None
    if failed:
        if isinstance(failed[0], _core.CaptureError):
            raise InputError(str(failed[0])) from None
        raise failed[0]
    return found[0]


@contextmanager
def twice(path: str) -> Iterator[str]:
    """A path that can be read more than once: of standard input, that of a copy."""
    if path != STANDARD_INPUT:
        yield path
        return
    with (
        writing(Path(tempfile.gettempdir())),
        tempfile.NamedTemporaryFile(prefix="fairway-capture-") as copy,
    ):
        shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        copy.flush()
        yield copy.name
