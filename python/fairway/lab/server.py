"""A server of the laboratory's page, for this computer alone."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fairway.errors import InputError
from fairway.lab.request import TYPES, answer, refusal

#: The page's sources, and its built files.
PAGE = Path(__file__).parent / "page"
BUILT = PAGE / "built"
#: The simulator in `BUILT`, the last file that a build writes.
WASM = "lab.wasm"

#: The loopback address, which no other host reaches (RFC 1122, section 3.2.1.3).
ADDRESS = "127.0.0.1"

#: Connections at a time. A browser has six (Firefox: network.http.max-persistent-connections-per-
#: server).
_MAX_CONNECTIONS = 64
#: Largest request line with its headers, in bytes; a browser sends cookies of every server on this
#: host with it. nginx has 32 KiB (large_client_header_buffers).
_MAX_HEAD_BYTES = 32 << 10
#: Seconds that a request, its answer, and the end of its connection may take. A browser on the same
#: host takes milliseconds.
_HEAD_S, _ANSWER_S, _END_S = 10.0, 60.0, 2.0
_PIECE_BYTES = 64 << 10


class Server:
    """Serves files until it is told to stop; one thread, whatever is connected."""

    def __init__(self, listening: socket.socket, files: Mapping[str, Path]) -> None:
        self.server_port: int = listening.getsockname()[1]
        self._files = files
        #: All connections, and those of which no answer is under way; the oldest first.
        self._open: dict[asyncio.StreamWriter, None] = {}
        self._idle: dict[asyncio.StreamWriter, None] = {}
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_tell)
        self._listening = listening
        self._is_told_to_stop = asyncio.Event()
        self._ended = threading.Event()
        self._ended.set()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()
        self._loop.close()

    def serve_forever(self) -> None:
        """Serve until `shutdown`, in a thread that no other event loop runs in."""
        self._ended.clear()
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.run_until_complete(self._end())
            self._ended.set()

    def shutdown(self) -> None:
        """Have `serve_forever`, which another thread is in, return."""
        self._loop.call_soon_threadsafe(self._is_told_to_stop.set)
        self._ended.wait()

    async def _serve(self) -> None:
        listener = await asyncio.start_server(
            self._connected, sock=self._listening, limit=_MAX_HEAD_BYTES
        )
        try:
            await self._is_told_to_stop.wait()
        finally:
            listener.close()

    async def _end(self) -> None:
        """End every connection, also those that were being accepted."""
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            # An interrupt that came in the midst of one is known to whoever serves.
            await asyncio.gather(*tasks, return_exceptions=True)
        # An aborted transport makes its last call at the next turn of the loop.
        await asyncio.sleep(0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while len(self._open) >= _MAX_CONNECTIONS:
            # A browser has its answer in milliseconds, so the oldest is none that it waits for.
            oldest = next(iter(self._idle or self._open))
            self._forget(oldest)
            oldest.transport.abort()
        self._open[writer] = self._idle[writer] = None
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # gone, too slow, or the server ends
        finally:
            self._forget(writer)
            writer.transport.abort()

    def _forget(self, writer: asyncio.StreamWriter) -> None:
        self._open.pop(writer, None)
        self._idle.pop(writer, None)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_S)
            found = answer(head, self.server_port, self._files)
        except asyncio.LimitOverrunError:
            found = refusal(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"A request has at most {_MAX_HEAD_BYTES:,} bytes; remove cookies of this host.",
            )
        except asyncio.TimeoutError:
            found = refusal(HTTPStatus.REQUEST_TIMEOUT, f"No request came within {_HEAD_S:g} s.")
        self._idle.pop(writer, None)
        await asyncio.wait_for(_send(writer, found.to_bytes()), _ANSWER_S)
        self._idle[writer] = None
        # To close with bytes unread would take the answer back (RFC 9112, section 9.6).
        await asyncio.wait_for(_drop(reader), _END_S)


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.transport.set_write_buffer_limits(high=0)
    for at in range(0, len(data), _PIECE_BYTES):
        writer.write(data[at : at + _PIECE_BYTES])
        await writer.drain()
    writer.write_eof()


async def _drop(reader: asyncio.StreamReader) -> None:
    while await reader.read(_PIECE_BYTES):
        pass


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # Of no more descriptors asyncio would tell by a traceback, and tries again by itself.
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


def _files(page: Path) -> dict[str, Path]:
    """The files of the page by their paths in a URL; links are none."""
    found = {}
    for folder, _, names in os.walk(page):
        for path in (Path(folder) / name for name in names):
            if path.suffix in TYPES and not path.is_symlink():
                found[f"/{path.relative_to(page).as_posix()}"] = path
    return found


def server(port: int = 0) -> Server:
    """A server of the page at `ADDRESS`; port 0 takes a free port.

    Raises:
        InputError: The page is not built, or the port cannot be used.
    """
    if not (BUILT / WASM).is_file():
        raise InputError(
            f"{BUILT / WASM}: the simulator of the page is not found; build it with `make lab` in "
            "Fairway's source tree"
        )
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen()
    except OSError as error:
        listening.close()
        in_use = error.errno == errno.EADDRINUSE
        why = "another program uses it" if in_use else (error.strerror or str(error))
        raise InputError(
            f"--port {port}: {why}; choose another port, or 0 for one that is free"
        ) from None
    return Server(listening, _files(PAGE))


def address(running: Server) -> str:
    """The URL of the page."""
    return f"http://{ADDRESS}:{running.server_port}/"
