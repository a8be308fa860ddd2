"""`fairway` and `python -m fairway`: ready for Ctrl-C before anything else is imported."""

import os
import signal


def _leave(*_: object) -> None:
    os.write(2, b"fairway: stopped\n")
    os._exit(130)


def main() -> None:
    """Run the command and end the process with its exit code."""
    # An exception in the midst of an import would be a traceback, or be lost in it. A process in
    # the background ignores the signal, and goes on doing so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from fairway import cli

    try:
        if signal.getsignal(signal.SIGINT) is _leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.main()
    except KeyboardInterrupt:  # beside the command, which hears it too
        _leave()


if __name__ == "__main__":
    main()
