"""A base and a head as Markdown for a pull request: what differs, the figures, and a chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairway.compare.change import CONFIDENCE, Change, Compared, PointChange
from fairway.compare.runs import FLOW_COLUMNS
from fairway.errors import InputError
from fairway.ground import result_schema, text
from fairway.metrics.catalogue import by_name
from fairway.plot import columns, markdown
from fairway.plot.quantities import QUANTITIES, Quantity
from fairway.results.run import Run
from fairway.sweep.outcome import Outcome

#: What GitHub's limit of a comment, 65,536 characters, leaves room for: lines of what differs,
#: points of a sweep, flows, and flows in the chart, each with two lines.
_DIFFERENCES, _POINTS, _FLOWS, _DRAWN = 30, 10, 8, 3
#: Likewise warnings, and characters of each.
_WARNINGS, _SENTENCE = 8, 500


def to_markdown(change: Change) -> str:
    """All of it; names and values from the directories are code spans, so that they do nothing."""
    base, head = (markdown.code(side.name) for side in (change.base, change.head))
    pieces = [
        f"### {markdown.code(change.head.title)}",
        f"Base {base}, head {head}.",
        *(f"**Warning:** {markdown.code(one, _SENTENCE)}" for one in change.warnings[:_WARNINGS]),
        "#### What differs",
        _differences(change),
        *_metrics(change),
        *_figure(change.points[0]),
    ]
    return "\n\n".join(pieces) + "\n"


def _differences(change: Change) -> str:
    found = change.differences()
    if not found:
        return "Nothing: the same experiment, seed, code, kernel and version of Fairway."
    rows = [
        [markdown.code(name), *(_value(value) for value in row)]
        for name, row in list(found.items())[:_DIFFERENCES]
    ]
    shown = markdown.table(["", "base", "head"], rows, labels=3)
    left_out = len(found) - len(rows)
    return shown + (f"\n\n… and {left_out} more." if left_out else "")


def _value(value: Any) -> str:
    return text.ABSENT if value is None else markdown.code(text.label(value))


def _metrics(change: Change) -> Iterator[str]:
    """A table for each point, and how its differences are to be read."""
    for point in change.points[:_POINTS]:
        yield f"#### {markdown.code(point.label)}" if point.label else "#### Metrics"
        yield _table(point, change.chosen)
    left_out = len(change.points) - _POINTS
    if left_out > 0:
        yield f"… and {text.count(left_out, 'more point')}."
    for count, side in zip(change.unmatched, ("base", "head"), strict=True):
        if count:
            yield f"{text.count(count, 'point')} of the {side} alone not compared."
    yield _how(change.points)


def _table(point: PointChange, chosen: Sequence[str]) -> str:
    has_intervals = min(point.seeds) > 1
    rows = [_row(one, has_intervals) for one in point.metrics(chosen)]
    for column in FLOW_COLUMNS:
        rows += [_row(one, has_intervals) for one in point.flows(column, _FLOWS)]
    interval = [f"{100 * CONFIDENCE:.0f} % interval"] if has_intervals else []
    return markdown.table(["", "base", "head", "difference", *interval], rows)


def _row(compared: Compared, has_intervals: bool) -> list[str]:
    if compared.flow is None:
        shown = columns.figures(compared.name, compared.means)
        is_known = compared.name in {**by_name(of_links=False), **result_schema.columns("metrics")}
        heading = shown.heading if is_known else markdown.code(shown.heading)
    else:
        kind, title = FLOW_COLUMNS[compared.name]
        shown = kind(title, compared.means)
        heading = f"{shown.heading} of {markdown.code(compared.flow)}"
    ends = compared.interval
    interval = " to ".join(map(text.percent, ends)) if ends else text.ABSENT
    cells = [heading, *shown.cells, text.percent(compared.share)]
    return [*cells, interval] if has_intervals else cells


def _how(points: Sequence[PointChange]) -> str:
    """What the differences mean, and what they do not."""
    least = min(min(point.seeds) for point in points)
    if least < 2:
        return (
            "Differences are head less base, in per cent of the base. There is one seed on a side: "
            "nothing here says how far other seeds differ, so no difference is shown to be one of "
            "the change."
        )
    paired = all(point.is_paired for point in points)
    how = (
        "from the differences seed by seed (Student)"
        if paired
        else "from the means of both sides (Welch), as their seeds are not the same"
    )
    return (
        f"Means over {text.count(least, 'seed')} or more; differences are head less base, in per "
        f"cent of the base's mean. Intervals are {how}. One in twenty misses the true value, and "
        "they are not corrected for the number of lines: a single one beside 0 shows little."
    )


def _figure(point: PointChange) -> Iterator[str]:
    """A chart of the windows, or else of the goodputs, of the first flows of one run a side."""
    try:
        runs = [_kept(side[0]) for side in (point.base, point.head)]
    except InputError:
        return  # of another version, of which the summary alone is kept
    for name in ("cwnd", "goodput"):
        drawn = [_samples(run, QUANTITIES[name]) for run in runs]
        if all(drawn):
            yield from _chart(QUANTITIES[name], drawn, runs[1].seed)
            return


def _kept(outcome: Outcome) -> Run:
    """A run that is there; none is computed for a chart."""
    if outcome.in_memory is None and outcome.directory is None:
        raise InputError("its summary alone is kept")
    return outcome.run


#: Samples of each flow: time in seconds and value.
_Samples = dict[str, list[tuple[float, float]]]


def _samples(run: Run, quantity: Quantity) -> _Samples:
    from fairway.results.figures import drawn_table

    table = drawn_table(run, quantity)
    table = table.keep(table.known(quantity.column))
    times, values = table.numbers("t_s").tolist(), table.numbers(quantity.column).tolist()
    found: _Samples = {}
    for at_s, flow, value in zip(times, table.text(quantity.key).tolist(), values, strict=True):
        found.setdefault(str(flow), []).append((at_s, quantity.scale * value))
    return found


def _chart(quantity: Quantity, drawn: Sequence[_Samples], seed: int) -> Iterator[str]:
    from fairway.plot.figures import PALETTE

    end = max(at_s for flows in drawn for samples in flows.values() for at_s, _ in samples)
    named = [
        (side, flow, samples)
        for side, flows in zip(("base", "head"), drawn, strict=True)
        for flow, samples in list(flows.items())[:_DRAWN]
    ]
    lines = [
        markdown.Line(colour, markdown.parts(samples, end))
        for colour, (_, _, samples) in zip(PALETTE, named, strict=False)
    ]
    yield f"#### {quantity.alt.partition(',')[0]}"
    yield markdown.line_chart("Time (s)", quantity.title, end, lines)
    legend = [
        f"`{line.colour}` {side} {markdown.code(flow)}"
        for line, (side, flow, _) in zip(lines, named, strict=True)
    ]
    yield " · ".join(legend)
    most = max(map(len, drawn))
    shown = f" The first {_DRAWN} of {most} flows are drawn." if most > _DRAWN else ""
    yield (
        f"Seed {seed}; each point is the mean over 1/{markdown.POINTS} of the time, and 0 before "
        f"the first sample of a flow and behind its last.{shown}"
    )
