"""Starting a transfer and following it to its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fairway import _core
from fairway._core import TransferData
from fairway.errors import FairwayError, InputError, Interrupted, RunFailed

#: Seconds between looks at a transfer: often enough for a bar that moves and for Ctrl-C.
_LOOK_S = 0.25
#: Seconds that a stopped transfer has to say good-bye.
_GOODBYE_S = 10.0


class Listener(Protocol):
    """Who is told how a transfer goes."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Something to be told once: `event` is "listening", "token", "note" or "warning"."""

    def progress(self, progress: Mapping[str, Any]) -> None:
        """How far it is, as the compiled module says it."""

    def session(self, session: TransferData) -> None:
        """A session has ended."""


def follow(job: Mapping[str, Any], listener: Listener, *, samples: bool = False) -> Any:
    """Do a job and tell `listener` of it until it has ended; return its result."""
    try:
        transfer = _core.Transfer(_document(job), samples)
        try:
            while not transfer.wait(_LOOK_S):
                _tell(transfer, listener)
                listener.progress(json.loads(transfer.progress()))
        except BaseException as error:
            # Ctrl-C, or a listener that failed: what was measured until now is told all the same.
            transfer.cancel()
            transfer.wait(_GOODBYE_S)
            _tell(transfer, listener)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted("stopped") from None
            raise
        listener.progress(json.loads(transfer.progress()))
        _tell(transfer, listener)
        result = transfer.result()
    except _core.TransferError as error:
        raise _as_ours(error) from None
    return None if result is None else json.loads(result)


def _document(job: Mapping[str, Any]) -> str:
    """A job as JSON, whose text is Unicode."""
    written = json.dumps(job, ensure_ascii=False)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError as error:
        # The string of JSON around it.
        begin, end = written.rfind('"', 0, error.start), written.find('"', error.start)
        raise InputError(
            f"{written[begin + 1 : end]}: has a byte that is not UTF-8, in which both ends name "
            "files; rename it"
        ) from None
    return written


def _tell(transfer: _core.Transfer, listener: Listener) -> None:
    for event in json.loads(transfer.events()):
        listener.event(event)
    for session in transfer.sessions():
        listener.session(session)


def _as_ours(error: _core.TransferError) -> FairwayError:
    message, kind = error.args
    kinds: dict[str, Callable[[str], FairwayError]] = {
        "input": InputError,
        "cancelled": Interrupted,
    }
    return kinds.get(kind, RunFailed)(message)


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others are as the compiled module has them."""
    return {name: value for name, value in options.items() if value is not None}
