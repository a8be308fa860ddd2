"""Which congestion controls the host has, how to get others, and what loss allows them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairway.ground.text import bit_rate, count, number
from fairway.host.advice.statement import Change, Statement
from fairway.host.closed_forms import CLOSED_FORMS
from fairway.host.path import Path
from fairway.host.settings import Settings

#: BBR takes no notice of loss up to this share: Cardwell et al., ACM Queue 14(5), 2016, figure 8
#: (it falls beyond 1 − 1/1.25, where probing gains nothing).
BBR_LOSS = 0.15

#: Algorithms that do not answer single losses.
_BY_MODEL = ("bbr",)


def judge(host: Settings, path: Path, roles: Sequence[str]) -> tuple[list[Statement], list[Change]]:
    """What is to be said of congestion control; it is the sender's."""
    if "send" not in roles:
        return [], []
    statements, changes = _choice(host, path)
    return [*statements, *_loss(host, path)], changes


def _choice(host: Settings, path: Path) -> tuple[list[Statement], list[Change]]:
    sysctls = host.sysctls
    topic = "congestion control"
    available = sysctls.tcp_available_congestion_control
    if available is None:
        return [
            Statement(topic, "unknown", "This system does not show its congestion controls.")
        ], []
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
        return [Statement(topic, "fine", text)], []
    if wanted not in available:
        text += (
            f" {wanted} is not loaded: modprobe tcp_{wanted}. If there is no such module, the "
            f"kernel was built without CONFIG_TCP_CONG_{wanted.upper()}, or does not know it."
        )
        return [Statement(topic, "limit", text)], _permit(wanted, allowed)
    if wanted not in allowed:
        text += f" {wanted} is there, but only root may choose it."
        return [Statement(topic, "hint", text)], _permit(wanted, allowed)
    return [Statement(topic, "fine", text)], []


def _permit(wanted: str, allowed: Sequence[str]) -> list[Change]:
    value = " ".join(dict.fromkeys([*allowed, wanted]))
    why = f"lets every user choose {wanted} (TCP_CONGESTION); without it, only root"
    return [Change("net.ipv4.tcp_allowed_congestion_control", value, why)]


def _loss(host: Settings, path: Path) -> list[Statement]:
    """What random loss leaves one stream, by the algorithm's mean window in closed form."""
    if not path.loss:
        return []
    name = path.cc or host.sysctls.tcp_congestion_control or "reno"
    loss = f"{path.loss * 100:.4g} %"
    if name in _BY_MODEL:
        if path.loss <= BBR_LOSS:
            text = f"{name} does not answer single losses: {loss} hardly slow it."
            return [Statement("loss", "fine", text)]
        text = f"At a loss of {loss}, {name} cannot keep its rate either: it bears about 15 %."
        return [Statement("loss", "limit", text)]
    form = CLOSED_FORMS.get(name)
    segments = max(1.0, (form or CLOSED_FORMS["reno"])(path.loss, path.rtt_s))
    rate = segments * path.mss_bytes * 8 / path.rtt_s
    what = name if form else f"{name}, taken as Reno,"
    text = (
        f"At a random loss of {loss}, one stream of {what} has a mean window of {number(segments)} "
        f"segments: {bit_rate(rate)}."
    )
    if path.rate_bps is None:
        return [Statement("loss", "hint", text)]
    streams = math.ceil(path.rate_bps / rate)
    if streams <= path.streams:
        return [
            Statement("loss", "fine", f"{text} {count(path.streams, 'stream')} can fill the path.")
        ]
    text += (
        f" It takes {streams} of them to fill {bit_rate(path.rate_bps)}, or a control that bears "
        "the loss, as bbr; no buffer helps."
    )
    return [Statement("loss", "limit", text)]
