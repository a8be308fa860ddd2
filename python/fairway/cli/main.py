"""The `fairway` command."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import typer
from typer import Option

from fairway.cli import streams
from fairway.cli.terminal import commands, note, print_text, warn
from fairway.errors import (
    AlgorithmError,
    ExperimentError,
    FairwayError,
    InputError,
    Interrupted,
    NotDrawn,
    NotEnoughMemory,
    ReaderGone,
    told,
)
from fairway.ground import memory
from fairway.ground.text import of_path

#: Groups of commands, and the modules that have them.
_GROUPS = {"linux": "linux", "model": "model.app", "study": "study"}
#: In the order of the help. A command is the function of its name in the module of its name.
_COMMANDS = (
    "run", "shell", "reproduce", "compare", "agree", "analyze", "animate", "fidelity", "replay",
    "script", "send", "recv", "generate", "collect", "tune", "report", "algorithms", "presets",
    "gallery", "exercise", "lab", "schema", "doctor",
)  # fmt: skip


def _print_version(wanted: bool) -> None:
    if wanted:
        from fairway.ground import program

        print_text(f"fairway {program.named()}")
        raise typer.Exit


def program(names: Sequence[str] = (*_COMMANDS, *_GROUPS)) -> typer.Typer:
    """The program with commands of these names; those of others take as long as half of a run."""
    app = commands("fairway")
    app.callback()(root)
    for name in names:
        module = import_module(f"fairway.cli.{_GROUPS.get(name, name)}")
        if name in _GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command()(getattr(module, name))
    return app


def root(
    version: bool = Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """A laboratory for TCP congestion control.

    \b
    Examples:
      fairway run examples/single.toml
      fairway run pair.toml --out runs/pair --set flow.1.cc=htcp
      fairway reproduce gelle2008
      fairway algorithms cubic

    Exit codes: 0 fine, also if the reader of the output has gone, as `head`
    does; 1 a run or a script failed, memory or the space for the output did
    not suffice, an internal error, or a difference that `agree --check` or
    `fidelity --check` found;
    2 something given cannot be used;
    3 a congestion control of your own failed;
    4 the results are complete, but a report or a figure could not be drawn;
    130 stopped with Ctrl-C; 143 ended by a signal, as `kill` sends it.
    Those of `shell` are its command's: see its help.
    """


def main() -> None:
    """Run the command and end the process with its exit code."""
    streams.prepare()
    memory.prepare(streams.silence)
    received: list[int] = []

    def stop(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    # To be ended from outside or with the terminal is to be stopped, as with Ctrl-C: what is
    # finished is kept and nothing half-written stays. What `nohup` has ignored stays ignored.
    outside = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heeded = [number for number in outside if signal.getsignal(number) is signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, stop)
    code = guarded(sys.argv[1:])
    for number in heeded:
        signal.signal(number, signal.SIG_DFL)
    _end(128 + received[0] if received and code == Interrupted.exit_code else code)


def _end(code: int) -> NoReturn:
    """End the process, also where a thread still waits for a pipe that says nothing."""
    if any(thread.daemon for thread in threading.enumerate()):
        # If it came back while Python shuts down, it would be ended in the midst of compiled code,
        # which ends the process with an abort instead of the code.
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()  # temporary directories are removed
        os._exit(code)
    # Python would look for garbage in all that is there, twice, to free what ends with the process.
    gc.freeze()
    sys.exit(code)


def guarded(arguments: list[str]) -> int:
    """Run the command; every error and warning becomes a message, and an exit code."""
    warned: list[Warning | str] = []

    def show(message: Warning | str, *_: object) -> None:
        warned.append(message)
        warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", NotDrawn)
        # Python itself would print a line of its source with it.
        warnings.showwarning = show  # type: ignore[assignment]
        code = _code_of(arguments)
    undrawn = any(isinstance(message, NotDrawn) for message in warned)
    return NotDrawn.exit_code if undrawn and code == 0 else code


def _code_of(arguments: list[str]) -> int:
    """Run the command; every error becomes a message and an exit code."""
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
        return code
    except ReaderGone as gone:
        return gone.exit_code
    except FairwayError as error:
        note(_told(error))
        return error.exit_code
    except KeyboardInterrupt:
        note("fairway: stopped")
        return Interrupted.exit_code
    except ModuleNotFoundError as error:
        from fairway.ground import extras

        if (sentence := extras.explained(" ".join(["fairway", *arguments[:1]]), error)) is None:
            return _unexpected(error)
        note(sentence)
        return InputError.exit_code
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of a compiled library is no Exception
        return _unexpected(error)


def _invoke(arguments: list[str]) -> int:
    """Let Typer print its own help and usage errors, and tell its exit code."""
    asked = [name for name in arguments[:1] if name in (*_COMMANDS, *_GROUPS)]
    try:
        (program(asked) if asked else program())(args=arguments)
    except SystemExit as end:
        if end.code == Interrupted.exit_code:  # Typer's answer to Ctrl-C, which says nothing
            raise KeyboardInterrupt from None
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _told(error: FairwayError) -> str:
    """An error in words; of an experiment there is one on each line."""
    lines = str(error).splitlines() if isinstance(error, ExperimentError) else [str(error)]
    return "\n".join([*(f"fairway: {line}" for line in lines), *getattr(error, "__notes__", ())])


def _unexpected(error: BaseException) -> int:
    if hasattr(error, "fairway_traceback"):
        # Raised by an algorithm of the user's own: its traceback, without Fairway's frames.
        lines = traceback.format_exception(type(error), error, error.fairway_traceback)
        note("".join(lines) + "fairway: a congestion control of your own failed, as shown above")
        return AlgorithmError.exit_code
    if (sentence := memory.explained(error)) is not None:
        note(f"fairway: {sentence}")
        return NotEnoughMemory.exit_code
    if isinstance(error, UnicodeEncodeError) and (name := of_path(error.object)) != error.object:
        # The compiled module takes text; paths that need not be text go there as paths.
        note(f"fairway: {name}: not UTF-8; write it in UTF-8, or rename the file")
        return InputError.exit_code
    if isinstance(error, OSError):
        note(f"fairway: {told(error)}")
        return InputError.exit_code
    note(traceback.format_exc().rstrip("\n"))
    note("fairway: internal error; please report it with the lines above")
    return 1
