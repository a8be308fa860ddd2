"""The command `fairway doctor`."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairway.cli.terminal import Json, print_json, size, wrapped
from fairway.errors import InputError

if TYPE_CHECKING:
    from fairway.host import Advice, Path, Settings
    from fairway.host.rtt import RoundTrip


#: Largest rate in bit/s and longest round-trip time in seconds that are judged; more is a mistake.
FASTEST_BPS, LONGEST_S = 10**15, 3600.0


class Role(str, Enum):
    """What this host does."""

    SEND = "send"
    RECEIVE = "receive"
    BOTH = "both"


def doctor(
    host: Annotated[
        str | None,
        typer.Argument(
            metavar="[HOST[:PORT]]",
            help="The other side: finds the route to it and measures the round-trip time.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help='Target rate: "10 Gbit/s".'),
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help='Round-trip time: "200 ms".')
    ] = None,
    loss: Annotated[
        str | None, typer.Option(metavar="SHARE", help='Random loss of packets: "0.01 %".')
    ] = None,
    streams: Annotated[
        int, typer.Option(min=1, max=100_000, help="Connections that share the work.")
    ] = 1,
    cc: Annotated[
        str | None, typer.Option(metavar="NAME", help="Congestion control of the sender.")
    ] = None,
    mss: Annotated[
        int | None,
        # Linux, include/net/tcp.h: TCP_MIN_MSS; a packet has 65,535 bytes at the most (RFC 791).
        typer.Option(
            parser=size(88, 65535),
            metavar="SIZE",
            help="Payload of a packet.  [default: by the MTU]",
        ),
    ] = None,
    role: Annotated[Role, typer.Option(help="What this host does.")] = Role.BOTH,
    as_json: Json = False,
) -> None:
    """Show what is installed, or what this host allows a transfer on a path.

    With a host or a round-trip time: says how much one stream can carry with this
    host's buffers, which setting bounds it, which lines would lift that, and how
    many streams do without. Changes nothing.

    \b
    Examples:
      fairway doctor
      fairway doctor --rate "10 Gbit/s" --rtt "200 ms"
      fairway doctor example.org:22 --rate "1 Gbit/s" --role send --cc htcp
      fairway doctor --rate "10 Mbit/s" --rtt "200 ms" --loss "0.1 %" --json

    Exits with 1 if something needed is missing or a host does not answer.
    """
    if host is None and rtt is None:
        _refuse_without_path(
            rate=rate, loss=loss, cc=cc, mss=mss, streams=streams > 1, role=role != Role.BOTH
        )
        _installation(as_json)
        return
    settings, path, measured = _judged(host, rate, rtt, loss, mss)
    from fairway.host import advise

    path = replace(path, streams=streams, cc=cc)
    advice = advise(settings, path, role.value)
    if as_json:
        seen = measured.to_json() if measured else None
        print_json({"settings": settings.to_json(), "measured": seen, **advice.to_json()})
    else:
        _show(settings, measured, advice)


def _installation(as_json: bool) -> None:
    from fairway.cli import checks

    found = checks.examine()
    if as_json:
        print_json(checks.to_json(found))
    else:
        for check in found:
            typer.echo(f"{check.status:9} {check.name:18} {check.found}")
            if check.remedy:
                typer.echo(f"{'':28} {check.remedy}")
    if any(check.status == "missing" for check in found):
        raise typer.Exit(1)


def _refuse_without_path(**given: Any) -> None:
    for name, value in given.items():
        if value:
            raise InputError(
                f'--{name}: needs a round-trip time; add --rtt "200 ms", or HOST to measure it'
            )


def _judged(
    host: str | None, rate: str | None, rtt: str | None, loss: str | None, mss: int | None
) -> tuple[Settings, Path, RoundTrip | None]:
    """What is to be judged; only what the user did not say is measured."""
    from fairway.ground import quantities
    from fairway.host import Path, settings
    from fairway.host.advice.interface import HEADERS
    from fairway.host.network import default_interface
    from fairway.host.path import USUAL_MSS
    from fairway.host.rtt import measure, split

    said_rate = quantities.rate_bps(rate, "--rate")
    if said_rate is not None and not 0 < said_rate <= FASTEST_BPS:
        raise InputError(f'--rate: expected more than 0 and at most 1000 Tbit/s, got "{rate}"')
    said_rtt = quantities.seconds(rtt, "--rtt")
    if said_rtt is not None and not 0 < said_rtt <= LONGEST_S:
        raise InputError(f'--rtt: expected more than 0 and at most 1 h, got "{rtt}"')
    said_loss = quantities.share(loss, "--loss") if loss is not None else None
    measured = None
    name, port = split(host) if host is not None else (None, None)
    found = settings(name, interface=None if name else default_interface())
    if said_rtt is None:
        assert found.route is not None
        measured = measure(found.route.address, port)
        said_rtt = measured.least_s
    mtu = found.route.mtu_bytes if found.route else None
    by_mtu = mtu - HEADERS if mtu is not None and mtu > 2 * HEADERS else USUAL_MSS
    path = Path(said_rtt, said_rate, said_loss, mss_bytes=mss or by_mtu)
    return found, path, measured


def _show(settings: Settings, measured: RoundTrip | None, advice: Advice) -> None:
    from fairway.ground.text import milliseconds

    if settings.route is not None:
        route = settings.route
        way = f" by {route.interface}" if route.interface else ""
        through = f" through {route.gateway}" if route.gateway else ""
        _say(f"{route.address} is reached from {route.source}{way}{through}.")
    if measured is not None:
        how = measured.how + (f", port {measured.port}" if measured.port else "")
        _say(f"The round-trip time is {milliseconds(measured.least_s)} ({how}).")
    if advice.path.rate_bps is None:
        _say('What a rate would need is told with --rate "1 Gbit/s".')
    topic = ""
    for statement in advice.statements:
        if statement.topic != topic:
            topic = statement.topic
            typer.echo(f"\n{topic.capitalize()}")
        _say(statement.text, f"  {statement.kind:8}")
    typer.echo("\nThe other side")
    for sentence in advice.other_side:
        _say(sentence, f"  {'':8}")
    if not advice.changes:
        return
    typer.echo("\nWhat would lift this host's limits (as root; nothing has been changed):\n")
    for change in advice.changes:
        _say(change.why, "# ")
        typer.echo(change.line)
    typer.echo()
    _say(
        "To keep them over a restart, put name = value in /etc/sysctl.d/90-transfer.conf and run "
        "sysctl --system. In a container, net.core is the host's to set."
    )


def _say(text: str, label: str = "") -> None:
    """A sentence, wrapped below its label; a comment's lines are all comments."""
    typer.echo(wrapped(text, label, "# " if label == "# " else None))
