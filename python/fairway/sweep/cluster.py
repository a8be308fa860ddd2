"""Runs of a sweep on the workers of a Dask cluster, or on those of one started here."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import json
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairway.backends.sim import Simulator
from fairway.errors import InputError, RunFailed
from fairway.experiment.plan import Point
from fairway.ground import extras
from fairway.ground.permission import permitting
from fairway.results.captures import are_wanted
from fairway.sweep.executor import Finished
from fairway.sweep.packed_run import PackedRun, pack
from fairway.sweep.storage import Answer, Storage

if TYPE_CHECKING:
    from distributed import Client, Future

    from fairway.backends import Backend

#: The address that stands for workers started on this machine.
LOCAL = "local"

#: Address of a scheduler.
_ADDRESS = re.compile(r"(tcp|tls)://[^/\s]+:\d+")

#: Backends that need nothing but the experiment, or what each machine has of its own.
_BACKENDS = ("sim", "linux", "model")

#: How long the scheduler may take to answer, in seconds.
_CONNECT_S = 10

#: How long there may be no worker of those started here before that is for good, in seconds: one
#: that died is started again within a few, unless Dask has given it up.
_ALONE_S = 60

#: What becomes of runs when the scheduler goes.
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)

#: Orders handed to the scheduler in one message.
_AT_ONCE = 1000

#: Runs of an order, at the most: the scheduler takes a millisecond for each order.
_MANY = 256

#: Orders that each worker has at first, at the least: they may differ in what they take.
_ORDERS = 64

#: How long a worker begins further runs of an order, in seconds; others may do the rest.
_ORDER_S = 1.0


@dataclass(frozen=True)
class Order:
    """What a worker is asked to do.

    Attributes:
        experiments: Documents as JSON.
        engine: Digest of the program that asks; the worker's has to be the same.
        whole: Whether the tables are wanted, and not the summary alone.
        programs: Whether experiments may start programs of the worker's machine.
    """

    experiments: tuple[str, ...]
    backend: str
    version: str
    engine: str
    whole: bool
    programs: bool


def carry_out(order: Order) -> list[PackedRun | Exception]:
    """Do the first of the runs, or all that there is time for; called on a worker."""
    from fairway import _core, backends

    backend = backends.backend(order.backend)
    if (_core.version(), backend.engine()) != (order.version, order.engine):
        from distributed import get_worker

        raise InputError(
            f"--dask: worker {get_worker().address} has another Fairway (version "
            f"{_core.version()}, program {backend.engine()[:12]}) than this command (version "
            f"{order.version}, program {order.engine[:12]}): its results would not be the same; "
            "install the same build there"
        )
    began = time.monotonic()
    done: list[PackedRun | Exception] = []
    for experiment in order.experiments:
        done.append(_carry_out_one(experiment, backend, order))
        if time.monotonic() - began > _ORDER_S:
            break
    return done


def _carry_out_one(experiment: str, backend: Backend, order: Order) -> PackedRun | Exception:
    """Do a run, or say what went wrong in a way that can be sent."""
    from fairway import _core

    document = json.loads(experiment)
    try:
        if isinstance(backend, Simulator) and not order.whole and not are_wanted(document):
            return PackedRun(_core.run(experiment).summary.encode(), {})
        with permitting(programs=order.programs):
            run = backend.run(document)
    except _core.ExperimentError as error:
        return InputError(str(error))
    except _core.SimulationError as error:
        return RunFailed(str(error))
    packed = pack(run, order.engine, whole=order.whole)
    files = {**packed.files, **(run.large_files() if order.whole else {})}
    return PackedRun(packed.summary, files)


@contextlib.contextmanager
def connect(address: str, answer: Answer, threads: int) -> Iterator[Callable[[Storage], Cluster]]:
    """Connect to a scheduler, or start one with `threads` workers on this machine.

    Yields what gives the workers for a part of a plan.
    """
    extras.require("--dask", "distributed")
    import dask
    from distributed import Client, LocalCluster

    if answer.backend.name not in _BACKENDS:
        raise InputError(
            f"--dask: backend {answer.backend.name} answers on this machine alone; workers have "
            + ", ".join(_BACKENDS)
        )
    if address != LOCAL and not _ADDRESS.fullmatch(address):
        raise InputError(
            f"--dask {address}: expected the address of a scheduler, such as "
            '"tcp://node1:8786" or "tls://node1:8786", or "local" for workers on this machine'
        )
    with contextlib.ExitStack() as stack:
        where: Any = address
        if address == LOCAL:
            # Dask's own, 15 s, is less than a busy machine takes to start a worker again.
            lost = {"distributed.deploy.lost-worker-timeout": _ALONE_S}
            stack.enter_context(dask.config.set(lost))
            where = stack.enter_context(
                # Without an address its web server would be at a port of all networks, and the
                # second sweep on this machine find it taken. A worker that is interrupted at work
                # logs a heartbeat without a scheduler as an error.
                LocalCluster(
                    n_workers=threads, threads_per_worker=1, processes=True,
                    dashboard_address="127.0.0.1:0", memory_limit=0, silence_logs="CRITICAL",
                )
            )  # fmt: skip
        try:
            client = stack.enter_context(Client(where, timeout=_CONNECT_S, set_as_default=False))
        except TypeError as error:  # by which Dask says that it has no certificate
            raise InputError(
                f"--dask {address}: needs certificates, which are written into "
                f"distributed.comm.tls of Dask's configuration ({error})"
            ) from None
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"--dask {address}: no scheduler answers there ({error}); `dask scheduler` starts "
                'one and says its address; "local" needs none'
            ) from None
        if address == LOCAL:
            client.register_worker_callbacks(_leave_ctrl_c_to_the_command)
        yield lambda storage: Cluster(client, answer, storage, local=address == LOCAL)


def _leave_ctrl_c_to_the_command() -> None:
    """Called on workers started here, which a terminal interrupts too: they would print why.

    To ignore the signal is not enough: Polars takes it while it writes a table.
    """
    os.setpgrp()


class Cluster:
    """Workers of a Dask cluster; a run of one that dies is done by another."""

    def __init__(
        self, client: Client, answer: Answer, storage: Storage, *, local: bool = False
    ) -> None:
        self._client = client
        self._local = local
        self._worker_seen_at = time.monotonic()
        self._answer = answer
        self._storage = storage
        self._points: Mapping[int, Point] = {}
        #: What has been handed to the scheduler, and the points of it.
        self._orders: dict[Future[Any], tuple[int, ...]] = {}
        self._is_over = False
        self._arrived: queue.Queue[tuple[int, Any]] = queue.Queue()

    def start(self, parts: Iterable[Mapping[int, Point]]) -> None:
        """Hand all runs to the scheduler, in their order."""
        from distributed import as_completed

        points = self._points = {index: point for part in parts for index, point in part.items()}
        if not points:
            return
        workers = sum(self._client.nthreads().values()) or 1
        many = min(max(len(points) // (_ORDERS * workers), 1), _MANY)
        indices = iter(points)
        arriving = as_completed(
            self._hand_over(iter(lambda: tuple(itertools.islice(indices, many)), ())),
            loop=self._client.loop, with_results=True, raise_errors=False,
        )  # fmt: skip
        threading.Thread(target=self._listen, args=(arriving,), daemon=True).start()

    def _hand_over(self, shares: Iterable[tuple[int, ...]]) -> list[Future[Any]]:
        """Give the scheduler an order for each share of the points."""
        shares = list(shares)
        orders = list(map(self._order, shares))
        futures = self._client.map(carry_out, orders, pure=False, batch_size=_AT_ONCE)
        self._orders.update(zip(futures, shares, strict=True))
        return list(futures)

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has arrived since it was last asked, written down; waits for a first one so long."""
        found: list[Finished] = []
        with contextlib.suppress(queue.Empty):
            index, result = self._arrived.get(timeout=timeout_s)
            while True:
                found.append((index, self._received(index, result)))
                index, result = self._arrived.get_nowait()
        if self._local and not found:
            self._look_for_workers()
        return found

    def _look_for_workers(self) -> None:
        """Give up when those started here are gone for good: nobody starts others."""
        now = time.monotonic()
        if self._client.scheduler_info()["workers"]:
            self._worker_seen_at = now
        elif now - self._worker_seen_at > _ALONE_S:
            raise RunFailed(
                f"--dask {LOCAL}: no worker has been left for {_ALONE_S} s (too little memory?); "
                "what has arrived is kept, and the same command goes on from there"
            )

    def fraction(self) -> float:
        """Nothing is known of runs under way."""
        return 0.0

    def abandon(self) -> None:
        """Take back what has not begun; a worker ends the run it is at."""
        with contextlib.suppress(OSError, TimeoutError):  # the scheduler may have gone
            self._is_over = True
            self._client.cancel(list(self._orders), force=True)

    def close(self) -> None:
        """Forget the runs."""
        self._is_over = True
        self._orders = {}

    def _order(self, share: Sequence[int]) -> Order:
        answer, points = self._answer, [self._points[index] for index in share]
        for point in points:
            if own := answer.algorithms.used(point.asked):
                raise InputError(
                    f"--dask: {', '.join(own)} is a congestion control of your own, which is not "
                    "sent to other machines; run this sweep without --dask"
                )
        return Order(
            tuple(point.compact.decode() for point in points), answer.backend.name,
            answer.version, answer.engine_of(points[0]), self._storage.whole,
            answer.algorithms.permission.programs,
        )  # fmt: skip

    def _listen(self, arriving: Any) -> None:
        from distributed import KilledWorker

        for future, result in arriving:
            share = self._orders.pop(future, ())
            if isinstance(result, list):
                found, rest = result, share[len(result) :]
                # The rest is for two workers.
                more = [rest[::2], rest[1::2]]
            elif isinstance(_error_of(result), KilledWorker) and len(share) > 1:
                # One of the runs kills workers; the others do not.
                found, more = [], [(index,) for index in share]
            else:
                found, more = [result] * len(share), []
            for index, one in zip(share, found, strict=False):
                self._arrived.put((index, one))
            future.release()
            if not self._is_over:
                arriving.update(self._hand_over(filter(None, more)))

    def _received(self, index: int, result: Any) -> Any:
        """The outcome of what a worker has sent, or what went wrong."""
        from distributed import KilledWorker

        if isinstance(result, PackedRun):
            return self._storage.stage(self._points[index], result)
        error = _error_of(result)
        if isinstance(error, KilledWorker):
            return RunFailed(
                f"{error.allowed_failures + 1} workers died while they ran it; the log of the last "
                f"one, {error.last_worker.address}, may say why (too little memory?)"
            )
        if isinstance(error, _CANCELLED):
            return InputError(
                "--dask: the scheduler has gone, or somebody else cancelled the runs; what has "
                "arrived is kept, and the same command goes on from there"
            )
        if isinstance(error, ImportError):
            return InputError(
                f"--dask: a worker cannot load Fairway ({error}); install the same build there"
            )
        return error


def _error_of(result: Any) -> Any:
    """The error of what Dask gives for an order that has failed."""
    return result[1] if isinstance(result, tuple) else result
