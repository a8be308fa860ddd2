"""What a report shows: its text, its tables, and the charts that are in it."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

#: Channels that place a mark.
_PLACES = ("x", "y", "x2", "y2", "theta")
#: Marks that need two points of one line to be seen.
_LINES = ("line", "area", "trail")


@dataclass
class Page:
    """A page as a reader sees it.

    Attributes:
        text: Its words, one piece per element.
        tables: Caption -> the text of its cells, those of equal captions together.
        specs: Its charts, as Vega-Lite.
    """

    text: str = ""
    tables: dict[str, list[str]] = field(default_factory=dict)
    specs: list[dict[str, Any]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._pieces: list[str] = []
        self._skip = ""
        self._caption: str | None = None
        self._in = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self._skip = "spec" if ("class", "spec") in attrs else "code"
        elif tag == "style":
            self._skip = "code"
        elif tag == "table":
            self._caption = ""
        if tag in ("caption", "th", "td"):
            self._in = tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._skip = ""
        elif tag == "table":
            self._caption = None
        if tag in ("caption", "th", "td"):
            self._in = ""

    def handle_data(self, data: str) -> None:
        if self._skip == "spec":
            self.page.specs.append(json.loads(data))
        elif not self._skip:
            self._pieces.append(data)
            if self._in == "caption":
                self._caption = data.strip()
            elif self._in and self._caption is not None:
                self.page.tables.setdefault(self._caption, []).append(data)

    def close(self) -> None:
        super().close()
        self.page.text = "\n".join(self._pieces)


def read(html: str) -> Page:
    """The page of an HTML text."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page


def blank(spec: Mapping[str, Any]) -> Iterator[str]:
    """The views of a chart that show no mark of their data, by their titles."""
    datasets = spec.get("datasets", {})
    for title, view in _views(spec, spec.get("data")):
        if not any(_has_mark(layer, datasets) for layer in _layers(view)):
            yield title


def _views(spec: Mapping[str, Any], data: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each view that has axes of its own, with the data that it inherits."""
    data = spec.get("data", data)
    for name in ("hconcat", "vconcat", "concat"):
        for inner in spec.get(name, ()):
            yield from _views(inner, data)
        if name in spec:
            return
    if "spec" in spec:  # a facet, or a repetition
        yield from _views(spec["spec"], data)
    elif "mark" in spec or "layer" in spec:
        yield _title(spec), {**spec, "data": data}


def _title(spec: Mapping[str, Any]) -> str:
    for node in (spec, *spec.get("layer", ())):
        found = node.get("description") or node.get("title")
        if isinstance(found, dict):
            found = found.get("text")
        found = found or node.get("encoding", {}).get("y", {}).get("title")
        if found:
            return str(found)
    return "a chart"


def _layers(view: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The units of a view, each with the encoding and the data that it inherits."""
    if "mark" in view:
        yield dict(view)
    for inner in view.get("layer", ()):
        encoding = {**view.get("encoding", {}), **inner.get("encoding", {})}
        yield from _layers({"data": view.get("data"), **inner, "encoding": encoding})


def _has_mark(unit: Mapping[str, Any], datasets: Mapping[str, Any]) -> bool:
    """Whether something is seen of a unit."""
    encoding = unit.get("encoding", {})
    placed = {at: encoding[at] for at in _PLACES if "field" in encoding.get(at, {})}
    if not placed:
        return False
    rows = list(_rows(unit.get("data"), datasets))
    kind = unit["mark"] if isinstance(unit["mark"], str) else unit["mark"]["type"]
    has_points = isinstance(unit["mark"], dict) and bool(unit["mark"].get("point"))
    needed = 2 if kind in _LINES and not has_points else 1
    groups = [
        encoding[name]["field"]
        for name in ("color", "detail", "strokeDash", "opacity")
        if "field" in encoding.get(name, {})
    ]
    seen: dict[tuple[str, ...], int] = {}
    for row in rows:
        group = tuple(str(row.get(name)) for name in groups)
        whole = all(_is_placed(row, one) for one in placed.values())
        seen[group] = max(seen.get(group, 0), 0) + whole
    return any(count >= needed for count in seen.values())


def _is_placed(row: Mapping[str, Any], channel: Mapping[str, Any]) -> bool:
    value = row.get(re.sub(r"\\(.)", r"\1", channel["field"]))
    if channel.get("type") != "quantitative":
        return value not in (None, "")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    scale = channel.get("scale") or {}
    domain = scale.get("domain")
    if (
        isinstance(domain, list)
        and len(domain) == 2
        and all(isinstance(end, int | float) for end in domain)
    ):
        return min(domain) <= number <= max(domain)
    return math.isfinite(number) and not (scale.get("type") == "log" and number <= 0)


def _rows(data: Any, datasets: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if not data:
        return
    values = data.get("values", datasets.get(data.get("name", ""), ()))
    if isinstance(values, str):
        yield from csv.DictReader(io.StringIO(values))
    else:
        yield from values
