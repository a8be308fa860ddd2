"""The advice held against a kernel: what a connection between two namespaces has on its way."""

import os
import re
import shutil
import subprocess
import sys
from uuid import uuid4

import pytest

from fairway.host import Path, advise, settings, windows
from waiting import PATIENCE_S

#: A bottleneck without much delay of its own: what is on its way queues, up to the window.
SHAPER = "rate 40mbit burst 32k limit 64mb"

#: Of the judged path: 40 Mbit/s at 400 ms are 2,000,000 bytes.
PATH = Path(rtt_s=0.4, rate_bps=40e6)
NEED = 2_000_000

#: Reads all there is, as an application that keeps up.
READER = """
import socket, sys
server = socket.create_server(("", 5001))
print("ready", flush=True)
connection = server.accept()[0]
while connection.recv(1 << 18):
    pass
"""

#: Sends, and prints the most bytes that it had sent and not acknowledged: SIOCOUTQ - SIOCOUTQNSD
#: (tcp(7)). Ends when that is as much as asked for, or so much has been sent that it will not be.
WRITER = """
import fcntl, select, socket, struct, sys
enough, last = map(int, sys.argv[1:])
connection = socket.socket()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
connection.connect(("10.99.2.2", 5001))
connection.setblocking(False)
ask = lambda what: struct.unpack("i", fcntl.ioctl(connection, what, bytes(4)))[0]
most = sent = 0
while most < enough and sent < last:
    # Whoever writes without waiting for room is not bounded by the buffer: its last block is filled
    # again and again.
    if select.select([], [connection], [], 0.002)[1]:
        sent += connection.send(bytes(1 << 16))
    most = max(most, ask(0x5411) - ask(0x894B))
print(most)
"""


def run(*arguments: str) -> str:
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    if done.returncode:
        raise OSError(f"{' '.join(arguments[:6])}: {done.stderr.strip()}")
    return done.stdout


def make(names: tuple[str, str, str]) -> None:
    """A host, a router with a shaper, a host. A sender does not queue much on its own interface."""
    one, router, two = names
    for side, host, other in (("to-one", one, 2), ("to-two", two, 1)):
        here = 3 - other
        run("ip", "link", "add", "eth", "netns", host, "type", "veth", "peer", "name", side,
            "netns", router)  # fmt: skip
        run("ip", "-n", host, "addr", "add", f"10.99.{here}.2/24", "dev", "eth")
        run("ip", "-n", router, "addr", "add", f"10.99.{here}.1/24", "dev", side)
        run("ip", "-n", host, "link", "set", "eth", "up")
        run("ip", "-n", router, "link", "set", side, "up")
        run("ip", "-n", host, "route", "add", f"10.99.{other}.0/24", "via", f"10.99.{here}.1")
    set_sysctl(router, "net.ipv4.ip_forward", "1")
    run("tc", "-n", router, "qdisc", "add", "dev", "to-two", "root", "tbf", *SHAPER.split())


@pytest.fixture
def namespaces():
    """Two hosts with a shaper between them, as network namespaces; skips if not to be had."""
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs Linux, root and iproute2 to make network namespaces")
    names = tuple(f"fairway-{uuid4().hex[:8]}-{part}" for part in ("one", "router", "two"))
    made = []
    try:
        try:
            for name in names:
                run("ip", "netns", "add", name)
                made.append(name)
            make(names)
        except OSError as error:
            pytest.skip(f"no namespaces with a shaper here: {error}")
        yield names[0], names[2]
    finally:
        for name in made:
            run("ip", "netns", "del", name)


def set_sysctl(namespace: str, name: str, value: str) -> None:
    run("ip", "netns", "exec", namespace, "sh", "-c",
        f'echo "{value}" > /proc/sys/{name.replace(".", "/")}')  # fmt: skip


def inside(namespace: str):
    """The settings as they are in a namespace, and not here."""
    code = "import json; from fairway.host import settings; print(json.dumps(settings().to_json()))"
    text = run("ip", "netns", "exec", namespace, sys.executable, "-c", code)
    from json import loads

    from fairway.host import Settings

    return Settings.from_json(loads(text))


def most_on_its_way(one: str, two: str, last: int) -> int:
    exec_in = ("ip", "netns", "exec")
    with subprocess.Popen(
        [*exec_in, two, sys.executable, "-c", READER], stdout=subprocess.PIPE, text=True
    ) as reader:
        try:
            assert reader.stdout.readline() == "ready\n"
            return int(run(*exec_in, one, sys.executable, "-c", WRITER, str(NEED), str(last)))
        finally:
            reader.kill()


@pytest.mark.parametrize("side", ["receive", "send"])
def test_the_lines_lift_the_limit_of_a_kernel(namespaces, side):
    one, two = namespaces
    narrow, wide = "4096 65536 262144", "4096 131072 67108864"
    receives = side == "receive"
    set_sysctl(two, "net.ipv4.tcp_rmem", narrow if receives else wide)
    set_sysctl(one, "net.ipv4.tcp_wmem", wide if receives else narrow)
    judged = two if receives else one

    host = inside(judged)
    window = windows.receive(host) if receives else windows.send(host)
    assert window.buffer_bytes == 262_144
    before = most_on_its_way(one, two, 10 * NEED)
    # A block of 64 KiB may exceed a send buffer.
    assert before <= window.high_bytes + 65_536
    advice = advise(host, PATH, side)
    assert advice.limited

    for change in advice.changes:
        written = re.fullmatch(r'sysctl -w (net\.[\w.]+)=("[\d ]+"|\d+)', change.line)
        assert written, change.line
        # net.core is not a namespace's: those lines are for programs that set their own buffers.
        if written[1].startswith("net.ipv4."):
            set_sysctl(judged, written[1], written[2].strip('"'))
    assert not advise(inside(judged), PATH, side).limited
    # The window grows until it has as much: no number of bytes is too many.
    assert most_on_its_way(one, two, 1 << 60) >= NEED


def test_what_is_read_in_a_namespace_is_its_own(namespaces):
    one, _ = namespaces
    set_sysctl(one, "net.ipv4.tcp_rmem", "4096 65536 123456")
    assert inside(one).sysctls.tcp_rmem == (4096, 65_536, 123_456)
    assert settings().sysctls.tcp_rmem != (4096, 65_536, 123_456)
