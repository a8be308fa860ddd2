"""The real Linux stack as a backend: one kernel, booted for each run."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway import _core
from fairway.algorithm import Algorithms
from fairway.backends.control import Control
from fairway.backends.linux import cache, modules, packaged, programs, saved_files
from fairway.backends.linux.confinement import AGENT
from fairway.backends.linux.kernel import Kernel
from fairway.backends.linux.machine import NETWORK, Machine, cautions, run_directory
from fairway.backends.sim import completed, tables
from fairway.errors import InputError, RunFailed, writing
from fairway.ground import digest
from fairway.ground.permission import (
    Command,
    KeptPath,
    Origin,
    PermissionNeededError,
    permission,
)
from fairway.ground.temporary import Temporary
from fairway.results.captures import new_directory
from fairway.results.run import Run

#: Bytes that one sample of a flow and of a queue take at least (`crates/guest/src/record.rs`, with
#: the `struct tcp_info` of Linux 6.1).
_FLOW_SAMPLE_BYTES = 24 + 232
_QUEUE_SAMPLE_BYTES = 56
#: Room on the disk for the error of a guest that has filled it.
_RESERVE_BYTES = 16 << 10


class Linux:
    """Runs experiments on a Linux kernel of their own, in virtual time."""

    name = "linux"
    #: How long virtual time may stand still, in seconds of real time; without it, as usual.
    patience_s: float | None = None

    def __init__(self, kernel: str | None = None) -> None:
        """Run on the kernel that `fairway linux status` shows, or on another of those built."""
        self._choice = kernel
        #: Congestion controls of the flows so far: a kernel that has them is looked for.
        self._needed: set[str] = set()

    def control(self, cores: int = 1) -> Control:  # noqa: ARG002
        """A fresh handle to follow or stop one run."""
        return Control()

    def engine(self) -> str:
        """SHA-256 of kernel, agent, network and compiled module."""
        files = (self._kernel.path, AGENT, NETWORK, digest.MODULE)
        return hashlib.sha256("".join(map(digest.of_file, files)).encode()).hexdigest()

    def release(self) -> str:
        """Release of the kernel, such as "6.1.192"."""
        return self._kernel.release

    def check(
        self,
        experiment: _core.Planned | dict[str, Any],
        algorithms: Algorithms | None = None,
    ) -> None:
        """Refuse, by name, what a kernel cannot do."""
        self._layout(experiment, algorithms)

    def run(
        self,
        experiment: dict[str, Any],
        control: Control | None = None,
        algorithms: Algorithms | None = None,
    ) -> Run:
        """Run one experiment on a kernel."""
        started = time.perf_counter()
        layout = self._layout(experiment, algorithms)
        with run_directory() as directory:
            places = self._carry_out(layout, directory, experiment, control or Control())
            try:
                data = _core.linux_collect(experiment, directory)
            except _core.CollectError as error:
                raise RunFailed(str(error)) from None
            captures = _kept(directory / "pcap")
            saved = saved_files.collect(directory, places)
            of_host = cautions(directory)
        wall_s = time.perf_counter() - started
        run = Run(
            experiment=experiment,
            summary={
                **completed(json.loads(data.summary), wall_s, {}),
                **_transfers(data),
                **programs.ran(data),
                "kernel": self._said(data),
                "warnings": [
                    *of_host,
                    *_cautions_of_run(self._kernel, data),
                    *([] if saved is None else saved.said),
                ],
            },
            series=lambda: tables().series_of(data.series, data.flow_ids),
            queues=lambda: tables().queues_of(data.queues, data.link_ids),
            losses=None if (losses := data.losses) is None else lambda: tables().losses_of(*losses),
            version=_core.version(),
            tcp_info=lambda: tables().tcp_info_of(data.tcp_info, data.flow_ids),
            captures=captures,
            kept_files=None if saved is None else saved.directory,
        )
        if saved is not None:
            self.keep(saved)
        return run

    def is_asked_for(self, program: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Whether the user named a program of a plan, so that no permission is needed."""
        return False

    def prepare(self, plan: dict[str, Any], directory: Path) -> None:
        """Change a plan before it is carried out in a run directory."""

    def finish(self) -> None:
        """Be told that it was."""

    def keep(self, saved: saved_files.SavedFiles) -> None:
        """Be told what became of the files that are kept."""

    @functools.cached_property
    def _kernel(self) -> Kernel:
        kernel = cache.find(self._choice, self._needed)
        if kernel is None:
            raise InputError(
                "--backend linux: no kernel has been built yet; `fairway linux build` makes one "
                "in some minutes" + (f". {remark}" if (remark := packaged.remark()) else "")
            )
        if sentence := _caution_of_kernel(kernel):
            warnings.warn(sentence, stacklevel=2)
        return kernel

    def _layout(
        self, experiment: _core.Planned | dict[str, Any], algorithms: Algorithms | None
    ) -> dict[str, Any]:
        layout: dict[str, Any] = json.loads(_core.linux_layout(experiment, algorithms))
        self._refuse_programs(layout["plan"], algorithms)
        names = {flow["cc"] for flow in layout["plan"]["flows"]}
        if not names <= self._needed:
            self._needed |= names
            self.__dict__.pop("_kernel", None)
        return layout

    def _refuse_programs(self, plan: dict[str, Any], algorithms: Algorithms | None) -> None:
        """Refuse programs of an experiment, and files that it keeps, that nobody has permitted."""
        permitted = permission() if algorithms is None else algorithms.permission
        named = [one for one in plan.get("programs", ()) if not self.is_asked_for(one)]
        # Files that the user asks for come later; without a program a file is this machine's.
        wanted: list[Command | KeptPath] = [
            *programs.commands(plan, named),
            *programs.kept_paths(plan),
        ]
        if wanted and not permitted.programs:
            origin = Origin() if algorithms is None else algorithms.origin
            raise PermissionNeededError([origin], wanted)

    def _carry_out(
        self,
        layout: dict[str, Any],
        directory: Path,
        experiment: dict[str, Any],
        control: Control,
    ) -> list[Path]:
        """Do it, and return where files that are kept go."""
        plan = layout["plan"]
        if layout["network"] is not None and not self._kernel.has_network:
            raise InputError(
                f"{self._kernel.path}: this kernel has no devices of Fairway's network; "
                '`fairway linux build` makes one that does, and `[linux] network = "tc"` uses '
                "Linux's own queue disciplines"
            )
        if self._kernel.modules_in is not None:
            plan["modules"] = modules.files(plan, self._kernel.modules_in)
        if any(flow["is_driven"] for flow in plan["flows"]):
            plan["experiment"] = experiment
        programs.equip(plan)
        self.prepare(plan, directory)
        places = saved_files.equip(plan, programs.directory()) if plan.get("keep") else []
        _check_room(plan, directory)
        with writing(directory):
            # The guest removes it where its error would have no room.
            (directory / "reserve").write_bytes(bytes(_RESERVE_BYTES))
            (directory / "plan.json").write_text(json.dumps(plan), "utf-8")
            if (network := layout["network"]) is not None:
                network["experiment"] = experiment
                (directory / "network.json").write_text(json.dumps(network), "utf-8")
                (directory / "network.so").symlink_to(NETWORK)
        machine = Machine(
            self._kernel,
            directory,
            memory_bytes=layout["memory_bytes"],
            seed=int(experiment["seed"]),
            is_emulated=layout["network"] is not None,
            arguments=layout["boot_arguments"],
            patience_s=self.patience_s,
            hint=programs.HINT if plan.get("programs") else "",
        )
        duration_ns = max(plan["duration_ns"], 1)
        try:
            machine.run(
                lambda done_ns: control.reached(done_ns / duration_ns), control.is_cancelled
            )
        finally:
            self.finish()
        return places

    def _said(self, data: _core.LinuxData) -> dict[str, Any]:
        """What of the kernel decides how far the figures can be trusted."""
        return {
            "release": data.kernel,
            "virtual_time": self._kernel.virtual_time,
            "repeatable": self._kernel.repeatable,
            "watched": data.watched,
            "unseen_packets": data.unseen_packets,
            "broken_connections": json.loads(data.broken),
        }


def _transfers(data: _core.LinuxData) -> dict[str, Any]:
    """What programs have transferred, and what they said of it."""
    transfers: list[dict[str, Any]] = json.loads(data.transfers)
    return {"transfers": transfers} if transfers else {}


def _check_room(plan: dict[str, Any], directory: Path) -> None:
    """Find out before the run whether its samples would not fit."""
    samples = plan["duration_ns"] // max(plan["sample_ns"], 1)
    flows = sum(flow["is_sampled"] * (1 + flow["both_ways"]) for flow in plan["flows"])
    row = flows * _FLOW_SAMPLE_BYTES + len(plan["queues"]) * _QUEUE_SAMPLE_BYTES
    if (free := shutil.disk_usage(directory).free) < samples * row:
        raise InputError(
            f"{directory.parent}: {free >> 20} MB are free and the samples of this run take "
            f"{samples * row >> 20} MB; free some space, set TMPDIR to another directory, or make "
            "measure.sample longer"
        )


def _kept(captures: Path) -> Temporary | None:
    """Move the captures, if there are any, out of the run directory."""
    if not captures.is_dir():
        return None
    place = new_directory()
    with writing(place.path):
        for capture in captures.iterdir():
            shutil.move(capture, place.path / capture.name)
    return place


#: Connections that are named one by one.
_MOST_NAMED = 10


def _caution_of_kernel(kernel: Kernel) -> str | None:
    """What there is to say of any run on a kernel; none if it has virtual time."""
    if kernel.virtual_time:
        return None
    return (
        f"Linux {kernel.release} has no virtual time here: runs take their time, timers may tick "
        "every 10 ms only, and what else the machine does changes the results; `fairway linux "
        "build` makes a better one"
    )


def _cautions_of_run(kernel: Kernel, data: _core.LinuxData) -> list[str]:
    """What there is to say of one run, in sentences without a full stop."""
    said = [sentence] if (sentence := _caution_of_kernel(kernel)) else []
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
    return said + data.remarks + programs.cautions(data) + of_connections(json.loads(data.broken))


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
