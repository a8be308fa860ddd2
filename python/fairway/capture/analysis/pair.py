"""Two captures of the same transfers, taken at both ends: losses and delays as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.errors import InputError, Interrupted
from fairway.ground import replacing, store, text
from fairway.plot.drawing import SAME_COMMAND, draw_figures, draw_report
from fairway.plot.formats import check_formats
from fairway.plot.page import Figure, Section, Table, render

if TYPE_CHECKING:
    from fairway.plot import vega

#: Losses of a direction that a table shows.
_LOSSES = 12
#: Directions that have charts and a table of losses in a report.
_SHOWN = 6
#: Names of the captures in tables.
_ENDS = ("first", "second")
#: What its directory is called.
KIND = "comparison of captures"


class Pair:
    """What two captures of the same transfers tell together.

    Attributes:
        report: Everything, as `fairway analyze FILE FILE2 --json` prints it under `pair`.
    """

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.report = report

    @property
    def title(self) -> str:
        """The names of both captures."""
        return " and ".join(Path(name).name for name in self.report["captures"])

    def directions(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Directions with packets and their names, those with most packets first."""
        found = [
            (f"{one['id']}/{'reverse' if index else 'forward'}", way)
            for one in self.report["connections"]
            for index, way in enumerate(one["directions"])
            if way["sent_packets"]
        ]
        yield from sorted(found, key=lambda named: -named[1]["sent_packets"])

    def overview(self) -> str:
        """The clocks and the losses, in sentences."""
        clock = self.report["clock"]
        sides = []
        for index, total in enumerate(self.report["totals"]):
            if total["sent_packets"]:
                sides.append(
                    f"from the {_ENDS[index]} end {total['lost_packets']:,} of "
                    f"{text.count(total['sent_packets'], 'packet')} lost"
                )
        uncertain = clock["offset_uncertainty_s"]
        if uncertain is None:
            known = (
                "Packets went one way only, so delays are over the least one, whatever that was."
            )
        else:
            known = (
                f"The second clock is {_signed(round(clock['offset_s'] * 1e3, 6))} ms ahead, ± "
                f"{text.milliseconds(uncertain)}, half of the least round trip: the least delays "
                "of both directions are taken to be equal."
            )
        count = text.count(len(self.report["connections"]), "connection")
        drift = f"It gains {_signed(clock['drift_ppm'])} ppm, which is taken out."
        return f"{count} in both captures; {'; '.join(sides)}. {known} {drift}"

    def warnings(self) -> list[str]:
        """What has to be known before the figures are trusted, in sentences without full stops."""
        told = []
        for index, alone in enumerate(self.report["only_in"]):
            if alone:
                told.append(
                    f"{text.count(alone, 'connection')} only in the {_ENDS[index]} capture: "
                    "left out"
                )
        unsent = sum(way["unsent_packets"] for _, way in self.directions())
        if unsent:
            told.append(
                f"{text.count(unsent, 'packet')} arrived that the capture at the sender does not "
                "show: it has missed packets, or they went another way"
            )
        if self.report["is_crowded"]:
            told.append("too much was on its way at once: some packets may be called lost early")
        apart = self.report["clock"]["drift_by_direction_ppm"]
        if None not in apart and abs(apart[0] - apart[1]) > max(1.0, abs(apart[0] + apart[1])):
            told.append(
                f"the directions do not agree on the drift ({_signed(apart[0])} and "
                f"{_signed(apart[1])} ppm): the quieter one is believed"
            )
        return told

    def tables(self, top: int = 20) -> list[Table]:
        """Losses, delays and loss ratios of the directions with most packets."""
        chosen = list(self.directions())
        shown, rest = chosen[:top], len(chosen) - top
        more = f"; {text.count(rest, 'direction')} more" if rest > 0 else ""
        return [_losses(shown, more), _delays(shown), _ratios(self.report, shown)]

    def charts(self) -> dict[str, vega.Chart]:
        """Delay over time of each direction that carries most, by name."""
        from fairway.capture.analysis.charts import delays

        found = list(self.directions())[:_SHOWN]
        return {f"delay-{name}": delays(way["course"]) for name, way in found if way["course"]}

    def to_html(self) -> str:
        """The report as one HTML document."""
        from fairway.capture.analysis.charts import delays

        sections = [
            Section("Summary", self.overview(), tables=self.tables(), warnings=self.warnings())
        ]
        for name, way in list(self.directions())[:_SHOWN]:
            figures = []
            if way["course"]:
                figures = [Figure("One-way delay", delays(way["course"], width="container"))]
            tables = [_list(way)] if way["losses"] else []
            heading = f"{name}: {way['from']} to {way['to']}"
            sections.append(Section(heading, tables=tables, figures=figures))
        return render(self.title, "", sections)

    def save(
        self,
        directory: str | Path,
        figures: Sequence[str] = (),
        source: str | None = None,
        *,
        replace: bool = False,
    ) -> None:
        """Write results, manifest, report and figures to a directory, whole or not at all."""
        from fairway.plot.figures import save_charts

        check_formats(figures)
        directory = Path(directory)

        def fill(place: Path) -> None:
            manifest = {
                "title": self.title,
                "version": _core.version(),
                "captures": self.report["captures"],
            }
            content = {
                "pair.json": json.dumps(self.report) + "\n",
                store.MANIFEST: store.to_json(manifest),
            }
            store.write_files(place, content)

        def check() -> None:
            if source is not None:
                replacing.refuse_another(
                    directory, source, remedy=replacing.REPLACE, replace=replace
                )

        store.write_directory(directory, fill, KIND, source, check)
        draw_report(directory, self.to_html, SAME_COMMAND)
        draw_figures(
            directory,
            lambda place: save_charts(self.charts(), place, figures),
            figures,
            SAME_COMMAND,
        )


def compare(first: str | Path, second: str | Path) -> Pair:
    """Compare the capture at one end of transfers with that at the other."""
    try:
        return Pair(json.loads(_core.compare_captures((first, second))))
    except _core.CaptureError as error:
        raise InputError(str(error)) from None
    except KeyboardInterrupt:
        raise Interrupted("stopped; nothing was written") from None


def _losses(shown: Sequence[tuple[str, Mapping[str, Any]]], more: str) -> Table:
    counts = ("undecided_packets", "network_duplicates", "reordered_packets",
              "retransmitted_segments", "needless_retransmissions")  # fmt: skip
    rows = [
        [
            name,
            way["from"],
            text.number(way["sent_packets"]),
            text.number(way["lost_packets"]),
            _percent(way["lost_share"]),
            *(text.number(way[key]) for key in counts),
        ]
        for name, way in shown
    ]
    names = ["id", "from", "sent", "lost", "share", "under way", "doubled", "reordered",
             "sent again", "needlessly"]  # fmt: skip
    return Table(f"Packets of each direction{more}", names, rows, labels=2)


def _delays(shown: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    rows = []
    for name, way in shown:
        delay, varies = way["delay_s"], way["delay_variation_s"]
        if delay is not None:
            row = [text.in_ms(delay[key]) for key in ("min", "mean", "p50", "p95", "p99", "max")]
            rows.append([name, *row, text.ABSENT if varies is None else text.in_ms(varies["mean"])])
    names = ["id", "least", "mean", "median", "95 %", "99 %", "longest", "variation"]
    return Table("One-way delays (ms)", names, rows)


def _ratios(report: Mapping[str, Any], shown: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    """As traces of both ends give them: (S - R) / S, (S - R) / R, and what was sent again."""
    shares = ("of_sent", "of_received", "retransmitted_of_sent", "duplicates_of_sent")
    entries = [(f"all from the {_ENDS[index]}", total["loss_ratio"])
               for index, total in enumerate(report["totals"])]  # fmt: skip
    entries += [(name, way["loss_ratio"]) for name, way in shown]
    rows = [
        [
            name,
            text.size(ratio["sent_bytes"]),
            text.size(ratio["received_bytes"]),
            *(_percent(ratio[key]) for key in shares),
        ]
        for name, ratio in entries
        if ratio["sent_bytes"]
    ]
    names = ["id", "data sent, S", "received, R", "(S-R)/S", "(S-R)/R", "sent again/S",
             "had already/S"]  # fmt: skip
    return Table("Loss ratios from both traces", names, rows)


def _list(way: Mapping[str, Any]) -> Table:
    shown = way["losses"][:_LOSSES]
    rows = [
        [
            text.number(loss["packet"]),
            f"{loss['t_s']:.6f}",
            text.number(loss["from_byte"]),
            text.number(loss["data_bytes"]),
            text.number(loss["repaired_by"]),
            text.in_ms(loss["repaired_after_s"]),
        ]
        for loss in shown
    ]
    rest = way["lost_packets"] - len(shown)
    caption = "Lost packets" + (f"; {rest:,} more" if rest > 0 else "")
    names = ["packet", "time (s)", "first byte", "bytes", "sent again as", "after (ms)"]
    return Table(caption, names, rows)


def _percent(share: float | None) -> str:
    return text.ABSENT if share is None else f"{100 * share:.3g} %"


def _signed(value: float) -> str:
    return f"{value:.6g}"
