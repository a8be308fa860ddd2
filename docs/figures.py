"""Draws the figures of this documentation: of the tour, of each algorithm, and the gallery.

    .venv/bin/python docs/figures.py            draw those that are out of date
    .venv/bin/python docs/figures.py --check    fail if one is

A figure is out of date if it does not show what the simulator answers now. Each file ends with a
digest of what it shows, so that one that would only be drawn with other fonts is left alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

from tables import DOCS, PAGES, page_name, table

import fairway
from fairway import api
from fairway.compare.gallery.shows import Gallery, portraits
from fairway.plot.figures import AnyChart, drawn

FIGURES = PAGES / "figures"
GALLERY = DOCS / "gallery.md"
EXAMPLES = DOCS.parent / "examples"
MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)


def charts(gallery: Gallery) -> dict[Path, AnyChart]:
    """Every figure by its file."""
    found: dict[Path, AnyChart] = {DOCS / "gallery.svg": gallery.figure(), **tour()}
    for portrait in portraits(gallery.algorithms):
        found[FIGURES / f"{page_name(portrait.algorithm)}.svg"] = portrait.figure()
    return found


def tour() -> dict[Path, AnyChart]:
    """The figures of the tour, of its own experiments."""
    first = fairway.run(EXAMPLES / "single.toml")
    shares = fairway.run(EXAMPLES / "shares.toml")
    assert isinstance(first, fairway.Run)
    assert isinstance(shares, fairway.Sweep)
    jain_index = shares.figures.draw("jain_index", width=640)
    return {
        DOCS / "tour-window.svg": first.figures.cwnd(height=180),
        DOCS / "tour-queue.svg": first.figures.backlog(height=120),
        DOCS / "tour-shares.svg": jain_index,
    }


def numbers(gallery: Gallery, page: str) -> str:
    """The page of the gallery with its numbers."""
    shown = gallery.table()
    rows = [[f"`{row[0]}`", *row[1:]] for row in shown.rows]
    return MEASURED.sub(lambda m: f"{m[1]}\n{table(shown.columns, rows)}\n{m[2]}", page)


def digest(chart: AnyChart) -> str:
    """What a chart shows, as one line at the end of its file."""
    spec = json.dumps(chart.to_dict(), sort_keys=True)
    return f"<!-- shows {hashlib.sha256(spec.encode()).hexdigest()} -->\n"


def shortened(svg: str) -> str:
    """The same picture, lines to a tenth of a pixel, without what only a live chart needs."""

    def line(match: re.Match[str]) -> str:
        return re.sub(r"\d+\.\d+", lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), match[0])

    svg = re.sub(r'<path class="(?:back|fore)ground"(?![^>]* d=)[^>]*/>', "", svg)
    svg = re.sub(r' (?:class|role|aria-[a-z]+|pointer-events)="[^"]*"| opacity="1"', "", svg)
    return re.sub(r' d="[^"]*"', line, svg)


def main() -> int:
    """Draw or check every figure; the exit code."""
    gallery = api.gallery()
    page = GALLERY.read_text(encoding="utf-8")
    wanted = {path: (chart, digest(chart)) for path, chart in charts(gallery).items()}
    stale = [
        path
        for path, (_, says) in wanted.items()
        if not path.exists() or not path.read_text(encoding="utf-8").endswith(says)
    ]
    gone = [path for path in FIGURES.glob("*.svg") if path not in wanted]
    measured = numbers(gallery, page)
    if "--check" in sys.argv[1:]:
        late = [path.name for path in stale + gone] + [GALLERY.name] * (measured != page)
        if late:
            print(f"out of date: {', '.join(late)}; run make docs-figures", file=sys.stderr)  # noqa: T201
        return 1 if late else 0
    FIGURES.mkdir(parents=True, exist_ok=True)
    for path in stale:
        chart, says = wanted[path]
        path.write_text(shortened(drawn(chart, "svg").decode()) + says, encoding="utf-8")
    for path in gone:
        path.unlink()
    GALLERY.write_text(measured, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
