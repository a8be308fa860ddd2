"""What a sender does with its window: congestion control, bursts, pacing, the queue."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from fairway.ground.text import bit_rate, count, milliseconds, number, size
from fairway.host.advice.statement import Change, Kind, Statement
from fairway.host.settings import Settings
from fairway.host.windows import Path
from fairway.model import laws


def _law(law: str, **given: float) -> Callable[[float, float], float]:
    def window(loss: float, rtt_s: float = 0.1) -> float:
        return float(laws.ask(law, loss=loss, rtt_s=rtt_s, **given).window_packets)

    return window


#: Algorithm -> its law on a path without a queue. There H-TCP's adaptive back-off keeps its most.
CLOSED_FORMS: dict[str, Callable[[float, float], float]] = {
    "reno": _law("mathis"),
    "scalable": _law("scalable"),
    "highspeed": _law("highspeed"),
    "bic": _law("bic"),
    "cubic": _law("cubic"),
    "htcp": _law("htcp", retention=0.8),
    "hybla": _law("hybla"),
}


#: BBR takes no notice of loss up to this share: Cardwell et al., ACM Queue 14(5), 2016, figure 8
#: (it falls beyond 1 − 1/1.25, where probing gains nothing).
BBR_LOSS = 0.15

#: Algorithms that do not answer single losses.
_BY_MODEL = ("bbr",)


def judge(host: Settings, path: Path, roles: Sequence[str]) -> Iterator[Statement | Change]:
    """What is to be said of congestion control, bursts and pacing; they are the sender's."""
    if "send" in roles:
        yield from _choice(host, path)
        yield from _loss(host, path)
        yield from _bursts(host, path)
        yield from _pacing(host, path)
        yield from _between_connections(host)


def _choice(host: Settings, path: Path) -> Iterator[Statement | Change]:
    sysctls = host.sysctls
    topic = "congestion control"
    available = sysctls.tcp_available_congestion_control
    if available is None:
        yield Statement(topic, "unknown", "This system does not show its congestion controls.")
        return
    allowed = sysctls.tcp_allowed_congestion_control or ()
    default = sysctls.tcp_congestion_control or "unknown"
    text = (
        f"{default} is what connections use; the kernel has {', '.join(available)}, and any user "
        f"may choose {', '.join(allowed) or 'none'}."
    )
    wanted = path.cc
    if wanted is None or wanted == default:
        text += (
            " Others are modules: modprobe tcp_NAME (tcp_htcp, tcp_bbr …), and "
            "tcp_allowed_congestion_control lets users choose them."
        )
        yield Statement(topic, "fine", text)
        return
    kind: Kind = "fine"
    if wanted not in available:
        kind = "limit"
        text += (
            f" {wanted} is not loaded: modprobe tcp_{wanted}. If there is no such module, the "
            f"kernel was built without CONFIG_TCP_CONG_{wanted.upper()}, or does not know it."
        )
    elif wanted not in allowed:
        kind = "hint"
        text += f" {wanted} is there, but only root may choose it."
    yield Statement(topic, kind, text)
    if kind != "fine":
        value = " ".join(dict.fromkeys([*allowed, wanted]))
        why = f"lets every user choose {wanted} (TCP_CONGESTION); without it, only root"
        yield Change("net.ipv4.tcp_allowed_congestion_control", value, why)


def _loss(host: Settings, path: Path) -> Iterator[Statement]:
    """What random loss leaves one stream, by the algorithm's mean window in closed form."""
    if not path.loss:
        return
    name = path.cc or host.sysctls.tcp_congestion_control or "reno"
    loss = f"{path.loss * 100:.4g} %"
    if name in _BY_MODEL:
        if path.loss <= BBR_LOSS:
            text = f"{name} does not answer single losses: {loss} hardly slow it."
            yield Statement("loss", "fine", text)
        else:
            text = f"At a loss of {loss}, {name} cannot keep its rate either: it bears about 15 %."
            yield Statement("loss", "limit", text)
        return
    form = CLOSED_FORMS.get(name)
    segments = max(1.0, (form or CLOSED_FORMS["reno"])(path.loss, path.rtt_s))
    rate = segments * path.mss_bytes * 8 / path.rtt_s
    what = name if form else f"{name}, taken as Reno,"
    text = (
        f"At a random loss of {loss}, one stream of {what} has a mean window of {number(segments)} "
        f"segments: {bit_rate(rate)}."
    )
    if path.rate_bps is None:
        yield Statement("loss", "hint", text)
        return
    streams = math.ceil(path.rate_bps / rate)
    if streams <= path.streams:
        text += f" {count(path.streams, 'stream')} can fill the path."
        yield Statement("loss", "fine", text)
        return
    text += (
        f" It takes {streams} of them to fill {bit_rate(path.rate_bps)}, or a control that bears "
        "the loss, as bbr; no buffer helps."
    )
    yield Statement("loss", "limit", text)


#: Largest block that leaves a connection at once (Linux, GSO_LEGACY_MAX_SIZE).
GSO_MAX = 65_536

#: A block holds what is sent in 2^-10 s (Linux, sk_pacing_shift), at the rate of a window in a
#: round trip times tcp_pacing_ca_ratio.
PACING_SHIFT = 1024

#: At and below this rate the bursts of segmentation offload are said: a block of the least size, of
#: two segments, lasts there longer than the millisecond that blocks are made for.
SLOW_BPS = 25e6


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


def _bursts(host: Settings, path: Path) -> Iterator[Statement]:
    offloads = (host.interface.offloads if host.interface else None) or {}
    if offloads.get("tso") is False and offloads.get("gso") is False:
        text = "TSO and GSO are off: every packet costs the processor a way through the stack."
        yield Statement("bursts", "hint", text)
        return
    if path.rate_bps is None:
        return
    block = block_bytes(host, path.rate_bps / path.streams, path)
    segments = block // path.mss_bytes
    if segments < 2 or path.rate_bps > SLOW_BPS:
        return
    text = (
        f"Segmentation offload sends {segments} segments ({size(block)}) back to back, which take "
        f"{milliseconds(block * 8 / path.rate_bps)} at {bit_rate(path.rate_bps)}; tcpdump on a "
        "sender or a receiver shows such blocks as one packet larger than the MTU. To see, and "
        f"send, single packets: ethtool -K {_device(host)} tso off gso off gro off"
    )
    yield Statement("bursts", "hint", text)


def _pacing(host: Settings, path: Path) -> Iterator[Statement]:
    name = path.cc or host.sysctls.tcp_congestion_control
    queue = host.interface.queue if host.interface else ()
    if "fq" in queue:
        yield Statement("pacing", "fine", f"fq paces every connection on {_device(host)}.")
        return
    if name == "bbr":
        # Linux, net/ipv4/tcp_output.c, tcp_needs_internal_pacing (since 4.13).
        text = "bbr is paced by TCP's own timers; fq would do it with less work for many streams."
        yield Statement("pacing", "fine", text)
        return
    default = host.sysctls.default_qdisc
    there = f" ({_device(host)} has {', '.join(queue)})" if queue else ""
    text = (
        f"Nothing paces {name or 'a window'}{there}: what acknowledgements allow leaves at once. "
        f"Pacing loses less at shallow buffers: tc qdisc replace dev {_device(host)} root fq, or a "
        "rate of your own (fairway send --pacing)."
    )
    if default and default != "fq":
        text += f" net.core.default_qdisc is {default}; fq there is for interfaces made later."
    yield Statement("pacing", "hint", text)


def _between_connections(host: Settings) -> Iterator[Statement]:
    """What one connection leaves to the next, and one pause to what follows."""
    sysctls = host.sysctls
    if sysctls.tcp_no_metrics_save == 0:
        text = (
            "tcp_no_metrics_save is 0: a connection begins with the ssthresh of the last one to "
            "the same host, so repeated measurements are not independent. Before measurements: "
            "sysctl -w net.ipv4.tcp_no_metrics_save=1, and once ip tcp_metrics flush"
        )
        yield Statement("measuring", "hint", text)
    if sysctls.tcp_slow_start_after_idle:
        text = (
            "tcp_slow_start_after_idle is 1: cwnd shrinks when a stream pauses for longer than its "
            "retransmission timeout (RFC 2861), as with writes at intervals."
        )
        yield Statement("measuring", "hint", text)


def _device(host: Settings) -> str:
    return host.interface.name if host.interface else "DEV"
