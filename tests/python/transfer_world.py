"""Receivers and senders as programs, and a network between them that misbehaves."""

from __future__ import annotations

import random
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from waiting import PATIENCE_S, free_port


def noise(path: Path, size: int, seed: int) -> bytes:
    """Write a file that nothing can be guessed of; return its content."""
    content = random.Random(seed).randbytes(size)
    path.write_bytes(content)
    return content


class Receiver:
    """`fairway recv`, as a process."""

    def __init__(
        self, out: Path, *options: str, port: int | None = None, files: int | None = None
    ) -> None:
        self.out = out
        self.port = free_port() if port is None else port
        self.address = f"127.0.0.1:{self.port}"
        self.said: list[str] = []
        command = [
            sys.executable, "-m", "fairway", "recv",
            "--bind", self.address, "--out", str(out), *options,
        ]  # fmt: skip
        if files is not None:
            command = ["prlimit", f"--nofile={files}:{files}", *command]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        self._token: str | None = None
        self._has_token = threading.Event()
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self.process.stdout, self.process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream) -> None:
        for line in stream:
            self.said.append(line)
            if line.startswith("token:"):
                self._token = line.removeprefix("token:").strip()
                self._has_token.set()
        self._has_token.set()

    @property
    def token(self) -> str:
        """What it has printed, when it waits for senders."""
        assert self._has_token.wait(PATIENCE_S)
        assert self._token is not None, "".join(self.said)
        return self._token

    @property
    def output(self) -> str:
        """All that it has said until now."""
        return "".join(self.said)

    def status(self, key: str) -> int:
        """A number of its `/proc/PID/status`."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1])
        raise KeyError(key)

    def files(self) -> int:
        """How many files it has open."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    def kill(self) -> None:
        """As `kill -9`."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """Ask it to end, and wait until it has."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for reader in self._readers:
            reader.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


def sending(
    path: Path | str,
    address: str,
    token: str,
    *options: str,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen:
    """`fairway send`, as a process."""
    command = [
        sys.executable, "-m", "fairway", "send", str(path), address, "--token", token, *options,
    ]  # fmt: skip
    return subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class Sent:
    """What came of `fairway send`."""

    def __init__(self, process: subprocess.Popen, timeout_s: float = PATIENCE_S) -> None:
        try:
            out, error = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, error = process.communicate()
            raise AssertionError(f"it has not ended in {timeout_s} s\n{out}{error}") from None
        self.code = process.returncode
        self.said = out + error

    @property
    def well(self) -> bool:
        """Whether it has confirmed."""
        return self.code == 0


def send(path: Path | str, address: str, token: str, *options: str) -> Sent:
    """`fairway send`, to its end."""
    return Sent(sending(path, address, token, *options))


def no_traceback(*texts: str) -> None:
    """Nobody has crashed."""
    for text in texts:
        assert "Traceback" not in text and "panicked" not in text, text


class Wire:
    """What a proxy does to one connection: told of every piece before it goes on.

    It may return other bytes, `RESET` to cut the connection or `STALL` to let nothing more through.
    """

    RESET = b"reset"
    STALL = b"stall"

    def piece(self, number: int, of_client: bool, before: int, data: bytes) -> bytes:
        """Bytes of connection `number` in one direction, of which `before` have gone before."""
        del number, of_client, before
        return data


class Proxy:
    """Carries every connection on to a port, through a `Wire`."""

    def __init__(self, port: int, wire: Wire) -> None:
        self._target = port
        self._wire = wire
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        self._carriers: list[threading.Thread] = []
        self._closing = threading.Event()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            number = self.connections
            self.connections += 1
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                _reset(client)
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ends.append(end)
            for ends, of_client in (((client, server), True), ((server, client), False)):
                carrier = threading.Thread(
                    target=self._carry, args=(*ends, number, of_client), daemon=True
                )
                self._carriers.append(carrier)
                carrier.start()

    def _carry(self, near: socket.socket, far: socket.socket, number: int, of_client: bool) -> None:
        before = 0
        try:
            while data := near.recv(65536):
                changed = self._wire.piece(number, of_client, before, data)
                if changed is Wire.RESET:
                    _reset(near)
                    _reset(far)
                    return
                if changed is Wire.STALL:
                    self._closing.wait(PATIENCE_S)
                    return
                before += len(data)
                far.sendall(changed)
            far.shutdown(socket.SHUT_WR)
        except OSError:
            _reset(near)
            _reset(far)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(PATIENCE_S)
        for end in self._ends:
            _reset(end)
        for carrier in self._carriers:
            carrier.join(PATIENCE_S)
        self._listener.close()


def _reset(end: socket.socket) -> None:
    """Close it with a RST."""
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Who waits in recv() is not woken by close() alone.
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()
