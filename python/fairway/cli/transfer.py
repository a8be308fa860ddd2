"""What the commands of real transfers have in common: options, following, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairway.backends.transfer.token import TOKEN_VARIABLE, bare
from fairway.cli.terminal import note_report, print_json, print_text, show_table, size, warn
from fairway.errors import InputError, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairway._core import TransferData

#: Largest file that holds a token: a line.
_TOKEN_BYTES = 4096

Token = Annotated[
    str | None,
    Option(metavar="TOKEN", help=f"As the other end printed it.  [default: ${TOKEN_VARIABLE}]"),
]
TokenFile = Annotated[
    Path | None,
    Option(metavar="FILE", help="File that holds the token: not seen in the process list."),
]
Plain = Annotated[bool, Option("--plain", help="Without encryption; the token is needed.")]
Record = Annotated[
    Path | None, Option("--record", metavar="DIR", help="Directory for what is measured.")
]
RecordOut = Annotated[
    Path | None,
    Option("--record", "--out", "-o", metavar="DIR", help="Directory for what is measured."),
]
Interval = Annotated[
    str | None,
    Option(
        metavar="TIME",
        help="Time between samples.  [default: 10 ms at first, longer as time goes by]",
    ),
]
PathRate = Annotated[
    str | None,
    Option(metavar="RATE", help="Rate of the path, if it is known: for its utilisation."),
]
Cc = Annotated[str | None, Option(metavar="NAME", help="Congestion control, by the kernel's name.")]
Pacing = Annotated[
    str | None, Option(metavar="RATE", help="Most that one stream sends: 100 Mbit/s.")
]
SendBuffer = Annotated[
    str | None, Option(metavar="SIZE", help="Send buffer, instead of the kernel's tuning.")
]
ReceiveBuffer = Annotated[
    str | None, Option(metavar="SIZE", help="Receive buffer; it bounds the window.")
]
Mss = Annotated[
    int | None, Option(parser=size(88, 65535), metavar="SIZE", help="Largest segment, in bytes.")
]
From = Annotated[str | None, Option("--bind", metavar="ADDR", help="Address to send from.")]
Silence = Annotated[str, Option(metavar="TIME", help="How long the other end may be silent.")]
KeepToken = Annotated[
    Path | None,
    Option(metavar="FILE", help="Keep the token in this file: it is the same after a restart."),
]
Capture = Annotated[
    Path | None,
    Option(
        metavar="FILE.pcapng", help="Write the headers of its packets there: needs CAP_NET_RAW."
    ),
]
Iperf3 = Annotated[bool, Option("--iperf3", help="The other end is iperf3: no token.")]
Iperf3Json = Annotated[
    bool, Option("--iperf3-json", help="With --iperf3: print the report of `iperf3 -J`.")
]
PerStream = Annotated[bool, Option("--per-stream", help="Show a line for each stream.")]


class Ended:
    """What is done with sessions that have ended: shown, and kept in a directory."""

    def __init__(
        self,
        record: Path | None,
        *,
        once: bool,
        settings: Mapping[str, Any] | None,
        as_json: bool = False,
        as_lines: bool = False,
        as_iperf3: bool = False,
    ) -> None:
        self.record = record
        self.as_lines = as_lines
        self._once = once
        self._as_json = as_json
        self._as_iperf3 = as_iperf3
        self._settings = settings
        self._source: str | None = None

    def begin(self, source: str) -> None:
        """Refuse, before anything is sent, a directory that its record may not replace."""
        from fairway.ground import replacing

        self._source = source
        if self.record is not None and self._once:
            replacing.check_writable(self.record, "run")
            replacing.refuse_another(self.record, source)

    def __call__(self, data: TransferData) -> None:
        """Show a session, and write its record."""
        from fairway.backends.transfer.record import save, summary_of

        summary = summary_of(data, self._settings)
        if self._as_iperf3:
            print_json(json.loads(data.about)["report"])
        else:
            self._show(summary)
        if self.record is not None and summary["flows"]:
            directory = self.record if self._once else _unused(self.record, data.number)
            save(data, directory, self._settings, self._source)
            note_report(directory)

    def _show(self, summary: Mapping[str, Any]) -> None:
        from fairway.backends.transfer.tables import closing_line, stream_tables

        if self._as_json:
            print_json(summary)
        elif self.as_lines:
            print_json({"event": "session", "summary": summary}, indent=None)
        elif summary["flows"]:
            show_table(*stream_tables(summary))
            print_text(closing_line(summary))


def _unused(record: Path, number: int) -> Path:
    """The directory of a session: records of an earlier process, which counted too, stay."""
    while (record / f"{number:04d}").exists():
        number += 1
    return record / f"{number:04d}"


def follow(
    job: str,
    options: Mapping[str, Any],
    measure: Mapping[str, Any],
    ended: Ended,
    *,
    label: str,
    quiet: bool,
    per_stream: bool = False,
) -> Any:
    """Do a job and show it; return its result."""
    from fairway.backends.transfer import jobs
    from fairway.cli.transfer_screen import Screen
    from fairway.ground.inventory import source_of

    document = {"job": job, "options": dict(options), "measure": dict(measure)}
    # A receiver that is started again has another token.
    asked = {key: value for key, value in options.items() if key != "token"}
    ended.begin(source_of(job, asked, measure))
    with Screen(
        label, quiet=quiet, per_stream=per_stream, json_lines=ended.as_lines, ended=ended
    ) as screen:
        return jobs.follow(document, screen, samples=ended.record is not None)


def token(token: str | None, file: Path | None) -> str:
    """The token, from wherever it is."""
    if file is not None:
        token = read_text(file, "token file", _TOKEN_BYTES)
        if token.lstrip().startswith("{"):
            raise InputError(
                f"{file}: this is what a receiver keeps with --keep-token, and holds its key: "
                "leave it there, and put the line that it prints, token: …, into a file of its own"
            )
    found = bare(token)
    if not found:
        raise InputError(
            f"no token: give --token, --token-file or {TOKEN_VARIABLE}, as the other end printed it"
        )
    return found


def streams(text: str) -> int | str:
    """A number of streams, or "auto"."""
    if text == "auto":
        return text
    from fairway.ground.text import whole

    if number := whole(text):
        return number
    raise InputError(f"--streams: expected a number from 1 on, or auto, got {text!r}")


def wishes(
    *,
    cc: str | None = None,
    pacing: str | None = None,
    send_buffer: str | None = None,
    receive_buffer: str | None = None,
    mss: int | None = None,
    bind: str | None = None,
) -> dict[str, Any]:
    """What is wished of sockets, as the compiled module has it."""
    from fairway.backends.transfer import jobs
    from fairway.ground import quantities

    return jobs.given(
        cc=cc,
        pacing_bps=quantities.rate_bps(pacing, "--pacing"),
        send_buffer_bytes=quantities.size_bytes(send_buffer, "--send-buffer"),
        receive_buffer_bytes=quantities.size_bytes(receive_buffer, "--receive-buffer"),
        mss_bytes=mss,
        **{"from": bind},
    )


def measure(title: str, interval: str | None, path_rate: str | None) -> dict[str, Any]:
    """How a transfer is measured, as the compiled module has it."""
    from fairway.backends.transfer import jobs
    from fairway.ground import quantities

    return jobs.given(
        title=title,
        interval_s=quantities.seconds(interval, "--interval"),
        path_rate_bps=quantities.rate_bps(path_rate, "--path-rate"),
    )


def settings_of(record: Path | None, host: str | None, place: Path | None) -> dict[str, Any] | None:
    """The settings that a transfer runs under, if it is to have a record."""
    if record is None:
        return None
    from fairway.host import settings
    from fairway.host.rtt import split

    try:
        return settings(host and split(host)[0], directory=place).to_json()
    except InputError as error:
        # An unknown host: what that means is said when it is connected to.
        warn(str(error))
        return settings(directory=place).to_json()


def refuse(**options: object) -> None:
    """Refuse options that iperf3 has nothing for."""
    _refuse(options, "iperf3 does not know it; leave out one of the two")


def need_iperf3(**options: object) -> None:
    """Refuse options that mean something to iperf3 only."""
    _refuse(options, "only with --iperf3")


def _refuse(options: Mapping[str, object], why: str) -> None:
    for name, value in options.items():
        if value:
            raise InputError(f"--{name.replace('_', '-')}: {why}")
