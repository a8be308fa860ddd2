"""How packets leave: bursts, pacing and the queue of the interface."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.ground.text import bit_rate, milliseconds, size
from fairway.host.advice.statement import Change, Statement
from fairway.host.path import Path
from fairway.host.settings import Settings

#: Largest block that leaves a connection at once (Linux, GSO_LEGACY_MAX_SIZE).
GSO_MAX = 65_536

#: A block holds what is sent in 2^-10 s (Linux, sk_pacing_shift), at the rate of a window in a
#: round trip times tcp_pacing_ca_ratio.
PACING_SHIFT = 1024

#: At and below this rate the bursts of segmentation offload are said: a block of the least size, of
#: two segments, lasts there longer than the millisecond that blocks are made for.
SLOW_BPS = 25e6


def judge(host: Settings, path: Path, roles: Sequence[str]) -> tuple[list[Statement], list[Change]]:
    """What is to be said of bursts and pacing; they are the sender's."""
    if "send" not in roles:
        return [], []
    statements = [*_bursts(host, path), *_pacing(host, path), *_between_connections(host)]
    return statements, []


def block_bytes(host: Settings, stream_bps: float, path: Path) -> int:
    """What leaves a connection at once: Linux, net/ipv4/tcp_output.c, tcp_tso_autosize."""
    ratio = (host.sysctls.tcp_pacing_ca_ratio or 120) / 100
    block = stream_bps / 8 * ratio / PACING_SHIFT
    log = host.sysctls.tcp_tso_rtt_log
    if log:
        halvings = int(path.rtt_s * 1e6) >> min(log, 63)
        block += GSO_MAX >> halvings if halvings < 32 else 0
    least = (host.sysctls.tcp_min_tso_segs or 2) * path.mss_bytes
    segments = max(least, min(block, GSO_MAX)) // path.mss_bytes
    return int(segments * path.mss_bytes)


def _bursts(host: Settings, path: Path) -> list[Statement]:
    offloads = (host.interface.offloads if host.interface else None) or {}
    if offloads.get("tso") is False and offloads.get("gso") is False:
        text = "TSO and GSO are off: every packet costs the processor a way through the stack."
        return [Statement("bursts", "hint", text)]
    if path.rate_bps is None:
        return []
    block = block_bytes(host, path.rate_bps / path.streams, path)
    segments = block // path.mss_bytes
    if segments < 2 or path.rate_bps > SLOW_BPS:
        return []
    text = (
        f"Segmentation offload sends {segments} segments ({size(block)}) back to back, which take "
        f"{milliseconds(block * 8 / path.rate_bps)} at {bit_rate(path.rate_bps)}; tcpdump on a "
        "sender or a receiver shows such blocks as one packet larger than the MTU. To see, and "
        f"send, single packets: ethtool -K {_device(host)} tso off gso off gro off"
    )
    return [Statement("bursts", "hint", text)]


def _pacing(host: Settings, path: Path) -> list[Statement]:
    name = path.cc or host.sysctls.tcp_congestion_control
    queue = host.interface.queue if host.interface else ()
    if "fq" in queue:
        return [Statement("pacing", "fine", f"fq paces every connection on {_device(host)}.")]
    if name == "bbr":
        # Linux, net/ipv4/tcp_output.c, tcp_needs_internal_pacing (since 4.13).
        text = "bbr is paced by TCP's own timers; fq would do it with less work for many streams."
        return [Statement("pacing", "fine", text)]
    default = host.sysctls.default_qdisc
    there = f" ({_device(host)} has {', '.join(queue)})" if queue else ""
    text = (
        f"Nothing paces {name or 'a window'}{there}: what acknowledgements allow leaves at once. "
        f"Pacing loses less at shallow buffers: tc qdisc replace dev {_device(host)} root fq, or a "
        "rate of your own (fairway send --pacing)."
    )
    if default and default != "fq":
        text += f" net.core.default_qdisc is {default}; fq there is for interfaces made later."
    return [Statement("pacing", "hint", text)]


def _between_connections(host: Settings) -> list[Statement]:
    """What one connection leaves to the next, and one pause to what follows."""
    sysctls = host.sysctls
    found = []
    if sysctls.tcp_no_metrics_save == 0:
        text = (
            "tcp_no_metrics_save is 0: a connection begins with the ssthresh of the last one to "
            "the same host, so repeated measurements are not independent. Before measurements: "
            "sysctl -w net.ipv4.tcp_no_metrics_save=1, and once ip tcp_metrics flush"
        )
        found.append(Statement("measuring", "hint", text))
    if sysctls.tcp_slow_start_after_idle:
        text = (
            "tcp_slow_start_after_idle is 1: cwnd shrinks when a stream pauses for longer than its "
            "retransmission timeout (RFC 2861), as with writes at intervals."
        )
        found.append(Statement("measuring", "hint", text))
    return found


def _device(host: Settings) -> str:
    return host.interface.name if host.interface else "DEV"
