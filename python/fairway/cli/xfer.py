"""Commands that move files between hosts: `fairway send` and `fairway recv`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from fairway.cli import transfer as command
from fairway.cli.terminal import Json, Quiet


class Striping(str, Enum):
    """How data is shared among streams."""

    DYNAMIC = "dynamic"
    STATIC = "static"


def send(
    path: Annotated[str, typer.Argument(help="File or directory; - for standard input.")],
    host: Annotated[str, typer.Argument(metavar="HOST[:PORT]", help="Where `recv` waits.")],
    token: command.Token = None,
    token_file: command.TokenFile = None,
    streams: Annotated[
        str, typer.Option("--streams", "-n", metavar="N|auto", help="Connections for the data.")
    ] = "1",
    cc: command.Cc = None,
    pacing: command.Pacing = None,
    limit: Annotated[
        str | None, typer.Option(metavar="RATE", help="Most that all streams send together.")
    ] = None,
    chunk: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="What a stream takes at once.  [default: 8 MiB]"),
    ] = None,
    striping: Annotated[
        Striping, typer.Option(help="Streams take chunks as they are free, or a part each.")
    ] = Striping.DYNAMIC,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its name there, if another than here.")
    ] = None,
    bind: command.From = None,
    send_buffer: command.SendBuffer = None,
    receive_buffer: command.ReceiveBuffer = None,
    mss: command.Mss = None,
    plain: command.Plain = False,
    timeout: command.Silence = "30 s",
    patience: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="How long to go on trying when nothing arrives.  [default: 90 s]"
        ),
    ] = None,
    record: command.RecordOut = None,
    capture: command.Capture = None,
    interval: command.Interval = None,
    path_rate: command.PathRate = None,
    per_stream: command.PerStream = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Send a file, a directory or standard input over parallel connections.

    \b
    Examples:
      fairway send data.h5 server --token ABCD… --streams 8
      fairway send results/ server:5311 --streams auto --cc bbr --out runs/up
      tar c . | fairway send - server --token-file token --name all.tar

    It ends well only when the receiver has confirmed that all of it is on its disk, as it is
    here. Started again after it was stopped, it sends what is missing.
    """
    from fairway.backends.transfer import jobs
    from fairway.ground import quantities

    options = jobs.given(
        path=path,
        host=host,
        token=command.token(token, token_file),
        streams=command.streams(streams),
        wishes=command.wishes(
            cc=cc,
            pacing=pacing,
            send_buffer=send_buffer,
            receive_buffer=receive_buffer,
            mss=mss,
            bind=bind,
        ),
        chunk_bytes=quantities.size_bytes(chunk, "--chunk"),
        striping=striping.value,
        limit_bps=quantities.rate_bps(limit, "--limit"),
        plain=plain,
        name=name,
        timeout_s=quantities.seconds(timeout, "--timeout"),
        patience_s=quantities.seconds(patience, "--patience"),
        capture=None if capture is None else str(capture),
    )
    shown = Path(path).name or path
    measure = command.measure(f"{shown} to {host}", interval, path_rate)
    place = Path(path).parent if path != "-" else None
    settings = command.settings_of(record, host, place)
    ended = command.Ended(record, once=True, as_json=as_json, settings=settings)
    command.follow("send", options, measure, ended, quiet=quiet, per_stream=per_stream, label=shown)


def recv(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where files go, and nowhere else.")
    ],
    bind: Annotated[
        str | None,
        typer.Option(metavar="ADDR[:PORT]", help="Where to listen.  [default: everywhere, 5311]"),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End after one transfer.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there and differ.")
    ] = False,
    plain: command.Plain = False,
    keep_token: command.KeepToken = None,
    sync: Annotated[
        bool, typer.Option("--sync/--no-sync", help="Confirm only what the disk has for sure.")
    ] = True,
    max_transfers: Annotated[int | None, typer.Option(min=1, help="Transfers at once.")] = None,
    max_streams: Annotated[int | None, typer.Option(min=1, help="Streams of one transfer.")] = None,
    max_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Content of one transfer.")
    ] = None,
    max_files: Annotated[
        int | None, typer.Option(min=1, help="Files and directories of one transfer.")
    ] = None,
    spare: Annotated[
        str | None, typer.Option(metavar="SIZE", help="What stays free on the disk.")
    ] = None,
    receive_buffer: command.ReceiveBuffer = None,
    timeout: command.Silence = "30 s",
    linger: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long a sender that is gone may take to come back."),
    ] = None,
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
        linger_s=quantities.seconds(linger, "--linger"),
        capture=None if capture is None else str(capture),
    )
    measure = command.measure(f"received in {out}", interval, path_rate)
    settings = command.settings_of(record, None, out)
    ended = command.Ended(record, once=once, as_lines=as_json, settings=settings)
    command.follow("recv", options, measure, ended, label="recv", quiet=quiet,
                   per_stream=per_stream)  # fmt: skip
