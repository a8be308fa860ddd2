"""The end of a transfer that waits, as a process of its own."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from waiting import PATIENCE_S


class Waiting:
    """`fairway recv` or `fairway collect` at a free port of 127.0.0.1."""

    def __init__(self, *arguments: str | Path, listening: str = "listening at ") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fairway", *map(str, arguments), "--bind", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.printed: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._lines: queue.Queue[str] = queue.Queue()
        self._untold: list[str] = []
        streams = {"stdout": self._process.stdout, "stderr": self._process.stderr}
        self._readers = [
            threading.Thread(target=self._read, args=(name, stream), daemon=True)
            for name, stream in streams.items()
        ]
        for reader in self._readers:
            reader.start()
        self.address = self.told(listening).partition('"')[0]

    def _read(self, name: str, stream: IO[str]) -> None:
        for line in stream:
            self.printed[name].append(line.rstrip("\n"))
            self._lines.put(line.rstrip("\n"))

    def told(self, start: str) -> str:
        """The rest of the first line that starts so, on either stream; it is told once."""
        until = time.monotonic() + PATIENCE_S
        while True:
            for line in self._untold:
                if line.startswith(start):
                    self._untold.remove(line)
                    return line.removeprefix(start)
            try:
                self._untold.append(self._lines.get(timeout=max(until - time.monotonic(), 0.01)))
            except queue.Empty:
                raise AssertionError(f"no {start!r} in {self.printed}") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def token(self) -> str:
        return self.told("token: ")

    def ended(self) -> int:
        """Its exit code, when it has ended by itself."""
        code = self._process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join(PATIENCE_S)
        return code

    def interrupt(self) -> int:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)
        return self.ended()

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.ended()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
