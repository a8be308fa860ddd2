"""The command `fairway model saturation`."""

from typing import Any

from typer import Option

from fairway.cli.model.wlan import Preamble, Protection, Rate, Slot, Standard
from fairway.cli.terminal import Json, print_json, show_rows, size

#: Rows of a printed table.
MOST_ROWS = 24


def saturation(
    stations: int = Option(10, min=1, max=2008, help="The most of them."),
    standard: Standard = "802.11b",
    rate: Rate = None,
    preamble: Preamble = "long",
    slot: Slot = "short",
    protection: Protection = False,
    packet: int = Option(
        1500, parser=size(1, 2296), metavar="SIZE", help="IP packet, all of which counts."
    ),
    attempts: int = Option(7, min=0, max=255, help="After which a frame is given up; 0 for never."),
    as_json: Json = False,
) -> None:
    """Say what WLAN stations send that always have packets: Bianchi's model.

    Without --attempts 0 a frame is given up after some attempts, as Kumar et al. have
    it.

    \b
    Examples:
      fairway model saturation --stations 10
      fairway model saturation --standard 802.11g --stations 50 --attempts 0 --json
    """
    from fairway.model.wlan import Access
    from fairway.model.wlan import saturation as ask

    access = Access(
        standard=standard, rate=rate, preamble=preamble, slot=slot,
        protection=protection, packet_bytes=packet, attempts=attempts or None,
    )  # fmt: skip
    found = [ask(count, access) for count in _counts(stations, all_of_them=as_json)]
    if as_json:
        print_json([{"throughput_bps": one["packets_per_s"] * packet * 8, **one} for one in found])
    else:
        _show(found, packet)


def _counts(most: int, *, all_of_them: bool) -> list[int]:
    """Numbers of stations: all, or as many as are read."""
    if all_of_them or most <= MOST_ROWS:
        return list(range(1, most + 1))
    round_ones = (count * 10**power for power in range(4) for count in (1, 2, 3, 5, 7))
    return sorted({count for count in round_ones if count < most} | {most})


def _show(found: list[dict[str, Any]], packet: int) -> None:
    rows = [
        [
            f"{one['contenders']:,}",
            f"{one['packets_per_s'] * packet * 8 / 1e6:.4g}",
            f"{one['attempt']:.6f}",
            f"{one['collision']:.6f}",
            f"{one['idle']:.4f}",
            f"{one['success']:.4f}",
        ]
        for one in found
    ]
    heads = ["stations", "Mbit/s", "attempt", "collision", "idle slots", "successes"]
    show_rows("Stations that always have a packet", heads, rows, labels=0)
