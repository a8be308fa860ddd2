"""The kernel's settings (sysctl) that decide what a TCP connection can carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fairway.host.files import integer, integers, read

#: Least, at first, most.
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Sysctls:
    """Settings by the last part of their names; None is one that this system does not show.

    A network namespace, as a container has, lacks some of net.core: they are the host's. Meanings
    and units are those of the kernel's Documentation/networking/ip-sysctl.rst and
    Documentation/admin-guide/sysctl/net.rst.

    Attributes:
        rmem_max: Bytes; most that SO_RCVBUF may ask for (the kernel sets twice what is asked for).
        wmem_max: Bytes; most that SO_SNDBUF may ask for (likewise).
        tcp_rmem: Bytes of receive buffer of a connection: least, at first, most.
        tcp_wmem: Bytes of send buffer of a connection: least, at first, most.
        tcp_mem: Pages of all TCP buffers together: low, pressure, most.
        tcp_adv_win_scale: How much of a receive buffer is offered as window, before Linux 6.6.
    """

    rmem_max: int | None = None
    wmem_max: int | None = None
    rmem_default: int | None = None
    wmem_default: int | None = None
    optmem_max: int | None = None
    default_qdisc: str | None = None
    netdev_max_backlog: int | None = None
    somaxconn: int | None = None
    busy_poll: int | None = None

    tcp_rmem: Triple | None = None
    tcp_wmem: Triple | None = None
    tcp_mem: Triple | None = None
    tcp_moderate_rcvbuf: int | None = None
    tcp_adv_win_scale: int | None = None
    tcp_app_win: int | None = None
    tcp_shrink_window: int | None = None
    tcp_window_scaling: int | None = None
    tcp_timestamps: int | None = None
    tcp_sack: int | None = None
    tcp_dsack: int | None = None
    tcp_recovery: int | None = None
    tcp_reordering: int | None = None
    tcp_ecn: int | None = None

    tcp_congestion_control: str | None = None
    tcp_available_congestion_control: tuple[str, ...] | None = None
    tcp_allowed_congestion_control: tuple[str, ...] | None = None

    tcp_no_metrics_save: int | None = None
    tcp_slow_start_after_idle: int | None = None
    tcp_mtu_probing: int | None = None
    tcp_notsent_lowat: int | None = None
    tcp_limit_output_bytes: int | None = None
    tcp_min_tso_segs: int | None = None
    tcp_tso_rtt_log: int | None = None
    tcp_pacing_ss_ratio: int | None = None
    tcp_pacing_ca_ratio: int | None = None
    tcp_autocorking: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The settings by their full names; those that are absent are null."""
        return {full_name(one.name): _plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sysctls:
        """The settings that `to_json` wrote; what is not of its kind counts as absent."""
        return cls._from(lambda name: _as_text(data.get(name)))

    @classmethod
    def read(cls, root: Path = Path("/")) -> Sysctls:
        """The settings of this host."""
        return cls._from(lambda name: read(root / "proc/sys" / name.replace(".", "/")))

    @classmethod
    def _from(cls, text_of: Callable[[str], str | None]) -> Sysctls:
        found: dict[str, Any] = {}
        for one in fields(cls):
            text = text_of(full_name(one.name))
            found[one.name] = _PARSERS[str(one.type)](text) if text else None
        return cls(**found)


def full_name(name: str) -> str:
    """The name that `sysctl` knows a setting by.

    >>> full_name("tcp_rmem"), full_name("rmem_max")
    ('net.ipv4.tcp_rmem', 'net.core.rmem_max')
    """
    return f"net.ipv4.{name}" if name.startswith("tcp_") else f"net.core.{name}"


def _triple(text: str) -> Triple | None:
    values = integers(text)
    if values is None or len(values) != 3 or min(values) < 0:
        return None
    return values[0], values[1], values[2]


#: How a setting is read, by its type.
_PARSERS: dict[str, Callable[[str], Any]] = {
    "int | None": integer,
    "str | None": lambda text: text if len(text.split()) == 1 else None,
    "Triple | None": _triple,
    "tuple[str, ...] | None": lambda text: tuple(text.split()),
}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _as_text(value: Any) -> str | None:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return None if value is None else str(value)
