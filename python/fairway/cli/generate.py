"""The command `fairway generate`."""

from typing import Any, Literal

from typer import Argument, Option

from fairway.cli import transfer as command
from fairway.cli.terminal import Json, Quiet
from fairway.errors import InputError


def generate(
    host: str = Argument(..., metavar="HOST[:PORT]", help="Where `collect` waits."),
    token: command.Token = None,
    token_file: command.TokenFile = None,
    connections: int = Option(
        1, "--connections", "-n", min=1, help="Parallel connections, or flows."
    ),
    duration: str | None = Option(None, metavar="TIME", help="How long.  [default: 10 s]"),
    amount: str | None = Option(
        None, "--bytes", metavar="SIZE", help="Payload of all of them, instead of a time."
    ),
    udp: bool = Option(False, "--udp", help="Datagrams instead of connections."),
    message: str | None = Option(
        None,
        metavar="SIZE",
        help="What is written at once.  [default: 128 KiB; of datagrams what fits into a packet]",
    ),
    rate: str | None = Option(None, metavar="RATE", help="Payload of each connection, evenly."),
    poisson: str | None = Option(None, metavar="RATE", help="The same at random times."),
    every: str | None = Option(
        None, metavar="TIME", help="A message every so often (synchronous)."
    ),
    between: tuple[str, str] | None = Option(
        None,
        metavar="MIN MAX",
        help="A message after a time from MIN to MAX, each as likely (asynchronous).",
    ),
    mean: str | None = Option(
        None, metavar="TIME", help="A message after an exponential time of this mean."
    ),
    pause: bool = Option(False, "--pause", help="These times begin when a message was written."),
    ways: Literal["forward", "reverse", "both"] = Option("forward", help="Which way payload goes."),
    start_apart: str | None = Option(
        None, metavar="TIME", help="From one connection's start to the next."
    ),
    omit: str | None = Option(None, metavar="TIME", help="What is not measured of the beginning."),
    cc: command.Cc = None,
    pacing: command.Pacing = None,
    bind: command.From = None,
    send_buffer: command.SendBuffer = None,
    receive_buffer: command.ReceiveBuffer = None,
    mss: command.Mss = None,
    no_delay: bool = Option(False, "--no-delay", help="Small messages do not wait (TCP_NODELAY)."),
    verify: bool = Option(False, "--verify", help="The receiver checks bytes."),
    busy: bool = Option(False, "--busy", help="Wait without sleeping: precise, and a core each."),
    seed: int = Option(1, min=0, max=2**64 - 1, help="Of random times."),
    iperf3: command.Iperf3 = False,
    plain: command.Plain = False,
    timeout: command.Silence = "30 s",
    record: command.RecordOut = None,
    interval: command.Interval = None,
    path_rate: command.PathRate = None,
    per_stream: command.PerStream = False,
    as_json: Json = False,
    quiet: Quiet = False,
    iperf3_json: command.Iperf3Json = False,
    blocks: int | None = Option(None, min=1, help="With --iperf3: messages, instead of a time."),
    burst: int | None = Option(None, min=1, max=1000, help="With --iperf3: messages in a row."),
    tos: int | None = Option(None, min=0, max=255, help="With --iperf3: type of service."),
    family: Literal["any", "ipv4", "ipv6"] = Option("any", help="With --iperf3: addresses to try."),
    server_output: bool = Option(
        False, "--server-output", help="With --iperf3: show the server's report."
    ),
    wide_numbers: bool = Option(
        False, "--wide-numbers", help="With --iperf3: 64-bit numbers in datagrams."
    ),
    zero_copy: bool = Option(False, "--zero-copy", help="With --iperf3: send with sendfile."),
    skip_copy: bool = Option(False, "--skip-copy", help="With --iperf3: leave data in the kernel."),
) -> None:
    """Make traffic to a collector, and measure the path with it.

    \b
    Examples:
      fairway generate server --token ABCD… -n 10 --duration "60 s"
        --out runs/path
      fairway generate server --token-file t --udp --rate "2 Mbit/s"
        --message "1000 bytes"
      fairway generate server --token-file t -n 200 --between "1 ms" "5 ms"
        --message "4 kB"
      fairway generate server --iperf3 -n 4 --ways reverse
      fairway generate server --iperf3 --udp --rate "50 Mbit/s" --iperf3-json
    """
    from fairway.backends.transfer import jobs
    from fairway.ground import quantities

    wishes = command.wishes(
        cc=cc, pacing=pacing, send_buffer=send_buffer, receive_buffer=receive_buffer,
        mss=mss, bind=bind,
    )  # fmt: skip
    common = jobs.given(
        bytes=quantities.size_bytes(amount, "--bytes"), wishes=wishes, no_delay=no_delay
    )
    message_bytes = quantities.size_bytes(message, "--message")
    duration_s = quantities.seconds(duration, "--duration")
    of_iperf3 = {
        "blocks": blocks,
        "burst": burst,
        "tos": tos,
        "family": None if family == "any" else family,
        "server_output": server_output or None,
        "wide_numbers": wide_numbers or None,
        "zero_copy": zero_copy or None,
        "skip_copy": skip_copy or None,
    }
    timing = _timing(rate=rate, poisson=poisson, every=every, between=between, mean=mean)
    if iperf3:
        command.refuse(
            token=token, token_file=token_file, plain=plain, poisson=poisson, every=every,
            between=between, mean=mean, pause=pause, start_apart=start_apart, verify=verify,
            busy=busy,
        )  # fmt: skip
        job = "iperf3-client"
        options = jobs.given(
            host=host,
            protocol="udp" if udp else "tcp",
            streams=connections,
            direction=ways,
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
        command.need_iperf3(iperf3_json=iperf3_json, **of_iperf3)
        job = "generate"
        flow = jobs.given(
            connections=connections,
            udp=udp,
            ways=ways,
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


def _timing(
    *,
    rate: str | None,
    poisson: str | None,
    every: str | None,
    between: tuple[str, str] | None,
    mean: str | None,
) -> dict[str, Any] | None:
    """When messages are written, as the compiled module has it."""
    from fairway.ground.quantities import rate_bps, seconds

    least_s, most_s = (seconds(text, "--between") for text in between or (None, None))
    timings: dict[str, dict[str, Any]] = {
        "--rate": {"kind": "rate", "rate_bps": rate_bps(rate, "--rate")},
        "--poisson": {"kind": "poisson", "rate_bps": rate_bps(poisson, "--poisson")},
        "--every": {"kind": "fixed", "interval_s": seconds(every, "--every")},
        "--between": {"kind": "uniform", "min_s": least_s, "max_s": most_s},
        "--mean": {"kind": "exponential", "mean_s": seconds(mean, "--mean")},
    }
    given = [option for option, timing in timings.items() if None not in timing.values()]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)}: give one of them")
    return timings[given[0]] if given else None


def _window(wishes: dict[str, Any]) -> int | None:
    """iperf3 has one size for both buffers."""
    sizes = {wishes.pop(f"{end}_buffer_bytes", None) for end in ("send", "receive")} - {None}
    if len(sizes) > 1:
        raise InputError("--send-buffer, --receive-buffer: iperf3 has one size for both")
    return next(iter(sizes), None)
