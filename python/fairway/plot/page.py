"""Pages: one HTML file that needs no network, made of headings, tables and charts."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import importlib.resources
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fairway.errors import InputError
from fairway.ground.text import printable

if TYPE_CHECKING:
    from fairway.plot import vega

#: Name -> text. They are read with the code that fills them, and not when a page is written: hours
#: of runs may lie between, in which another version is installed.
_TEMPLATES = {
    file.name: file.read_text("utf-8")
    for file in (importlib.resources.files("fairway.plot") / "templates").iterdir()
    if file.is_file()
}

#: What draws charts, which `make build` puts there; its licences are beside it.
_LIBRARY = importlib.resources.files("fairway.plot") / "library" / "vega-embed.js"

#: What every page runs.
_SCRIPTS = ("theme.js", "charts.js", "folds.js", "rows.js")

#: Width of a chart that fills its place on the page.
FILL: Literal["container"] = "container"

#: Colours of groups on a light and on a dark page: of Okabe and Ito's hues (`figures.PALETTE` has
#: theirs, for paper), each told from the page by 3 : 1, which WCAG 2.1 (1.4.11) asks for.
COLOURS = {
    "light": ["#00629B", "#D55E00", "#009E73", "#C66A9B", "#4D3B00", "#4797D4"],
    "dark": ["#56B4E9", "#E69F00", "#2FBF95", "#E08FBD", "#F0E442", "#F0794B"],
}

#: Verdicts, and what stands before them.
MARKS = {"supported": "✓", "refuted": "✗", "depends": "≈", "undecided": "?", "not run": "–"}

#: Rows of a table that are seen at once; one with more is scrolled, searched and sorted.
LONG = 16
#: Sections whose names need no fold.
FEW = 6
#: Characters of a label that stay on one line.
PROSE = 60


#: What may not stand in text or in an attribute.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"})

#: What a chart's definition has in it -> what a reader can do with the chart.
_HINTS = {
    '"name":"zoom"': "Charts over time: drag to move along the axis, Shift and wheel to zoom, "
    "double-click to go back, all of one section together.",
    '"bind":"legend"': "Click a name in a legend to single it out.",
}


class Link(str):
    """Text that leads somewhere; in a terminal or a notebook it is text.

    Attributes:
        href: A path beside the page, or an anchor on it.
        rows: Of an anchor: which rows of that table are meant, as a query: `claim=a1`.
        label: What it is called where its text does not say enough.
    """

    __slots__ = ("href", "label", "rows")
    href: str
    rows: str
    label: str

    def __new__(cls, text: str, href: str, *, rows: str = "", label: str = "") -> Link:
        """The text with where it leads."""
        made = super().__new__(cls, text)
        made.href, made.rows, made.label = href, rows, label
        return made


@dataclass(frozen=True)
class Table:
    """A table of ready-made text; the first `labels` columns are text, the others numbers.

    Attributes:
        rows: Lines of text, some of which may be a `Link`.
        labels: How many columns are text.
        trailing: How many of the last columns are text again.
        id: Its anchor on the page.
        facets: Columns by whose values rows can be chosen.
        tags: What else rows can be chosen by: name -> the values of each row.
        picks: Names of each row by which a `Link` finds it.
        keys: How many of the first columns name a row, where those are not all of its labels.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1
    trailing: int = 0
    id: str = ""
    facets: Sequence[int] = ()
    tags: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    picks: Sequence[Sequence[str]] = ()
    keys: int = 0

    @property
    def key_columns(self) -> int:
        """How many of the first columns name a row: repeated where others follow below."""
        all_text = self.labels + self.trailing >= len(self.columns)
        return self.keys or (1 if all_text else max(self.labels, 1))

    @property
    def named_facets(self) -> list[tuple[str, int]]:
        """The columns by whose values rows can be chosen, with their headings."""
        return [(self.columns[index], index) for index in self.facets]

    def is_prose(self, index: int, cell: str) -> bool:
        """Whether a cell is text that is broken into lines."""
        return index < self.labels and len(cell) > PROSE

    def is_number(self, index: int) -> bool:
        """Whether a column holds numbers."""
        return self.labels <= index < len(self.columns) - self.trailing

    @property
    def is_long(self) -> bool:
        """Whether its rows need searching."""
        return len(self.rows) > LONG or bool(self.picks)

    @property
    def body(self) -> str:
        """Its rows as HTML: a template takes five times as long, and a sweep has many rows."""
        columns = enumerate(zip(*self.rows, strict=True))
        rows = zip(*(self._cells(index, cells) for index, cells in columns), strict=True)
        return "".join(
            f"<tr{self._attributes(number)}>{''.join(row)}</tr>\n"
            for number, row in enumerate(rows)
        )

    def _attributes(self, number: int) -> str:
        attributes = [
            f' data-tag-{index}="{_escaped("|".join(values[number]))}"'
            for index, values in enumerate(self.tags.values())
        ]
        if self.picks:
            attributes.append(f' data-pick="{_escaped("|".join(self.picks[number]))}"')
        return "".join(attributes)

    def _cells(self, index: int, cells: Sequence[str]) -> list[str]:
        shown = _contents(cells)
        if index == 0:
            return [f'<th scope="row">{cell}</th>' for cell in shown]
        if self.is_number(index):
            return [f'<td class="n">{cell}</td>' for cell in shown]
        kinds = (' class="prose"' if self.is_prose(index, cell) else "" for cell in cells)
        return [f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, shown, strict=True)]


def _escaped(words: str) -> str:
    return printable(words).translate(_ESCAPES)


def content(cell: str) -> str:
    """Text as HTML: where it leads if it is a `Link`, and a verdict as such."""
    shown = _escaped(cell)
    if isinstance(cell, Link):
        rows = f' data-rows="{_escaped(cell.rows)}"' if cell.rows else ""
        label = f' aria-label="{_escaped(cell.label)}"' if cell.label else ""
        return f'<a href="{_escaped(cell.href)}"{rows}{label}>{shown}</a>'
    if cell in MARKS:
        return f'<span class="word {cell.replace(" ", "-")}">{shown}</span>'
    return shown


def _contents(cells: Sequence[str]) -> list[str]:
    """`content` of each cell; plain text is escaped all at once, as sweeps have much of it."""
    joined = "\n".join(cells)
    is_plain = {*map(type, cells)} == {str} and MARKS.keys().isdisjoint(cells)
    if is_plain and joined.count("\n") == len(cells) - 1:
        return _escaped(joined).split("\n")
    return list(map(content, cells))


@dataclass(frozen=True)
class Figure:
    """A chart with what a reader is told about it.

    Attributes:
        data: Its numbers as CSV; those inside the chart if not given.
    """

    title: str
    chart: vega.Chart
    caption: str = ""
    data: str = ""

    @functools.cached_property
    def spec(self) -> str:
        """The chart as JSON that is safe inside a script element."""
        return json.dumps(self.chart.to_dict(), separators=(",", ":")).replace("<", "\\u003c")

    @property
    def csv(self) -> str:
        """`data` as JSON that is safe inside a script element."""
        return json.dumps(self.data).replace("<", "\\u003c")


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it.

    Attributes:
        figures: Charts, one under the other, or side by side if `grid` is set.
        grid: Smallest width in pixels of a chart in a grid; none for full width.
        verdicts: Claims as mappings: verdict, id, statement, where, finding; and, if there are any,
            measured, links, part, effects (a table), and values, what was found for each plausible
            value, as mappings with of, verdict, finding. Each is a line, which opens to the rest.
        preformatted: Text shown as it is, folded away.
        warnings: Sentences without a full stop, shown under the paragraph.
        id: Its anchor on the page.
        level: 2 for a section, 3 for a part of the one before it.
    """

    title: str
    text: str = ""
    links: Sequence[Link] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    grid: int | None = None
    verdicts: Sequence[Mapping[str, Any]] = ()
    preformatted: str = ""
    warnings: Sequence[str] = ()
    id: str = ""
    level: int = 2


@dataclass(frozen=True)
class Citation:
    """How what a page shows is cited: a sentence, what was computed, and entries of BibTeX."""

    sentence: str
    table: Table
    bibtex: str


def render(
    title: str,
    lead: str,
    sections: Sequence[Section],
    *,
    question: str = "",
    contents: bool = False,
    note: tuple[str, str] | None = None,
    citation: Citation | None = None,
) -> str:
    """The whole page as one HTML document.

    The question stands before the lead. `contents` lists the sections first, in a fold if there
    are many. `note` is the heading and the text of a fold under the lead, and `citation` is a fold
    at the end.
    """
    specs = [figure.spec for section in sections for figure in section.figures]
    style = filled("report.css") + "".join(
        map(_columns, sorted({s.grid for s in sections if s.grid}))
    )
    page_script = "".join(filled(name) for name in _SCRIPTS)
    scripts = [*([chart_library()] if specs else []), page_script]
    anchored = [(section.id or f"section-{n}", section) for n, section in enumerate(sections, 1)]
    return filled(
        "report.html",
        title=title,
        question=question,
        lead=lead,
        note=note,
        citation=citation,
        few=FEW,
        sections=anchored,
        contents=contents,
        has_charts=bool(specs),
        hints=[hint for mark, hint in _HINTS.items() if any(mark in spec for spec in specs)],
        style=style,
        scripts=scripts,
        policy=policy(scripts, [style]),
    )


def filled(template: str, **values: Any) -> str:
    """A template with its values; all know the version and the colours of groups."""
    from fairway._core import version

    made: str = _templates().get_template(template).render(version=version(), **values)
    return made


@functools.cache
def _templates() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.DictLoader(_TEMPLATES),
        autoescape=True,
        # Names from anyone do not turn the direction of the line that they stand in.
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(colours=COLOURS, content=content, marks=MARKS)
    return environment


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The page's Content-Security-Policy: these scripts and styles run, and nothing is fetched.

    Whatever else gets into a page, such as through a title, is not run by a browser. Vega's
    expressions are interpreted, so that no text becomes code either.
    """
    run, look = (" ".join(map(_digest, texts)) for texts in (scripts, styles))
    return (
        f"default-src 'none'; script-src {run}; style-src {look}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(inline: str) -> str:
    digest = hashlib.sha256(inline.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _columns(width: int) -> str:
    """The style of a grid whose charts have that width at least."""
    columns = f"repeat(auto-fill, minmax(min({width}px, 100%), 1fr))"
    return f".grid-{width} {{ grid-template-columns: {columns}; }}\n"


@functools.cache
def chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that defines `vegaEmbed`."""
    try:
        bundle = _LIBRARY.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"{_LIBRARY}: missing; install Fairway again: make build") from None
    # Wrapped, because the bundle's own names would become global ones.
    return f"(function () {{\n{bundle}\n}})();".replace("</script", "<\\/script")


def plain_html(table: Table) -> str:
    """A table for a notebook."""

    def cells(tag: str, values: Iterable[str]) -> str:
        parts = []
        for index, value in enumerate(values):
            side = "left" if index < table.labels else "right"
            parts.append(
                f'<{tag} style="text-align:{side}">{html.escape(printable(value))}</{tag}>'
            )
        return f"<tr>{''.join(parts)}</tr>"

    body = "".join(cells("td", row) for row in table.rows)
    left = "text-align:left;font-weight:bold"
    caption = f'<caption style="{left}">{html.escape(printable(table.caption))}</caption>'
    head = cells("th", table.columns)
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"
