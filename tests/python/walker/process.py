"""Runs a command of the walked product as a person would: on a terminal, in a pipe, or interrupted.

A command is a fork of this process, which has imported the product already: it has a process,
streams and signals of its own, and costs no start. What needs the real start is run as a program.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import sys
import termios
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Longest that any command may take. Experiments are drawn to take a second or two on an idle
#: machine; one that takes this long hangs.
TIMEOUT_S = 600.0

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Ran:
    """What a command did.

    Attributes:
        words: The command without its first word, `fairway`.
        width: Columns of the terminal, or what COLUMNS says of a pipe; None where nothing says it.
        code: Exit code; that of a shell where a signal ended it; None if it did not end.
        out: Standard output, without escape sequences.
        err: Standard error.
        took_s: How long it took.
        in_pipe: Whether standard output was a pipe.
        interrupt_s: When Ctrl-C was pressed, if it was.
    """

    words: tuple[str, ...]
    width: int | None
    code: int | None
    out: str
    err: str
    took_s: float
    in_pipe: bool = False
    interrupt_s: float | None = None

    def __str__(self) -> str:
        """The command as a shell takes it."""
        command = f"fairway {shlex.join(self.words)}"
        if self.interrupt_s is not None:
            command = f"timeout --signal INT {self.interrupt_s:.2f} {command}"
        if self.in_pipe or self.width is None:
            return f"{f'COLUMNS={self.width} ' if self.width else ''}{command} | cat"
        return f"stty cols {self.width}; {command}"


def fairway(
    words: Sequence[str],
    place: Path,
    *,
    width: int | None = None,
    in_pipe: bool = False,
    interrupt_s: float | None = None,
    as_program: bool = False,
) -> Ran:
    """Run `fairway` with these words in a directory.

    Args:
        words: Arguments of the command.
        place: The working directory.
        width: Columns of the terminal that standard output is; a pipe if not given.
        in_pipe: Whether it is a pipe all the same, and COLUMNS says the width.
        interrupt_s: When Ctrl-C is pressed, in seconds after the start.
        as_program: Whether to start an interpreter, as the shell does.
    """

    def body() -> int:
        # The same width whatever terminal the walker itself runs on.
        os.environ.pop("COLUMNS", None)
        if in_pipe and width is not None:
            os.environ["COLUMNS"] = str(width)
        if as_program:
            os.execv(sys.executable, [sys.executable, "-m", "fairway", *words])
        from fairway.cli.main import main

        sys.argv = ["fairway", *words]
        main()
        return 0

    ran = _forked(body, tuple(words), place, None if in_pipe else width, interrupt_s)
    return dataclasses.replace(
        ran, width=width, in_pipe=in_pipe or width is None, interrupt_s=interrupt_s
    )


def python(body: Callable[[], str], place: Path) -> Ran:
    """Run a function in a process of its own, in a directory; its text is the output."""

    def write() -> int:
        sys.stdout.write(body())
        return 0

    return _forked(write, ("python",), place, None, None)


def _forked(
    body: Callable[[], int],
    words: tuple[str, ...],
    place: Path,
    width: int | None,
    interrupt_s: float | None,
) -> Ran:
    out, out_end = os.pipe() if width is None else pty.openpty()
    if width is not None:
        fcntl.ioctl(out_end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    err, err_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(body, place, out_end, err_end)
    os.close(out_end)
    os.close(err_end)
    texts, ended = _read(pid, (out, err), began, interrupt_s)
    code = None
    if not ended:
        os.killpg(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if ended:
        code = os.waitstatus_to_exitcode(status)
        code = 128 - code if code < 0 else code
    plain = _ESCAPE.sub("", texts[0]).replace("\r\n", "\n")
    return Ran(words, width, code, plain, texts[1], time.monotonic() - began)


def _child(body: Callable[[], int], place: Path, out: int, err: int) -> None:
    """Be the command; never returns."""
    code = 70
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 256)
        os.chdir(place)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        code = body()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _read(
    pid: int, streams: Sequence[int], began: float, interrupt_s: float | None
) -> tuple[list[str], bool]:
    """What a command writes until it ends, and whether it did."""
    pieces: dict[int, list[bytes]] = {stream: [] for stream in streams}
    is_open = set(streams)
    try:
        while is_open:
            now = time.monotonic() - began
            if interrupt_s is not None and now >= interrupt_s:
                os.killpg(pid, signal.SIGINT)
                interrupt_s = None
            if now > TIMEOUT_S:
                break
            until = TIMEOUT_S if interrupt_s is None else interrupt_s
            for stream in select.select(list(is_open), [], [], max(0.0, until - now) + 0.001)[0]:
                try:
                    piece = os.read(stream, 1 << 16)
                except OSError:  # the other end of a terminal was closed
                    piece = b""
                pieces[stream].append(piece)
                if not piece:
                    is_open.discard(stream)
    finally:
        for stream in streams:
            os.close(stream)
    return [b"".join(pieces[stream]).decode("utf-8", "replace") for stream in streams], not is_open
