"""The numbers of a comparison as tables of 80 columns, and what has to be said beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairway.compare.agree.data import NOTE, AgreementData, Finding, PointAgreement
from fairway.compare.agree.quantities import Judgement
from fairway.ground import text
from fairway.plot.page import Table

#: Quantities in the lines of a sweep.
IN_LINES = ("goodput", "cwnd", "srtt")
#: What stands behind a difference in a line of many.
_MARK = {"equivalent": " ", "different": "*", "undecided": "?"}


def tables(result: AgreementData) -> list[Table]:
    """All numbers of a single experiment, or a line for each point of a sweep."""
    return [
        table
        for side in result.sides
        for table in (sweep_tables(result, side) if result.axes else point_tables(result, side))
    ]


def point_tables(result: AgreementData, side: str) -> list[Table]:
    """Every quantity of every point, for each flow and link in a table of its own."""
    return [table for point in result.of(side) for table in _full(point)]


def _full(point: PointAgreement) -> Iterator[Table]:
    owners = dict.fromkeys((f.quantity.of, f.owner) for f in point.findings)
    less = f"{point.side} less {point.reference}"
    columns = ["", point.side, point.reference, less, "90 % interval", "±", "verdict"]
    for kind, owner in owners:
        rows = [_row(f) for f in point.findings if (f.quantity.of, f.owner) == (kind, owner)]
        if kind == "flow" and (area := point.area(owner)):
            share = text.percent(area.area, signed=False)
            limit = text.percent(area.tolerance, signed=False)
            rows.append(["windows, area", "", "", share, "", limit, area.verdict])
        caption = "Run" if kind == "run" else f"{kind.capitalize()} {owner}"
        yield Table(caption, columns, rows)


def _row(finding: Finding) -> list[str]:
    found, scale = finding.judgement, finding.quantity.scale
    return [
        finding.quantity.title,
        text.number(found.ours.mean * scale),
        text.number(found.reference.mean * scale),
        _in_percent_or_units(found, scale),
        _interval(found),
        _margin(found, scale),
        found.verdict,
    ]


def _in_percent_or_units(found: Judgement, scale: float) -> str:
    """The difference as a share; where the reference is zero, in units."""
    share = found.relative(found.difference.mean)
    if share is not None:
        return text.percent(share)
    return text.with_sign(found.difference.mean * scale)


def _interval(found: Judgement) -> str:
    low, high = found.relative(found.difference.low), found.relative(found.difference.high)
    if low is None or high is None:
        return text.ABSENT
    places = 1 if max(abs(low), abs(high)) < 1 else 0
    return f"[{text.with_sign(100 * low, places)}, {text.with_sign(100 * high, places)}]"


def _margin(found: Judgement, scale: float) -> str:
    """The tolerance that was applied: a share, or a number where that is more."""
    share = found.margin / abs(found.reference.mean) if found.reference.mean else None
    if share is None or share > 1:
        return text.number(found.margin * scale, 2)
    return text.percent(share, signed=False)


def sweep_tables(result: AgreementData, side: str) -> list[Table]:
    """A line for each flow of each point; a table for each value of all axes but the last."""
    blocks: dict[tuple[str, ...], list[PointAgreement]] = {}
    for point in result.of(side):
        key = tuple(text.label(point.axes[axis]) for axis in result.axes[:-1])
        blocks.setdefault(key, []).append(point)
    last = text.short_paths(result.axes)[-1]
    return [_block(key, points, side, result.reference, last) for key, points in blocks.items()]


def _block(
    key: tuple[str, ...], points: list[PointAgreement], side: str, reference: str, axis: str
) -> Table:
    several = any(len(point.flows) > 1 for point in points)
    titles = {point.title for point in points}
    caption = ": ".join([", ".join(key), *titles] if key and len(titles) == 1 else [", ".join(key)])
    columns = [axis, *(["flow"] if several else [])]
    for what in ("goodput", "cwnd"):
        columns += [f"{what} {side}", f"{what} {reference}", f"{what} %"]
    columns += ["srtt %", "area %", "= * ?"]
    rows = []
    for point in points:
        value = text.label(list(point.axes.values())[-1])
        for flow in point.flows:
            rows.append([value, *([flow] if several else []), *_line(point, flow)])
    return Table(caption, columns, rows, labels=2 if several else 1)


def _line(point: PointAgreement, flow: str) -> list[str]:
    cells = []
    for name in ("goodput", "cwnd"):
        cells += _both(point.finding(name, flow))
    cells.append(_share(point.finding("srtt", flow)))
    area = point.area(flow)
    cells.append(f"{100 * area.area:.1f}{_MARK[area.verdict]}" if area else text.ABSENT)
    first = flow == point.flows[0]
    cells.append(" ".join(f"{n:2}" for n in point.counts.values()) if first else "")
    return cells


def _both(finding: Finding | None) -> list[str]:
    if finding is None:
        return [text.ABSENT] * 3
    found, scale = finding.judgement, finding.quantity.scale
    means = [text.number(side.mean * scale) for side in (found.ours, found.reference)]
    return [*means, _share(finding)]


def _share(finding: Finding | None) -> str:
    if finding is None:
        return text.ABSENT
    share = finding.judgement.relative(finding.judgement.difference.mean)
    if share is None:
        return text.ABSENT
    return text.with_sign(100 * share) + _MARK[finding.judgement.verdict]


def different(result: AgreementData, side: str) -> Table:
    """Every quantity that is not equivalent, of every point."""
    rows = [
        [point.label, f"{finding.owner}", *_row(finding)]
        for point in result.of(side)
        for finding in point.findings
        if finding.judgement.verdict != "equivalent"
    ]
    less = f"{side} less {result.reference}"
    columns = ["point", "of", "", side, result.reference, less, "90 % interval", "±", "verdict"]
    return Table("What is not equivalent", columns, rows, labels=3)


def remarks(result: AgreementData) -> list[str]:
    """What has to be said beside the tables, a paragraph each."""
    parts: list[Callable[[AgreementData], str]] = [
        _legend, _counts, _cautions, _seeds_alike, _more_seeds, _missing,
    ]  # fmt: skip
    return [line for part in parts if (line := part(result))]


def _legend(result: AgreementData) -> str:
    how = (
        f"Means over {result.seeds} seeds on each side; differences in per cent of "
        f"{result.reference}. "
    )
    if result.axes:
        how += (
            "* is different, ? undecided at the tolerance; the last column counts what is "
            "equivalent, different and undecided, zeros on both sides left out. "
        )
    if all(point.is_paired for point in result.points):
        how += "Intervals are of the differences seed by seed, as both draw the same numbers. "
    return how + NOTE


def _counts(result: AgreementData) -> str:
    counts = result.counts
    if not result.axes:
        return ""
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in counts) + " in all."


def _cautions(result: AgreementData) -> str:
    return " ".join(dict.fromkeys(point.caution for point in result.points if point.caution))


def _seeds_alike(result: AgreementData) -> str:
    """How far runs with other seeds differ; in a sweep, of the quantities that are in lines."""
    shown = IN_LINES if result.axes else tuple(result.tolerances)
    lines, constant = [], []
    for side in (*result.sides, result.reference):
        points = [point for point in result.points if side in (point.side, point.reference)]
        found = [spread for point in points if (spread := point.spread(side, shown))]
        apart, finding = max(found, key=lambda one: one[0], default=(0.0, None))
        if apart == 0 or finding is None:
            constant.append(side)
        else:
            where = f"{finding.quantity.name} of {finding.owner}"
            share = text.percent(apart, signed=False)
            lines.append(f"Seeds differ on {side} by {share} of the mean at most ({where}).")
    if constant:
        lines.insert(0, f"Every seed gave the same on {' and on '.join(constant)}.")
    if any(f.judgement.method == "values" for point in result.points for f in point.findings):
        lines.append(
            "Where all seeds gave the same difference there is no interval: values are compared."
        )
    return " ".join(lines)


def _more_seeds(result: AgreementData) -> str:
    """How many more seeds might decide what is undecided; for a single experiment."""
    if result.axes:
        return ""
    wanted = [
        f"{finding.quantity.name} of {finding.owner} "
        + ("more than 1000" if finding.judgement.more_seeds is None else
           f"{finding.judgement.more_seeds}")
        for point in result.points
        for finding in point.findings
        if finding.judgement.verdict == "undecided"
    ]  # fmt: skip
    if not wanted:
        return ""
    return "More seeds on each side that might decide: " + ", ".join(wanted) + "."


def _missing(result: AgreementData) -> str:
    names = dict.fromkeys(name for point in result.points for name in point.missing)
    return f"Not compared, for want of values: {'; '.join(names)}." if names else ""
