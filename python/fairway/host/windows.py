"""How much of one connection may be on its way: what a path needs, what a kernel's buffers give.

All that Fairway says about windows from buffers is computed here. Sources are functions of Linux,
whose names stand beside what is taken from them, and RFC 7323 for window scaling.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from fairway.ground.quantities import binary
from fairway.host.settings import Settings

#: Largest window without the window scale option (RFC 9293, a field of 16 bits).
UNSCALED = 65_535

#: Largest window with it: the scale is at most 14 (RFC 7323, section 2.3).
SCALED = 65_535 << 14

#: Buffers are signed integers (Linux, struct sock, sk_rcvbuf and sk_sndbuf).
LARGEST_BUFFER = 2**31 - 1

#: From this kernel on, `tcp_adv_win_scale` is not used: commit dfa2f0483360.
MEASURED_SHARE_SINCE = (6, 6)

#: A writer that waits is woken when the free part of its buffer is at least half of the used one,
#: so when at most two thirds are used: Linux, include/net/sock.h, sk_stream_is_writeable.
LEAST_SEND_SHARE = Fraction(2, 3)


@dataclass(frozen=True)
class Window:
    """The most that one connection may have on its way, as far as a buffer decides it.

    Attributes:
        low_bytes: What it can be counted on.
        high_bytes: What it may be at best.
        setting: What bounds it: "tcp_rmem[2]", "tcp_window_scaling" ….
        reason: How the window follows from that setting, as a part of a sentence.
    """

    low_bytes: int
    high_bytes: int
    buffer_bytes: int
    setting: str
    reason: str


def version(release: str | None) -> tuple[int, int] | None:
    """The two leading numbers of a kernel's release.

    >>> version("6.1.0-28-amd64"), version("6.18"), version("unknown")
    ((6, 1), (6, 18), None)
    """
    match = re.match(r"(\d{1,4})\.(\d{1,4})", release or "")
    return (int(match[1]), int(match[2])) if match else None


def shares(host: Settings) -> tuple[Fraction, Fraction]:
    """The part of a receive buffer that is offered as window: at least, and at best.

    Before Linux 6.6 `tcp_adv_win_scale` gives it (tcp_win_from_space, include/net/tcp.h). Since
    then it is one half (TCP_DEFAULT_SCALING_RATIO) until data come; then it is the payload's part
    of the memory that the driver spent on it (tcp_measure_rcv_mss, net/ipv4/tcp_input.c).
    """
    release = version(host.kernel)
    if release is None or release >= MEASURED_SHARE_SINCE:
        return Fraction(1, 2), Fraction(1)
    scale = host.sysctls.tcp_adv_win_scale
    if scale is None:
        scale = 1  # net/ipv4/tcp_ipv4.c, tcp_sk_init
    scale = max(-31, min(31, scale))
    share = 1 - Fraction(1, 2**scale) if scale > 0 else Fraction(1, 2**-scale)
    return share, share


def receive(host: Settings) -> Window | None:
    """What the receiver of this host offers at the most, or None if its buffers do not show."""
    sysctls = host.sysctls
    if sysctls.tcp_rmem is None:
        return None
    if sysctls.tcp_moderate_rcvbuf == 0:
        # Linux, tcp_rcv_space_adjust: without it a buffer keeps its first size.
        buffer, setting = sysctls.tcp_rmem[1], "tcp_rmem[1]"
        ending = ", as tcp_moderate_rcvbuf is 0 and no buffer grows"
    else:
        buffer, setting, ending = sysctls.tcp_rmem[2], "tcp_rmem[2]", ""
    window = _offered(host, buffer, setting, f"{ending}{_offer(host)}")
    if sysctls.tcp_window_scaling == 0 and window.high_bytes > UNSCALED:
        reason = "tcp_window_scaling is 0, so no window exceeds 65,535 bytes (RFC 7323)"
        low = min(window.low_bytes, UNSCALED)
        return Window(low, UNSCALED, buffer, "tcp_window_scaling", reason)
    return window


def receive_requested(host: Settings) -> Window | None:
    """What a receiver offers whose program sets SO_RCVBUF to the most that it may.

    The kernel takes twice the size that is asked for (sock_setsockopt, net/core/sock.c).
    """
    largest = host.sysctls.rmem_max
    if largest is None:
        return None
    why = f", which the kernel doubles{_offer(host)}"
    return _offered(host, min(2 * largest, LARGEST_BUFFER), "rmem_max", why)


def send(host: Settings) -> Window | None:
    """What a sender of this host keeps on its way at the most.

    Everything that is not acknowledged stays in the send buffer, which grows up to tcp_wmem[2]
    (tcp_sndbuf_expand). The headers of the kernel's own, some per cent of it, are not counted here:
    a buffer may be exceeded by one block of up to 64 KiB, which weighs about the same.
    """
    if host.sysctls.tcp_wmem is None:
        return None
    buffer = host.sysctls.tcp_wmem[2]
    return _kept(buffer, "tcp_wmem[2]")


def send_requested(host: Settings) -> Window | None:
    """What a sender keeps on its way whose program sets SO_SNDBUF to the most that it may.

    The kernel takes twice the size that is asked for (sock_setsockopt, net/core/sock.c).
    """
    largest = host.sysctls.wmem_max
    return None if largest is None else _kept(min(2 * largest, LARGEST_BUFFER), "wmem_max")


def _kept(buffer: int, setting: str) -> Window:
    low = math.floor(buffer * LEAST_SEND_SHARE)
    reason = (
        f"{setting} is {binary(buffer)}, and the kernel may let a third of it run empty before it "
        "asks for more data"
    )
    return Window(min(low, SCALED), min(buffer, SCALED), buffer, setting, reason)


def _offered(host: Settings, buffer: int, setting: str, why: str) -> Window:
    low, high = (min(math.floor(buffer * share), SCALED) for share in shares(host))
    return Window(low, high, buffer, setting, f"{setting} is {binary(buffer)}{why}")


def _offer(host: Settings) -> str:
    low, high = shares(host)
    if low != high:
        return (
            "; half of it is offered as window, and once data have come, the share of the driver's "
            "memory that is payload (Linux 6.6 and later)"
        )
    scale = host.sysctls.tcp_adv_win_scale
    named = f"tcp_adv_win_scale {1 if scale is None else scale}"
    return f"; {_part(low)} of it is offered as window ({named})"


def _part(share: Fraction) -> str:
    if share == 1:
        return "all"
    return {2: "half", 4: "a quarter"}.get(share.denominator if share.numerator == 1 else 0) or (
        f"{share.numerator}/{share.denominator}"
        if share.denominator < 1000
        else f"{float(share):.2g}"
    )


def bandwidth_delay_bytes(rate_bps: float, rtt_s: float) -> int:
    """Bytes on their way when a path is full."""
    return math.ceil(rate_bps * rtt_s / 8)


def rate_of(window_bytes: float, rtt_s: float) -> float:
    """The rate in bit/s of a connection that has a window on its way all the time.

    >>> round(rate_of(4 << 20, 0.2) / 1e6, 1)
    167.8
    """
    return window_bytes * 8 / rtt_s


def streams_for(rate_bps: float, rtt_s: float, window_bytes: int) -> int:
    """Connections whose windows together fill a path: N_W of the parallelism threshold."""
    return max(1, math.ceil(bandwidth_delay_bytes(rate_bps, rtt_s) / max(1, window_bytes)))


def receive_buffer_for(window_bytes: float, host: Settings) -> int:
    """Bytes of receive buffer whose window is surely this large, be they more than can be had."""
    return math.ceil(Fraction(math.ceil(window_bytes)) / max(shares(host)[0], Fraction(1, 2**31)))


def send_buffer_for(window_bytes: float) -> int:
    """Bytes of send buffer that surely keep this much on its way."""
    return math.ceil(math.ceil(window_bytes) / LEAST_SEND_SHARE)


#: Payload of a packet of 1500 bytes with IPv4 and TCP headers and the timestamp option.
USUAL_MSS = 1448


@dataclass(frozen=True)
class Path:
    """A path.

    Attributes:
        rtt_s: Round-trip time in seconds.
        rate_bps: What it shall carry in bit/s, if that is known.
        loss: Share of packets that it loses at random.
        streams: Connections that are to share the work.
        cc: Congestion control of the sender; None is the host's own.
        mss_bytes: Payload of a packet.
    """

    rtt_s: float
    rate_bps: float | None = None
    loss: float | None = None
    streams: int = 1
    cc: str | None = None
    mss_bytes: int = USUAL_MSS

    @property
    def need(self) -> Need | None:
        """What fills it, if its rate is known."""
        if self.rate_bps is None:
            return None
        bdp = bandwidth_delay_bytes(self.rate_bps, self.rtt_s)
        return Need(self.rate_bps, self.rtt_s, self.streams, bdp)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "bdp_bytes": self.need and self.need.bdp_bytes}


@dataclass(frozen=True)
class Need:
    """What fills a path.

    Attributes:
        streams: Connections that are to fill it together.
        bdp_bytes: Bytes on their way when it is full.
    """

    rate_bps: float
    rtt_s: float
    streams: int
    bdp_bytes: int

    @property
    def window_bytes(self) -> float:
        """What each stream must have on its way."""
        return self.bdp_bytes / self.streams

    @property
    def possible_window_bytes(self) -> float:
        """The same, but no more than TCP can have on its way."""
        return min(self.window_bytes, float(SCALED))
