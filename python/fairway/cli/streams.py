"""Standard streams that take any text, in every encoding, and outlive whoever reads them."""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
from collections.abc import Callable
from typing import Any

from fairway.errors import OutputLost, ReaderGone

#: Characters of Fairway's own that have a likeness in ASCII.
_LIKENESSES = {
    "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "·": "*", "µ": "u", "μ": "u", "→": "->",
    "≤": "<=", "≥": ">=", "≈": "~", "±": "+-", "“": '"', "”": '"', "‘": "'", "’": "'", "²": "^2",
    "─": "-", "━": "-", "│": "|", "┃": "|", "└": "+", "█": "#", "÷": "/", "✓": "ok", "✗": "x",
}  # fmt: skip

_ERRORS = "fairway.escaped"


def escaped(text: str) -> str:
    r"""Text as JSON escapes it, with what resembles a character in ASCII in its place.

    >>> escaped("5 – 3 µs"), escaped("é\udcff"), escaped("😀")
    ('5 - 3 us', '\\u00e9\\udcff', '\\ud83d\\ude00')
    """
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    code = ord(character)
    if character.isascii() or character in _LIKENESSES:
        return _LIKENESSES.get(character, character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return escaped(error.object[error.start : error.end]), error.end


class _Raw(io.FileIO):
    """A descriptor that is written to; `fail` decides what becomes of an error."""

    def __init__(self, descriptor: int, fail: Callable[[OSError], None]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._fail = fail
        self._is_lost = False

    def write(self, data: Any) -> int:
        """Write, or discard after the first error."""
        length = memoryview(data).nbytes
        while not self._is_lost:
            try:
                written = super().write(data)
            except OSError as error:
                self._is_lost = True
                self._fail(error)
                break
            if written is not None:
                return written
            # A terminal or a pipe that another program has made non-blocking is full.
            select.select([], [self], [])
        return length


class _Text(io.TextIOWrapper):
    """Text in an encoding whose gaps are escaped."""

    @property
    def codec(self) -> str:
        """The name of its encoding."""
        return super().encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The same; of ASCII a name that Click does not take for a mistake and replace by UTF-8."""
        return "ascii, escaped" if codecs.lookup(self.codec).name == "ascii" else self.codec


def _stream(
    descriptor: int, fail: Callable[[OSError], None], encoding: str, *, by_lines: bool
) -> _Text:
    raw = io.BufferedWriter(_Raw(descriptor, fail))
    return _Text(raw, encoding=encoding, errors=_ERRORS, line_buffering=by_lines)


def _lost(error: OSError) -> None:
    if isinstance(error, BrokenPipeError):
        raise ReaderGone("the reader of standard output has gone") from None
    raise OutputLost(
        f"cannot write to standard output: {error.strerror or error}; "
        "free some space, or let it go elsewhere"
    ) from None


def _unheard(_: OSError) -> None:
    """Messages that nobody can read change nothing about what a command does."""


def prepare() -> None:
    """Replace standard output and standard error by streams that never raise for their text."""
    codecs.register_error(_ERRORS, _escape)
    for name, descriptor, fail in (("stdout", 1, _lost), ("stderr", 2, _unheard)):
        old = getattr(sys, name)  # None if it was closed
        encoding, is_unbuffered = (
            getattr(old, "encoding", "utf-8"),
            getattr(old, "write_through", 0),
        )
        by_lines = name == "stderr" or bool(is_unbuffered) or os.isatty(descriptor)
        setattr(sys, name, _stream(descriptor, fail, encoding, by_lines=by_lines))


def silence() -> int:
    """Discard whatever compiled libraries print on standard error from now on.

    Returns:
        The descriptor at which Fairway's own messages still arrive.
    """
    kept, old = os.dup(2), sys.stderr
    old.flush()
    encoding = old.codec if isinstance(old, _Text) else old.encoding
    sys.stderr = _stream(kept, _unheard, encoding, by_lines=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return kept
