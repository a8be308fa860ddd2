"""`fairway study`: lists studies, shows one, and begins a new one."""

from pathlib import Path

from typer import Argument, Option

from fairway.cli.terminal import (
    AllowPython,
    Json,
    commands,
    note,
    print_json,
    print_text,
    say,
    show_table,
)

app = commands()


@app.callback()
def study() -> None:
    """List studies, show one, or begin your own.

    \b
    Examples:
      fairway study list
      fairway study show gelle2008
      fairway study new my-study

    `fairway reproduce KEY` runs one.
    """


@app.command("list")
def list_studies(as_json: Json = False) -> None:
    """List the studies that come with Fairway.

    \b
    Example:
      fairway study list
    """
    from fairway.study import tables as study_tables
    from fairway.study.files import find, keys

    studies = [find(key) for key in keys()]
    if as_json:
        print_json([study_tables.summary(one) for one in studies])
    else:
        show_table(study_tables.overview(studies))


@app.command()
def show(
    key: str = Argument(..., help="Key of a study, or the directory of your own."),
    allow_python: AllowPython = False,
    as_json: Json = False,
) -> None:
    """Show what a study asks, what varies in it, and its claims.

    \b
    Example:
      fairway study show gelle2008
    """
    from fairway.ground.permission import permitting
    from fairway.study import files as study_files
    from fairway.study import tables as study_tables

    with permitting(python=allow_python):
        one = study_files.find(key)
    if as_json:
        print_json(study_tables.summary(one))
        return
    for paragraph in study_tables.introduction(one):
        say(paragraph)
    print_text()
    show_table(*study_tables.in_full(one))


@app.command()
def new(
    directory: Path = Argument(..., metavar="NAME", help="Directory to make.", show_default=False),
    experiment: Path | None = Option(
        None, "--experiment", metavar="FILE", help="An experiment file to begin with."
    ),
    axes: list[str] | None = Option(
        None,
        "--axis",
        metavar="PATH=VALUES",
        help="What varies; may be repeated.  [default: the file's sweep, or flow.0.cc=reno,cubic]",
    ),
    metrics: list[str] | None = Option(
        None,
        "--metric",
        metavar="METRIC",
        help="What is measured; may be repeated.  [default: jain_index]",
    ),
    allow_python: AllowPython = False,
) -> None:
    """Begin a study of your own: files that run, explained key by key.

    \b
    Examples:
      fairway study new my-study
      fairway study new buffers --experiment pair.toml
        --axis "flow.0.cc=reno,cubic" --axis "topology.bottleneck.delay=5 ms,50 ms"
        --metric jain_index --metric link.bottleneck.utilisation
    """
    from fairway.ground.permission import permitting
    from fairway.study.new import new_study

    with permitting(python=allow_python):
        files = new_study(directory, experiment=experiment, axes=axes or (), metrics=metrics or ())
    for file in files:
        print_text(str(file))
    note(
        f"Run it with: fairway reproduce {directory}\n"
        "Then: published numbers into published/values.csv, claims into claims.toml."
    )
