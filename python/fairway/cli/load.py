"""Commands that make traffic and measure it: `fairway generate` and `fairway collect`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

from fairway.cli import transfer as command
from fairway.cli.terminal import Json, Quiet
from fairway.errors import InputError


class Ways(str, Enum):
    """Which way payload goes."""

    FORWARD = "forward"
    REVERSE = "reverse"
    BOTH = "both"


class Family(str, Enum):
    """Which addresses of a server are tried."""

    ANY = "any"
    IPV4 = "ipv4"
    IPV6 = "ipv6"


Iperf3 = Annotated[bool, typer.Option("--iperf3", help="The other end is iperf3: no token.")]
Iperf3Json = Annotated[
    bool,
    typer.Option("--iperf3-json", help="With --iperf3: print the report of `iperf3 -J`."),
]


def generate(
    host: Annotated[str, typer.Argument(metavar="HOST[:PORT]", help="Where `collect` waits.")],
    token: command.Token = None,
    token_file: command.TokenFile = None,
    connections: Annotated[
        int, typer.Option("--connections", "-n", min=1, help="Parallel connections, or flows.")
    ] = 1,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long.  [default: 10 s]")
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help="Payload of all of them, instead of a time."),
    ] = None,
    udp: Annotated[bool, typer.Option("--udp", help="Datagrams instead of connections.")] = False,
    message: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="What is written at once.  [default: 128 KiB; "
            "of datagrams what fits into a packet]",
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Payload of each connection, evenly.")
    ] = None,
    poisson: Annotated[
        str | None, typer.Option(metavar="RATE", help="The same at random times.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="TIME", help="A message every so often (synchronous).")
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="MIN MAX",
            help="A message after a time from MIN to MAX, each as likely (asynchronous).",
        ),
    ] = None,
    mean: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="A message after an exponential time of this mean."),
    ] = None,
    pause: Annotated[
        bool, typer.Option("--pause", help="These times begin when a message was written.")
    ] = False,
    ways: Annotated[Ways, typer.Option(help="Which way payload goes.")] = Ways.FORWARD,
    start_apart: Annotated[
        str | None, typer.Option(metavar="TIME", help="From one connection's start to the next.")
    ] = None,
    omit: Annotated[
        str | None, typer.Option(metavar="TIME", help="What is not measured of the beginning.")
    ] = None,
    cc: command.Cc = None,
    pacing: command.Pacing = None,
    bind: command.From = None,
    send_buffer: command.SendBuffer = None,
    receive_buffer: command.ReceiveBuffer = None,
    mss: command.Mss = None,
    no_delay: Annotated[
        bool, typer.Option("--no-delay", help="Small messages do not wait (TCP_NODELAY).")
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="The receiver checks bytes.")] = False,
    busy: Annotated[
        bool, typer.Option("--busy", help="Wait without sleeping: precise, and a core each.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="Of random times.")] = 1,
    iperf3: Iperf3 = False,
    plain: command.Plain = False,
    timeout: command.Silence = "30 s",
    record: command.RecordOut = None,
    interval: command.Interval = None,
    path_rate: command.PathRate = None,
    per_stream: command.PerStream = False,
    as_json: Json = False,
    quiet: Quiet = False,
    iperf3_json: Iperf3Json = False,
    blocks: Annotated[
        int | None,
        typer.Option(min=1, help="With --iperf3: messages, instead of a time."),
    ] = None,
    burst: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="With --iperf3: messages in a row."),
    ] = None,
    tos: Annotated[
        int | None,
        typer.Option(min=0, max=255, help="With --iperf3: type of service."),
    ] = None,
    family: Annotated[Family, typer.Option(help="With --iperf3: addresses to try.")] = Family.ANY,
    server_output: Annotated[
        bool,
        typer.Option("--server-output", help="With --iperf3: show the server's report."),
    ] = False,
    wide_numbers: Annotated[
        bool,
        typer.Option("--wide-numbers", help="With --iperf3: 64-bit numbers in datagrams."),
    ] = False,
    zero_copy: Annotated[
        bool, typer.Option("--zero-copy", help="With --iperf3: send with sendfile.")
    ] = False,
    skip_copy: Annotated[
        bool,
        typer.Option("--skip-copy", help="With --iperf3: leave data in the kernel."),
    ] = False,
) -> None:
    """Make traffic to a collector, and measure the path with it.

    \b
    Examples:
      fairway generate server --token ABCD… -n 10 --duration "60 s" --out runs/path
      fairway generate server --token-file t --udp --rate "2 Mbit/s" --message "1000 bytes"
      fairway generate server --token-file t -n 200 --between "1 ms" "5 ms" --message "4 kB"
      fairway generate server --iperf3 -n 4 --ways reverse
      fairway generate server --iperf3 --udp --rate "50 Mbit/s" --iperf3-json
    """
    from fairway.backends.transfer import jobs
    from fairway.ground import quantities

    wishes = command.wishes(
        cc=cc,
        pacing=pacing,
        send_buffer=send_buffer,
        receive_buffer=receive_buffer,
        mss=mss,
        bind=bind,
    )
    common = jobs.given(
        bytes=quantities.size_bytes(amount, "--bytes"), wishes=wishes, no_delay=no_delay
    )
    message_bytes = quantities.size_bytes(message, "--message")
    duration_s = quantities.seconds(duration, "--duration")
    of_iperf3 = {
        "blocks": blocks,
        "burst": burst,
        "tos": tos,
        "family": None if family is Family.ANY else family.value,
        "server_output": server_output or None,
        "wide_numbers": wide_numbers or None,
        "zero_copy": zero_copy or None,
        "skip_copy": skip_copy or None,
    }
    timing = _timing(rate=rate, poisson=poisson, every=every, between=between, mean=mean)
    if iperf3:
        _refuse(
            token=token, token_file=token_file, plain=plain, poisson=poisson, every=every,
            between=between, mean=mean, pause=pause, start_apart=start_apart, verify=verify,
            busy=busy,
        )  # fmt: skip
        job = "iperf3-client"
        options = jobs.given(
            host=host,
            protocol="udp" if udp else "tcp",
            streams=connections,
            direction=ways.value,
            duration_s=duration_s,
            omit_s=quantities.seconds(omit, "--omit"),
            block_bytes=message_bytes,
            bandwidth_bps=quantities.rate_bps(rate, "--rate"),
            window_bytes=_window(wishes),
            timeout_s=quantities.seconds(timeout, "--timeout"),
            **of_iperf3,
            **common,
        )
    else:
        _need_iperf3(iperf3_json=iperf3_json, **of_iperf3)
        job = "generate"
        flow = jobs.given(
            connections=connections,
            udp=udp,
            ways=ways.value,
            message_bytes=message_bytes,
            timing=timing,
            pause=pause,
            start_apart_s=quantities.seconds(start_apart, "--start-apart"),
            stop_s=duration_s,
            verify=verify,
            **common,
        )
        options = jobs.given(
            to=host,
            token=command.token(token, token_file),
            plain=plain,
            flows=[flow],
            seed=seed,
            omit_s=quantities.seconds(omit, "--omit"),
            busy=busy,
            timeout_s=quantities.seconds(timeout, "--timeout"),
        )
    measure = command.measure(f"traffic to {host}", interval, path_rate)
    settings = command.settings_of(record, host, None)
    ended = command.Ended(
        record, once=True, as_json=as_json, as_iperf3=iperf3_json, settings=settings
    )
    command.follow(job, options, measure, ended, label=host, quiet=quiet, per_stream=per_stream)


def collect(
    bind: Annotated[
        str | None,
        typer.Option(
            metavar="ADDR[:PORT]",
            help="Where to listen.  [default: everywhere, 5312; as iperf3, 5201]",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End after one session.")] = False,
    plain: command.Plain = False,
    keep_token: command.KeepToken = None,
    max_connections: Annotated[
        int | None, typer.Option(min=1, help="Connections and flows at once.")
    ] = None,
    max_sessions: Annotated[int | None, typer.Option(min=1, help="Sessions at once.")] = None,
    iperf3: Iperf3 = False,
    timeout: command.Silence = "30 s",
    record: command.RecordOut = None,
    interval: command.Interval = None,
    path_rate: command.PathRate = None,
    per_stream: command.PerStream = False,
    as_json: Json = False,
    quiet: Quiet = False,
    iperf3_json: Iperf3Json = False,
    max_duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --iperf3: longest test."),
    ] = None,
) -> None:
    """Take the traffic that others make with `fairway generate`, or with iperf3.

    \b
    Examples:
      fairway collect --once
      fairway collect --bind 192.0.2.7:5312 --out runs/collected
      fairway collect --iperf3

    It prints a token for the generators; iperf3 knows none, and everybody may send to it. With
    --json it prints a line of JSON for each event.
    """
    from fairway.backends.transfer import jobs
    from fairway.ground import quantities

    common = jobs.given(bind=bind, once=once, timeout_s=quantities.seconds(timeout, "--timeout"))
    if iperf3:
        _refuse(plain=plain, keep_token=keep_token)
        job = "iperf3-server"
        options = jobs.given(
            tests=max_sessions,
            most_streams=max_connections,
            most_duration_s=quantities.seconds(max_duration, "--max-duration"),
            json_output=iperf3_json,
            **common,
        )
    else:
        _need_iperf3(iperf3_json=iperf3_json, max_duration=max_duration)
        job = "collect"
        options = jobs.given(
            plain=plain,
            keep_token=None if keep_token is None else str(keep_token),
            max_connections=max_connections,
            max_sessions=max_sessions,
            **common,
        )
    measure = command.measure("traffic collected", interval, path_rate)
    settings = command.settings_of(record, None, None)
    ended = command.Ended(
        record, once=once, as_lines=as_json, as_iperf3=iperf3_json, settings=settings
    )
    command.follow(job, options, measure, ended, label="collect", quiet=quiet,
                   per_stream=per_stream)  # fmt: skip


def _timing(
    *,
    rate: str | None,
    poisson: str | None,
    every: str | None,
    between: tuple[str, str] | None,
    mean: str | None,
) -> dict[str, Any] | None:
    """When messages are written, as the compiled module has it."""
    from fairway.ground import quantities

    ways: dict[str, dict[str, Any]] = {}
    if rate is not None:
        ways["--rate"] = {"kind": "rate", "rate_bps": quantities.rate_bps(rate, "--rate")}
    if poisson is not None:
        ways["--poisson"] = {
            "kind": "poisson",
            "rate_bps": quantities.rate_bps(poisson, "--poisson"),
        }
    if every is not None:
        ways["--every"] = {"kind": "fixed", "interval_s": quantities.seconds(every, "--every")}
    if between is not None:
        least_s, most_s = (quantities.seconds(text, "--between") for text in between)
        ways["--between"] = {"kind": "uniform", "min_s": least_s, "max_s": most_s}
    if mean is not None:
        ways["--mean"] = {"kind": "exponential", "mean_s": quantities.seconds(mean, "--mean")}
    if len(ways) > 1:
        raise InputError(f"{' and '.join(ways)}: give one of them")
    return next(iter(ways.values()), None)


def _refuse(**options: object) -> None:
    """Refuse options that iperf3 has nothing for."""
    for name, value in options.items():
        if value:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option}: iperf3 does not know it; leave out one of the two")


def _need_iperf3(**options: object) -> None:
    """Refuse options that mean something to iperf3 only."""
    for name, value in options.items():
        if value:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option}: only with --iperf3")


def _window(wishes: dict[str, Any]) -> int | None:
    """iperf3 has one size for both buffers."""
    sizes = {wishes.pop(f"{end}_buffer_bytes", None) for end in ("send", "receive")} - {None}
    if len(sizes) > 1:
        raise InputError("--send-buffer, --receive-buffer: iperf3 has one size for both")
    return next(iter(sizes), None)
