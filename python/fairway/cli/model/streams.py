"""The command `fairway model streams`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typer import Option

from fairway.cli.terminal import Json, note, print_json, print_text, say, show_rows, size
from fairway.errors import InputError
from fairway.ground.text import ABSENT, milliseconds, number, percent

if TYPE_CHECKING:
    from fairway.model.streams import RedQueue, Streams

#: Rows of a printed table; of more, some are left out.
MOST_ROWS = 24


#: Who backs off when the buffer overflows.
Who = Literal["one", "random", "all"]


def streams(
    rate: str = Option(..., metavar="RATE", help='Of the bottleneck: "10 Mbit/s".'),
    rtt: str = Option(..., metavar="TIME", help='Without queues: "400 ms".'),
    buffer: str = Option(
        ..., metavar="SIZE", help='Of the bottleneck: "300 packets", "64 KiB", "50 ms", "0.5 bdp".'
    ),
    cc: str = Option(..., metavar="NAME", help="Congestion control of all streams."),
    mss: int = Option(1448, parser=size(), metavar="SIZE", help="Payload of a packet, in bytes."),
    headers: int = Option(
        0,
        parser=size(),
        metavar="SIZE",
        help="More bytes of each that the rate counts: 40, 52 with timestamps.",
    ),
    loss: str = Option("0", metavar="SHARE", help='Lost for another reason than a queue: "0.1 %".'),
    window: str | None = Option(
        None, metavar="SIZE", help='Limit of a stream\'s window: "64 KiB".'
    ),
    application: str | None = Option(
        None, metavar="RATE", help='What a stream is given at most: "1 Mbit/s".'
    ),
    target: str = Option("0.99", metavar="SHARE", help="Of the path, that streams shall use."),
    losers: Who = Option("one", help="Who backs off when the buffer overflows."),
    red: str | None = Option(
        None,
        metavar="MIN:MAX:P[:gentle]",
        help='The queue is RED, with these thresholds in packets: "10:50:0.1".',
    ),
    rto: str | None = Option(
        None, metavar="TIME", help="First retransmission timeout.  [default: as Linux has it]"
    ),
    figure: Path | None = Option(
        None, "--figure", "--plot", metavar="FILE", help="Also draw it: a .pdf, .png or .svg file."
    ),
    as_json: Json = False,
) -> None:
    """Say how many parallel streams use a path, and what more of them lose.

    The threshold is the fewest streams whose goodput together is the target. The
    table goes up to twice as many.

    \b
    Examples:
      fairway model streams --rate "10 Mbit/s" --rtt "400 ms" --window "64 KiB" \\
          --buffer "300 packets" --mss 1000 --cc reno
      fairway model streams --rate "1 Gbit/s" --rtt "100 ms" --buffer "0.1 bdp" \\
          --cc cubic --loss "0.001 %" --figure streams.pdf
      fairway model streams --rate "10 Mbit/s" --rtt "100 ms" --buffer "60 packets" \\
          --cc reno --red 10:50:0.1 --json
    """
    from fairway.model.streams import streams as ask
    from fairway.plot.formats import format_of

    if figure is not None:
        format_of(figure)
    found = ask(
        rate=rate, rtt=rtt, buffer=buffer, mss=mss, cc=cc, loss=loss, window=window,
        application=application, target=target, losers=losers,
        red=None if red is None else red_queue(red), rto=rto, headers=headers,
    )  # fmt: skip
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)
    if figure is not None:
        found.save(figure)
        note(f"Figure: {figure}")


def red_queue(written: str) -> "RedQueue":
    """RED's curve, written "10:50:0.1" or "10:50:0.1:gentle"."""
    from fairway.model.streams import RedQueue

    parts = written.split(":")
    try:
        if not (len(parts) == 3 or (len(parts) == 4 and parts[3] == "gentle")):
            raise ValueError
        low, high, probability = map(float, parts[:3])
    except ValueError:
        raise InputError(
            f'--red: expected MIN:MAX:P or MIN:MAX:P:gentle, got "{written[:40]}"; '
            'write "10:50:0.1"'
        ) from None
    return RedQueue(low, high, probability, gentle=len(parts) == 4)


def _show(found: "Streams") -> None:
    answer = found.answer
    say(found.reason)
    say(f"Model: {answer['model']}.")
    if answer["outside"]:
        say(f"Do not trust it here: {answer['outside']}.")
    print_text()
    limits = [
        ["window", number(answer["by_window"])],
        ["application", number(answer["by_application"])],
        ["random losses", number(answer["by_loss"])],
        ["sawtooth", number(answer["by_sawtooth"])],
    ]
    show_rows("Each limit alone", ["limit", "streams"], limits)
    caption = f"Streams that use a path of {answer['bdp_packets']:,.1f} packets"
    cells = [_row(row, found.threshold) for row in shortened(answer["table"], found.threshold)]
    show_rows(caption, ["streams", "", "utilisation", "loss", "queue"], cells, labels=0)


def _row(row: dict[str, Any], threshold: int | None) -> list[str]:
    delay = row["queueing_delay_s"]
    return [
        f"{row['streams']:,}",
        "threshold" if row["streams"] == threshold else "",
        f"{100 * row['utilisation']:.2f} %",
        percent(row["loss_ratio"], signed=False),
        ABSENT if delay is None else milliseconds(delay),
    ]


def shortened(rows: Sequence[dict[str, Any]], threshold: int | None) -> list[dict[str, Any]]:
    """As many rows as are read, evenly spaced, with the first, the last and the threshold."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    last = len(rows) - 1
    kept = {round(index * last / (MOST_ROWS - 1)) for index in range(MOST_ROWS)}
    if threshold is not None and threshold <= len(rows):
        kept.add(threshold - 1)
    return [rows[index] for index in sorted(kept)]
