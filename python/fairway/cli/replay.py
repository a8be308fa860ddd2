"""The command `fairway replay`."""

from pathlib import Path

from typer import Argument, Option

from fairway.cli import terminal


def replay(
    capture: Path = Argument(
        ..., help="A capture of the transfer; - is standard input.", show_default=False
    ),
    cc: str = Option("reno,cubic,bbr", "--cc", metavar="X,Y,Z", help="The algorithms to simulate."),
    same: str | None = Option(
        None, "--as", metavar="NAME", help="The transfer's own, if you know it."
    ),
    connection: int | None = Option(
        None, "--connection", "-c", min=1, metavar="ID", help="Instead of that with most data."
    ),
    overhead: int = Option(
        0,
        "--frame-overhead",
        min=0,
        max=1000,
        metavar="BYTES",
        help="Bytes that the bottleneck carries with each IP packet.",
    ),
    out: terminal.Out = None,
    threads: terminal.Threads = None,
    allow_python: terminal.AllowPython = False,
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Fit a path to a captured transfer; simulate it under other algorithms.

    \b
    Examples:
      fairway replay transfer.pcap --cc reno,cubic,bbr
      fairway replay transfer.pcap --cc bbr,vegas --as cubic --out runs/replay
      fairway replay transfer.pcap --cc bbr --connection 3 --json

    Shows the experiment file with rate, round trip, queue and losses as they were fitted, and
    where each comes from. With --out it is DIR/replay.toml: change it, and run it again. Captures
    at the sender show most.
    """
    from fairway.capture.replay.command import FILE
    from fairway.capture.replay.command import replay as replay_capture
    from fairway.capture.replay.report import DEFINED, UNKNOWN
    from fairway.ground.permission import permitting

    with permitting(python=allow_python):
        done = replay_capture(
            capture, terminal.listed(cc), out, connection=connection, same=same,
            overhead_bytes=overhead, threads=threads, quiet=quiet,
        )  # fmt: skip
    if as_json:
        terminal.print_json(done.to_json())
    else:
        if connection is None and done.transfer.connections > 1:
            number = done.transfer.connection["id"]
            many = done.transfer.connections
            terminal.print_text(f"Connection {number}, which has most data, of {many:,}.\n")
        terminal.print_text(done.experiment)
        terminal.show_table(done.table())
        terminal.say(DEFINED)
        if done.same is None:
            terminal.say(UNKNOWN)
    for doubt in done.transfer.doubts():
        terminal.warn(doubt)
    if out is not None and not quiet:
        terminal.note(f"Experiment: {out / FILE}")
        terminal.note_report(out)
