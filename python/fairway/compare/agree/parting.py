"""The first packet at which two backends part on one experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.backends import Backend, kernels_last
from fairway.backends import backend as find_backend
from fairway.backends.linux.kernel import HEADER_ROOM
from fairway.compare.releases import mismatch
from fairway.errors import InputError, Interrupted
from fairway.experiment.plan import Plan, plan
from fairway.ground import text
from fairway.ground.permission import permitting
from fairway.ground.progress import reporter
from fairway.ground.registry import DEFAULT_PRESET
from fairway.plot.page import Table
from fairway.results.run import Run
from fairway.sweep.run import check_points, run_plan

#: Packets shown before the difference.
BEFORE = 12
#: Hosts named before the rest is counted.
_NAMED = 6
#: Ports of a simulated connection count from these, those of listeners one further for each round
#: (crates/sim/src/capture/addresses.rs).
_OPENERS, _LISTENERS, _IN_ROUND = 50_000, 42_000, 4_000


#: What of a packet is compared (crates/analysis/src/parting), and what its headers have besides.
_OF_SEGMENTS = (
    "direction, sequence and acknowledgement numbers, length, flags but PSH, and SACK blocks"
)
_NOT_COMPARED = "times, windows, other TCP options, IP headers and content"


@dataclass(frozen=True)
class Compared:
    """What was held against each other.

    Attributes:
        hosts: Hosts whose captures both sides have.
        left_out: Hosts that the first side alone has captured, and the second.
        segments: TCP segments that are the same on both sides.
        datagrams: Datagrams that are the same, by direction and length alone.
        other: Packets of each side that are of another protocol, and were not compared.
        alone: Packets that each side has alone in its last millisecond, which is no difference.
        span_ns: When the first and the last packet of both was captured.
    """

    hosts: tuple[str, ...]
    left_out: tuple[tuple[str, ...], tuple[str, ...]]
    segments: int
    datagrams: int
    other: tuple[int, int]
    alone: tuple[int, int]
    span_ns: tuple[int, int] | None

    def sentence(self) -> str:
        """Which fields were compared."""
        datagrams = "; of datagrams direction and length" if self.datagrams else ""
        return f"Compared: {_OF_SEGMENTS}{datagrams}. Not compared: {_NOT_COMPARED}."

    def exceptions(self, sides: Sequence[str]) -> list[str]:
        """What is not among the packets that are the same, one sentence for each kind."""
        found = []
        for sizes, what in (
            (self.other, "of other protocols than TCP and UDP"),
            (self.alone, "in the last millisecond"),
        ):
            counts = [
                f"{text.count(n, 'packet')} on {side}"
                for n, side in zip(sizes, sides, strict=True)
                if n
            ]
            if counts:
                found.append(f"Left aside: {' and '.join(counts)}, {what}.")
        for hosts, side in zip(self.left_out, sides, strict=True):
            if hosts:
                found.append(f"Left aside: hosts that {side} alone captured: {_listed(hosts)}.")
        return found


@dataclass(frozen=True)
class FirstDifference:
    """Where two backends part.

    Attributes:
        sides: Names of both backends.
        packets: Packets read on each side, at all hosts that both captured.
        compared: What of them was compared.
        host: The host that saw the difference; None if there is none.
        flow: Id of the flow, if a simulated side tells which it is.
        parting: What was seen there, as `_core.first_difference` has it.
        assumed: What was set on both sides because the experiment does not: path -> value.
        caution: What to say if a kernel is not that of the experiment's preset; else empty.
    """

    title: str
    sides: tuple[str, str]
    packets: tuple[int, int]
    compared: Compared
    host: str | None
    flow: str | None
    parting: Mapping[str, Any] | None
    assumed: Mapping[str, Any]
    caution: str

    @property
    def agrees(self) -> bool:
        """Whether no difference was found."""
        return self.parting is None

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "title": self.title,
            "sides": list(self.sides),
            "packets": list(self.packets),
            "compared": asdict(self.compared),
            "host": self.host,
            "flow": self.flow,
            "parting": None if self.parting is None else dict(self.parting),
            "assumed": dict(self.assumed),
            "caution": self.caution,
        }

    def sentence(self) -> str:
        """What was found, in words, and what was compared for it."""
        caution = [self.caution] if self.caution else []
        return " ".join([self._finding(), *caution, self.compared.sentence(), *self._exceptions()])

    def _exceptions(self) -> list[str]:
        return self.compared.exceptions(self.sides) if self.agrees else []

    def _finding(self) -> str:
        sides = " and ".join(self.sides)
        if self.parting is None:
            compared = self.compared
            counts = [text.count(compared.segments, "TCP segment")]
            if compared.datagrams:
                counts.append(text.count(compared.datagrams, "datagram"))
            first_ns, last_ns = compared.span_ns or (0, 0)
            hosts = "host" if len(compared.hosts) == 1 else "hosts"
            return (
                f"{sides} show the same {' and '.join(counts)} at {hosts} "
                f"{_listed(compared.hosts)}, from {first_ns / 1e6:.3f} to {last_ns / 1e6:.3f} ms."
            )
        kind = "connection" if self.parting["is_tcp"] else "datagram flow"
        flow = self.flow or f"{kind} {self.parting['connection']}"
        times = " and ".join(
            f"{packets[0]['at_ns'] / 1e6:.3f} ms of {side}"
            for side, packets in zip(self.sides, self.parting["after"], strict=True)
            if packets
        )
        silent = [
            f" (nothing follows on {side})"
            for side, packets in zip(self.sides, self.parting["after"], strict=True)
            if not packets
        ]
        return (
            f"{sides} part at host {self.host} in {flow}, after "
            f"{text.count(self.parting['same'], 'packet')} of it that are the same, at {times}"
            f"{''.join(silent)}."
        )

    def tables(self) -> list[Table]:
        """The last packets that are the same, and those that follow on each side."""
        if self.parting is None:
            return []
        columns = ["ms", "", "flags", "seq", "bytes", "ack", "window", "SACK"]
        parts = [(f"The same, times of {self.sides[0]}", self.parting["before"])]
        parts += list(zip(self.sides, self.parting["after"], strict=True))
        return [
            Table(caption, columns, [_row(one) for one in packets], labels=3, trailing=1)
            for caption, packets in parts
            if packets
        ]


def first_difference(
    experiment: str | Path | Mapping[str, Any],
    *,
    against: Sequence[str | Backend] = ("sim", "linux"),
    overrides: Mapping[str, Any] | None = None,
    allow_python: bool = False,
    quiet: bool = True,
) -> FirstDifference:
    """Run an experiment once on two backends, with captures at the hosts, and find where they part.

    Args:
        experiment: A path, the text of an experiment file, or its content as a mapping.
        against: Two backends, by their names or as they are.
        overrides: Values to set first: path -> value.
        allow_python: Whether the experiment may name modules, which are imported and run.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.ExperimentError: If the experiment is not valid.
        fairway.InputError: If something given cannot be used, or a backend is not there.
        fairway.RunFailed: If a run failed.
    """
    sides = [find_backend(side) if isinstance(side, str) else side for side in against]
    if len(sides) != 2:
        listed = ", ".join(side.name for side in sides) or "none"
        raise InputError(f"--first-difference: backends {listed}: expected two, such as sim,linux")
    unable = next((side.name for side in sides if side.name != "sim"), None)
    with permitting(python=allow_python, backend=unable):
        planned, assumed = _planned(experiment, sides, overrides or {})
    for side in kernels_last(sides):
        check_points(planned, side)
    runs = [_run(planned, side, quiet=quiet) for side in reversed(sides)][::-1]
    found = _compare(runs)
    host, parting = found.first
    return FirstDifference(
        planned.title, (sides[0].name, sides[1].name), found.packets, found.compared, host,
        _flow(runs, sides, parting), parting, assumed,
        mismatch(runs[0].experiment, [run.summary for run in runs]),
    )  # fmt: skip


def _planned(
    experiment: str | Path | Mapping[str, Any],
    sides: Sequence[Backend],
    overrides: Mapping[str, Any],
) -> tuple[Plan, dict[str, Any]]:
    """The experiment's first seed, and what was assumed for it."""
    captured = {**overrides, "capture.at": "hosts"}
    planned = plan(experiment, overrides=captured)
    assumed = {}
    stack = planned.points[0].experiment.get("stack", {})
    is_linux = str(stack.get("preset", DEFAULT_PRESET)).startswith("linux")
    if is_linux and "header_room" not in stack and any(side.name == "linux" for side in sides):
        assumed = {"stack.header_room": HEADER_ROOM}
        planned = plan(experiment, overrides={**captured, **assumed})
    if planned.axes:
        raise InputError(
            f"--first-difference: the experiment varies {', '.join(planned.axes)}; compare one "
            f"point: set it, as in --set {planned.axes[0]}=VALUE, in a file without [sweep]"
        )
    return Plan(planned.title, (), planned.points[:1], planned.algorithms), assumed


def _run(planned: Plan, side: Backend, *, quiet: bool) -> Run:
    progress = reporter(side.name, quiet=quiet)
    return run_plan(planned, side, threads=1, progress=progress).outcomes[0].run


@dataclass(frozen=True)
class _Found:
    packets: tuple[int, int]
    compared: Compared
    first: tuple[str | None, dict[str, Any] | None]


def _compare(runs: Sequence[Run]) -> _Found:
    """Hold the captures of each host against each other; the earliest difference counts."""
    first: tuple[str | None, dict[str, Any] | None] = (None, None)
    sums = {name: [0, 0] for name in ("packets", "same", "other", "alone")}
    spans: list[tuple[int, int]] = []
    captures = [_captures(run) for run in runs]
    hosts = _common(captures)
    for host in hosts:
        paths = (captures[0][host], captures[1][host])
        try:
            found = json.loads(_core.first_difference(paths, BEFORE))
        except _core.CaptureError as error:
            raise InputError(f"--first-difference: {error}") from None
        except KeyboardInterrupt:
            raise Interrupted("stopped while captures were compared") from None
        for name, so_far in sums.items():
            sums[name] = [one + more for one, more in zip(so_far, found[name], strict=True)]
        spans += [tuple(found["span_ns"])] if found["span_ns"] else []
        parting = found["parting"]
        if parting and (first[1] is None or parting["at_ns"] < first[1]["at_ns"]):
            first = (host, parting)
    datagrams, segments = sums["same"]
    compared = Compared(
        tuple(hosts), (_alone(captures[0], hosts), _alone(captures[1], hosts)), segments, datagrams,
        _pair(sums["other"]), _pair(sums["alone"]),
        (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None,
    )  # fmt: skip
    return _Found(_pair(sums["packets"]), compared, first)


def _pair(values: Sequence[int]) -> tuple[int, int]:
    return values[0], values[1]


def _alone(captures: Mapping[str, Path], hosts: Sequence[str]) -> tuple[str, ...]:
    return tuple(host for host in captures if host not in hosts)


def _listed(hosts: Sequence[str]) -> str:
    """Some names of hosts, and how many more there are."""
    more = len(hosts) - _NAMED
    return ", ".join(hosts[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _captures(run: Run) -> dict[str, Path]:
    """A run's captures, by host."""
    return {path.stem: path for path in sorted(run.captures.iterdir())} if run.captures else {}


def _common(captures: Sequence[Mapping[str, Path]]) -> list[str]:
    """Hosts whose captures both runs have."""
    hosts = [host for host in captures[0] if host in captures[1]]
    if not hosts:
        listed = " and ".join(", ".join(one) or "none" for one in captures)
        raise InputError(
            f"--first-difference: captures of {listed}: no host is in both; only backends that "
            "capture packets can be compared, which are sim and linux"
        )
    return hosts


def _flow(
    runs: Sequence[Run], sides: Sequence[Backend], parting: Mapping[str, Any] | None
) -> str | None:
    """The id of the flow: simulated ports tell its index."""
    if parting is None or not parting["is_tcp"]:
        return None
    for run, side, ends in zip(runs, sides, parting["ends"], strict=True):
        if side.name == "sim" and ends:
            opener, listener = (int(end.rpartition(":")[2]) for end in ends)
            index = opener - _OPENERS + _IN_ROUND * (listener - _LISTENERS)
            flows = [flow for flow in run.summary["flows"] if _has_connection(flow)]
            if 0 <= index < len(flows):
                return str(flows[index]["id"])
    return None


def _has_connection(flow: Mapping[str, Any]) -> bool:
    """Whether a row of results is that of a connection of its own: no datagrams, no way back."""
    return flow.get("cc") is not None and not str(flow["id"]).endswith("/reverse")


def _row(packet: Mapping[str, Any]) -> list[str]:
    blocks = " ".join(f"{left}–{right}" for left, right in packet["sack"])
    return [
        f"{packet['at_ns'] / 1e6:.3f}",
        "→" if packet["forward"] else "←",
        " ".join(packet["flags"]),
        str(packet["seq"]),
        str(packet["bytes"]),
        text.ABSENT if packet["ack"] is None else str(packet["ack"]),
        str(packet["window"]),
        blocks,
    ]
