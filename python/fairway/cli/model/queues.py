"""The command `fairway model queue`."""

from typing import Any

from typer import Option

from fairway.cli.terminal import Json, print_json, show_rows, size
from fairway.errors import InputError
from fairway.ground.text import milliseconds, number, percent


def queue(
    rate: str = Option(..., metavar="RATE", help='Of the link: "10 Mbit/s".'),
    packet: int = Option(1500, parser=size(), metavar="SIZE", help="Bytes of a packet."),
    rtt: str | None = Option(None, metavar="TIME", help="Without queues: for buffers and RED."),
    flows: int = Option(1, help="Flows that share the link."),
    cc: str = Option("reno", metavar="NAME", help="Congestion control of the flows."),
    load: str | None = Option(None, metavar="SHARE", help='What comes, of what can leave: "0.8".'),
    room: int | None = Option(None, metavar="PACKETS", help="That find room: for M/M/1/K."),
    red: str | None = Option(
        None, metavar="MIN:MAX:P[:gentle]", help="RED's balance with the flows."
    ),
    target: str | None = Option(None, metavar="TIME", help="Delay that Adaptive RED shall hold."),
    interval: str | None = Option(None, metavar="TIME", help="Of CoDel: when it drops."),
    as_json: Json = False,
) -> None:
    """Say how large a buffer should be, how long a queue gets, what RED or CoDel do.

    \b
    Examples:
      fairway model queue --rate "1 Gbit/s" --rtt "100 ms" --flows 100 --cc cubic
      fairway model queue --rate "10 Mbit/s" --load 0.8 --room 50
      fairway model queue --rate "10 Mbit/s" --rtt "200 ms" --flows 10 --red 10:50:0.1
      fairway model queue --rate "10 Mbit/s" --target "20 ms" --interval "100 ms"
    """
    from fairway.cli.model.streams import red_queue
    from fairway.model.queues import queue as ask

    if rtt is None and load is None and target is None and interval is None:
        raise InputError(
            'queue: nothing is asked; add --rtt "100 ms" (buffers, RED), --load 0.8 (waiting), '
            '--target "20 ms" (Adaptive RED) or --interval "100 ms" (CoDel)'
        )
    if red is not None and rtt is None:
        raise InputError('--red: needs a round-trip time; add --rtt "100 ms"')
    if room is not None and load is None:
        raise InputError("--room: needs a load; add --load 0.8")
    found = ask(
        rate=rate, packet=packet, rtt=rtt, flows=flows, cc=cc, load=load, room=room,
        red=None if red is None else red_queue(red), target=target, interval=interval,
    )  # fmt: skip
    if as_json:
        print_json(found)
        return
    _show(found, flows, cc)


def _show(found: dict[str, Any], flows: int, cc: str) -> None:
    if buffers := found.get("buffers"):
        rows = [
            ["bandwidth-delay product", number(buffers["bdp_packets"])],
            [f"shared by the root of {flows:,}", number(buffers["desynchronised_packets"])],
            [f"one stream of {cc}", number(buffers["single_stream_packets"])],
        ]
        show_rows("Buffers", ["rule", "packets"], rows)
    if waiting := found.get("waiting"):
        names = {"md1": "M/D/1", "mm1": "M/M/1", "mm1k": "M/M/1/K"}
        rows = [
            [
                names[name],
                number(queue["packets"]),
                milliseconds(queue["delay_s"]),
                percent(queue["blocked"], signed=False),
                queue["outside"] or "",
            ]
            for name, queue in waiting.items()
        ]
        show_rows("Waiting", ["queue", "packets", "delay", "refused", "remark"], rows)
    if red := found.get("red"):
        rows = [
            [
                number(red["queue_packets"]),
                milliseconds(red["delay_s"]),
                percent(red["loss"], signed=False),
                red["outside"] or "",
            ]
        ]
        show_rows("RED's balance", ["packets", "delay", "drops", "remark"], rows, labels=0)
    if chosen := found.get("adaptive_red"):
        rows = [[name, number(value)] for name, value in chosen.items()]
        show_rows("Adaptive RED", ["parameter", "value"], rows)
    if codel := found.get("codel"):
        rows = [
            [str(index), milliseconds(at)] for index, at in enumerate(codel["drops_s"], start=1)
        ]
        show_rows("CoDel's drops, after the first", ["drop", "time"], rows)
