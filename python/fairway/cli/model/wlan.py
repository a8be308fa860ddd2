"""The command `fairway model wlan`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from fairway.cli.terminal import Json, print_json, print_text, say, show_rows, size
from fairway.errors import InputError
from fairway.ground.text import milliseconds

if TYPE_CHECKING:
    from fairway.model.wlan import Flow, Prediction

#: Rows of a printed table.
MOST_ROWS = 40
#: Flows in each direction: as many as an access point has stations.
MOST_FLOWS = 2007


#: Standards that the model knows.
StandardName = Literal["802.11a", "802.11b", "802.11g"]


#: Of preambles and slots.
Length = Literal["long", "short"]


#: Options of a cell's access to the medium.
Standard = Annotated[StandardName, Option(help="Of the cell.")]
Rate = Annotated[
    str | None, Option(metavar="RATE", help="Of data frames.  [default: highest of the standard]")
]
Preamble = Annotated[Length, Option(help="802.11b: of frames.")]
Slot = Annotated[Length, Option(help="802.11g: long among 802.11b.")]
Protection = Annotated[
    bool, Option("--protection", help="802.11g: a CTS before each frame, for 802.11b.")
]


def wlan(
    standard: Standard = "802.11b",
    downloads: int = Option(0, min=0, max=MOST_FLOWS, help="Flows to stations, one each."),
    uploads: int = Option(0, min=0, max=MOST_FLOWS, help="Flows from other stations."),
    window: str = Option(
        "20",
        metavar="PACKETS[,…]",
        help="Of all flows, or of each, downloads first: 20 or 5,10,20.",
    ),
    delayed: bool = Option(
        False, "--delayed-acks", help="An acknowledgement for every other packet."
    ),
    packets_per_ack: int | None = Option(
        None, min=1, max=65535, help="Packets for each acknowledgement.  [default: 1]"
    ),
    ack_timer: str = Option(
        "200 ms", metavar="TIME", help="The longest that an acknowledgement is delayed."
    ),
    rate: Rate = None,
    control_rate: str | None = Option(
        None, metavar="RATE", help="Highest of control frames.  [default: 2 or 24 Mbit/s]"
    ),
    preamble: Preamble = "long",
    slot: Slot = "short",
    protection: Protection = False,
    packet: int = Option(1500, parser=size(41, 2296), metavar="SIZE", help="IP packet with data."),
    ack: int = Option(40, parser=size(1, 2296), metavar="SIZE", help="IP packet without."),
    payload: int | None = Option(
        None,
        parser=size(1, 2296),
        metavar="SIZE",
        help="In a packet with data.  [default: 40 less]",
    ),
    attempts: int = Option(7, min=1, max=255, help="After which a frame is given up."),
    wire_rtt: str = Option(
        "0 ms", metavar="TIME", help="From the access point to the host and back."
    ),
    as_json: Json = False,
) -> None:
    """Say what uploads and downloads with windows get of one access point.

    Windows are always full, queues have room for them, and no station is hidden from
    another.

    \b
    Examples:
      fairway model wlan --standard 802.11b --downloads 3 --uploads 2 --window 20
      fairway model wlan --standard 802.11g --downloads 3 --window 5,10,20
      fairway model wlan --downloads 1 --uploads 1 --window 30,10 --delayed-acks
      fairway model wlan --standard 802.11g --slot long --protection --uploads 5 --json
    """
    from fairway.model.wlan import Access, wlan

    if delayed and packets_per_ack not in {None, 2}:
        raise InputError("--delayed-acks: are 2 packets for each; remove it or --packets-per-ack")
    access = Access(
        standard=standard, rate=rate, control_rate=control_rate, preamble=preamble,
        slot=slot, protection=protection, packet_bytes=packet, ack_bytes=ack,
        attempts=attempts,
    )  # fmt: skip
    found = wlan(
        _flows(downloads, uploads, window),
        access,
        payload_bytes=payload,
        packets_per_ack=packets_per_ack or (2 if delayed else 1),
        ack_timer=ack_timer,
        wire_rtt=wire_rtt,
    )
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)


def _flows(downloads: int, uploads: int, window: str) -> "list[Flow]":
    from fairway.model.wlan import Flow

    count = downloads + uploads
    if count == 0:
        raise InputError("--downloads, --uploads: no flows; write --downloads 3 or --uploads 2")
    written = window.split(",")
    if len(written) not in {1, count} or not all(one.strip().isdecimal() for one in written):
        raise InputError(
            f"--window: expected one number of packets, or {count} with commas between them, "
            f'got "{window[:40]}"; write --window 20'
        )
    # More digits than any window has would be no number to Python.
    windows = [min(int(one.strip()[:12]), 2**32 - 1) for one in written]
    windows = windows if len(windows) == count else windows * count
    return [
        Flow("download" if index < downloads else "upload", window)
        for index, window in enumerate(windows)
    ]


def _show(found: "Prediction") -> None:
    answer = found.answer
    downloads = sum(flow.direction == "download" for flow in found.flows)
    sentences = [f"{_mbit(found.goodput_bps)} Mbit/s of payload"]
    if 0 < downloads < len(found.flows):
        down, up = _mbit(found.download_bps), _mbit(found.upload_bps)
        sentences[0] += f": {down} down, {up} up"
    active = sum(k * p for k, p in enumerate(answer["active_at_successes"]))
    sentences[0] += "."
    sentences.append(
        f"A success every {answer['success_us']:,.0f} µs, "
        f"{100 * answer['access_point_share']:.0f} % of them the access point's; "
        f"{active:.2f} stations have something to send."
    )
    if answer["outside"]:
        sentences.append(f"Do not trust it here: {answer['outside']}.")
    for sentence in sentences:
        say(sentence)
    print_text()
    _show_rates(found)
    _show_contenders(answer)


def _mbit(bits: float) -> str:
    return f"{bits / 1e6:.4g}"


def _show_rates(found: "Prediction") -> None:
    """One row for all flows that are alike."""
    alike: dict[tuple[Any, ...], int] = {}
    for flow, answer in zip(found.flows, found.answer["flows"], strict=True):
        key = (
            flow.direction, flow.window_packets, answer["packets_per_s"], answer["share"],
            answer["rtt_s"], answer["active"],
        )  # fmt: skip
        alike[key] = alike.get(key, 0) + 1
    rows = [
        [
            direction,
            f"{window:,}",
            f"{count:,}",
            _mbit(rate * found.payload_bytes * 8),
            f"{100 * share:.2f} %",
            milliseconds(rtt_s),
            f"{100 * active:.1f} %",
        ]
        for (direction, window, rate, share, rtt_s, active), count in alike.items()
    ]
    heads = ["flow", "window", "flows", "Mbit/s each", "share each", "round trip", "active"]
    caption = "What each flow gets"
    if len(rows) > MOST_ROWS:
        caption += f" (the first {MOST_ROWS} of {len(rows)} kinds; --json has all)"
    show_rows(caption, heads, rows[:MOST_ROWS])


def _show_contenders(answer: Mapping[str, Any]) -> None:
    """How often so many nodes contend, and what they do then."""
    share: dict[int, float] = {}
    time: dict[int, float] = {}
    for state in answer["occupancy"]:
        nodes = state["download_stations"] + state["upload_stations"]
        nodes += state["access_point"] is not None
        share[nodes] = share.get(nodes, 0.0) + state["at_successes"]
        time[nodes] = time.get(nodes, 0.0) + state["at_any_time"]
    rows = [
        [
            f"{contention['contenders']}",
            f"{100 * share.get(contention['contenders'], 0.0):.2f} %",
            f"{100 * time.get(contention['contenders'], 0.0):.2f} %",
            f"{contention['attempt']:.6f}",
            f"{contention['collision']:.6f}",
        ]
        for contention in answer["contention"]
        if share.get(contention["contenders"], 0.0) > 5e-5
    ]
    heads = ["contenders", "at successes", "of the time", "attempt", "collision"]
    show_rows("The medium, by how many contend", heads, rows[:MOST_ROWS])
