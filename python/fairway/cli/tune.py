"""The command `fairway tune`."""

from pathlib import Path
from typing import Literal

from typer import Argument, Option

from fairway.cli import terminal


def tune(
    experiment: Path = Argument(..., help="Experiment file (TOML).", show_default=False),
    objectives: list[str] = Option(
        ...,
        "--objective",
        metavar="METRIC",
        help="Metric to maximise; -METRIC to "
        "minimise; sums as 'a - 0.5*b'. Several: the trade-off.",
    ),
    algorithm: str | None = Option(None, "--algorithm", metavar="NAME", help="Whose parameters."),
    parameters: list[str] | None = Option(
        None,
        "--param",
        metavar="P",
        help="beta, beta=0.5..0.9, 'c=0.04..4 log', "
        "flow.0.count=1..30, flow.0.cc=reno,cubic.  [default: all of NAME's]",
    ),
    constraints: list[str] | None = Option(
        None, "--subject-to", metavar="BOUND", help="Such as 'jain_index >= 0.9'."
    ),
    flows: list[str] | None = Option(
        None,
        "--flow",
        metavar="ID",
        help="Flows to tune.  [default: those of NAME, or all if there are none]",
    ),
    also: list[Path] | None = Option(
        None, "--also", metavar="FILE", help="A further experiment to be good at."
    ),
    assignments: terminal.Assignments = None,
    trials: int = Option(40, min=1, max=100_000, help="Values to try."),
    repetitions: int = Option(3, min=1, max=1000, help="Seeds of each trial, the same for all."),
    fresh: int = Option(10, min=2, max=10_000, help="Seeds of the comparison at the end."),
    batch: int = Option(4, min=1, max=1000, help="Trials proposed at a time."),
    seed: int = Option(1, min=0, max=2**32 - 1, help="Of the search."),
    backend: Literal["sim", "linux"] = Option("sim", help="What answers."),
    out: terminal.Out = None,
    threads: terminal.Threads = None,
    allow_python: terminal.AllowPython = False,
    allow_programs: terminal.AllowPrograms = False,
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Search an algorithm's parameters; compare the best on fresh seeds.

    \b
    Examples:
      fairway tune single.toml --algorithm cubic --objective goodput_bps
      fairway tune bench.toml --algorithm cubic --param beta --param c
        --param flow.0.count=1..30 --objective jain_index
        --subject-to 'link.bottleneck.utilisation >= 0.95'
      fairway tune pair.toml --algorithm cubic --objective jain_index
        --objective -link.bottleneck.p99_sojourn_s

    Everything is kept in runs/<name of the file>-tune (or --out): the report, and tuned.toml, the
    experiment with the best values. The same command goes on where it was stopped.
    """
    from fairway.compare import tune as tuning
    from fairway.ground.permission import permitting

    out = out or Path("runs") / f"{experiment.stem}-tune"
    with permitting(python=allow_python, programs=allow_programs, backend=backend):
        done = tuning.tune(
            experiment, objectives, out, algorithm=algorithm, parameters=parameters or (),
            constraints=constraints or (), flows=flows or (), also=also or (),
            overrides=terminal.overrides(assignments), trials=trials, repetitions=repetitions,
            fresh=fresh, batch=batch, seed=seed, backend=backend, threads=threads, quiet=quiet,
        )  # fmt: skip
    if as_json:
        terminal.print_json(done.to_json())
    else:
        terminal.print_text(f"{done.title}\n")
        terminal.show_table(*(done.parameter_table(), done.comparison_table(), done.case_table()))
        for said in (*done.sentences(), done.curse()):
            terminal.say(said)
    for warning in done.warnings:
        terminal.warn(warning)
    if not quiet:
        for name in done.files():
            terminal.note(f"Experiment: {out / name}")
        terminal.note_report(out)
