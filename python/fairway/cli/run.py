"""The command `fairway run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typer import Argument, Option

from fairway.cli import terminal
from fairway.errors import InputError

if TYPE_CHECKING:
    from fairway.backends import Backend as Answering
    from fairway.experiment.plan import Plan
    from fairway.results.run import Run
    from fairway.sweep.result import Sweep


#: Backends, as far as the command line knows them.
Backend = Literal["sim", "linux", "model", "xfer"]


def _answers(
    backend: Backend, kernel: str | None, peer: str | None, token: str | None, *, plain: bool
) -> Any:
    """The backend as `fairway.run` has it."""
    if kernel is not None and backend != "linux":
        raise InputError("--kernel: only with --backend linux")
    if backend == "xfer":
        from fairway.backends.xfer import Xfer

        return Xfer(peer, token, plain=plain)
    if peer is not None or token is not None or plain:
        raise InputError("--peer, --token and --plain: only with --backend xfer")
    if kernel is not None:
        from fairway.backends.linux.backend import Linux

        return Linux(kernel)
    return backend


def run(
    file: Path = Argument(..., help="Experiment file (TOML).", show_default=False),
    out: terminal.Out = None,
    seed: terminal.Seed = None,
    assignments: terminal.Assignments = None,
    backend: Backend = Option("sim", help="What answers."),
    kernel: terminal.KernelChoice = None,
    peer: str | None = Option(
        None, metavar="HOST[:PORT]", help="Of --backend xfer: where `collect` waits."
    ),
    token: str | None = Option(None, metavar="TOKEN", help="Of --backend xfer: as it printed it."),
    plain: bool = Option(False, "--plain", help="Of --backend xfer: it runs with --plain."),
    threads: terminal.Threads = None,
    repeat: int = Option(0, min=0, max=100, help="Repeat N times and report the spread."),
    figures: str = Option(
        "", metavar="FORMATS", help="Also write figures: pdf,png,svg. Needs --out."
    ),
    capture: str | None = Option(
        None,
        metavar="PLACES",
        help="Capture packets: hosts, links, everything, or names. Needs --out.",
    ),
    dask: terminal.Dask = None,
    keep: Literal["runs", "summaries"] | None = Option(
        None,
        help="Of each run of a sweep: its directory, or its summary alone.  "
        "[default: runs up to 1000]",
    ),
    replace: terminal.Replace = False,
    allow_python: terminal.AllowPython = False,
    allow_programs: terminal.AllowPrograms = False,
    metrics: terminal.Metrics = None,
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Run an experiment, or all experiments of a sweep.

    \b
    Examples:
      fairway run pair.toml
      fairway run pair.toml --out runs/pair --figures pdf,png
      fairway run pair.toml --set "duration=100 s" --set 'flow.1.cc="htcp"'
      fairway run pair.toml --out runs/pair --capture hosts
      fairway run pair.toml --backend linux --repeat 1
      fairway run pair.toml --backend linux --kernel 6.12
      fairway run pair.toml --backend model
      fairway run pair.toml --backend xfer --peer server --token ABCD…
      fairway run sweep.toml --out runs/sweep   (again: goes on where it stopped)
      fairway run sweep.toml --dask tcp://node1:8786
      fairway run sweep.toml --metric jain_index --metric power

    A sweep without --out is kept in runs/<name of the file>, with the backend and
    kernel behind the name if the simulator does not answer; not if models do.

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
    from fairway.experiment.plan import plan
    from fairway.ground.permission import permitting
    from fairway.results import captures
    from fairway.results.run import Run
    from fairway.sweep import start

    answers = _answers(backend, kernel, peer, token, plain=plain)
    formats = terminal.listed(figures)
    if formats and out is None:
        raise InputError("--figures: needs --out DIR, where the figures shall go")
    at = None if capture is None else captures.places(capture)
    changes = terminal.overrides(assignments, seed)
    # What models say is there again in a moment.
    if out is None:
        with permitting(python=allow_python, backend="--dask" if dask else backend):
            planned = plan(file, overrides=changes)
        if planned.is_sweep and (backend != "model" or dask is not None):
            # Nobody has named this directory, and runs of other values stay in it.
            out, replace = _place(file, answers, planned), True
        elif at is not None or any(captures.are_wanted(one.experiment) for one in planned.points):
            where = "capture.at" if at is None else "--capture"
            raise InputError(f"{where}: needs --out DIR, where the captures shall go")
    result = start.run(
        file, out, overrides=changes, backend=answers, threads=threads, repeat=repeat,
        figures=formats, capture=at, dask=dask, keep=keep, replace=replace,
        allow_python=allow_python, allow_programs=allow_programs, metrics=metrics or (),
        quiet=quiet,
    )  # fmt: skip
    if as_json:
        terminal.print_json(result.summary)
    elif isinstance(result, Run):
        _show_run(result)
    else:
        _show_sweep(result)
    for warning in result.warnings:
        terminal.warn(warning)
    if quiet:
        return
    if out is not None:
        terminal.note_report(out)
    elif not as_json:
        terminal.note(
            "Nothing is kept: --out DIR keeps tables, time series and a report with charts."
        )


def _place(file: Path, answers: "str | Answering", planned: "Plan") -> Path:
    """The directory of a sweep for which none is named: each backend and kernel has its own."""
    from fairway.backends import OnKernel
    from fairway.backends import backend as find_backend
    from fairway.ground import replacing
    from fairway.sweep.run import check_points

    chosen = find_backend(answers)
    own = "" if chosen.name == "sim" else f"-{chosen.name}"
    if isinstance(chosen, OnKernel):
        # Which kernel answers depends on the congestion controls that it has to have.
        check_points(planned, chosen)
        own += f"-{chosen.release()}"
    place = Path("runs") / f"{file.stem}{own}"
    replacing.refuse_another_backend(place, chosen.name)
    return place


def _show_run(result: "Run") -> None:
    from fairway.results import report
    from fairway.results.model_sections import sentences
    from fairway.results.program_tables import program_tables
    from fairway.results.repeat import sentence

    terminal.print_text(f"{result.title}\n")
    flows = (
        *report.flow_tables(result),
        *report.completion_table(result),
        *report.application_tables(result),
        *program_tables(result),
    )
    tables = (*flows, *report.link_tables(result), *report.wlan_tables(result))
    terminal.show_table(*tables, report.metric_table(result))
    for said in filter(None, (report.partial_sentence(result.experiment), *sentences(result))):
        terminal.say(said)
    if "repeated" in result.summary:
        terminal.say(sentence(result.summary["repeated"]))


def _show_sweep(result: "Sweep") -> None:
    from fairway.sweep.report import mean_tables, sweep_table

    terminal.print_text(f"{result.title}\n")
    terminal.show_table(sweep_table(result), *mean_tables(result))
