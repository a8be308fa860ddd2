"""What settings allow on a path, by numbers worked out by hand."""

import json
import socket
import threading
from dataclasses import replace

import pytest

from conftest import command
from fairway.errors import InputError, RunFailed
from fairway.ground import quantities
from fairway.host import Interface, Path, Route, Settings, Sysctls, advise, windows
from fairway.host.advice import sending
from fairway.host.rtt import measure, split

MIB = 1 << 20

#: A host as Debian 12 ships it, with 16 GiB.
DEBIAN_12 = Settings(
    system="Linux", kernel="6.1.0-28-amd64", cores=8, memory_bytes=16 << 30,
    open_files=(1024, 1_048_576),
    sysctls=Sysctls(
        rmem_max=212_992, wmem_max=212_992, tcp_rmem=(4096, 131_072, 6 * MIB),
        tcp_wmem=(4096, 16_384, 4 * MIB), tcp_mem=(188_000, 250_000, 376_000),
        tcp_adv_win_scale=1, tcp_moderate_rcvbuf=1, tcp_window_scaling=1, tcp_timestamps=1,
        tcp_sack=1, tcp_congestion_control="cubic",
        tcp_available_congestion_control=("reno", "cubic"),
        tcp_allowed_congestion_control=("reno", "cubic"), default_qdisc="fq_codel",
        tcp_pacing_ca_ratio=120, tcp_min_tso_segs=2, tcp_tso_rtt_log=9,
    ),
)  # fmt: skip


def with_sysctls(host=DEBIAN_12, **changed):
    return replace(host, sysctls=replace(host.sysctls, **changed))


def texts(advice, topic):
    return " ".join(one.text for one in advice.statements if one.topic == topic)


def test_a_window_of_4_mib_at_200_ms_carries_168_mbit_s():
    # 4 * 2^20 bytes * 8 bit / 0.2 s = 167,772,160 bit/s.
    assert windows.rate_of(4 * MIB, 0.2) == 167_772_160


def test_the_paths_product():
    # 10^10 bit/s * 0.2 s / 8 = 250,000,000 bytes; 10^7 * 0.2 / 8 = 250,000.
    assert windows.bandwidth_delay_bytes(10e9, 0.2) == 250_000_000
    assert windows.bandwidth_delay_bytes(10e6, 0.2) == 250_000


@pytest.mark.parametrize(
    ("scale", "offered"),
    # Linux, tcp_win_from_space: space - (space >> scale) above zero, space >> -scale otherwise.
    [(1, 4 * MIB), (2, 6 * MIB), (3, 7 * MIB), (0, 8 * MIB), (-1, 4 * MIB), (-2, 2 * MIB),
     (None, 4 * MIB)],
)  # fmt: skip
def test_the_window_before_linux_6_6(scale, offered):
    host = with_sysctls(tcp_adv_win_scale=scale, tcp_rmem=(4096, 131_072, 8 * MIB))
    window = windows.receive(host)
    assert (window.low_bytes, window.high_bytes) == (offered, offered)


@pytest.mark.parametrize("release", ["6.6.0", "6.18.44-virt", "7.0-rc1", None, "unknown"])
def test_the_window_since_linux_6_6_is_half_and_up_to_all(release):
    window = windows.receive(replace(with_sysctls(tcp_adv_win_scale=-2), kernel=release))
    assert (window.low_bytes, window.high_bytes) == (3 * MIB, 6 * MIB)


def test_without_tuning_the_first_size_stays():
    window = windows.receive(with_sysctls(tcp_moderate_rcvbuf=0))
    assert (window.setting, window.high_bytes) == ("tcp_rmem[1]", 65_536)


def test_without_scaling_a_window_has_16_bits():
    window = windows.receive(with_sysctls(tcp_window_scaling=0))
    assert (window.setting, window.low_bytes, window.high_bytes) == (
        "tcp_window_scaling", 65_535, 65_535,
    )  # fmt: skip


def test_no_window_exceeds_what_scaling_can_say():
    # RFC 7323: 65,535 << 14 = 1,073,725,440 bytes.
    host = with_sysctls(tcp_rmem=(4096, 131_072, 2**31 - 1), tcp_adv_win_scale=0)
    assert windows.receive(host).high_bytes == 1_073_725_440


def test_what_a_program_asks_for_is_doubled():
    # 212,992 is doubled to 425,984, of which half is the window: 212,992 * 8 / 0.2 = 8.52 Mbit/s.
    assert windows.receive_requested(DEBIAN_12).low_bytes == 212_992
    assert windows.send_requested(DEBIAN_12).high_bytes == 425_984


def test_a_send_buffer_keeps_two_thirds_to_all_of_itself_on_its_way():
    window = windows.send(with_sysctls(tcp_wmem=(4096, 16_384, 3 * MIB)))
    assert (window.low_bytes, window.high_bytes) == (2 * MIB, 3 * MIB)


def test_streams_without_tuning():
    # 250,000,000 bytes / (3 * 2^20) = 79.47, so 80 receive windows; of senders' 2/3 * 4 MiB =
    # 2,796,202 bytes it takes 89.41, so 90.
    path = Path(rtt_s=0.2, rate_bps=10e9)
    assert advise(DEBIAN_12, path, "receive").streams == 80
    assert advise(DEBIAN_12, path, "send").streams == 90
    assert advise(DEBIAN_12, path).streams == 90


def test_the_sentence_of_the_receiver():
    advice = advise(DEBIAN_12, Path(rtt_s=0.2, rate_bps=10e9), "receive")
    text = texts(advice, "receiver")
    # 3 * 2^20 * 8 / 0.2 = 125,829,120 bit/s.
    assert "one stream can carry at most 125.8 Mbit/s at 200 ms: tcp_rmem[2] is 6 MiB" in text
    assert "half of it is offered as window (tcp_adv_win_scale 1)" in text
    assert "need 250 MB on their way" in text
    assert "80 streams would do" in text
    assert advice.limited


def test_the_lines_lift_the_limit_and_no_more_is_changed():
    path = Path(rtt_s=0.2, rate_bps=1e9)
    advice = advise(DEBIAN_12, path)
    lines = {change.name: change.value for change in advice.changes}
    # 25,000,000 bytes, twice; half of the buffer is the window: 10^8 bytes, up to whole MiB: 96.
    assert lines["net.ipv4.tcp_rmem"] == f"4096 131072 {96 * MIB}"
    # Twice, and two thirds of the buffer count: 75,000,000 bytes, up to whole MiB: 72.
    assert lines["net.ipv4.tcp_wmem"] == f"4096 16384 {72 * MIB}"
    # SO_RCVBUF is doubled and half of it offered: 25,000,000 bytes, 24 MiB. SO_SNDBUF is doubled
    # and two thirds of it count: 18,750,000 bytes, 18 MiB.
    assert lines["net.core.rmem_max"] == str(24 * MIB)
    assert lines["net.core.wmem_max"] == str(18 * MIB)
    assert set(lines) == {
        "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.core.rmem_max", "net.core.wmem_max",
    }  # fmt: skip
    applied = with_sysctls(
        tcp_rmem=(4096, 131_072, 96 * MIB), tcp_wmem=(4096, 16_384, 72 * MIB),
        rmem_max=24 * MIB, wmem_max=18 * MIB,
    )  # fmt: skip
    after = advise(applied, path)
    assert not after.limited
    assert after.changes == ()
    assert after.streams == 1


def test_switches_that_are_off_are_turned_on():
    host = with_sysctls(tcp_window_scaling=0, tcp_moderate_rcvbuf=0)
    advice = advise(host, Path(rtt_s=0.2, rate_bps=1e9), "receive")
    lines = {change.name: change.value for change in advice.changes}
    assert lines["net.ipv4.tcp_window_scaling"] == "1"
    assert lines["net.ipv4.tcp_moderate_rcvbuf"] == "1"


def test_no_setting_lets_one_stream_exceed_a_gibibyte():
    # 10^11 bit/s * 0.2 s / 8 = 2.5 GB = 2.33 windows of 65,535 << 14.
    advice = advise(DEBIAN_12, Path(rtt_s=0.2, rate_bps=100e9), "receive")
    assert "at least 3 streams are needed" in texts(advice, "receiver")
    value = {change.name: change.value for change in advice.changes}["net.ipv4.tcp_rmem"]
    assert int(value.split()[2]) == 2**31 - 1


def test_streams_share_the_work():
    path = Path(rtt_s=0.2, rate_bps=1e9, streams=10)
    # 2.5 MB for each: less than the windows of 3 MiB and of 2/3 * 4 MiB.
    advice = advise(DEBIAN_12, path)
    assert not advice.limited
    assert "10 streams together fill 1 Gbit/s" in texts(advice, "receiver")
    assert not [change for change in advice.changes if change.name.startswith("net.ipv4")]


def test_more_than_tcps_memory_is_said():
    host = with_sysctls(tcp_mem=(3_000, 4_000, 6_000))
    advice = advise(host, Path(rtt_s=0.2, rate_bps=1e9))
    # Twice 25 MB is 12,208 pages of 4096 bytes; the kernel's ratio is 3 : 4 : 6.
    value = {change.name: change.value for change in advice.changes}["net.ipv4.tcp_mem"]
    assert value == "9156 12208 18312"
    small = replace(host, memory_bytes=64 * MIB)
    assert "too little for this path" in texts(advise(small, Path(0.2, 1e9)), "memory")


def test_the_other_side_is_told_what_it_needs():
    advice = advise(DEBIAN_12, Path(rtt_s=0.2, rate_bps=1e9), "send")
    # 23.8 MiB of window; a tcp_rmem[2] of four times as much.
    assert len(advice.other_side) == 1
    assert "a tcp_rmem[2] of 96 MiB" in advice.other_side[0]


@pytest.mark.parametrize(
    ("loss", "cc", "streams"),
    # Reno: sqrt(1.5 / 10^-4) = 122.47 segments of 1448 bytes in 0.2 s are 7.09 Mbit/s: 15 of them
    # for 100 Mbit/s. CUBIC: 1.0538 * (0.2 / 10^-4)^0.75 = 315.2 segments are 18.26 Mbit/s: 6.
    [(1e-4, "reno", 15), (1e-4, "cubic", 6)],
)
def test_what_loss_leaves_a_stream(loss, cc, streams):
    text = texts(advise(DEBIAN_12, Path(0.2, 100e6, loss, cc=cc), "send"), "loss")
    assert f"It takes {streams} of them to fill 100 Mbit/s" in text


def test_bbr_is_not_said_to_answer_losses():
    host = with_sysctls(tcp_congestion_control="bbr")
    assert "hardly slow it" in texts(advise(host, Path(0.2, 1e9, 0.01), "send"), "loss")


def test_a_congestion_control_that_is_not_there():
    advice = advise(DEBIAN_12, Path(0.2, cc="htcp"), "send")
    assert "modprobe tcp_htcp" in texts(advice, "congestion control")
    assert [change.line for change in advice.changes] == [
        'sysctl -w net.ipv4.tcp_allowed_congestion_control="reno cubic htcp"'
    ]


def test_a_congestion_control_for_root_alone():
    host = with_sysctls(tcp_available_congestion_control=("reno", "cubic", "bbr"))
    text = texts(advise(host, Path(0.2, cc="bbr"), "send"), "congestion control")
    assert "only root may choose it" in text


def test_bursts_at_a_low_rate():
    # 10 Mbit/s * 1.2 / 8 / 1024 = 1465 bytes: less than two segments, which take
    # 2 * 1448 * 8 / 10^7 = 2.317 ms.
    text = texts(advise(DEBIAN_12, Path(0.2, 10e6), "send"), "bursts")
    assert "2 segments (2.9 kB) back to back, which take 2.317 ms" in text
    # 1 Gbit/s * 1.2 / 8 / 1024 = 146 kB: the most, of which 45 segments are whole.
    assert sending.block_bytes(DEBIAN_12, 1e9, Path(0.2)) == 45 * 1448
    # At 1 ms, tcp_tso_rtt_log 9: 65,536 >> (1000 >> 9) = 32,768 more than 1465: 23 segments.
    assert sending.block_bytes(DEBIAN_12, 10e6, Path(0.001)) == 23 * 1448


def test_the_interface_is_judged():
    card = Interface(
        "eno1", state="up", mtu_bytes=1500, speed_bps=1_000_000_000, queue=("mq", "fq_codel"),
        offloads={"tso": False, "gso": True, "gro": True, "rx_checksum": True, "tx_checksum": True},
        rings={"rx": 512, "tx": 4096, "rx_max": 4096, "tx_max": 4096},
    )  # fmt: skip
    advice = advise(replace(DEBIAN_12, interface=card), Path(0.05, 10e9))
    assert "a line of 1 Gbit/s" in texts(advice, "interface")
    assert "ethtool -G eno1 rx 4096" in texts(advice, "interface")
    assert "ethtool -K eno1 tso on" in texts(advice, "offloads")
    # 1448 of 1538 bytes are data: 9.415 Gbit/s, and 10^10 / 8 / 1538 = 812,744 packets a second.
    assert "9.415 Gbit/s are data" in texts(advice, "packets")
    assert "812,700" in texts(advice, "packets") or "813,000" in texts(advice, "packets")
    assert "tc qdisc replace dev eno1 root fq" in texts(advice, "pacing")


def test_a_bound_of_the_route_is_found():
    route = Route("192.0.2.1", interface="eno1", window_bytes=65_536, cwnd_segments=10)
    text = texts(advise(replace(DEBIAN_12, route=route), Path(0.1, 1e9)), "route")
    # 65,536 * 8 / 0.1 = 5.243 Mbit/s; 10 * 1448 * 8 / 0.1 = 1.158 Mbit/s.
    assert "5.243 Mbit/s" in text
    assert "1.158 Mbit/s" in text


def test_too_few_open_files_for_the_streams():
    text = texts(advise(DEBIAN_12, Path(0.1, 1e9, streams=2000)), "process")
    assert "ulimit -n 2064" in text


def test_another_system_is_told_what_it_would_need():
    advice = advise(Settings(system="Darwin"), Path(0.2, 1e9))
    assert "Darwin" in texts(advice, "receiver")
    assert advice.changes == ()
    assert advice.streams is None
    assert len(advice.other_side) == 2
    assert json.loads(json.dumps(advice.to_json()))["limited"] is False


@pytest.mark.parametrize(
    "changed",
    [{"tcp_rmem": (0, 0, 0)}, {"tcp_wmem": (0, 0, 0)}, {"rmem_max": 0, "wmem_max": 0},
     {"tcp_rmem": (1, 1, 2**63)}, {"tcp_adv_win_scale": -31}, {"tcp_adv_win_scale": 10**9},
     {"tcp_mem": (0, 0, 0)}, {"tcp_tso_rtt_log": 10**6, "tcp_min_tso_segs": 2**40}],
)  # fmt: skip
@pytest.mark.parametrize("path", [Path(1e-9, 1.0), Path(3600.0, 1e15, 0.999), Path(0.2)])
def test_extremes_end_in_sentences(changed, path):
    advice = advise(with_sysctls(**changed), path)
    assert advice.statements
    assert json.loads(json.dumps(advice.to_json(), allow_nan=False))
    for change in advice.changes:
        assert max(map(int, change.value.split())) < 2**63


@pytest.mark.parametrize(("text", "value"), [("0.1 %", 0.001), ("0.001", 0.001), ("1e-5", 1e-5)])
def test_shares_are_read(text, value):
    assert quantities.share(text, "--loss") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["100 %", "1", "-0.1", "x", "", "0.1 %%", "1e5"])
def test_shares_are_refused(text):
    with pytest.raises(InputError, match="--loss: expected a share"):
        quantities.share(text, "--loss")


@pytest.mark.parametrize(
    "text", ["", ":22", "host:", "host:0", "host:65536", "host:x", "[::1", "[::1]x"]
)
def test_hosts_are_refused(text):
    with pytest.raises(InputError, match="HOST"):
        split(text)


def test_a_port_that_answers_or_refuses_gives_a_round_trip():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=accept_all, args=(server,), daemon=True).start()
        assert measure("127.0.0.1", port).how == "tcp connect"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        found = measure("127.0.0.1", unused.getsockname()[1])
        assert found.how == "tcp refused"
        assert found.least_s > 0


def accept_all(server):
    try:
        while True:
            server.accept()[0].close()
    except OSError:
        return


def test_a_host_that_does_not_answer_is_named(monkeypatch):
    def no_answer(*_arguments, **_options):
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", no_answer)
    with pytest.raises(RunFailed, match=r"192\.0\.2\.9, port 22: .*no answer"):
        measure("192.0.2.9", 22)


def test_the_command_says_and_changes_nothing():
    done = command("doctor", "--rate", "10 Gbit/s", "--rtt", "200 ms")
    assert done.returncode == 0, done.stderr
    assert "The other side" in done.stdout
    assert done.stderr == ""
    assert max(len(line) for line in done.stdout.splitlines() if "sysctl" not in line) <= 80


def test_the_command_in_json():
    done = command("doctor", "127.0.0.1", "--rtt", "50 ms", "--rate", "1 Gbit/s", "--json")
    found = json.loads(done.stdout)
    assert found["path"]["bdp_bytes"] == 6_250_000
    assert {"settings", "measured", "statements", "sysctl", "other_side", "limited"} <= set(found)
    assert Settings.from_json(found["settings"]).sysctls == Sysctls.read()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rate", "1 Gbit/s"], "--rate: needs a round-trip time"),
        (["--role", "send"], "--role: needs a round-trip time"),
        (["--rtt", "200"], "--rtt: expected a duration in"),
        (["--rtt", "0 ms"], "--rtt: expected more than 0 and at most 1 h"),
        (["--rtt", "2 h"], "--rtt: expected more than 0 and at most 1 h"),
        (["--rtt", "1 ms", "--rate", "10 GB/s"], "--rate: expected a rate in"),
        (["--rtt", "1 ms", "--rate", "0 bit/s"], "--rate: expected more than 0"),
        (["--rtt", "1 ms", "--rate", "unlimited"], "--rate: expected more than 0"),
        (["--rtt", "1 ms", "--loss", "100 %"], "--loss: expected a share from 0 to below 1"),
        (["--rtt", "200 ms", "--mss", "10"], "--mss"),
        (["--rtt", "200 ms", "--streams", "0"], "--streams"),
        (["host:0", "--rtt", "200 ms"], "a port from 1 to 65535"),
    ],
)
def test_the_command_refuses(arguments, says):
    done = command("doctor", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_installed_is_healthy():
    health = command("doctor", "--json")
    assert json.loads(health.stdout)["healthy"] is True
    assert health.returncode == 0
