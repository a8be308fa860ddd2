"""What buffers allow, and how large they would have to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairway.ground.quantities import binary
from fairway.ground.text import bit_rate, count, milliseconds, size
from fairway.host import windows
from fairway.host.advice.statement import Change, Kind, Statement
from fairway.host.settings import Settings
from fairway.host.windows import Need, Path, Window, rate_of

#: Windows that a buffer is advised for: one is on its way, and as much again comes in behind a lost
#: packet until its retransmission does. The kernel tunes for as much (Linux, net/ipv4/tcp_input.c:
#: tcp_rcv_space_adjust takes twice what came in a round trip, tcp_sndbuf_expand twice cwnd).
HEADROOM = 2

#: Advised buffers are whole multiples of this many bytes, so that they can be read.
GRAIN = 1 << 20

#: Bytes of a page, in which tcp_mem counts, on most machines.
PAGE = 4096


def streams(host: Settings, path: Path, role: str) -> int | None:
    """Connections that fill the path as it is, if that can be told."""
    window = _window(host, role)
    if window is None or path.need is None:
        return None
    return windows.streams_for(path.need.rate_bps, path.need.rtt_s, window.low_bytes)


def _window(host: Settings, role: str) -> Window | None:
    return windows.send(host) if role == "send" else windows.receive(host)


def judge(host: Settings, path: Path, role: str) -> Iterator[Statement | Change]:
    """What the host's buffers allow one connection, and how to allow more."""
    topic = "sender" if role == "send" else "receiver"
    window, need = _window(host, role), path.need
    if window is None:
        text = f"This system ({host.system}) does not show its TCP buffers as Linux does."
        yield Statement(topic, "unknown", text)
        return
    ability = _ability(topic, window, path.rtt_s)
    if need is None:
        yield Statement(topic, "hint", ability)
    elif window.low_bytes >= need.window_bytes:
        yield Statement(topic, "fine", f"{ability} {_enough(need)}")
    else:
        best = min(window.high_bytes, windows.SCALED)
        kind: Kind = "limit" if best < need.window_bytes else "hint"
        yield Statement(topic, kind, f"{ability} {_short(need, window)}")
        yield from _lift(host, need, role)
    yield from _of_programs(host, path, role)


def _ability(topic: str, window: Window, rtt_s: float) -> str:
    """The sentence about one stream."""
    low, high = (bit_rate(rate_of(size, rtt_s)) for size in (window.low_bytes, window.high_bytes))
    surely = "" if low == high else f" (surely {low})"
    at = milliseconds(rtt_s)
    return f"As the {topic}, one stream can carry at most {high} at {at}{surely}: {window.reason}."


def _enough(need: Need) -> str:
    if need.streams == 1:
        return f"That is enough for {bit_rate(need.rate_bps)}."
    return f"{need.streams} streams together fill {bit_rate(need.rate_bps)}."


def _short(need: Need, window: Window) -> str:
    streams = windows.streams_for(need.rate_bps, need.rtt_s, window.low_bytes)
    rate = bit_rate(need.rate_bps)
    text = f"{rate} need {size(need.bdp_bytes)} on their way (the bandwidth-delay product)"
    if need.streams > 1:
        together = bit_rate(rate_of(window.low_bytes, need.rtt_s) * need.streams)
        text += f", and {need.streams} streams can surely carry {together} together"
    fewest = windows.streams_for(need.rate_bps, need.rtt_s, window.high_bytes)
    how_many = str(streams) if streams == fewest else f"{fewest} to {streams}"
    text += f". Without any change, {how_many} streams would do."
    if need.window_bytes > windows.SCALED:
        least = windows.streams_for(need.rate_bps, need.rtt_s, windows.SCALED)
        text += (
            f" No setting lets {count(need.streams, 'stream')} do it: a window is 1 GiB at the "
            f"most (RFC 7323), so at least {least} streams are needed."
        )
    return text


def _lift(host: Settings, need: Need, role: str) -> Iterator[Change]:
    """The settings with which each stream has its part of the path's window, and as much again."""
    window = need.possible_window_bytes
    if role == "send":
        wanted = _rounded(windows.send_buffer_for(HEADROOM * window))
        why = f"{_twice(window)}; of the buffer, two thirds can be counted on"
        yield from _larger("tcp_wmem", host.sysctls.tcp_wmem, wanted, why)
        return
    if host.sysctls.tcp_window_scaling == 0 and window > windows.UNSCALED:
        why = "without it no window exceeds 65,535 bytes; for connections made from then on"
        yield Change("net.ipv4.tcp_window_scaling", "1", why)
    if host.sysctls.tcp_moderate_rcvbuf == 0:
        why = "lets the receive buffer grow up to tcp_rmem[2] as it is needed"
        yield Change("net.ipv4.tcp_moderate_rcvbuf", "1", why)
    wanted = _rounded(windows.receive_buffer_for(HEADROOM * window, host))
    share = f"{float(windows.shares(host)[0]):.3g}"
    why = f"{_twice(window)}; of the buffer, a share of {share} is surely offered as window"
    yield from _larger("tcp_rmem", host.sysctls.tcp_rmem, wanted, why)


def _larger(
    name: str, current: tuple[int, int, int] | None, wanted: int, why: str
) -> Iterator[Change]:
    """The setting with a larger third value; the least and the first stay."""
    if current is not None and current[2] < wanted:
        yield Change(f"net.ipv4.{name}", f"{current[0]} {current[1]} {wanted}", why)


def _twice(window: float) -> str:
    return (
        f"twice the {size(round(window))} that a stream has on its way: as much again waits behind "
        "a lost packet"
    )


def _rounded(buffer: float) -> int:
    """Up to a whole multiple, and no more than the kernel can count."""
    return min(-(-int(buffer) // GRAIN) * GRAIN, windows.LARGEST_BUFFER)


def _of_programs(host: Settings, path: Path, role: str) -> Iterator[Statement | Change]:
    """Of programs that set their buffers themselves, which turns tuning off."""
    sends = role == "send"
    name, option = ("wmem_max", "SO_SNDBUF") if sends else ("rmem_max", "SO_RCVBUF")
    largest = host.sysctls.wmem_max if sends else host.sysctls.rmem_max
    window = windows.send_requested(host) if sends else windows.receive_requested(host)
    if not largest or window is None or window.low_bytes == 0:
        return
    topic = "sender" if sends else "receiver"
    text = (
        f"A program that sets {option} itself gets {name}, {binary(largest)}, doubled, at the most "
        f"and no tuning: surely {bit_rate(rate_of(window.low_bytes, path.rtt_s))} for a stream."
    )
    need = path.need
    if need is None or window.low_bytes >= need.window_bytes:
        yield Statement(topic, "fine", text)
        return
    yield Statement(topic, "hint", text)
    wanted = _rounded(need.possible_window_bytes / window.low_bytes * largest)
    why = f"for programs that set {option}, as iperf3 -w does: the kernel doubles what they ask for"
    if wanted > largest:
        yield Change(f"net.core.{name}", str(wanted), why)


def memory(host: Settings, path: Path) -> Iterator[Statement | Change]:
    """Whether all streams' buffers together fit what the kernel gives to TCP."""
    pages, need = host.sysctls.tcp_mem, path.need
    if pages is None or need is None:
        return
    together = round(HEADROOM * need.possible_window_bytes * need.streams)
    if together <= pages[1] * PAGE:
        return
    text = (
        f"Buffers of {count(need.streams, 'stream')} may take {binary(together)} and more, but "
        f"from {binary(pages[1] * PAGE)} on (tcp_mem[1], in pages) the kernel spares memory."
    )
    if host.memory_bytes is not None and together > host.memory_bytes / 2:
        text += f" The host has {binary(host.memory_bytes)} in all: too little for this path."
        yield Statement("memory", "limit", text)
        return
    yield Statement("memory", "hint", text)
    wanted = -(-together // PAGE)
    # The kernel's own are as 3 : 4 : 6 (Linux, net/ipv4/tcp.c, tcp_init_mem).
    value = f"{max(pages[0], wanted * 3 // 4)} {wanted} {max(pages[2], wanted * 3 // 2)}"
    why = f"{binary(together)} in pages of 4 KiB second, the others in the kernel's ratio to it"
    yield Change("net.ipv4.tcp_mem", value, why)


def other_side(path: Path, roles: Sequence[str]) -> tuple[str, ...]:
    """What the host at the other end needs, whatever this one has."""
    if path.need is None:
        return (
            "The lesser of the sender's tcp_wmem[2] and the receiver's window (of tcp_rmem[2]) "
            "bounds a stream: ask fairway doctor on the other host, too.",
        )
    window = path.need.possible_window_bytes
    found = []
    if "send" in roles:
        buffer = binary(_rounded(HEADROOM * window * 2))
        found.append(
            f"The receiver needs a window of {binary(window)} for each stream: a tcp_rmem[2] of "
            f"{buffer} (half of it offered, and twice the window), or an rmem_max of "
            f"{binary(_rounded(window))} if its program sets SO_RCVBUF."
        )
    if "receive" in roles:
        buffer = binary(_rounded(windows.send_buffer_for(HEADROOM * window)))
        asked = binary(_rounded(windows.send_buffer_for(window) / 2))
        found.append(
            f"The sender needs {binary(window)} of each stream on its way: a tcp_wmem[2] of "
            f"{buffer}, or a wmem_max of {asked} if its program sets SO_SNDBUF."
        )
    return tuple(found)
