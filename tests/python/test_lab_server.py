"""The server of the laboratory's page: only its files, only to this computer, within limits."""

import asyncio
import contextlib
import random
import socket
import threading
from pathlib import Path

import pytest

from fairway.lab import request, server
from waiting import PATIENCE_S, until

SECRET = b"outside of the page"
SCRIPT = b"export const one = 1;\n" * 10


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page of two files, with traps beside and in it."""
    page = tmp_path / "page"
    (page / "built").mkdir(parents=True)
    (page / "index.html").write_bytes(b"<!doctype html>\n")
    (page / "built" / "engine.js").write_bytes(SCRIPT)
    (page / "built" / server.WASM).write_bytes(b"\0asm" * (1 << 20))
    (page / "notes.txt").write_bytes(SECRET)
    (tmp_path / "secret.js").write_bytes(SECRET)
    (page / "link.js").symlink_to(tmp_path / "secret.js")
    (page / "folder").symlink_to(tmp_path)
    monkeypatch.setattr(server, "PAGE", page)
    monkeypatch.setattr(server, "BUILT", page / "built")
    return page


@pytest.fixture
def running(page):
    with server.server() as opened:
        thread = threading.Thread(target=opened.serve_forever, daemon=True)
        thread.start()
        yield opened
        opened.shutdown()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def silent(capfd):
    yield
    assert capfd.readouterr() == ("", "")


def connected(running):
    return contextlib.closing(
        socket.create_connection((server.ADDRESS, running.server_port), PATIENCE_S)
    )


def sent(running, data):
    """All that comes back before the server closes the connection."""
    with connected(running) as line:
        with contextlib.suppress(ConnectionError):
            line.sendall(data)
        return received(line)


def received(line):
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := line.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def get(running, path="/built/engine.js", method="GET", *fields, host=None):
    host = f"127.0.0.1:{running.server_port}" if host is None else host
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *fields, "", ""]
    return sent(running, "\r\n".join(lines).encode("latin-1"))


def status(reply):
    assert reply.startswith(b"HTTP/1.1 "), reply[:200]
    return int(reply.split(b" ", 2)[1])


def content(reply):
    return reply.partition(b"\r\n\r\n")[2]


def test_files_are_served_with_their_type_and_nothing_is_kept_or_embedded(running):
    reply = get(running)
    assert status(reply) == 200
    assert content(reply) == SCRIPT
    for line in ("Content-Type: text/javascript; charset=utf-8", f"Content-Length: {len(SCRIPT)}",
                 "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
                 "Cross-Origin-Opener-Policy: same-origin", "Cache-Control: no-store",
                 "Cross-Origin-Resource-Policy: same-origin", "Referrer-Policy: no-referrer",
                 f"Content-Security-Policy: {request.POLICY}"):  # fmt: skip
        assert f"\r\n{line}\r\n".encode() in reply
    assert content(get(running, "/")) == b"<!doctype html>\n"
    assert content(get(running, "/index.html?a=../b")) == b"<!doctype html>\n"
    assert len(content(get(running, f"/built/{server.WASM}"))) == 4 << 20


def test_head_has_the_headers_alone(running):
    reply = get(running, method="HEAD")
    assert f"\r\nContent-Length: {len(SCRIPT)}\r\n".encode() in reply
    assert content(reply) == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_only_get_and_head_are_answered(running, method):
    reply = get(running, method=method)
    assert status(reply) == 405
    assert b"\r\nAllow: GET, HEAD\r\n" in reply


@pytest.mark.parametrize(
    "path",
    [
        "/%00", "/index.html%00", "/%00/../secret.js", "/../secret.js", "/%2e%2e/secret.js",
        "/%252e%252e/secret.js", "/built/../../secret.js", "/..%2fsecret.js", "/..\\secret.js",
        "/%5c..%5csecret.js", "//secret.js", "/built/", "/built", "/nothing", "/notes.txt",
        "/link.js", "/folder/secret.js", "/index.html/", "/./index.html", "/built//engine.js",
        "/%ff", "/%C3%28", "/%", "/%zz", "/" + "a" * 9000, "//127.0.0.1/index.html", "index.html",
        "*", "file:///etc/passwd", "/C:/Windows/win.ini", "/INDEX.HTML",
    ],
)  # fmt: skip
def test_nothing_but_files_of_the_page_is_served(running, path):
    reply = get(running, path)
    assert status(reply) == 404
    assert SECRET not in reply


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
def test_names_of_this_computer_are_answered(running, name):
    assert status(get(running, host=f"{name}:{running.server_port}")) == 200
    whole = f"http://{name}:{running.server_port}/built/engine.js"
    assert status(get(running, whole)) == 200
    assert status(get(running, "/", "GET", f"Origin: http://{name}:{running.server_port}")) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost", "127.0.0.1",
        "127.0.0.1:1", "localhost.:{port}", "", "0.0.0.0:{port}", "127.1:{port}", "[::1]",
        "user@localhost:{port}", "localhost:{port}, evil.example", "2130706433:{port}",
        "[::ffff:127.0.0.1]:{port}", "localhost:{port}/..", "\xff",
    ],
)  # fmt: skip
def test_other_names_of_this_server_are_refused_in_words(running, host):
    host = host.format(port=running.server_port)
    reply = get(running, host=host)
    assert status(reply) == 421
    assert f"open http://127.0.0.1:{running.server_port}/ on it".encode() in reply
    whole = get(running, f"http://{host or 'x'}/built/engine.js")
    assert status(whole) in (400, 404, 421)
    assert SCRIPT not in whole


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", ""])
def test_a_page_of_another_origin_is_refused(running, origin):
    reply = get(running, "/", "GET", f"Origin: {origin.format(port=running.server_port)}")
    assert status(reply) == 403


#: Requests; {host} stands for the field that names this server.
NO_REQUESTS = [
    "\r\n\r\n",
    "GET\r\n\r\n",
    "GET /\r\n{host}\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/2.0\r\n{host}\r\n",
    "GET  / HTTP/1.1\r\n{host}\r\n",
    "GET / HTTP/1.1 \r\n{host}\r\n",
    "G\0T / HTTP/1.1\r\n{host}\r\n",
    "GET /\0 HTTP/1.1\r\n{host}\r\n",
    "GET / HTTP/1.1\r\n{host}{host}\r\n",
    "GET / HTTP/1.1\r\n{host} folded\r\n\r\n",
    "GET / HTTP/1.1\r\n{host}a\r\n\r\n",
    "GET / HTTP/1.1\r\n{host}a b: c\r\n\r\n",
    "GET / HTTP/1.1\r\n{host}a : c\r\n\r\n",
    "GET / HTTP/1.1\r\n{host}a: \x01\r\n\r\n",
    "GET / HTTP/1.1\r\n{host}a: b\nc\r\n\r\n",
    "GET / HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\nhello",
    "GET / HTTP/1.1\r\n{host}Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello",
    "GET / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\x16\x03\x01\x02\0\x01\0\r\n\r\n",
]


@pytest.mark.parametrize("text", NO_REQUESTS)
def test_a_request_that_is_none_is_refused(running, text):
    host = f"Host: localhost:{running.server_port}\r\n"
    reply = sent(running, text.replace("{host}", host).encode("latin-1"))
    assert status(reply) == 400


def test_a_request_that_is_too_large_is_refused(running):
    for large in (f"GET /{'a' * 70_000} HTTP/1.1\r\n", "GET / HTTP/1.1\r\n" + "a: b\r\n" * 20_000):
        assert status(sent(running, large.encode() + b"\r\n")) == 431


def test_a_request_may_come_in_pieces(running):
    with connected(running) as line:
        host = f"\nHost: localhost:{running.server_port}\r\n\r".encode()
        for piece in (b"GET / HT", b"TP/1.1\r", host, b"\n"):
            line.sendall(piece)
        assert status(received(line)) == 200


def test_half_a_request_is_answered_after_a_while(running, monkeypatch):
    monkeypatch.setattr(server, "_HEAD_S", 0.05)
    assert status(sent(running, b"GET / HTTP/1.1\r\n")) == 408


def test_who_reads_too_slowly_is_left(running, monkeypatch):
    monkeypatch.setattr(server, "_ANSWER_S", 0.05)
    with socket.socket() as line:
        # What fits into buffers of the kernel is sent to a reader however slow it is.
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        line.settimeout(PATIENCE_S)
        line.connect((server.ADDRESS, running.server_port))
        host = f"Host: localhost:{running.server_port}"
        line.sendall(f"GET /built/{server.WASM} HTTP/1.1\r\n{host}\r\n\r\n".encode())
        assert line.recv(1)
        until(lambda: not running._open)
        assert len(received(line)) < 4 << 20


def test_slow_readers_keep_nobody_out(running):
    host = f"Host: localhost:{running.server_port}"
    with contextlib.ExitStack() as held:
        for _ in range(100):
            line = held.enter_context(connected(running))
            line.sendall(f"GET /built/{server.WASM} HTTP/1.1\r\n{host}\r\n\r\n".encode())
        assert status(get(running)) == 200
        assert len(running._open) <= server._MAX_CONNECTIONS


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    "half", [b"", b"GET / HTTP/1.1\r\n", b"G" * 20_000], ids=["nothing", "half", "no line"]
)
def test_hundreds_of_half_requests_hold_no_thread_and_the_server_answers(running, half):
    before, threads = descriptors(), threading.active_count()
    with contextlib.ExitStack() as held:
        for _ in range(400):
            line = held.enter_context(connected(running))
            with contextlib.suppress(ConnectionError):
                line.sendall(half)
        assert threading.active_count() == threads
        assert status(get(running)) == 200
        # Of each of ours the server has at most one, of no more than its limit.
        assert len(running._open) <= server._MAX_CONNECTIONS
        assert descriptors() <= before + 400 + server._MAX_CONNECTIONS + 16
    assert status(get(running)) == 200
    assert threading.active_count() == threads


def random_request(draw, port):
    """Bytes: arbitrary ones, or those of a request with some of them changed."""
    if draw.random() < 0.2:
        return draw.randbytes(draw.randrange(300)) + draw.choice((b"", b"\r\n\r\n"))
    path = "".join(draw.choices(("/", "..", "%2e", "%00", "%5c", "built", "engine.js", "a"), k=5))
    lines = [
        f"{draw.choice(('GET', 'HEAD', 'POST', 'X'))} {draw.choice(('/', path))} HTTP/1.1",
        *draw.sample([f"Host: localhost:{port}", "Origin: x", "A: b", "Content-Length: 3", ":"], 2),
    ]
    data = bytearray("\r\n".join([*lines, "", ""]).encode())
    for _ in range(draw.choice((0, 0, 1, 3))):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data[: draw.choice((None, None, None, draw.randrange(len(data))))])


STATUSES = {200, 400, 403, 404, 405, 421}


def test_random_requests_get_files_or_words(page):
    draw = random.Random(1)
    files = server._files(page)
    seen = set()
    for _ in range(20_000):
        head = random_request(draw, 8017).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        found = request.answer(head, 8017, files)
        seen.add(found.status.value)
        assert SECRET not in found.to_bytes()
        assert (found.status == 200) == (found.content in (SCRIPT, b"<!doctype html>\n"))
    assert seen == STATUSES


def test_random_bytes_get_an_answer_or_an_end_and_the_server_goes_on(running, monkeypatch):
    monkeypatch.setattr(server, "_HEAD_S", 0.05)
    draw = random.Random(2)
    for number in range(300):
        data = random_request(draw, running.server_port)
        if number % 3:
            reply = sent(running, data)
            assert status(reply) in {*STATUSES, 408}, data
        else:  # it goes away without reading
            with connected(running) as line:
                line.sendall(data)
    assert status(get(running)) == 200


def test_a_file_that_goes_away_is_no_error(running, page):
    (page / "built" / "engine.js").unlink()
    assert status(get(running)) == 404


def test_the_thread_that_makes_it_may_have_an_event_loop_running(page):
    async def made():
        return server.server()

    with asyncio.run(made()) as opened:
        thread = threading.Thread(target=opened.serve_forever, daemon=True)
        thread.start()
        assert status(get(opened)) == 200
        opened.shutdown()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_it_stops_while_others_are_connected(page):
    with server.server() as opened:
        thread = threading.Thread(target=opened.serve_forever, daemon=True)
        thread.start()
        with connected(opened), connected(opened) as other:
            other.sendall(b"GET / ")
            assert status(get(opened)) == 200
            opened.shutdown()
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
