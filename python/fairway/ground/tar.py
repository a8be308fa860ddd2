"""Members of a tar archive from anyone, read as a stream within fixed limits.

The format: POSIX.1-2017, "pax", Extended Description ("ustar Interchange Format" and "pax Extended
Header"), and the manual of GNU tar 1.35, section "Basic Tar Format".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

_BLOCK = 512
#: Largest extension header in bytes: room for a path and a target of `PATH_MAX` each, 16 times.
_MAX_HEADER = 128 << 10
_PIECE = 1 << 20

#: Kinds of members by `typeflag`; "7" is a contiguous file, and NUL the file of the format before.
_KINDS = {
    b"0": "file", b"\0": "file", b"7": "file", b"5": "directory", b"2": "link",
    b"1": "hard link", b"3": "character device", b"4": "block device", b"6": "FIFO",
    b"S": "sparse file",
}  # fmt: skip
#: Kinds of headers that describe the next member: pax, pax for all that follow, GNU's two.
_PAX, _GLOBAL, _LONG_TARGET, _LONG_NAME = b"x", b"g", b"K", b"L"
#: Keys of pax headers that a member's header has, too.
_OVERRIDES = ("path", "linkpath", "size")
_SPARSE = "GNU.sparse."


class Damaged(ValueError):  # noqa: N818
    """An archive that does not follow the format."""


class TooLarge(ValueError):  # noqa: N818
    """An archive with more bytes or members than its reader allows."""


@dataclass(frozen=True)
class Member:
    """One entry.

    Attributes:
        name: Its path; bytes that are not UTF-8 are lone surrogates.
        kind: "file", "directory", "link", or another word.
        size: Bytes of content that follow.
        is_executable: Whether anybody may execute it.
        target: Where a link leads.
    """

    name: str
    kind: str
    size: int
    is_executable: bool
    target: str


class Reader:
    """The members of a stream in their order; of each its content can be read before the next."""

    def __init__(self, stream: IO[bytes], max_bytes: int, max_members: int) -> None:
        self._stream = stream
        self._max_bytes, self._max_members = max_bytes, max_members
        self._bytes = self._headers = 0
        self._left = self._padding = 0

    def members(self) -> Iterator[Member]:
        """All of them."""
        said: dict[str, str] = {}
        while any(block := self._header()):
            size, kind = _number(block[124:136]), block[156:157]
            if kind in (_PAX, _GLOBAL, _LONG_TARGET, _LONG_NAME):
                said |= self._extension(kind, size)
                continue
            yield self._member(block, kind, int(said.get("size", size)), said)
            said = {}
            self._skip(self._left + self._padding)
        if said:
            raise Damaged("it ends with a header that describes no member")

    def pieces(self) -> Iterator[bytes]:
        """The content of the member that came last."""
        while self._left:
            piece = self._read(min(self._left, _PIECE))
            self._left -= len(piece)
            yield piece

    def finish(self) -> None:
        """Read the padding behind the end mark, so that whoever writes the stream can end."""
        while piece := self._stream.read(_PIECE):
            self._count(len(piece))

    def _header(self) -> bytes:
        self._headers += 1
        if self._headers > self._max_members:
            raise TooLarge(f"more than {self._max_members:,} members")
        block = self._read(_BLOCK)
        # The sum of all bytes, of its own field as of blanks.
        told, summed = block[148:156], sum(block) - sum(block[148:156]) + 8 * ord(" ")
        if any(block) and _number(told) != summed:
            raise Damaged("the checksum of a header is wrong")
        return block

    def _extension(self, kind: bytes, size: int) -> dict[str, str]:
        if size > _MAX_HEADER:
            raise Damaged(f"a header of {size:,} bytes, of which {_MAX_HEADER:,} are allowed")
        body = self._read(size)
        self._skip(-size % _BLOCK)
        if kind in (_LONG_TARGET, _LONG_NAME):
            key = "path" if kind == _LONG_NAME else "linkpath"
            return {key: _text(body.rstrip(b"\0"))}
        found = _pax(body)
        if kind == _GLOBAL:
            if found:
                raise Damaged(f"a header gives one {min(found)} to all members")
            return {}
        return found

    def _member(self, block: bytes, kind: bytes, size: int, said: dict[str, str]) -> Member:
        is_ustar = block[257:263] == b"ustar\0"
        prefix = _text(_field(block[345:500])) if is_ustar else ""
        name = _text(_field(block[:100]))
        name = said.get("path", f"{prefix}/{name}" if prefix else name)
        word = _KINDS.get(kind, f"type {kind!r}")
        if _SPARSE in said:
            word = "sparse file"
        if word == "file" and name.endswith("/") and kind == b"\0":
            word = "directory"
        if size and word in ("directory", "link"):
            raise Damaged(f"a {word} with content, {name[:200]!r}")
        self._left, self._padding = size, -size % _BLOCK
        # Said before any of it is written.
        self._check(size)
        target = said.get("linkpath", _text(_field(block[157:257])))
        return Member(name, word, size, bool(_number(block[100:108]) & 0o111), target)

    def _read(self, size: int) -> bytes:
        self._count(size)
        parts, missing = [], size
        while missing and (part := self._stream.read(missing)):
            parts.append(part)
            missing -= len(part)
        if missing:
            raise Damaged("it ends too early")
        return b"".join(parts)

    def _skip(self, size: int) -> None:
        while size:
            size -= len(self._read(min(size, _PIECE)))

    def _count(self, size: int) -> None:
        self._check(size)
        self._bytes += size

    def _check(self, size: int) -> None:
        if self._bytes + size > self._max_bytes:
            raise TooLarge(f"more than {self._max_bytes:,} bytes")


def _field(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _number(field: bytes) -> int:
    """Octal digits, or for large values GNU's big-endian number with the highest bit set."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = _field(field).strip(b" ")
    if digits.strip(b"01234567"):
        raise Damaged(f"{field!r} is not a number")
    return int(digits or b"0", 8)


def _pax(body: bytes) -> dict[str, str]:
    """Overrides in a pax header: records of length, blank, key, "=", value and line break."""
    found, at = {}, 0
    while at < len(body):
        digits = body[at : at + 8].partition(b" ")[0]
        if not digits.isdigit() or not len(digits) + 3 <= int(digits) <= len(body) - at:
            raise Damaged("a pax header has a record of a wrong length")
        record = body[at + len(digits) + 1 : at + int(digits)]
        at += int(digits)
        key, equals, value = _text(record[:-1]).partition("=")
        if not equals or not record.endswith(b"\n"):
            raise Damaged("a pax header has a record without a value")
        if key == "size" and not (value.isascii() and value.isdigit() and len(value) < 20):
            raise Damaged(f"a pax header gives a size of {value[:40]!r}")
        if key in _OVERRIDES:
            found[key] = value
        elif key.startswith(_SPARSE):
            found[_SPARSE] = ""
    return found
