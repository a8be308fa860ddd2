"""The command `fairway animate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairway.cli.terminal import AllowPython, Quiet, note


def animate(
    experiment: Annotated[
        Path,
        typer.Argument(
            help="Experiment file, or a run's directory with captures of everything.",
            show_default=False,
        ),
    ],
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Show the run from then on, as 1.5 s.")
    ] = "0 s",
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Until then.  [default: 10 s after --from]"),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")
    ] = Path("animation.html"),
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Seed instead of the experiment's own.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Set a value first; may be repeated."),
    ] = None,
    allow_python: AllowPython = False,
    quiet: Quiet = False,
) -> None:
    """Play a run's packets and windows on the drawing of its topology.

    \b
    Examples:
      fairway animate pair.toml --to "2 s" --out pair.html
      fairway animate examples/lossy.toml --from "4 s" --to "6 s" --set flow.0.cc=reno
      fairway animate runs/pair --to "500 ms"   (run with --capture everything)

    Writes one HTML page that needs no network: packets on their links, queues that fill, losses,
    and each sender's cwnd, ssthresh and segments in flight. The simulator runs the experiment, of
    a sweep the first run.
    """
    from fairway import api
    from fairway.experiment.plan import parse_override
    from fairway.ground import store

    changes = dict(parse_override(assignment) for assignment in assignments or [])
    if seed is not None:
        changes["seed"] = seed
    page = api.animate(
        experiment, start=start, end=end, overrides=changes, allow_python=allow_python, quiet=quiet
    )
    store.write_file(out, page)
    if not quiet:
        note(f"Animation: {out}")
