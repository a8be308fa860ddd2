"""A server of the laboratory's page, for this computer alone."""

from __future__ import annotations

import errno
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fairway.errors import InputError

#: The page's sources, and its built files.
PAGE = Path(__file__).parent / "page"
BUILT = PAGE / "built"
#: The simulator in `BUILT`, the last file that a build writes.
WASM = "lab.wasm"

#: The loopback address, which no other host reaches (RFC 1122, section 3.2.1.3).
ADDRESS = "127.0.0.1"

#: The page runs its own scripts and the simulator, and loads nothing from other hosts. Its `<meta>`
#: says the same for other servers, but for `frame-ancestors`, which browsers read in headers alone.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

#: Types that browsers require; the tables of some systems lack them.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}


class _Page(SimpleHTTPRequestHandler):
    """Serves files of the page; no path leads out of it (`translate_path`)."""

    extensions_map = TYPES
    server_version = "fairway"
    sys_version = ""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, directory=str(PAGE), **options)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        # The next server at this address may be of another version.
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def list_directory(self, path: Any) -> None:  # noqa: ARG002
        self.send_error(404)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Log nothing."""


def server(port: int = 0) -> ThreadingHTTPServer:
    """A server of the page at `ADDRESS`; port 0 takes a free port.

    Raises:
        InputError: The page is not built, or the port cannot be used.
    """
    if not (BUILT / WASM).is_file():
        raise InputError(
            f"{BUILT / WASM}: the simulator of the page is not found; build it with `make lab` in "
            "Fairway's source tree"
        )
    try:
        return ThreadingHTTPServer((ADDRESS, port), _Page)
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        why = "another program uses it" if in_use else (error.strerror or str(error))
        raise InputError(
            f"--port {port}: {why}; choose another port, or 0 for one that is free"
        ) from None


def address(running: ThreadingHTTPServer) -> str:
    """The URL of the page."""
    return f"http://{ADDRESS}:{running.server_port}/"
