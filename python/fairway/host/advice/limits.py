"""Processor and process: cores, their frequency, open files."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.ground.text import count
from fairway.host.advice.interface import FAST_BPS
from fairway.host.advice.statement import Change, Statement
from fairway.host.path import Path
from fairway.host.settings import Settings

#: Files and sockets besides the streams' that a transfer has open: files, control, event queues.
BESIDES = 64


def judge(host: Settings, path: Path, roles: Sequence[str]) -> tuple[list[Statement], list[Change]]:
    """What is to be said of the processor and of the process's limits."""
    del roles
    return [*_files(host, path), *_processor(host, path), *_sack(host)], []


def _files(host: Settings, path: Path) -> list[Statement]:
    soft, hard = host.open_files or (None, None)
    if soft is None or path.streams + BESIDES <= soft:
        return []
    text = f"{path.streams} streams need more open files than the {soft} of RLIMIT_NOFILE: "
    enough = hard is None or path.streams + BESIDES <= hard
    text += (
        f"ulimit -n {path.streams + BESIDES}" if enough else "raise its hard limit (limits.conf)"
    )
    return [Statement("process", "limit", text)]


def _processor(host: Settings, path: Path) -> list[Statement]:
    if path.rate_bps is None or path.rate_bps < FAST_BPS:
        return []
    found = []
    if host.governor and host.governor != "performance":
        text = (
            f"The cores' frequency governor is {host.governor}: cpupower frequency-set "
            "-g performance keeps them from slowing down between bursts."
        )
        found.append(Statement("processor", "hint", text))
    if host.cores == 1:
        text = f"There is {count(host.cores, 'core')} for sending, receiving and encrypting."
        found.append(Statement("processor", "hint", text))
    return found


def _sack(host: Settings) -> list[Statement]:
    """Options without which large windows do badly."""
    sysctls = host.sysctls
    found = []
    if sysctls.tcp_sack == 0:
        text = (
            "tcp_sack is 0: of several packets lost in a window, one is repaired in a round trip "
            "(RFC 6582). sysctl -w net.ipv4.tcp_sack=1"
        )
        found.append(Statement("options", "hint", text))
    if sysctls.tcp_timestamps == 0:
        text = (
            "tcp_timestamps is 0: sequence numbers that wrap around are not told apart, and round "
            "trips are measured once in a window (RFC 7323). sysctl -w net.ipv4.tcp_timestamps=1"
        )
        found.append(Statement("options", "hint", text))
    return found
