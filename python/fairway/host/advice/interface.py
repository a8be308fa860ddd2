"""What the interface, its packets, the processor and the process allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairway.ground.text import bit_rate, count, number
from fairway.host.advice.statement import Statement
from fairway.host.interface import Interface
from fairway.host.settings import Settings
from fairway.host.windows import Path

#: Ethernet's own bytes around a packet: header 14, checksum 4, preamble 8, gap 12 (IEEE 802.3).
ETHERNET = 38

#: What IPv4 and TCP with timestamps take of an MTU; Fairway counts no other option.
HEADERS = 20 + 20 + 12

#: From this rate on, work per packet decides: some hundred thousand packets of 1500 bytes a second.
FAST_BPS = 5e9

#: The usual MTU of jumbo frames; IEEE 802.3 does not define it.
JUMBO_BYTES = 9000


def judge(host: Settings, path: Path, roles: Sequence[str]) -> Iterator[Statement]:
    """What is to be said of packets, the interface, the processor and the process."""
    yield from _path_mtu(host)
    yield from _route(host, path)
    if (card := host.interface) is not None:
        yield from _speed(card, path)
        yield from _packets(card, path)
        yield from _offloads(card, path, roles)
        yield from _rings(card, path, roles)
    yield from _files(host, path)
    yield from _processor(host, path)
    yield from _options(host)


def _speed(card: Interface, path: Path) -> Iterator[Statement]:
    if card.state == "down":
        yield Statement("interface", "limit", f"{card.name} is down: ip link set {card.name} up")
        return
    if card.speed_bps is None or path.rate_bps is None:
        return
    if card.speed_bps < path.rate_bps:
        text = (
            f"{card.name} is a line of {bit_rate(card.speed_bps)}: no tuning gets more out of it."
        )
        yield Statement("interface", "limit", text)


def _packets(card: Interface, path: Path) -> Iterator[Statement]:
    mtu = card.mtu_bytes
    if mtu is None or path.rate_bps is None or card.name == "lo":
        return
    share = (mtu - HEADERS) / (mtu + ETHERNET)
    per_second = path.rate_bps / 8 / (mtu + ETHERNET)
    text = (
        f"The MTU of {card.name} is {mtu}: of {bit_rate(path.rate_bps)} on Ethernet, "
        f"{bit_rate(path.rate_bps * share)} are data, in {number(round(per_second, -2) or 1, 3)} "
        "packets a second."
    )
    if path.rate_bps >= FAST_BPS and mtu < JUMBO_BYTES:
        text += (
            f" With {JUMBO_BYTES}, if every link and both hosts have it, a sixth of the packets "
            f"do: ip link set {card.name} mtu {JUMBO_BYTES}"
        )
    yield Statement("packets", "hint" if path.rate_bps >= FAST_BPS else "fine", text)


def _path_mtu(host: Settings) -> Iterator[Statement]:
    if host.sysctls.tcp_mtu_probing == 0:
        text = (
            "tcp_mtu_probing is 0: where a router drops large packets without saying so, a "
            "transfer begins and then stalls. If that happens: sysctl -w net.ipv4.tcp_mtu_probing=1"
        )
        yield Statement("packets", "hint", text)
    card, route = host.interface, host.route
    if card and route and card.mtu_bytes and route.mtu_bytes and route.mtu_bytes < card.mtu_bytes:
        if card.name == "lo":
            return
        text = (
            f"The path to {route.address} takes packets of {route.mtu_bytes} bytes, less than the "
            f"{card.mtu_bytes} of {card.name}."
        )
        yield Statement("packets", "hint", text)


def _route(host: Settings, path: Path) -> Iterator[Statement]:
    """Bounds that someone has set on the route itself."""
    route = host.route
    if route is None:
        return
    for what, bound in (
        ("window", route.window_bytes),
        ("cwnd", route.cwnd_segments and route.cwnd_segments * path.mss_bytes),
    ):
        if bound:
            text = (
                f"The route to {route.address} bounds the {what} to {bound} bytes: "
                f"{bit_rate(bound * 8 / path.rtt_s)} for a stream. ip route shows it."
            )
            limited = path.need is not None and bound < path.need.window_bytes
            yield Statement("route", "limit" if limited else "hint", text)


def _offloads(card: Interface, path: Path, roles: Sequence[str]) -> Iterator[Statement]:
    offloads = card.offloads
    if offloads is None or path.rate_bps is None or path.rate_bps < FAST_BPS:
        return
    wanted = []
    if "send" in roles:
        wanted += ["tso", "gso", "tx_checksum"]
    if "receive" in roles:
        wanted += ["gro", "rx_checksum"]
    off = [name for name in wanted if offloads.get(name) is False]
    if not off:
        text = f"{card.name} has {', '.join(wanted)} on: large blocks go through the stack at once."
        yield Statement("offloads", "fine", text)
        return
    options = {"tx_checksum": "tx", "rx_checksum": "rx"}
    switches = " ".join(f"{options.get(name, name)} on" for name in off)
    text = (
        f"{', '.join(off)} of {card.name} {'is' if len(off) == 1 else 'are'} off, which costs much "
        f"at {bit_rate(path.rate_bps)}: ethtool -K {card.name} {switches}"
    )
    yield Statement("offloads", "hint", text)


def _rings(card: Interface, path: Path, roles: Sequence[str]) -> Iterator[Statement]:
    if card.rings is None or path.rate_bps is None or path.rate_bps < FAST_BPS:
        return
    small = [
        name
        for role, name in (("receive", "rx"), ("send", "tx"))
        if role in roles and card.rings.get(name, 0) < card.rings.get(f"{name}_max", 0)
    ]
    if not small:
        return
    now = ", ".join(f"{name} {card.rings[name]} of {card.rings[f'{name}_max']}" for name in small)
    most = " ".join(f"{name} {card.rings[f'{name}_max']}" for name in small)
    text = f"The rings of {card.name} could be larger ({now}): ethtool -G {card.name} {most}"
    yield Statement("interface", "hint", text)


#: Files and sockets besides the streams' that a transfer has open: files, control, event queues.
BESIDES = 64


def _files(host: Settings, path: Path) -> Iterator[Statement]:
    soft, hard = host.open_files or (None, None)
    if soft is None or path.streams + BESIDES <= soft:
        return
    text = f"{path.streams} streams need more open files than the {soft} of RLIMIT_NOFILE: "
    enough = hard is None or path.streams + BESIDES <= hard
    text += (
        f"ulimit -n {path.streams + BESIDES}" if enough else "raise its hard limit (limits.conf)"
    )
    yield Statement("process", "limit", text)


def _processor(host: Settings, path: Path) -> Iterator[Statement]:
    if path.rate_bps is None or path.rate_bps < FAST_BPS:
        return
    if host.governor and host.governor != "performance":
        text = (
            f"The cores' frequency governor is {host.governor}: cpupower frequency-set "
            "-g performance keeps them from slowing down between bursts."
        )
        yield Statement("processor", "hint", text)
    if host.cores == 1:
        text = f"There is {count(host.cores, 'core')} for sending, receiving and encrypting."
        yield Statement("processor", "hint", text)


def _options(host: Settings) -> Iterator[Statement]:
    """Options without which large windows do badly."""
    sysctls = host.sysctls
    if sysctls.tcp_sack == 0:
        text = (
            "tcp_sack is 0: of several packets lost in a window, one is repaired in a round trip "
            "(RFC 6582). sysctl -w net.ipv4.tcp_sack=1"
        )
        yield Statement("options", "hint", text)
    if sysctls.tcp_timestamps == 0:
        text = (
            "tcp_timestamps is 0: sequence numbers that wrap around are not told apart, and round "
            "trips are measured once in a window (RFC 7323). sysctl -w net.ipv4.tcp_timestamps=1"
        )
        yield Statement("options", "hint", text)
