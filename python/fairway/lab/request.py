"""The answer to one HTTP request for a file of the page, by RFC 9110 and RFC 9112."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote_to_bytes

#: The page runs its own scripts and the simulator, and loads nothing from other hosts. Its `<meta>`
#: says the same for other servers, but for `frame-ancestors`, which browsers read in headers alone.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

#: Headers of every answer; https://owasp.org/www-project-secure-headers names them.
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    # The next server at this address may be of another version.
    "Cache-Control": "no-store",
    "Connection": "close",
}

#: Types that browsers require; the tables of some systems lack them.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}

#: Names by which a browser on this computer reaches the server. Any other is a name of somebody
#: else's that leads here: a page of that name could read the answers ("DNS rebinding"; Jackson et
#: al., "Protecting browsers from DNS rebinding attacks", CCS 2007, section 5.2).
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_METHODS = ("GET", "HEAD")

#: RFC 9112, section 3, and the characters of a token of RFC 9110, section 5.6.2.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(r"[\x21-\x7e]+")
_VERSION = re.compile(r"HTTP/1\.[01]")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True)
class Answer:
    """Status, further headers, and content; `is_empty` leaves the content out, as HEAD wants it."""

    status: HTTPStatus
    headers: Mapping[str, str]
    content: bytes
    is_empty: bool = False

    def to_bytes(self) -> bytes:
        """The answer as it is sent."""
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}"]
        every = {**_HEADERS, **self.headers, "Content-Length": str(len(self.content))}
        lines += [f"{name}: {value}" for name, value in every.items()]
        head = "".join(f"{line}\r\n" for line in (*lines, "")).encode("ascii")
        return head if self.is_empty else head + self.content


class _Refused(Exception):  # noqa: N818
    """A request that gets words instead of a file."""

    def __init__(self, status: HTTPStatus, words: str, **headers: str) -> None:
        super().__init__(words)
        self.answer = refusal(status, words, **headers)


def refusal(status: HTTPStatus, words: str, **headers: str) -> Answer:
    """An answer in words."""
    more = {"Content-Type": "text/plain; charset=utf-8", **headers}
    return Answer(status, more, f"{words}\n".encode())


def answer(head: bytes, port: int, files: Mapping[str, Path]) -> Answer:
    """The answer to a request.

    Args:
        head: The request up to the empty line and with it.
        port: The server's.
        files: All that is served, by path. A request names one of them, so that no path leads
            elsewhere.
    """
    try:
        method, target, fields = _parsed(head)
        if method not in _METHODS:
            raise _Refused(
                HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.",
                Allow=", ".join(_METHODS),
            )  # fmt: skip
        path = _path(target, fields, port)
        found = _file(path, files)
    except _Refused as refused:
        return refused.answer
    return Answer(found.status, found.headers, found.content, is_empty=method == "HEAD")


def _parsed(head: bytes) -> tuple[str, str, dict[str, list[str]]]:
    """Method, target, and values of fields by name in lower case."""
    first, *lines = head.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    method, blank, rest = first.partition(" ")
    target, blank_too, version = rest.partition(" ")
    is_line = bool(blank and blank_too and _TOKEN.fullmatch(method) and _TARGET.fullmatch(target))
    if not is_line or not _VERSION.fullmatch(version):
        raise _bad("This is not the first line of an HTTP request.")
    fields: dict[str, list[str]] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise _bad("This is not a header of an HTTP request.")
        fields.setdefault(name.lower(), []).append(value.strip(" \t"))
    if "transfer-encoding" in fields or fields.get("content-length", ["0"]) != ["0"]:
        raise _bad("A request for a file has no content.")
    return method, target, fields


def _bad(words: str) -> _Refused:
    return _Refused(HTTPStatus.BAD_REQUEST, words)


def _path(target: str, fields: Mapping[str, list[str]], port: int) -> str:
    """The path that is asked for, of a browser that asks this server."""
    hosts = fields.get("host", [])
    if len(hosts) != 1:
        raise _bad("A request names one host.")
    known = {f"{name}:{port}" for name in _LOCAL} | ({*_LOCAL} if port == 80 else set())
    origins = {f"http://{name}" for name in known}
    # A whole URL stands for the host as well (RFC 9112, section 3.2.2).
    scheme, is_whole, rest = target.partition("://")
    if is_whole and scheme.lower() == "http":
        host, slash, rest = rest.partition("/")
        hosts, target = [*hosts, host], slash + rest or "/"
    if any(host.lower() not in known for host in hosts):
        raise _Refused(
            HTTPStatus.MISDIRECTED_REQUEST,
            f"This server answers to this computer alone; open http://{_LOCAL[0]}:{port}/ on it.",
        )
    if any(origin.lower() not in origins for origin in fields.get("origin", [])):
        raise _Refused(HTTPStatus.FORBIDDEN, "A page of another origin asked for this file.")
    return target.partition("?")[0]


def _file(path: str, files: Mapping[str, Path]) -> Answer:
    # Bytes that are not UTF-8 are in no name.
    name = unquote_to_bytes(path).decode("utf-8", "replace")
    file = files.get("/index.html" if name == "/" else name)
    try:
        content = None if file is None else file.read_bytes()
    except OSError:  # removed since the server was started, as a new build does it
        content = None
    if file is None or content is None:
        raise _Refused(HTTPStatus.NOT_FOUND, "The page has no file of this name.")
    return Answer(HTTPStatus.OK, {"Content-Type": TYPES[file.suffix]}, content)
