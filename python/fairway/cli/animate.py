"""The command `fairway animate`."""

from pathlib import Path

from typer import Argument, Option

from fairway.cli.terminal import AllowPython, Assignments, Quiet, Seed, note, overrides


def animate(
    experiment: Path = Argument(
        ...,
        help="Experiment file, or a run's directory with captures of everything.",
        show_default=False,
    ),
    start: str = Option(
        "0 s", "--from", metavar="TIME", help="Show the run from then on, as 1.5 s."
    ),
    end: str | None = Option(
        None, "--to", metavar="TIME", help="Until then.  [default: 10 s after --from]"
    ),
    out: Path = Option(
        Path("animation.html"), "--out", "-o", metavar="FILE", help="The page to write."
    ),
    seed: Seed = None,
    assignments: Assignments = None,
    allow_python: AllowPython = False,
    quiet: Quiet = False,
) -> None:
    """Play a run's packets and windows on the drawing of its topology.

    \b
    Examples:
      fairway animate pair.toml --to "2 s" --out pair.html
      fairway animate examples/lossy.toml --from "4 s" --to "6 s"
        --set flow.0.cc=reno
      fairway animate runs/pair --to "500 ms"   (run with --capture everything)

    Writes one HTML page that needs no network: packets on their links, queues that fill, losses,
    and each sender's cwnd, ssthresh and segments in flight. The simulator runs the experiment, of
    a sweep the first run.
    """
    from fairway.capture.animation import animate as animated
    from fairway.ground import store

    changes = overrides(assignments, seed)
    page = animated(
        experiment, start=start, end=end, overrides=changes, allow_python=allow_python, quiet=quiet
    )
    store.write_file(out, page)
    if not quiet:
        note(f"Animation: {out}")
