"""Connections side by side: tables of how they share what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.capture.analysis.tables import share
from fairway.ground import text
from fairway.plot.page import Table


def group_tables(report: Mapping[str, Any], top: int) -> list[Table]:
    """The members with their shares, largest first, and the group; nothing if there is none."""
    group = report.get("group")
    if not group:
        return []
    started_s = report["capture"]["started_s"] or 0.0
    begin, end = (group[key] - started_s for key in ("from_s", "until_s"))
    when = "" if group["is_together"] else "; never all at once"
    count = text.count(len(group["members"]), "connection")
    caption = f"{count} side by side, {begin:.3f} s to {end:.3f} s{when}"
    chosen = sorted(group["members"], key=lambda one: -one["goodput_bps"])[:top]
    if len(chosen) < len(group["members"]):
        caption += f"; the {len(chosen)} with the highest goodput"
    rows = [
        [str(one["connection"]), one["from"], one["to"], text.bit_rate(one["goodput_bps"]),
         text.ABSENT if one["share"] is None else share(one["share"])]
        for one in chosen
    ]  # fmt: skip
    names = ["id", "from", "to", "goodput", "share"]
    return [Table(caption, names, rows, labels=3), _whole(group)]


def _whole(group: Mapping[str, Any]) -> Table:
    ids = " against ".join(str(one["connection"]) for one in group["members"])
    rows = [
        ["goodput", text.bit_rate(group["goodput_bps"])],
        *(
            [words, text.number(group[key])]
            for words, key in (("Jain's index", "jain_index"), (f"asymmetry, {ids}", "asymmetry"),
                               ("unfairness", "unfairness"))
            if group[key] is not None
        ),
    ]  # fmt: skip
    for words, key in (("windows, mean of the sum", "cwnd_bytes"),
                       ("in flight, mean of the sum", "flight_bytes")):  # fmt: skip
        if (mean := _mean(group, key)) is not None:
            rows.append([words, text.size(round(mean))])
    return Table("All of them together", ["", "value"], rows)


def _mean(group: Mapping[str, Any], key: str) -> float | None:
    """The mean of a column of the series over the time that the group is compared in."""
    both = zip(group["series"]["t_s"], group["series"][key], strict=True)
    inside = [value for t_s, value in both if group["from_s"] <= t_s < group["until_s"]]
    return sum(inside) / len(inside) if inside else None
