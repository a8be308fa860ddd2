"""The threads of a sweep and signals."""

import signal
import threading
import time

import pytest

from conftest import ScriptedBackend
from fairway.sweep.storage import Answer, InMemory
from fairway.sweep.threads import Threads
from waiting import PATIENCE_S


class Stuck(Exception):  # noqa: N818 — not an error of what is tried, but that it never ends
    """Waited too long."""


def test_a_signal_whose_handler_takes_longer_than_the_wait_does_not_make_it_endless():
    """An algorithm that keeps the interpreter busy has handlers wait for their turn."""

    def gives_up(*_):
        raise Stuck

    workers = Threads(Answer(ScriptedBackend(None), {}, "1"), InMemory(), 1)
    slow = signal.signal(signal.SIGUSR1, lambda *_: time.sleep(0.2))
    stuck = signal.signal(signal.SIGALRM, gives_up)
    signal.alarm(int(PATIENCE_S))
    sends = threading.Timer(0.02, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
    try:
        sends.start()
        assert workers.finished(0.1) == []
    except Stuck:
        pytest.fail("it waited for ever")
    finally:
        signal.alarm(0)
        sends.join()
        signal.signal(signal.SIGUSR1, slow)
        signal.signal(signal.SIGALRM, stuck)
        workers.close()
