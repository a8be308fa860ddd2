"""The command `fairway model fluid`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typer import Option

from fairway.cli.terminal import Json, print_json, print_text, say, show_rows
from fairway.errors import InputError, writing

if TYPE_CHECKING:
    from fairway.model.fluid import Curves, FixedPoint, Flows, Fluid

MODEL = "Misra, Gong and Towsley, SIGCOMM 2000"

#: Seconds for which it runs at most, and points of the curves.
LONGEST_S, POINTS = 1e6, 1001


def fluid(
    rate: str = Option(..., metavar="RATE", help='Of the bottleneck: "100 Mbit/s".'),
    rtt: list[str] = Option(..., metavar="TIME", help='Round-trip time without queues: "50 ms".'),
    flows: list[float] = Option(..., metavar="N", help="Flows."),
    cc: list[str] | None = Option(
        None, metavar="NAME", help="Congestion control.  [default: reno]"
    ),
    start: list[str] | None = Option(None, metavar="TIME", help="When they begin.  [default: 0 s]"),
    queue: Literal["red", "droptail", "unlimited"] = Option("red", help="What the queue does."),
    limit: float | None = Option(None, metavar="PACKETS", help="What the queue holds."),
    min_threshold: float = Option(5.0, metavar="PACKETS", help="RED: average without drops."),
    max_threshold: float | None = Option(
        None, metavar="PACKETS", help="RED: average of --max-probability.  [default: 3 times min]"
    ),
    max_probability: float = Option(0.1, metavar="P", help="RED: probability there."),
    weight: float = Option(0.002, metavar="W", help="RED: of a packet in the average."),
    gentle: bool = Option(
        True, "--gentle/--no-gentle", help="RED: up to 1 at twice that, or at once."
    ),
    ecn: bool = Option(False, "--ecn", help="RED: mark instead of drop."),
    duration: str = Option("60 s", metavar="TIME", help="How long."),
    equations: Literal["refined", "published"] = Option(
        "refined", help="With what packets do beside, or the paper's alone."
    ),
    packet: str = Option("1500 bytes", metavar="SIZE", help="A packet on the bottleneck."),
    mss: str = Option("1448 bytes", metavar="SIZE", help="Its payload."),
    plot: Path | None = Option(None, metavar="FILE", help="Draw the curves: .svg, .png or .pdf."),
    as_json: Json = False,
) -> None:
    """Windows, queue and loss over time of any number of flows, as a fluid.

    \b
    Examples:
      fairway model fluid --rate "100 Mbit/s" --rtt "50 ms" --flows 100 \\
          --min-threshold 50 --max-threshold 400 --weight 0.0002
      fairway model fluid --rate "1 Gbit/s" --rtt "20 ms" --flows 50 --cc reno \\
          --rtt "80 ms" --flows 200 --cc cubic --start "20 s" --plot fluid.png
      fairway model fluid --rate "1 Gbit/s" --rtt "40 ms" --flows 500 \\
          --queue droptail --limit 1000 --json

    Each --rtt, --flows, --cc and --start is of one class of flows more; what is
    given once is of all. Means are of the second half.
    """
    from fairway.ground import quantities
    from fairway.model.fluid import DropTail, Fluid, Red

    shape: Red | DropTail | None = None
    if queue == "red":
        top = 3.0 * min_threshold if max_threshold is None else max_threshold
        shape = Red(min_threshold, top, max_probability, weight, gentle, ecn, limit)
    elif queue == "droptail":
        if limit is None:
            raise InputError("--queue droptail: needs a limit; add --limit 100 (packets)")
        shape = DropTail(limit)
    asked = Fluid(
        float(quantities.rate_bps(rate, "--rate") or 0),
        _classes(rtt, flows, cc or ["reno"], start or ["0 s"]),
        shape,
        packet_bytes=float(quantities.size_bytes(packet, "--packet") or 0),
        mss_bytes=float(quantities.size_bytes(mss, "--mss") or 0),
        equations=equations,
    )
    duration_s = quantities.seconds(duration, "--duration") or 0.0
    if not 0 < duration_s <= LONGEST_S:
        raise InputError(f'--duration: expected more than 0 and at most 11 days, got "{duration}"')
    curves = asked.run(duration_s, POINTS)
    point = asked.fixed_point()
    if plot is not None:
        _draw(asked, curves, plot)
    if as_json:
        print_json(_json(curves, point))
    else:
        _show(asked, curves, point)
        if plot is not None:
            print_text(f"\nDrawn: {plot}")


def _classes(
    rtts: list[str], counts: list[float], ccs: list[str], starts: list[str]
) -> "list[Flows]":
    from fairway.ground import quantities
    from fairway.model.fluid import Flows

    given: dict[str, list[Any]] = {"--rtt": rtts, "--flows": counts, "--cc": ccs, "--start": starts}
    most = max(map(len, given.values()))
    for option, values in given.items():
        if len(values) not in (1, most):
            raise InputError(
                f"{option}: expected one for all classes or {most}, got {len(values)}; "
                "give it once, or once for each class"
            )
    whole = zip(*(values * (most // len(values)) for values in given.values()), strict=True)
    return [
        Flows(
            flows=count,
            rtt_s=quantities.seconds(rtt, "--rtt") or 0.0,
            cc=cc,
            start_s=quantities.seconds(start, "--start") or 0.0,
        )
        for rtt, count, cc, start in whole
    ]


def _json(curves: "Curves", point: "FixedPoint | None") -> dict[str, Any]:
    from dataclasses import asdict

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        return value.tolist() if hasattr(value, "tolist") else value

    shown = {name: plain(value) for name, value in vars(curves).items()}
    means, outside = shown.pop("means"), shown.pop("outside")
    shown.pop("steps")
    return {
        "model": MODEL,
        "in_range": outside is None,
        "outside": outside,
        "means": means,
        "fixed_point": None if point is None else asdict(point),
        "curves": shown,
    }


def _show(asked: "Fluid", curves: "Curves", point: "FixedPoint | None") -> None:
    means = curves.means
    low, high = means["queue_range"]
    fixed = ["–"] * 3
    if point is not None:
        fixed = [f"{point.queue_packets:.1f}", f"{point.dropped:.3%}", f"{point.signalled:.3%}"]
    rows = [
        ["queue, packets", f"{means['queue_packets']:.1f}", fixed[0]],
        ["  between", f"{low:.1f} and {high:.1f}", ""],
        ["RED's average", f"{means['average_packets']:.1f}", ""],
        ["dropped", f"{means['dropped']:.3%}", fixed[1]],
        ["dropped or marked", f"{means['signalled']:.3%}", fixed[2]],
    ]
    show_rows("Queue and loss", ["", "mean of the second half", "fixed point"], rows)
    heads = ["flows", "cc", "RTT", "mean window", "fixed point", "goodput each"]
    lines = [
        [
            f"{flows.flows:g}",
            flows.cc,
            f"{flows.rtt_s * 1e3:g} ms",
            f"{means['windows'][index]:.2f}",
            "–" if point is None else f"{point.windows[index]:.2f}",
            f"{means['goodputs_bps'][index] / flows.flows / 1e6:.3f} Mbit/s",
        ]
        for index, flows in enumerate(asked.classes)
    ]
    show_rows("Windows in packets", heads, lines, labels=2)
    say(_believed(curves.outside, point))


def _believed(outside: str | None, point: "FixedPoint | None") -> str:
    said = "Inside the model's range." if outside is None else f"Outside of its range: {outside}."
    if point is None:
        said += " There is no fixed point: nothing stops the windows."
    return f"{said} Model: {MODEL}."


def _draw(asked: "Fluid", curves: "Curves", file: Path) -> None:
    from fairway.ground import store
    from fairway.model.fluid_figure import chart
    from fairway.plot.figures import drawn

    kind = file.suffix.lstrip(".").lower()
    if kind not in ("svg", "png", "pdf"):
        raise InputError(f'--plot: expected a file ending in .svg, .png or .pdf, got "{file}"')
    with writing(file):
        store.write_file(file, drawn(chart(asked, curves), kind))
