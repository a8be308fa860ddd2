"""The command `fairway analyze`."""

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from fairway.cli import terminal
from fairway.errors import InputError

if TYPE_CHECKING:
    from fairway.capture.analysis.result import Analysis


def analyze(
    files: list[Path] = Argument(
        ...,
        metavar="FILE [FILE2]",
        help="A capture: pcap, pcapng or tcpdump's text, plain or gzip; - is standard input.",
        show_default=False,
    ),
    connection: int | None = Option(
        None, "--connection", "-c", min=1, metavar="ID", help="Show this connection in full."
    ),
    top: int = Option(20, min=1, max=1000, help="Show the N connections with most data."),
    identify: bool = Option(
        False, "--identify", help="Ask which congestion control the senders have."
    ),
    out: terminal.Out = None,
    figures: str = Option(
        "", metavar="FORMATS", help="Also write figures: pdf,png,svg. Needs --out."
    ),
    xplot: Path | None = Option(None, metavar="DIR", help="Also write files for xplot.org."),
    start: str | None = Option(
        None, "--from", metavar="TIME", help="Single packets from then on, as 1.5 s."
    ),
    end: str | None = Option(None, "--to", metavar="TIME", help="Single packets until then."),
    replace: terminal.Replace = False,
    as_json: terminal.Json = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Explain a capture: connections, retransmissions, round trips, windows.

    \b
    Examples:
      fairway analyze transfer.pcap
      fairway analyze transfer.pcap --connection 1 --identify
      fairway analyze transfer.pcapng.gz --json
      fairway analyze transfer.pcap --out runs/seen --figures png
      fairway analyze transfer.pcap --out runs/near --from "2 s" --to "2.5 s"
      fairway analyze transfer.pcap --xplot plots
      tcpdump -w - tcp | fairway analyze -
      fairway analyze sender.pcap receiver.pcap

    With --out: tables, HTML report and diagrams in a directory that `fairway report` and
    `fairway compare` take like any run. Times count from the capture's first packet.

    Two captures, taken at both ends of the same transfers: true losses, one-way delays, and which
    loss caused which retransmission.
    """
    from fairway.capture.analysis.command import analyze as explain
    from fairway.capture.analysis.pair import KIND
    from fairway.ground import replacing
    from fairway.ground.inventory import source_of
    from fairway.ground.names import real
    from fairway.plot.formats import check_formats

    if len(files) > 2:
        raise InputError(f"{len(files)} captures: name one, or the two at both ends of transfers")
    formats = terminal.listed(figures)
    check_formats(formats)
    if formats and out is None:
        raise InputError("--figures: needs --out DIR, where the figures shall go")
    source = source_of("analyze", [str(real(file)) for file in files])
    if out is not None:
        replacing.check_writable(out, "run" if len(files) == 1 else KIND)
        replacing.refuse_another(out, source, remedy=replacing.REPLACE, replace=replace)
    if len(files) == 2:
        if xplot is not None or connection is not None or start is not None or end is not None:
            raise InputError("--connection, --from, --to and --xplot take one capture")
        _compare(files[0], files[1], top, out, formats, as_json, quiet, source, replace)
        return
    found = explain(
        files[0], connection=connection, top=top, detail=out is not None or xplot is not None,
        identify=identify, start=start, end=end, quiet=quiet,
    )  # fmt: skip
    if as_json:
        terminal.print_json(found.to_json(connection))
    elif connection is None:
        _show(found, top)
    else:
        _show_connection(found, connection)
    for warning in found.warnings():
        terminal.warn(warning)
    if xplot is not None:
        found.save_xplot(xplot)
        terminal.note(f"For xplot.org: {xplot}")
    if out is not None:
        found.save(out, figures=formats, source=source, replace=replace)
        if not quiet:
            terminal.note_report(out)


def _compare(
    first: Path,
    second: Path,
    top: int,
    out: Path | None,
    formats: list[str],
    as_json: bool,
    quiet: bool,
    source: str,
    replace: bool,
) -> None:
    from fairway.capture.analysis.command import analyze as explain
    from fairway.capture.analysis.pair import compare

    pair = compare(first, second)
    if as_json:
        alone = explain(first, detail=False, quiet=quiet).to_json()
        terminal.print_json({**alone, "pair": pair.report})
    else:
        terminal.print_text(terminal.wrapped(pair.overview()) + "\n")
        terminal.show_table(*pair.tables(top))
    for warning in pair.warnings():
        terminal.warn(warning)
    if out is not None:
        pair.save(out, formats, source, replace=replace)
        if not quiet:
            terminal.note_report(out)


def _show(found: "Analysis", top: int) -> None:
    from fairway.capture.analysis.story import overview

    terminal.print_text(terminal.wrapped(overview(found.report, found.name)) + "\n")
    terminal.show_table(*found.tables(top))


def _show_connection(found: "Analysis", number: int) -> None:
    from fairway.capture.analysis.flows import flows
    from fairway.capture.analysis.sections import connection_tables
    from fairway.capture.analysis.story import story

    connection = found.connection(number)
    started_s = found.report["capture"]["started_s"] or 0.0
    for paragraph in story(connection, started_s):
        terminal.print_text(terminal.wrapped(paragraph) + "\n")
    for flow in flows([connection]):
        terminal.show_table(*connection_tables(flow, started_s))
