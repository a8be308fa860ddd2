"""Text, tables and line charts as GitHub-flavoured Markdown, made of words from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairway.ground import text

#: Characters of a name or a value that are shown.
_LONGEST = 80
#: Points of a line. Mermaid puts them at equal distances, which a power of two makes exact.
POINTS = 64


def code(words: object, longest: int = _LONGEST) -> str:
    r"""Words from outside as a code span that fits into a table.

    GitHub looks for no mention, link, issue, HTML, mathematics or emphasis in code (CommonMark
    0.31, 6.1). A bar is escaped in tables even there (GitHub Flavored Markdown Spec, 4.10), and a
    backslash before it would take that back.

    >>> code("a|b"), code("@all <b>"), code("`"), code(" \n"), code("a\\|b")
    ('`a\\|b`', '`@all <b>`', '`` ` ``', '–', '`a\\x5c\\|b`')
    """
    shown = " ".join(text.printable(" ".join(str(words).split())).split())
    if not shown:
        return text.ABSENT
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    shown = shown.replace("\\|", "\\x5c|").replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    room = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{room}{shown}{room}{fence}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, labels: int = 1) -> str:
    """A table of cells that are Markdown; columns behind the first `labels` are numbers."""
    rules = [":--" if index < labels else "--:" for index in range(len(columns))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rules, *rows))


@dataclass(frozen=True)
class Line:
    """A line of a chart: its colour, and its values at equal distances."""

    colour: str
    values: Sequence[float]


def line_chart(x_title: str, y_title: str, end: float, lines: Sequence[Line]) -> str:
    """A chart from 0 to `end` that GitHub draws from text.

    Mermaid's `xychart-beta`: https://mermaid.js.org/syntax/xyChart.html. Each value stands in the
    middle of its part of the axis. There is no legend, so the text beside it names the colours.

    Args:
        x_title: Title of the horizontal axis, without quotation marks.
        y_title: Likewise.
        end: Above zero.
        lines: At least one, of at least two finite values each; all of the same number.
    """
    part = end / len(lines[0].values)
    most = max(max(line.values) for line in lines) or 1.0
    palette = ", ".join(line.colour for line in lines)
    return "\n".join(
        [
            "```mermaid",
            "---",
            "config:",
            "  themeVariables:",
            "    xyChart:",
            f"      plotColorPalette: '{palette}'",
            "---",
            "xychart-beta",
            f'  x-axis "{x_title}" {_plain(part / 2)} --> {_plain(end - part / 2)}',
            f'  y-axis "{y_title}" 0 --> {_plain(most)}',
            *(f"  line [{', '.join(map(_short, line.values))}]" for line in lines),
            "```",
        ]
    )


def _short(value: float) -> str:
    return _plain(float(f"{value:.4g}"))


def _plain(value: float) -> str:
    """A number without an exponent, which Mermaid cannot read."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def parts(samples: Sequence[tuple[float, float]], end: float, count: int = POINTS) -> list[float]:
    """Means of samples (time, value) over equal parts of the time up to `end`.

    A part without a sample has the value of the last one; before the first and behind the part of
    the last there is nothing, 0.

    >>> parts([(0.5, 2), (0.7, 4), (2.5, 6)], 4, count=4)
    [3.0, 4.0, 6.0, 0.0]
    """
    return list(_parts(samples, end, count))


def _parts(samples: Sequence[tuple[float, float]], end: float, count: int) -> Iterator[float]:
    inside: list[list[float]] = [[] for _ in range(count)]
    for at, value in samples:
        inside[min(int(at / end * count), count - 1)].append(value)
    filled = [number for number, values in enumerate(inside) if values]
    last = 0.0
    for number, values in enumerate(inside):
        if not filled or number > filled[-1]:
            yield 0.0
            continue
        yield sum(values) / len(values) if values else last
        last = values[-1] if values else last
