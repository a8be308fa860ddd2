"""Runs of a sweep in threads of this process."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from fairway._core import Cancelled
from fairway.backends import Progress
from fairway.experiment.plan import Point
from fairway.sweep.executor import Finished
from fairway.sweep.outcome import Outcome
from fairway.sweep.packed_run import pack
from fairway.sweep.storage import Answer, Storage

#: How long a run that was asked to stop may take to do so, in seconds.
_PATIENCE_S = 2.0


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """Worker threads and what they have in common."""

    def __init__(self, answer: Answer, storage: Storage, count: int, cores: int = 1) -> None:
        """So many threads, whose runs may use so many cores each."""
        self._answer = answer
        self._cores = cores
        self._storage = storage
        self._pool = ThreadPoolExecutor(max_workers=count)
        self._futures: list[Future[Outcome]] = []
        # A SimpleQueue waits for ever where a signal's handler takes longer than the wait was to be
        # (CPython's Modules/_queuemodule.c, `get`: what is left of the time is negative then).
        self._finished: queue.Queue[Finished] = queue.Queue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        #: Runs that are being computed: what follows them, the threads they are in, the points.
        self._running: dict[int, tuple[Progress, int, Point]] = {}

    def start(self, parts: Iterable[Mapping[int, Point]]) -> None:
        """Begin with all runs, in their order."""
        for index, point in itertools.chain.from_iterable(part.items() for part in parts):
            future = self._pool.submit(self._one, index, point)
            future.add_done_callback(partial(self._note, index))
            self._futures.append(future)

    def finished(self, timeout_s: float) -> list[Finished]:
        """What has finished since it was last asked; waits for a first one so long."""
        found: list[Finished] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._finished.get(timeout=timeout_s))
            while True:
                found.append(self._finished.get_nowait())
        return found

    def fraction(self) -> float:
        """Runs done of those that are under way, as a number of runs."""
        with self._lock:
            return sum(control.fraction for control, _, _ in self._running.values())

    def abandon(self) -> None:
        """Stop all runs; what does not stop in time is an algorithm that does not come back."""
        with self._lock:
            self._stop.set()
            for control, _, _ in self._running.values():
                control.cancel()
        for future in self._futures:
            future.cancel()
        # Once is not enough: a thread that is busy elsewhere when it comes may swallow it, and
        # begin with the algorithm after that.
        while wait(self._futures, _PATIENCE_S).not_done and self._interrupt_algorithms():
            pass

    def _interrupt_algorithms(self) -> bool:
        """Interrupt all runs that have an algorithm of the user's; whether there was one."""
        with self._lock:
            threads = [
                thread
                for _, thread, point in self._running.values()
                if self._answer.algorithms.used(point.experiment)
            ]
            for thread in threads:
                _interrupt(thread)
        return bool(threads)

    def close(self) -> None:
        """Wait for the threads, and let go of what they returned."""
        self._pool.shutdown()
        self._futures.clear()

    def _one(self, index: int, point: Point) -> Outcome:
        backend = self._answer.backend
        control = backend.control(self._cores)
        with self._lock:
            if self._stop.is_set():
                raise Cancelled
            self._running[index] = (control, threading.get_ident(), point)
        try:
            run = backend.run(point.experiment, control, self._answer.algorithms)
        finally:
            with self._lock:
                del self._running[index]
        whole = self._storage.whole
        engine = self._answer.engine_of(point) if whole else "unknown"
        return self._storage.stage(point, pack(run, engine, whole=whole))

    def _note(self, index: int, future: Future[Outcome]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        self._finished.put((index, future.result() if error is None else error))


def _interrupt(thread: int) -> None:
    """Raise KeyboardInterrupt in a thread, as Ctrl-C does in the main one alone."""
    import ctypes

    ident, error = ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)
