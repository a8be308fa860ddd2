"""Standard input and outputs of a command, passed on through bounded files of a run directory."""

from __future__ import annotations

import os
import select
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from fairway.errors import InputError, RunFailed, writing
from fairway.ground import output, quantities

#: Most bytes of standard input, and of each output stream of a command.
MOST_BYTES = 1 << 30
#: The option that sets another bound, for messages.
OPTION = "--stream-limit"
#: What is passed on at once.
_PIECE_BYTES = 1 << 20
#: A line with a label that is longer is passed on in several.
_LINE_BYTES = 1 << 16
#: After so many seconds somebody who waits for the end of standard input is told so.
_QUIET_S = 2.0
#: How long a reader that takes nothing is waited for at once, in milliseconds.
_LOOK_MS = 100


class TooMuchOutput(RunFailed):
    """A command has written more than is passed on."""


class Stream:
    """A file that grows, on its way to a stream of this process; with a label, line by line."""

    def __init__(
        self,
        path: Path,
        target: BinaryIO,
        name: str,
        most_bytes: int,
        label: bytes = b"",
        waits: Callable[[], None] = lambda: None,
    ) -> None:
        """Pass on what is written to `path`, up to `most_bytes`; messages say `name`.

        While its reader takes nothing, `waits` is called; what it raises ends the stream.
        """
        self._path, self._name, self._label = path, name, label
        self._target: BinaryIO | None = target
        self._most_bytes = self._room = most_bytes
        self._waits = waits
        self._file: BinaryIO | None = None
        self._line = b""

    def pump(self) -> None:
        """Pass on what is new; raises `TooMuchOutput` behind what is allowed."""
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return
        while self._target is not None and (piece := self._file.read(_PIECE_BYTES)):
            self._write(self._labelled(piece[: self._room]))
            self._room -= len(piece)
            if self._room < 0:
                self._target = None
                limit = quantities.binary(self._most_bytes)
                raise TooMuchOutput(
                    f"{self._name}: more than {limit}, so the run was ended; "
                    f'{OPTION} "8 GiB" passes on more'
                )

    def close(self) -> None:
        """Pass on a line without an end, and remove the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._path.unlink(missing_ok=True)
        if self._line and self._target is not None:
            self._write(self._label + self._line + b"\n")
        self._line = b""

    def _labelled(self, piece: bytes) -> bytes:
        if not self._label:
            return piece
        *lines, self._line = (self._line + piece).split(b"\n")
        if len(self._line) > _LINE_BYTES:
            lines.append(self._line)
            self._line = b""
        return b"".join(self._label + line + b"\n" for line in lines)

    def _write(self, piece: bytes) -> None:
        assert self._target is not None
        left, target = memoryview(piece), self._target.fileno()
        writable = select.poll()
        writable.register(target, select.POLLOUT)
        try:
            while left:
                while not writable.poll(_LOOK_MS):
                    self._waits()
                # A pipe that is writable takes as much at once (pipe(7)).
                left = left[os.write(target, left[: select.PIPE_BUF]) :]
        except BaseException as error:
            # Its reader has gone, or nobody waits for it any longer: nothing more is passed on.
            self._target = None
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise InputError(f"{self._name}: cannot be passed on: {error.strerror}") from None
            raise


def binary(stream: TextIO | None) -> BinaryIO:
    """What takes the bytes of a stream; nowhere, if it is closed."""
    if stream is None:
        return Path(os.devnull).open("wb")
    stream.flush()
    return stream.buffer


def keep_input(path: Path, most_bytes: int) -> bool:
    """Copy standard input to a file; False if it is a terminal, or nothing.

    Raises:
        InputError: If it has more than `most_bytes`, or the file cannot be written.
    """
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    if stat.S_ISCHR(kind):
        return False
    told = threading.Timer(_QUIET_S, _tell_of_input)
    told.daemon = True
    told.start()
    room = most_bytes
    try:
        with writing(path.parent), path.open("wb") as file:
            for piece in _given():
                if (room := room - len(piece)) < 0:
                    raise InputError(
                        f"standard input: more than {quantities.binary(most_bytes)}, which are "
                        f'kept on the disk before the start; {OPTION} "8 GiB" takes more, '
                        "</dev/null none"
                    )
                file.write(piece)
    finally:
        told.cancel()
    return True


def _given() -> Iterator[bytes]:
    try:
        while piece := sys.stdin.buffer.read(_PIECE_BYTES):
            yield piece
    except OSError as error:
        raise InputError(f"standard input: cannot be read: {error.strerror or error}") from None


def _tell_of_input() -> None:
    output.print_error(
        "fairway: waiting for the end of standard input, which is read before the start; "
        "without any, add </dev/null"
    )
