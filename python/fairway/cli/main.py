"""The `fairway` command."""

from __future__ import annotations

import copy
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

from fairway.cli import linux as cli_linux
from fairway.cli import study as cli_study
from fairway.cli.agree import agree
from fairway.cli.analyze import analyze
from fairway.cli.animate import animate
from fairway.cli.doctor import doctor
from fairway.cli.fidelity import fidelity
from fairway.cli.load import collect, generate
from fairway.cli.model import app as model_app
from fairway.cli.replay import replay
from fairway.cli.script import script
from fairway.cli.terminal import (
    AllowPython,
    Dask,
    Json,
    Metrics,
    Out,
    Quiet,
    Replace,
    Threads,
    commands,
    note,
    note_report,
    print_json,
    say,
    show_table,
    warn,
)
from fairway.cli.tune import tune
from fairway.cli.xfer import recv, send
from fairway.errors import (
    AlgorithmError,
    ExperimentError,
    FairwayError,
    InputError,
    Interrupted,
    NotDrawn,
)

if TYPE_CHECKING:
    from fairway.results.run import Run
    from fairway.sweep.result import Sweep

app = commands("fairway")


app.add_typer(cli_linux.app, name="linux")
app.add_typer(model_app.app, name="model")
app.add_typer(cli_study.app, name="study")


#: Files of results with a page of their own -> the command that writes it.
_OWN_PAGES = {
    "agreement.json": "agree",
    "fidelity.json": "fidelity",
    "gallery.json": "gallery",
    "pair.json": "analyze",
    "reproduction.json": "reproduce",
    "tune.json": "tune",
}


class Keep(str, Enum):
    """What is kept of each run of a sweep."""

    RUNS = "runs"
    SUMMARIES = "summaries"


class Backend(str, Enum):
    """Backends, as far as the command line knows them."""

    SIM = "sim"
    LINUX = "linux"
    MODEL = "model"
    XFER = "xfer"


def _answers(backend: Backend, peer: str | None, token: str | None, *, plain: bool) -> Any:
    """The backend as `fairway.api` has it."""
    if backend is Backend.XFER:
        from fairway.backends.xfer import Xfer

        return Xfer(peer, token, plain=plain)
    if peer is not None or token is not None or plain:
        raise InputError("--peer, --token and --plain: only with --backend xfer")
    return backend.value


def _print_version(wanted: bool) -> None:
    if wanted:
        from fairway import _core

        typer.echo(f"fairway {_core.version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A laboratory for TCP congestion control.

    \b
    Examples:
      fairway run examples/single.toml
      fairway run pair.toml --out runs/pair --set flow.1.cc=htcp
      fairway reproduce gelle2008
      fairway algorithms cubic

    Exit codes: 0 fine; 1 a run or a script failed, an internal error, or a
    difference that `agree --check` or `fidelity --check` found;
    2 something given cannot be used;
    3 a congestion control of your own failed;
    4 the results are complete, but a report or a figure could not be drawn;
    130 stopped with Ctrl-C; 143 ended by a signal, as `kill` sends it.
    """


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML).", show_default=False)],
    out: Out = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Seed instead of the experiment's own.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Set a value first; may be repeated."),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="What answers.")] = Backend.SIM,
    peer: Annotated[
        str | None,
        typer.Option(metavar="HOST[:PORT]", help="Of --backend xfer: where `collect` waits."),
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Of --backend xfer: as it printed it.")
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Of --backend xfer: it runs with --plain.")
    ] = False,
    threads: Threads = None,
    repeat: Annotated[
        int,
        typer.Option(min=0, max=100, help="Repeat N times and report the spread."),
    ] = 0,
    figures: Annotated[
        str, typer.Option(metavar="FORMATS", help="Also write figures: pdf,png,svg. Needs --out.")
    ] = "",
    capture: Annotated[
        str | None,
        typer.Option(
            metavar="PLACES",
            help="Capture packets: hosts, links, everything, or names. Needs --out.",
        ),
    ] = None,
    dask: Dask = None,
    keep: Annotated[
        Keep | None,
        typer.Option(
            help="Of each run of a sweep: its directory, or its summary alone.  "
            "[default: runs up to 1000]"
        ),
    ] = None,
    replace: Replace = False,
    allow_python: AllowPython = False,
    metrics: Metrics = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment, or all experiments of a sweep.

    \b
    Examples:
      fairway run pair.toml
      fairway run pair.toml --out runs/pair --figures pdf,png
      fairway run pair.toml --set "duration=100 s" --set 'flow.1.cc="htcp"'
      fairway run pair.toml --out runs/pair --capture hosts
      fairway run pair.toml --backend linux --repeat 1
      fairway run pair.toml --backend model
      fairway run pair.toml --backend xfer --peer server --token ABCD…
      fairway run sweep.toml --out runs/sweep   (again: goes on where it stopped)
      fairway run sweep.toml --dask tcp://node1:8786
      fairway run sweep.toml --metric jain_index --metric power

    A sweep without --out is kept in runs/<name of the file>, unless models answer.

    \b
    Columns of the tables:
      goodput    payload delivered in order, each byte once
      retrans.   segments sent again; a ratio is of those sent
      cwnd       congestion window, mean of its samples
      srtt       smoothed round-trip time, mean of its samples
      fct        flow completion time: until its last byte is delivered
      slowdown   that time / the least that the empty path needs
      drops      packets that a queue dropped; losses: lost on the wire
      marks      congestion marks (ECN)
      backlog    packets waiting in the queue
      sojourn    time in the queue; p99: 99 % waited no longer
      jain       Jain's index: 1 equal shares, 1/n one of n has all
      asymmetry  of two flows: 1 the first has all, -1 the second
    """
    from fairway.algorithm import permitting
    from fairway.experiment.plan import parse_override, plan
    from fairway.results import captures
    from fairway.results.run import Run
    from fairway.sweep import start

    answers = _answers(backend, peer, token, plain=plain)
    formats = [name.strip() for name in figures.split(",") if name.strip()]
    if formats and out is None:
        raise InputError("--figures: needs --out DIR, where the figures shall go")
    at = None if capture is None else captures.places(capture)
    changes = dict(parse_override(assignment) for assignment in assignments or [])
    if seed is not None:
        changes["seed"] = seed
    # What models say is there again in a moment.
    if out is None:
        with permitting(python=allow_python, backend="--dask" if dask else backend.value):
            planned = plan(file, overrides=changes)
        if planned.is_sweep and (backend is not Backend.MODEL or dask is not None):
            # Nobody has named this directory, and runs of other values stay in it.
            out, replace = Path("runs") / file.stem, True
        elif at is not None or any(captures.are_wanted(one.experiment) for one in planned.points):
            where = "capture.at" if at is None else "--capture"
            raise InputError(f"{where}: needs --out DIR, where the captures shall go")
    result = start.run(
        file,
        out,
        overrides=changes,
        backend=answers,
        threads=threads,
        repeat=repeat,
        figures=formats,
        capture=at,
        dask=dask,
        keep=None if keep is None else keep.value,
        replace=replace,
        allow_python=allow_python,
        metrics=metrics or (),
        quiet=quiet,
    )
    if as_json:
        print_json(result.summary)
    elif isinstance(result, Run):
        _show_run(result)
    else:
        _show_sweep(result)
    for warning in result.warnings:
        warn(warning)
    if quiet:
        return
    if out is not None:
        note_report(out)
    elif not as_json:
        note("Nothing is kept: --out DIR keeps tables, time series and a report with charts.")


@app.command()
def reproduce(
    key: Annotated[
        str,
        typer.Argument(help='Key of a study, the directory of your own, or "all" for all papers.'),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="The shortened form that the study declares.")
    ] = False,
    part: Annotated[
        list[str] | None,
        typer.Option("--part", metavar="NAME", help="Only this part of the study; repeatable."),
    ] = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="Print every cell, published beside measured.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--every", help="With all: the studies of no paper too.")
    ] = False,
    out: Out = None,
    threads: Threads = None,
    dask: Dask = None,
    allow_python: AllowPython = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a published study again; hold its numbers against ours.

    \b
    Examples:
      fairway reproduce gelle2008
      fairway reproduce gelle2008 --quick --json
      fairway reproduce gelle2008 --cells
      fairway reproduce alrshah2009 --part bench
      fairway reproduce path/to/my-study
      fairway reproduce gelle2008 --dask local
      fairway reproduce all --quick

    Everything is kept in runs/<key> (or --out); the same command goes on where it was stopped.
    """
    from fairway import api
    from fairway.cli.study_output import show_all, show_reproduction

    if key == "all":
        if part:
            raise InputError("reproduce all: --part is of one study; name it instead of all")
        together = api.reproduce_all(
            out, every=every, quick=quick, threads=threads, dask=dask, quiet=quiet
        )
        if as_json:
            print_json(together.to_json())
        else:
            show_all(together)
        if not quiet:
            note_report(together.report)
        return
    if every:
        raise InputError("--every: goes with `fairway reproduce all`")
    result = api.reproduce(
        key, out, parts=part or (), quick=quick, threads=threads, dask=dask,
        allow_python=allow_python, quiet=quiet,
    )  # fmt: skip
    if as_json:
        print_json(result.to_json())
    else:
        show_reproduction(result, cells=cells)
    if not quiet:
        note_report(result.report)


@app.command()
def compare(
    directories: Annotated[
        list[Path], typer.Argument(help="Two or more run directories.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for an HTML report with charts.")
    ] = None,
    metrics: Metrics = None,
    as_json: Json = False,
) -> None:
    """Show two or more runs side by side.

    \b
    Examples:
      fairway compare runs/bic runs/cubic
      fairway compare runs/a runs/b --out comparison.html
      fairway compare runs/a runs/b --metric power --metric flow.0.timeouts
    """
    from fairway.compare.runs import compare as compare_runs
    from fairway.ground import store
    from fairway.plot.drawing import SAME_COMMAND, drawing

    comparison = compare_runs(directories, metrics or ())
    if as_json:
        print_json(comparison.to_json())
    else:
        show_table(*comparison.tables())
    if out is not None:
        with drawing("comparison", SAME_COMMAND):
            store.write_file(out, comparison.report())
            note_report(out)


app.command()(agree)
app.command()(analyze)
app.command()(animate)
app.command()(fidelity)
app.command()(replay)
app.command()(script)
app.command()(send)
app.command()(recv)
app.command()(generate)
app.command()(collect)
app.command()(tune)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="A run or sweep directory.")],
    figures: Annotated[str, typer.Option(metavar="FORMATS", help="Figures: pdf,png,svg.")] = "",
    metrics: Metrics = None,
) -> None:
    """Write report.html of a run, a sweep or a replay again, from its tables.

    \b
    Examples:
      fairway report runs/pair
      fairway report runs/pair-sweep/points/cubic-r0-0123456789 --figures pdf
    """
    from fairway import api
    from fairway.capture.replay import report as replayed
    from fairway.ground import store
    from fairway.metrics.reading import check_names
    from fairway.plot.drawing import REPORT, SAME_COMMAND, draw_figures, drawing
    from fairway.plot.figures import save_charts
    from fairway.plot.formats import check_formats
    from fairway.results.run import Run

    chosen = metrics or ()
    formats = [name.strip() for name in figures.split(",") if name.strip()]
    check_formats(formats)
    check_names(chosen)
    for file, own in _OWN_PAGES.items():
        if (directory / file).is_file():
            raise InputError(
                f"{directory}: holds results of `fairway {own}` ({file}), which has its own page; "
                f"the same command with --out {directory} draws it again"
            )
    result = api.load(directory)
    page: Callable[[], str]
    save: Callable[[Path, list[str]], object]
    if isinstance(result, Run):
        result.measured(chosen)  # what it does not have is not an error of the drawing
        page, save = partial(result.report, chosen), result.figures.save
    elif replay := replayed.load(directory):
        page = partial(replayed.page, *replay)
        save = partial(save_charts, replayed.charts(*replay))
    else:
        shown = result.with_metrics(chosen)
        _ = shown.table  # the same
        page, save = shown.report, shown.figures.save
    with drawing("report", SAME_COMMAND):
        with store.listing(directory):
            store.write_file(directory / REPORT, page())
        note_report(directory)
    draw_figures(directory, lambda place: save(place, formats), formats)


@app.command()
def algorithms(
    name: Annotated[str | None, typer.Argument(help="Explain this algorithm.")] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw its window: a .pdf, .png or .svg file."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the congestion controls, or explain one.

    \b
    Examples:
      fairway algorithms
      fairway algorithms cubic
      fairway algorithms cubic --figure cubic.svg
      fairway algorithms --json
    """
    from fairway import api
    from fairway.cli import explain
    from fairway.experiment.scenarios import select
    from fairway.ground import registry
    from fairway.plot.formats import format_of

    if figure is not None:
        format_of(figure)
        if name is None:
            raise InputError("--figure: needs the name of an algorithm")
    known = registry.algorithms()
    if name is None:
        if as_json:
            print_json(known)
        else:
            show_table(*explain.list_tables(known))
        return
    entry = select(known, [name])[0]
    if as_json:
        print_json(entry)
    else:
        _explain(entry)
    if figure is not None or not as_json:
        portrait = api.portrait(name)
        if not as_json:
            encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
            typer.echo(explain.chart(portrait, plain=encoding != "utf8"))
        if figure is not None:
            portrait.save(figure)
            note(f"Figure: {figure}")


@app.command()
def presets(
    name: Annotated[str | None, typer.Argument(help="Show this preset and its sources.")] = None,
    as_json: Json = False,
) -> None:
    """List the presets of the TCP stack, or one with the source of every value.

    \b
    Examples:
      fairway presets
      fairway presets linux-6.1
      fairway presets --json
    """
    from fairway.cli import preset_tables
    from fairway.ground import registry

    known = registry.presets()
    if name is not None:
        preset = preset_tables.select(known, name)
        if as_json:
            print_json(preset)
        else:
            show_table(preset_tables.in_full(preset))
    elif as_json:
        print_json(known)
    else:
        show_table(preset_tables.summaries(known))
        show_table(preset_tables.comparison(known))
        say(preset_tables.common(known))


@app.command()
def gallery(
    names: Annotated[
        list[str] | None, typer.Argument(help="Algorithms.  [default: all]", show_default=False)
    ] = None,
    out: Out = Path("runs/gallery"),
    figures: Annotated[
        str, typer.Option(metavar="FORMATS", help="Formats of the figure: pdf,png,svg.")
    ] = "pdf,png,svg",
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show every congestion control on the same three paths.

    \b
    Examples:
      fairway gallery
      fairway gallery reno cubic bbr --out runs/three --figures svg

    Window, queue and goodput of each, one figure and one report, all kept in runs/gallery (or
    --out); the same command goes on where it was stopped.
    """
    from fairway import api

    assert out is not None
    formats = [name.strip() for name in figures.split(",") if name.strip()]
    result = api.gallery(names or (), out, figures=formats, threads=threads, quiet=quiet)
    if as_json:
        print_json(result.to_json())
    else:
        show_table(result.table())
    if not quiet:
        for kind in formats:
            note(f"Figure: {out / f'gallery.{kind}'}")
        note_report(out)


@app.command()
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors.

    \b
    Example:
      fairway schema > experiment.schema.json
    """
    from fairway import api

    print_json(api.schema())


app.command()(doctor)


def _show_run(result: Run) -> None:
    from fairway.results.model_sections import sentences
    from fairway.results.repeat import sentence
    from fairway.results.report import (
        application_tables,
        completion_table,
        flow_tables,
        link_tables,
        metric_table,
        partial_sentence,
        wlan_tables,
    )

    typer.echo(f"{result.title}\n")
    flows = (*flow_tables(result), *completion_table(result), *application_tables(result))
    tables = (*flows, *link_tables(result), *wlan_tables(result))
    show_table(*tables, metric_table(result))
    for said in filter(None, (partial_sentence(result.experiment), *sentences(result))):
        say(said)
    if "repeated" in result.summary:
        say(sentence(result.summary["repeated"]))


def _show_sweep(result: Sweep) -> None:
    from fairway.sweep.report import mean_tables, sweep_table

    typer.echo(f"{result.title}\n")
    show_table(sweep_table(result), *mean_tables(result))


def _explain(entry: dict[str, Any]) -> None:
    from fairway.cli import explain

    parts = (
        explain.introduction(entry),
        [explain.header(entry)],
        explain.parameters(entry),
        explain.sums(entry),
    )
    for part in parts:
        if lines := list(part):
            typer.echo("\n".join(lines) + "\n")


def main() -> None:
    """Run the command and end the process with its exit code."""
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
        os._exit(code)
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
        return _invoke(arguments)
    except FairwayError as error:
        note(_told(error))
        return error.exit_code
    except KeyboardInterrupt:
        note("fairway: stopped")
        return Interrupted.exit_code
    except BrokenPipeError:
        # The reader of standard output has gone, as `head` does: not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _unexpected(error)


def _invoke(arguments: list[str]) -> int:
    """Let Typer print its own help and usage errors, and tell its exit code."""
    try:
        _with(arguments[:1])(args=arguments)
    except SystemExit as end:
        if end.code == Interrupted.exit_code:  # Typer's answer to Ctrl-C, which says nothing
            raise KeyboardInterrupt from None
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _with(words: list[str]) -> typer.Typer:
    """The program with the one command that is asked for, or with all if there is no such command.

    Typer prepares every command that it is given, which takes as long as half of a short run.
    """
    commands = [one for one in app.registered_commands if get_command_name(_name(one)) in words]
    groups = [one for one in app.registered_groups if one.name in words]
    if not commands and not groups:
        return app
    narrow = copy.copy(app)
    narrow.registered_commands, narrow.registered_groups = commands, groups
    return narrow


def _name(command: CommandInfo) -> str:
    return command.name or command.callback.__name__  # type: ignore[union-attr]


def _told(error: FairwayError) -> str:
    """An error in words; of an experiment there is one on each line."""
    lines = str(error).splitlines() if isinstance(error, ExperimentError) else [str(error)]
    return "\n".join([*(f"fairway: {line}" for line in lines), *getattr(error, "__notes__", ())])


def _unexpected(error: Exception) -> int:
    if hasattr(error, "fairway_traceback"):
        # Raised by an algorithm of the user's own: its traceback, without Fairway's frames.
        lines = traceback.format_exception(type(error), error, error.fairway_traceback)
        note("".join(lines) + "fairway: a congestion control of your own failed, as shown above")
        return AlgorithmError.exit_code
    if isinstance(error, OSError):
        note(f"fairway: {error}")
        return 2
    traceback.print_exc()
    note("fairway: internal error; please report it with the lines above")
    return 1
