"""One command on a host of an experiment's network, with its streams passed on while it runs."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.backends.control import Control
from fairway.backends.linux import programs, saved_files
from fairway.backends.linux.backend import Linux
from fairway.backends.linux.streams import MOST_BYTES, Stream, binary, keep_input
from fairway.errors import InputError, RunFailed
from fairway.ground.registry import DEFAULT_PRESET
from fairway.results.run import Run

#: Name of the flow between the command's host and another.
FLOW = "shell"
#: Hosts that a host of programs reaches at the most, those of programs before others.
MOST_PEERS = 64
#: Exit codes as timeout(1) and shells have them: out of time, an error of Fairway's own, not
#: executable, not found, signalled.
OUT_OF_TIME, FAILED = 124, 125
NOT_EXECUTABLE, NOT_FOUND, SIGNALLED = 126, 127, 128
_EACCES = 13
#: File of the run directory with the command's standard input.
_INPUT = "input"
#: The largest number of a plan.
_MOST = 2**64 - 1
_OUTPUTS = ("standard output", "standard error")


@dataclass(frozen=True)
class Background:
    """A command that runs beside, from one second before the beginning."""

    host: str
    words: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> Background:
        """Read "d0: nginx -c FILE"."""
        host, colon, command = text.partition(":")
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            raise InputError(f"--background: {command.strip()!r}: {error}") from None
        if not colon or not host.strip() or not words:
            raise InputError(
                f"--background: expected a host, a colon and a command, got {text!r}; write "
                "'d0: python3 -m http.server 80'"
            )
        return Background(host.strip(), words)


def with_command(
    experiment: Mapping[str, Any],
    words: Sequence[str],
    *,
    host: str | None = None,
    background: Sequence[Background] = (),
    alone: bool = False,
    cc: str | None = None,
) -> dict[str, Any]:
    """The experiment with a command on a host.

    Args:
        experiment: Its document.
        words: The command.
        host: Where it runs; without it, at the source of the first flow.
        background: What runs beside.
        alone: Whether the experiment's own flows are left out, but for those of programs.
        cc: Congestion control of the hosts of programs; cubic without it.
    """
    hosts = _core.hosts(dict(experiment))
    host = hosts[0] if host is None and hosts else host
    wanted = [host, *(one.host for one in background)]
    peers = {}
    for option, name in zip(("--on", *["--background"] * len(background)), wanted, strict=True):
        assert name is not None
        found = _core.hosts(dict(experiment), name)
        if not found:
            known = ", ".join(hosts[:8]) + (" and others" if len(hosts) > 8 else "")
            raise InputError(
                f"{option}: there is no host {name!r} in this network; there is {known}"
            )
        peers[name] = sorted(found, key=lambda peer: peer not in wanted)[:MOST_PEERS]
    assert host is not None
    first = next((one.host for one in background if one.host in peers[host]), peers[host][0])

    def on_its_side(flow: Mapping[str, Any]) -> dict[str, Any]:
        """A flow with its direction: without the flows before it, names would have no side."""
        if experiment["topology"]["kind"] not in ("dumbbell", "chain") or "from" not in flow:
            return dict(flow)
        # The first host is on the left.
        is_left = hosts[0] not in _core.hosts(dict(experiment), flow["from"])
        return {**flow, "direction": "forward" if is_left else "reverse"}

    def flow(name: str, source: str, sink: str, **commands: list[str]) -> dict[str, Any]:
        found = {"kind": "program", "id": name, "from": source, "to": sink, **commands}
        return on_its_side({**found, **({} if cc is None else {"cc": cc})})

    flows = [flow(FLOW, host, first, program=list(words))]
    joined = {frozenset((host, first))}
    for index, one in enumerate(background):
        other = host if host in peers[one.host] else peers[one.host][0]
        flows.append(flow(background_id(index), other, one.host, server=list(one.words)))
        joined.add(frozenset((other, one.host)))
    for name, reached in peers.items():
        for peer in reached:
            if (pair := frozenset((name, peer))) not in joined:
                joined.add(pair)
                flows.append(flow(_id(f"{name}-{peer}"), name, peer))
    own = list(experiment["flow"])
    if alone:
        own = [on_its_side(one) for one in own if _runs_commands(one)]
    measure = {
        key: value for key, value in experiment.get("measure", {}).items() if key != "window"
    }
    document = {**experiment, "flow": [*own, *flows], "measure": measure}
    stack = experiment.get("stack", {})
    if not own and not stack.get("preset", DEFAULT_PRESET).startswith("linux-"):
        # No flow is left that the stack of another system is for.
        document["stack"] = {key: stack[key] for key in ("mtu", "mss") if key in stack}
    return document


def _runs_commands(flow: Mapping[str, Any]) -> bool:
    return isinstance(flow.get("program"), list) or "server" in flow


def _id(text: str) -> str:
    return text.translate(str.maketrans("./", "__"))


@dataclass
class Shell(Linux):
    """The backend for one command: it passes its streams on, and ends the run with it.

    Attributes:
        kernel: Another kernel that was built, by its release; without it, as usual.
        backgrounds: How many commands run beside.
        environment: Variables of all programs of the command line, beside the usual ones.
        date_s: The date at the beginning, in seconds from the start of 1970.
        limit_s: Real seconds after which the run is ended.
        keeps_input: Whether the command reads this process's standard input.
        most_bytes: Most bytes of standard input and of each output; more ends the run.
        keeps: Files of hosts that are kept.
        keeps_all: Whether each of them was, after the run.
    """

    kernel: str | None = None
    backgrounds: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    date_s: int = programs.DATE_S
    limit_s: float | None = None
    keeps_input: bool = True
    most_bytes: int = MOST_BYTES
    keeps: Sequence[saved_files.Keep] = ()
    keeps_all: bool = True
    _streams: list[Stream] = field(default_factory=list)
    _began: float = 0.0

    def __post_init__(self) -> None:
        """Let virtual time stand still for as long as the command may take."""
        super().__init__(self.kernel)
        self.patience_s = self.limit_s

    def run(
        self,
        experiment: dict[str, Any],
        control: Control | None = None,
        algorithms: Algorithms | None = None,
    ) -> Run:
        """Run it; raises `OutOfTime` after `limit_s`, `TooMuchOutput` after `most_bytes`."""
        return super().run(experiment, _Pumped(self, control or Control()), algorithms)

    def is_asked_for(self, program: Mapping[str, Any]) -> bool:
        """Whether a program of a plan is the command, or one that runs beside."""
        beside = (background_id(number) for number in range(self.backgrounds))
        return program["id"] in (FLOW, *beside)

    def prepare(self, plan: dict[str, Any], directory: Path) -> None:
        """Mark the command in a plan, and give it its streams."""
        plan["date_s"] = self.date_s
        for index, program in enumerate(plan["programs"]):
            if not self.is_asked_for(program):
                continue
            is_command = program["id"] == FLOW
            variables = {**programs.environment(), **self.environment}
            program["environment"] = list(variables.items())
            # One more tells that there was more. The files are gone before results are read.
            program["most_output_bytes"] = min(self.most_bytes + 1, _MOST)
            outputs = (binary(sys.stdout), binary(sys.stderr))
            host = plan["hosts"][program["host"]]["name"]
            label = b""
            if is_command:
                program["is_last"] = True
                saved_files.ask(plan, self.keeps, program["host"])
                if self.keeps_input and keep_input(directory / _INPUT, self.most_bytes):
                    program["input"] = _INPUT
            else:
                label = f"[{host}] ".encode()
                outputs = (outputs[1], outputs[1])
            for number, target in enumerate(outputs, 1):
                path = directory / f"program-{index}.{number}"
                name = f"{_OUTPUTS[number - 1]} of {program['command'][0]} on {host}"
                self._streams.append(
                    Stream(path, target, name, self.most_bytes, label, self._check_limit)
                )
        self._began = time.monotonic()

    def pump(self) -> None:
        """Pass on what programs have written since the last time."""
        for stream in self._streams:
            stream.pump()
        self._check_limit()

    def _check_limit(self) -> None:
        if self.limit_s is not None and time.monotonic() - self._began > self.limit_s:
            raise OutOfTime(f"ended after {self.limit_s:g} s of real time (--real-time-limit)")

    def finish(self) -> None:
        """Pass on the rest."""
        for stream in self._streams:
            stream.pump()
            stream.close()

    def keep(self, saved: saved_files.SavedFiles) -> None:
        """Remember whether all were."""
        self.keeps_all = not saved.failed


class OutOfTime(RunFailed):
    """The run took longer in real time than it may."""

    exit_code = OUT_OF_TIME


class _Pumped(Control):
    """Passes streams on whenever the machine asks whether it shall go on."""

    def __init__(self, shell: Shell, outer: Control) -> None:
        super().__init__()
        self._shell, self._outer = shell, outer

    def is_cancelled(self) -> bool:
        self._shell.pump()
        return self._outer.is_cancelled()

    def reached(self, fraction: float) -> None:
        self._outer.reached(fraction)


def background_id(number: int) -> str:
    """Id of a command that runs beside."""
    return f"background-{number}"


def cautions(run: Run) -> list[str]:
    """The warnings of a run but the one of how the command itself ended."""
    return [warning for warning in run.warnings if not warning.startswith(f"{FLOW}: ")]


def exit_code(run: Run) -> tuple[int, str | None]:
    """The exit code of the command of a run, and what is to be said of it."""
    command = next(one for one in run.summary["programs"] if one["id"] == FLOW)
    name = command["command"][0]
    if command["failure"] is not None:
        # What is not the command's own fault has no errno.
        codes = {0: FAILED, _EACCES: NOT_EXECUTABLE}
        code = codes.get(command["errno"], NOT_FOUND)
        return code, f"{name} could not be started on {command['host']}: {command['failure']}"
    if command["signal"] is not None:
        return SIGNALLED + command["signal"], None
    if command["exit_code"] is not None:
        return command["exit_code"], None
    return OUT_OF_TIME, (
        f"{name} was ended at its limit of virtual time, {run.experiment['duration']}; "
        '--time-limit "10 min" gives it more'
    )
