"""The command `fairway collect`."""

from typer import Option

from fairway.cli import transfer as command
from fairway.cli.terminal import Json, Quiet


def collect(
    bind: str | None = Option(
        None,
        metavar="ADDR[:PORT]",
        help="Where to listen.  [default: everywhere, 5312; as iperf3, 5201]",
    ),
    once: bool = Option(False, "--once", help="End after one session."),
    plain: command.Plain = False,
    keep_token: command.KeepToken = None,
    max_connections: int | None = Option(None, min=1, help="Connections and flows at once."),
    max_sessions: int | None = Option(None, min=1, help="Sessions at once."),
    iperf3: command.Iperf3 = False,
    timeout: command.Silence = "30 s",
    record: command.RecordOut = None,
    interval: command.Interval = None,
    path_rate: command.PathRate = None,
    per_stream: command.PerStream = False,
    as_json: Json = False,
    quiet: Quiet = False,
    iperf3_json: command.Iperf3Json = False,
    max_duration: str | None = Option(None, metavar="TIME", help="With --iperf3: longest test."),
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
        command.refuse(plain=plain, keep_token=keep_token)
        job = "iperf3-server"
        options = jobs.given(
            tests=max_sessions,
            most_streams=max_connections,
            most_duration_s=quantities.seconds(max_duration, "--max-duration"),
            json_output=iperf3_json,
            **common,
        )
    else:
        command.need_iperf3(iperf3_json=iperf3_json, max_duration=max_duration)
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
