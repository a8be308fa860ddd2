"""`fairway` and `python -m fairway`: ready for Ctrl-C before anything else is imported."""

import gc
import os
import signal
import sys

_STOPPED = 130
#: Exit codes after a signal that asks for the end: 128 and its number, as shells have it.
#: SIGHUP, SIGINT and SIGTERM.
_BY_SIGNALS = (129, _STOPPED, 143)


def _leave(*_: object) -> None:
    os.write(2, b"fairway: stopped\n")
    os._exit(_STOPPED)


def _open_descriptors() -> None:
    """Open descriptors that the caller closed: else files of results would have their numbers."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free (open(2))


def main() -> None:
    """Run the command and end the process with its exit code."""
    _open_descriptors()
    try:
        _main()
    except MemoryError:
        # Before the command itself could tell, or while it did.
        os.write(2, b"fairway: not enough memory; raise the limit (ulimit -v), or free some\n")
        os._exit(1)


def _main() -> None:
    # A process in the background ignores the signal, and goes on doing so.
    heeds = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeds:
        # An exception in the midst of an import would be a traceback, or be lost in it.
        signal.signal(signal.SIGINT, _leave)
    # More threads of BLAS spin for a while, and round products of matrices differently.
    for library in ("OPENBLAS", "MKL", "BLIS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    # No module is garbage: to look for some among them takes a twentieth of a short command.
    gc.disable()
    from fairway.cli import main as cli

    gc.freeze()
    gc.enable()
    try:
        try:
            if heeds:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            cli.main()
        finally:
            if heeds:  # while Python itself ends, too
                signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:  # beside the command, which hears it too
        _leave()
    except SystemExit as end:
        if end.code not in _BY_SIGNALS:
            raise
        # CPython would send itself the signal again if the interrupt came in an `exec` of text, as
        # in a dataclass, whoever caught it since (`_Py_UnhandledKeyboardInterrupt`).
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)


if __name__ == "__main__":
    main()
