"""What a reader of a run on a kernel has to know before trusting its figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairway import _core
    from fairway.backends.linux.kernel import Kernel

#: Connections that are named one by one.
_MOST_NAMED = 10


def of_kernel(kernel: Kernel) -> str | None:
    """What there is to say of any run on a kernel; none if it has virtual time."""
    if kernel.virtual_time:
        return None
    return (
        f"Linux {kernel.release} has no virtual time here: runs take their time, timers may tick "
        "every 10 ms only, and what else the machine does changes the results; `fairway linux "
        "build` makes a better one"
    )


def of_run(kernel: Kernel, data: _core.LinuxData) -> list[str]:
    """What there is to say of one run, in sentences without a full stop."""
    said = [sentence] if (sentence := of_kernel(kernel)) else []
    if data.unseen_packets:
        said.append(
            f"{data.unseen_packets} packets went by unseen: what is counted packet by packet is "
            "too low by as many"
        )
    if not data.states_told:
        said.append(
            f"Linux {data.kernel} was built without its trace events: window_reductions and "
            "timeouts are not counted, and are 0"
        )
    return said + of_connections(json.loads(data.broken))


def of_connections(broken: Sequence[dict[str, Any]]) -> list[str]:
    """One sentence for each connection that was not there to the end, or for the first of many."""
    said = [_sentence(connection) for connection in broken[:_MOST_NAMED]]
    if more := len(broken) - len(said):
        said.append(f"{more} more connections were never established, or were given up")
    return said


def _sentence(connection: dict[str, Any]) -> str:
    flow, established_s = connection["flow"], connection["established_s"]
    given_up_s, why = connection["given_up_s"], f"{connection['errno']} at the {connection['end']}"
    if given_up_s is None:
        return f"flow {flow}: its connection was not established by the end of the run"
    if established_s is None:
        return (
            f"flow {flow}: its connection was never established; the kernel gave up at "
            f"{given_up_s:.3f} s ({why})"
        )
    return (
        f"flow {flow}: the kernel gave its connection up at {given_up_s:.3f} s ({why}); it was "
        f"established at {established_s:.3f} s"
    )
