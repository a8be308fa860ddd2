"""Draws figures of this documentation: those of the tour, of each algorithm, and the gallery.

    .venv/bin/python tools/docs/figures.py            draw those of the tour that are out of date
    .venv/bin/python tools/docs/figures.py --check    fail if one is

A figure is out of date if it does not show what the simulator answers now. Each file ends with a
digest of what it shows, so that one that would only be drawn with other fonts is left alone. The
algorithms' figures are drawn when the site is built.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

from markdown_text import table
from reference import DOCS, page_name

import fairway
from fairway.compare.gallery.run import Gallery, portraits
from fairway.plot import vega
from fairway.plot.figures import drawn

EXAMPLES = DOCS.parent / "examples"


def of_algorithms(gallery: Gallery) -> dict[str, vega.Chart]:
    """The figures of the gallery and of each algorithm's page, by their place in the site."""
    found: dict[str, vega.Chart] = {"commands/gallery.svg": gallery.figure()}
    for portrait in portraits(gallery.algorithms):
        found[f"algorithms/figures/{page_name(portrait.algorithm)}.svg"] = portrait.figure()
    return found


def tour() -> dict[Path, vega.Chart]:
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


def numbers(gallery: Gallery) -> str:
    """The table of the gallery's numbers."""
    shown = gallery.table()
    return table(shown.columns, [[f"`{row[0]}`", *row[1:]] for row in shown.rows])


def svg(chart: vega.Chart) -> str:
    """A chart as the file of a page."""
    return shortened(drawn(chart, "svg").decode())


def digest(chart: vega.Chart) -> str:
    """What a chart shows, as one line at the end of its file."""
    spec = json.dumps(chart.to_dict(), sort_keys=True)
    return f"<!-- shows {hashlib.sha256(spec.encode()).hexdigest()} -->\n"


def shortened(text: str) -> str:
    """The same picture, lines to a tenth of a pixel, without what only a live chart needs."""

    def line(match: re.Match[str]) -> str:
        return re.sub(r"\d+\.\d+", lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), match[0])

    text = re.sub(r'<path class="(?:back|fore)ground"(?![^>]* d=)[^>]*/>', "", text)
    text = re.sub(r' (?:class|role|aria-[a-z]+|pointer-events)="[^"]*"| opacity="1"', "", text)
    return re.sub(r' d="[^"]*"', line, text)


def main() -> int:
    """Draw or check the figures of the tour; the exit code."""
    stale = {
        path: chart
        for path, chart in tour().items()
        if not path.exists() or not path.read_text(encoding="utf-8").endswith(digest(chart))
    }
    if "--check" in sys.argv[1:]:
        if stale:
            names = ", ".join(path.name for path in stale)
            print(f"out of date: {names}; run make docs-figures", file=sys.stderr)  # noqa: T201
        return int(bool(stale))
    for path, chart in stale.items():
        path.write_text(svg(chart) + digest(chart), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
