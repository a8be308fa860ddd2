"""The command `fairway shell`."""

import math
import os
import signal
from datetime import datetime, timedelta, timezone
from pathlib import Path

import typer
from typer import Argument, Option

from fairway.cli import terminal
from fairway.errors import FairwayError, InputError, ReaderGone


def shell(
    file: Path = Argument(..., help="Experiment file (TOML).", show_default=False),
    command: list[str] = Argument(
        ..., metavar="-- COMMAND...", help="The command and its arguments.", show_default=False
    ),
    on: str | None = Option(
        None, metavar="HOST", help="Where it runs.  [default: source of the first flow]"
    ),
    background: list[str] | None = Option(
        None,
        metavar="'HOST: COMMAND'",
        help="A command that runs beside, such as a server; may be repeated.",
    ),
    alone: bool = Option(False, "--alone", help="Leave out the flows of the experiment."),
    cc: str | None = Option(
        None, metavar="NAME", help="Congestion control of the commands' hosts.  [default: cubic]"
    ),
    environment: list[str] | None = Option(
        None,
        "--env",
        metavar="NAME[=VALUE]",
        help="A variable of the commands, or one of yours; may be repeated.",
    ),
    date: str | None = Option(
        None, metavar="DATE", help="Date at the beginning: 2026-05-01, now.  [default: 2026-01-01]"
    ),
    time_limit: str | None = Option(
        None,
        metavar="TIME",
        help="End the command after this virtual time.  [default: duration of the experiment]",
    ),
    real_time_limit: float | None = Option(
        None, min=0.1, metavar="SECONDS", help="End the command after this real time."
    ),
    stream_limit: str = Option(
        "1 GiB",
        metavar="SIZE",
        help="Most bytes of standard input and of each output; more ends the run.",
    ),
    kernel: str | None = Option(
        None, metavar="RELEASE", help="Another kernel that was built, such as 6.12."
    ),
    out: terminal.Out = None,
    capture: str | None = Option(
        None, metavar="PLACES", help="Capture packets: hosts, links, everything, or names."
    ),
    keep: list[str] | None = Option(
        None,
        metavar="[HOST:]PATH",
        help="Keep a file, or what is written in a directory, in --out; may be repeated.",
    ),
    seed: terminal.Seed = None,
    assignments: terminal.Assignments = None,
    replace: terminal.Replace = False,
    allow_programs: terminal.AllowPrograms = False,
    summary: bool = Option(False, "--summary", help="Print tables on standard error at the end."),
) -> None:
    """Run a command on a host of the experiment's network.

    The command runs on a real Linux kernel, in virtual time, without root; what it writes to files
    is gone at the end, but for --keep. Other hosts have names: s0, d0, or those of the experiment.
    Programs that the file itself names run only with --allow-programs.
    fairway shell ends with the command, and as it does.

    \b
    Examples:
      fairway shell path.toml -- ping -c 3 d0
      fairway shell path.toml --background 'd0: iperf3 -s' -- iperf3 -c d0
      fairway shell path.toml --on d0 --time-limit "10 min" -- ./client
      fairway shell path.toml --out runs/mine --capture hosts -- ./client
      fairway shell path.toml --out runs/mine --keep copy -- scp d0:file copy

    \b
    Exit codes: those of the command; 128 + N if signal N has ended it;
    124 at a time limit; 125 an error of Fairway's own, or --stream-limit;
    126 not executable; 127 no such command; 130 stopped with Ctrl-C.
    """
    from fairway.backends.linux.shell import FAILED, SIGNALLED, OutOfTime

    try:
        code = _run(
            file, command, on, background or [], environment or [], date, time_limit,
            real_time_limit, stream_limit, out, capture, keep or [],
            terminal.overrides(assignments, seed), alone=alone, cc=cc, kernel=kernel,
            replace=replace, allow_programs=allow_programs, summary=summary,
        )  # fmt: skip
    except ReaderGone:
        # It ends as a command that writes to the same pipe.
        code = SIGNALLED + signal.SIGPIPE
    except FairwayError as error:
        if not isinstance(error, OutOfTime):
            error.exit_code = FAILED
        raise
    except BrokenPipeError:
        # Whoever reads has gone: it ends as a command that writes to the same pipe.
        terminal.discard_output()
        code = SIGNALLED + signal.SIGPIPE
    raise typer.Exit(code)


def _run(
    file: Path,
    command: list[str],
    on: str | None,
    background: list[str],
    environment: list[str],
    date: str | None,
    time_limit: str | None,
    real_time_limit: float | None,
    stream_limit: str,
    out: Path | None,
    capture: str | None,
    keep: list[str],
    changes: dict[str, object],
    *,
    alone: bool,
    cc: str | None,
    kernel: str | None,
    replace: bool,
    allow_programs: bool,
    summary: bool,
) -> int:
    from fairway.backends.linux import programs
    from fairway.backends.linux.saved_files import Keep
    from fairway.backends.linux.shell import (
        FAILED,
        Background,
        Shell,
        cautions,
        exit_code,
        with_command,
    )
    from fairway.experiment.plan import plan, source_of_experiment
    from fairway.ground import quantities, replacing
    from fairway.ground.permission import permitting
    from fairway.results import captures

    _check(command, time_limit, real_time_limit)
    for option, texts in (
        ("-- COMMAND", command), ("--on", [on or ""]), ("--background", background)
    ):  # fmt: skip
        for text in texts:
            _check_is_unicode(option, text)
    if capture is not None:
        changes["capture.at"] = captures.places(capture)
    if time_limit is not None:
        quantities.seconds(time_limit, "--time-limit")  # refused by the name of the option
        changes |= {"duration": time_limit, "measure.window": ["0 s", time_limit]}
    with permitting(programs=allow_programs, backend="linux"):
        planned = plan(file, overrides=changes)
    if planned.is_sweep:
        raise InputError(f"{file}: a sweep of {len(planned.points)} runs; a command runs in one")
    if out is None and captures.are_wanted(planned.points[0].experiment):
        raise InputError("--capture: needs --out DIR, where the captures shall go")
    keeps = [Keep.parse(text) for text in keep]
    if keeps and out is None:
        raise InputError("--keep: needs --out DIR, where the files shall go: DIR/files/HOST/PATH")
    if out is not None:
        replacing.check_writable(out, "run")
    document = with_command(
        planned.points[0].experiment, command, host=on,
        background=[Background.parse(text) for text in background], alone=alone, cc=cc,
    )  # fmt: skip
    most_bytes = quantities.size_bytes(stream_limit, "--stream-limit")
    assert most_bytes is not None
    backend = Shell(
        kernel,
        backgrounds=len(background),
        environment=_variables(environment),
        date_s=programs.DATE_S if date is None else _seconds(date),
        limit_s=real_time_limit,
        most_bytes=most_bytes,
        keeps=keeps,
    )
    run = backend.run(document, algorithms=planned.algorithms)
    code, said = exit_code(run)
    for sentence in filter(None, (said, *cautions(run))):
        terminal.note(f"fairway: {sentence}")
    code = code or (0 if backend.keeps_all else FAILED)
    if summary:
        _print_tables(run)
    if out is not None:
        source = source_of_experiment("shell", file, changes, backend.name)
        run.save(out, engine=backend.engine(), source=source, replace=replace)
    return code


def _check(command: list[str], time_limit: str | None, real_time_limit: float | None) -> None:
    """Refuse a command and limits that no run can have."""
    from fairway.ground import quantities

    if not command[0]:
        raise InputError("-- COMMAND: the command is empty; write one, such as -- ping -c 3 d0")
    if quantities.seconds(time_limit, "--time-limit") == 0:
        raise InputError(
            f'--time-limit: expected more than zero, got "{time_limit}"; write "10 min"'
        )
    if real_time_limit is not None and not math.isfinite(real_time_limit):
        raise InputError(f"--real-time-limit: expected seconds, got {real_time_limit}")


def _variables(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        _check_is_unicode("--env", text)
        name, equals, value = text.partition("=")
        if not name:
            raise InputError(f"--env: expected NAME=VALUE, got {text!r}")
        if not equals and name not in os.environ:
            raise InputError(f"--env: {name} is not set here; write {name}=VALUE")
        found[name] = value if equals else os.environ[name]
    return found


def _check_is_unicode(option: str, text: str) -> None:
    # What is not UTF-8 comes as lone surrogates from the command line.
    if not text.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{option}: {text!r} is not UTF-8")


def _seconds(text: str) -> int:
    from fairway.backends.linux import programs

    try:
        date = datetime.now(timezone.utc) if text == "now" else datetime.fromisoformat(text)
        date = date if date.tzinfo is not None else date.replace(tzinfo=timezone.utc)
        date = date.astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        raise InputError(f"--date: {text!r}: {error}; write 2026-05-01 or now") from None
    first, end = programs.DATES
    if not first <= date.date() < end:
        raise InputError(
            f"--date: {text!r}: no date of a kernel's clock, which goes from {first} to "
            f"{end - timedelta(days=1)}; write 2026-05-01 or now"
        )
    return int(date.timestamp())


def _print_tables(run: object) -> None:
    import contextlib
    import sys

    from fairway.results import report

    with contextlib.redirect_stdout(sys.stderr):
        terminal.show_table(*report.flow_tables(run), *report.link_tables(run))  # type: ignore[arg-type]
