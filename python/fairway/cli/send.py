"""The command `fairway send`."""

from pathlib import Path
from typing import Literal

from typer import Argument, Option

from fairway.cli import transfer as command
from fairway.cli.terminal import Json, Quiet


def send(
    path: str = Argument(..., help="File or directory; - for standard input."),
    host: str = Argument(..., metavar="HOST[:PORT]", help="Where `recv` waits."),
    token: command.Token = None,
    token_file: command.TokenFile = None,
    streams: str = Option(
        "1", "--streams", "-n", metavar="N|auto", help="Connections for the data."
    ),
    cc: command.Cc = None,
    pacing: command.Pacing = None,
    limit: str | None = Option(None, metavar="RATE", help="Most that all streams send together."),
    chunk: str | None = Option(
        None, metavar="SIZE", help="What a stream takes at once.  [default: 8 MiB]"
    ),
    striping: Literal["dynamic", "static"] = Option(
        "dynamic", help="Streams take chunks as they are free, or a part each."
    ),
    name: str | None = Option(None, metavar="NAME", help="Its name there, if another than here."),
    bind: command.From = None,
    send_buffer: command.SendBuffer = None,
    receive_buffer: command.ReceiveBuffer = None,
    mss: command.Mss = None,
    plain: command.Plain = False,
    timeout: command.Silence = "30 s",
    patience: str | None = Option(
        None, metavar="TIME", help="How long to go on trying when nothing arrives.  [default: 90 s]"
    ),
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

    wishes = command.wishes(
        cc=cc, pacing=pacing, send_buffer=send_buffer, receive_buffer=receive_buffer,
        mss=mss, bind=bind,
    )  # fmt: skip
    options = jobs.given(
        path=path,
        host=host,
        token=command.token(token, token_file),
        streams=command.streams(streams),
        wishes=wishes,
        chunk_bytes=quantities.size_bytes(chunk, "--chunk"),
        striping=striping,
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
