"""The command `fairway recv`."""

from pathlib import Path

from typer import Option

from fairway.cli import transfer as command
from fairway.cli.terminal import Json, Quiet


def recv(
    out: Path = Option(..., "--out", "-o", metavar="DIR", help="Where files go, and nowhere else."),
    bind: str | None = Option(
        None, metavar="ADDR[:PORT]", help="Where to listen.  [default: everywhere, 5311]"
    ),
    once: bool = Option(False, "--once", help="End after one transfer."),
    overwrite: bool = Option(False, "--overwrite", help="Replace files that are there and differ."),
    plain: command.Plain = False,
    keep_token: command.KeepToken = None,
    sync: bool = Option(True, "--sync/--no-sync", help="Confirm only what the disk has for sure."),
    max_transfers: int | None = Option(None, min=1, help="Transfers at once."),
    max_streams: int | None = Option(None, min=1, help="Streams of one transfer."),
    max_size: str | None = Option(None, metavar="SIZE", help="Content of one transfer."),
    max_files: int | None = Option(None, min=1, help="Files and directories of one transfer."),
    spare: str | None = Option(None, metavar="SIZE", help="What stays free on the disk."),
    receive_buffer: command.ReceiveBuffer = None,
    timeout: command.Silence = "30 s",
    patience: str | None = Option(
        None,
        metavar="TIME",
        help="How long a transfer may bring nothing new.  [default: a day]",
    ),
    linger: str | None = Option(
        None, metavar="TIME", help="How long a sender that is gone may take to come back."
    ),
    record: command.Record = None,
    capture: command.Capture = None,
    interval: command.Interval = None,
    path_rate: command.PathRate = None,
    per_stream: command.PerStream = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Receive what others send with `fairway send`.

    \b
    Examples:
      fairway recv --out incoming --once
      fairway recv --bind 192.0.2.7:5311 --out incoming --keep-token receiver.json

    It prints a token, without which nothing is taken: give it to the senders. Files have their
    names only when they are complete; what is not is kept in .fairway-partial, for a sender that
    comes again. With --json it prints a line of JSON for each event.
    """
    from fairway.backends.transfer import jobs
    from fairway.ground import quantities

    limits = jobs.given(
        sessions=max_transfers,
        streams=max_streams,
        bytes=quantities.size_bytes(max_size, "--max-size"),
        files=max_files,
        spare_bytes=quantities.size_bytes(spare, "--spare"),
    )
    options = jobs.given(
        out=str(out),
        bind=bind,
        once=once,
        overwrite=overwrite,
        plain=plain,
        keep_token=None if keep_token is None else str(keep_token),
        sync=sync,
        limits=limits,
        wishes=command.wishes(receive_buffer=receive_buffer),
        timeout_s=quantities.seconds(timeout, "--timeout"),
        patience_s=quantities.seconds(patience, "--patience"),
        linger_s=quantities.seconds(linger, "--linger"),
        capture=None if capture is None else str(capture),
    )
    measure = command.measure(f"received in {out}", interval, path_rate)
    settings = command.settings_of(record, None, out)
    ended = command.Ended(record, once=once, as_lines=as_json, settings=settings)
    command.follow("recv", options, measure, ended, label="recv", quiet=quiet,
                   per_stream=per_stream)  # fmt: skip
