"""What is read of a host: of a faked /proc and /sys, and of the one that the tests run on."""

import json
import socket
import struct
import sys
from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.host import Interface, Settings, Sysctls, route_to, settings
from fairway.host import network as netlink
from fairway.host.sysctls import full_name

LINUX = sys.platform.startswith("linux")


def fake(root: Path, **files: str) -> Path:
    """A directory with files in it: underscores of the keyword `a__b` separate folders."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_host_is_read(tmp_path):
    root = fake(
        tmp_path,
        proc__sys__kernel__osrelease="6.1.0-28-amd64\n",
        proc__sys__net__core__rmem_max="212992\n",
        proc__sys__net__core__default_qdisc="fq_codel\n",
        proc__sys__net__ipv4__tcp_rmem="4096\t131072\t6291456\n",
        proc__sys__net__ipv4__tcp_available_congestion_control="reno cubic\n",
        proc__meminfo="MemTotal:        4046732 kB\nMemFree: 1 kB\n",
        sys__devices__system__cpu__cpu0__cpufreq__scaling_governor="powersave\n",
        sys__devices__system__cpu__cpu1__cpufreq__scaling_governor="performance\n",
        sys__class__net__eno1__mtu="9000\n",
        sys__class__net__eno1__speed="25000\n",
        sys__class__net__eno1__operstate="up\n",
        sys__class__net__eno1__tx_queue_len="1000\n",
        **{
            "sys__class__net__eno1__queues__tx-0__x": "",
            "sys__class__net__eno1__queues__tx-1__x": "",
        },
    )
    found = settings(root=root, interface="eno1")
    assert found.kernel == "6.1.0-28-amd64"
    assert found.memory_bytes == 4046732 * 1024
    assert found.governor == "performance, powersave"
    assert found.sysctls.rmem_max == 212992
    assert found.sysctls.default_qdisc == "fq_codel"
    assert found.sysctls.tcp_rmem == (4096, 131072, 6291456)
    assert found.sysctls.tcp_available_congestion_control == ("reno", "cubic")
    assert found.interface == Interface(
        "eno1", state="up", mtu_bytes=9000, speed_bps=25_000_000_000, tx_queue_packets=1000,
        send_queues=2,
    )  # fmt: skip


def test_what_is_absent_is_none(tmp_path):
    found = settings(root=tmp_path, interface="eth0", directory=tmp_path)
    assert found == Settings(system="Linux")
    assert set(found.to_json()["sysctls"].values()) == {None}


@pytest.mark.parametrize(
    "text",
    ["", "\n", "many", "4096 131072", "4096 131072 x", "1 2 3 4", "-1 -1 -1", "9" * 5000,
     "4096 131072 6291456 \0", "4096 1e3 6291456", "\udcff".encode("utf-8", "surrogateescape")],
)  # fmt: skip
def test_what_is_malformed_is_none(tmp_path, text):
    place = tmp_path / "proc/sys/net/ipv4"
    place.mkdir(parents=True)
    for name in ("tcp_rmem", "tcp_sack"):
        (place / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = Sysctls.read(tmp_path)
    assert found.tcp_rmem is None
    assert found.tcp_sack is None


def test_huge_values_are_kept_and_huge_files_are_not_read_whole(tmp_path):
    root = fake(
        tmp_path,
        proc__sys__net__core__rmem_max=str(2**31 - 1),
        proc__sys__net__ipv4__tcp_notsent_lowat=str(2**32 - 1),
        proc__sys__net__ipv4__tcp_allowed_congestion_control="reno " * 10_000_000,
    )
    found = Sysctls.read(root)
    assert found.rmem_max == 2**31 - 1
    assert found.tcp_notsent_lowat == 2**32 - 1
    assert len(found.tcp_allowed_congestion_control) < 1000


def test_a_file_that_cannot_be_read_is_none(tmp_path):
    (tmp_path / "proc/sys/net/ipv4/tcp_rmem").mkdir(parents=True)
    (tmp_path / "proc/sys/net/core").mkdir(parents=True)
    (tmp_path / "proc/sys/net/core/rmem_max").symlink_to("rmem_max")
    found = Sysctls.read(tmp_path)
    assert (found.tcp_rmem, found.rmem_max) == (None, None)


@pytest.mark.parametrize("speed", ["-1", "4294967295", "0", "fast"])
def test_an_unknown_speed_is_none(tmp_path, speed):
    root = fake(tmp_path, sys__class__net__eth0__speed=speed)
    assert Interface.read("eth0", root).speed_bps is None


@pytest.mark.parametrize("name", ["", ".", "..", "../net/eth0", "eth1"])
def test_no_interface_of_that_name(tmp_path, name):
    root = fake(tmp_path, sys__class__net__eth0__mtu="1500")
    assert Interface.read(name, root) is None


def test_the_innermost_mount_that_is_seen_is_the_directorys(tmp_path):
    data = tmp_path / "data here"
    data.mkdir()
    point = str(data).replace(" ", "\\040")
    lines = [
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        f"2 1 8:2 / {point} rw shared:1 - xfs /dev/sdb1 rw",
        f"3 1 8:2 / {point} rw - nfs4 server:/data rw",
        f"4 1 8:2 / {point}2 rw - tmpfs tmpfs rw",
        "malformed", "5 1 8:2 / /x", "- - -", "",
    ]  # fmt: skip
    root = fake(tmp_path / "root", proc__self__mountinfo="\n".join(lines))
    found = settings(root=root, directory=data / "yet to be made").file_system
    assert (found.mount_point, found.kind, found.source) == (str(data), "nfs4", "server:/data")


def test_settings_survive_json_and_a_stranger_does_no_harm(tmp_path):
    found = settings("localhost", directory=tmp_path)
    assert Settings.from_json(json.loads(json.dumps(found.to_json()))) == found
    strange = {name: {"a": [1]} for name in found.sysctls.to_json()}
    assert Sysctls.from_json(strange).tcp_rmem is None


def test_names_of_settings():
    assert full_name("tcp_wmem") == "net.ipv4.tcp_wmem"
    assert full_name("default_qdisc") == "net.core.default_qdisc"


def test_an_unknown_host_is_refused_with_its_name(monkeypatch):
    with pytest.raises(InputError, match="no address is known"):
        settings("a" * 300)

    def unknown(*_arguments, **_options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(InputError, match=r"no-such-host: no address is known .*Name or service"):
        settings("no-such-host")


@pytest.mark.skipif(not LINUX, reason="the route is Linux's")
def test_the_route_to_this_host_is_its_loopback():
    found = route_to("127.0.0.1")
    assert (found.interface, found.source) == ("lo", "127.0.0.1")
    own = settings("127.0.0.1").interface
    assert own.mtu_bytes == int(Path("/sys/class/net/lo/mtu").read_text())
    assert own.offloads is None or set(own.offloads) >= {"tso", "gso", "gro"}


def test_another_system_gives_none_everywhere(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(socket, "AF_NETLINK", raising=False)
    assert netlink.queues(1) == ()
    assert netlink.route(__import__("ipaddress").ip_address("127.0.0.1")) is None
    found = settings("127.0.0.1", root="/")
    assert found.route.mtu_bytes is None


@pytest.mark.parametrize("data", [b"", b"\0" * 3, b"\0" * 64, b"\xff" * 64])
def test_malformed_answers_end(data):
    assert list(netlink.messages(data)) == []
    assert list(netlink.attributes(data)) == []


def test_lengths_that_cannot_be_end_an_answer():
    assert list(netlink.messages(struct.pack("=IHHII", 15, 24, 0, 0, 0))) == []
    assert list(netlink.messages(struct.pack("=IHHII", 2**32 - 1, 24, 0, 0, 0))) == []
    assert list(netlink.attributes(struct.pack("=HH", 3, 1))) == []
    assert list(netlink.attributes(struct.pack("=HH", 9, 1))) == []


def test_an_answer_is_taken_apart():
    # rtattr: length, kind, value, padding to four bytes (include/uapi/linux/rtnetlink.h).
    data = struct.pack("=HH4s", 8, 4, b"abcd") + struct.pack("=HH5s3x", 9, 7, b"hello")
    assert list(netlink.attributes(data)) == [(4, b"abcd"), (7, b"hello")]
