"""`fairway linux`: the kernel that answers on `--backend linux`."""

from pathlib import Path

from typer import Argument, Option

from fairway.cli.terminal import (
    Json,
    KernelChoice,
    Quiet,
    Threads,
    commands,
    note,
    print_json,
    print_text,
)

app = commands()


@app.callback()
def linux() -> None:
    """Build and show the kernel that --backend linux runs on.

    \b
    Examples:
      fairway linux build
      fairway linux status
      fairway linux record-golden traces
    """


@app.command()
def build(
    source: Path | None = Option(
        None,
        metavar="PATH",
        help="A Linux source tree, or a tarball of one.  [default: Debian's linux-source-…]",
        show_default=False,
    ),
    release: str | None = Option(
        None,
        "--kernel",
        metavar="RELEASE",
        help="Debian's linux-source-RELEASE.  [default: 6.1, else the newest]",
        show_default=False,
    ),
    modules: list[Path] | None = Option(
        None,
        "--module",
        metavar="DIR",
        help="Build the congestion control in DIR in, tcp_NAME.c; may be repeated.",
        show_default=False,
    ),
    force: bool = Option(False, "--force", help="Build it again if it is there."),
    keep: bool = Option(False, "--keep", help="Keep the directory it was built in (1.5 GB)."),
    jobs: int | None = Option(
        None, "--jobs", "-j", min=1, max=1024, help="Compilers at a time.  [default: cores]"
    ),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Build the kernel; takes minutes once, and nothing when it is there.

    \b
    Examples:
      fairway linux build
      fairway linux build --kernel 6.12
      fairway linux build --source ~/src/linux
      fairway linux build --source linux-6.12.tar.xz
      fairway linux build --module ~/src/tcp_mine   (flows have it as cc = "linux:mine")

    It is built from a copy, and kept in ~/.cache/fairway (FAIRWAY_CACHE names another place).
    A build runs the source's own makefiles: name only sources that you trust.
    """
    from fairway.backends.linux.build import build as build_kernel

    kernel = build_kernel(
        source, release=release, modules=modules or (), force=force, keep=keep, jobs=jobs,
        quiet=quiet,
    )  # fmt: skip
    if as_json:
        print_json(kernel.to_json())
    else:
        print_text(f"Linux {kernel.release}: {kernel.path}")
    for warning in kernel.warnings:
        note(f"Warning: {warning}")


@app.command()
def status(as_json: Json = False) -> None:
    """Show the kernels that were built, which one answers, and what is missing for a better one.

    \b
    Examples:
      fairway linux status
      FAIRWAY_KERNEL=6.12 fairway linux status
    """
    from fairway.backends.linux.status import Status

    found = Status()
    if as_json:
        print_json(found.to_json())
    else:
        print_text("\n".join(found.lines()))


@app.command("record-golden")
def record_golden(
    directory: Path = Argument(..., help="Where the traces go.", show_default=False),
    names: list[str] | None = Option(
        None, "--algorithm", metavar="NAME", help="The kernel's name of one; may be repeated."
    ),
    kernel: KernelChoice = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Record what the kernel's algorithms do: golden traces for the simulator.

    \b
    Examples:
      fairway linux record-golden traces
      fairway linux record-golden traces --algorithm cubic --algorithm bbr
      fairway linux record-golden traces --kernel 6.12

    Writes traces.csv.gz with all samples, summary.csv, and recorded.json. An older recording there
    is replaced whole.
    """
    from fairway.backends.linux.backend import Linux
    from fairway.compare.fidelity.kernel_traces import record

    recorded = record(directory, Linux(kernel), names=names, threads=threads, quiet=quiet)
    if as_json:
        print_json(recorded)
    else:
        count = len(recorded["algorithms"]) * len(recorded["scenarios"])
        print_text(f"{count} traces of Linux {recorded['kernel']}: {directory}")
