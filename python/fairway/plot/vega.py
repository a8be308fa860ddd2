"""Charts as Vega-Lite documents: https://vega.github.io/vega-lite/docs/spec.html.

A document is JSON, and a report needs no more. Altair checks documents and shows them in notebooks;
its import takes longer than a short run, so `Chart.altair` imports it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway.ground import extras

if TYPE_CHECKING:
    import altair

#: The release that vl-convert draws and bundles.
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
#: Sizes of what has none of its own, as in Altair's default theme.
_CONFIG = {"view": {"continuousWidth": 300, "continuousHeight": 300}}

#: An option that is left out; None is Vega-Lite's `null`.
UNSET: Any = object()

#: Names of the kinds of data in a shorthand, such as "t:Q".
_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}
#: Channels for the other end of a mark, whose kind of data is that of the first.
_SECOND_ENDS = ("x2", "y2")
#: Keys under which a chart has charts.
_PARTS = ("layer", "concat", "hconcat", "vconcat")

Options = dict[str, Any]


def options(**given: Any) -> Options:
    """Options that are set, in the order of their names."""
    return {name: given[name] for name in sorted(given) if given[name] is not UNSET}


scale = axis = legend = options


def title(text: str | Sequence[str], **given: Any) -> Options:
    """A heading with its looks."""
    return {"text": text, **options(**given)}


def field(shorthand: str, **given: Any) -> Options:
    """A column in a channel: `field("t:Q", title="Time (s)")`."""
    name, _, kind = shorthand.rpartition(":")
    return options(field=name, type=_TYPES[kind], **given)


def value(constant: Any) -> Options:
    """The same for all marks."""
    return {"value": constant}


def csv(text: str, kinds: Mapping[str, str]) -> Options:
    """Data as CSV inside the chart, with the kinds of its columns: a third of the size of rows."""
    return {"values": text, "format": {"parse": dict(kinds), "type": "csv"}}


def condition(test: str | Options, then: Options, otherwise: Options) -> Options:
    """One look for marks that an expression or a parameter selects, another for the rest."""
    chosen = {"test": test} if isinstance(test, str) else {"param": test["name"]}
    return {"condition": chosen | then, **otherwise}


def parameter(name: str, kind: str, *, bind: str, **given: Any) -> Options:
    """A selection of the reader's: "point" or "interval"."""
    return {"name": name, "select": {"type": kind, **options(**given)}, "bind": bind}


class Chart:
    """A chart; its methods return a changed copy.

    In a notebook it shows itself. It has the methods of Altair's charts too, which return one of
    those.

    Attributes:
        parts: Its document without names, in any order. Data that several parts share is one
            object.
    """

    def __init__(self, data: Options | None = None, **properties: Any) -> None:
        self.parts = properties if data is None else {"data": data, **properties}

    def properties(self, **changed: Any) -> Chart:
        """Change properties, such as `width`."""
        return Chart(**{**self.parts, **changed})

    def mark(self, kind: str, **looks: Any) -> Chart:
        """Set the mark."""
        return self.properties(mark={"type": kind, **options(**looks)})

    def encode(self, **channels: Any) -> Chart:
        """Set channels: each a `field`, its shorthand, a list of these, or a `value`."""
        found = {name: _channel(name, one) for name, one in channels.items()}
        return self.properties(encoding=options(**self.parts.get("encoding", {}) | found))

    def transform(self, **step: Any) -> Chart:
        """Add a step that changes data, its options in the document's order."""
        return self.properties(transform=[*self.parts.get("transform", ()), step])

    def resolve_scale(self, **how: str) -> Chart:
        """Say which scales of its parts are independent."""
        return self.properties(resolve={"scale": options(**how)})

    def add_params(self, *added: Options) -> Chart:
        """Add selections; those of layers belong to the first of them."""
        if "layer" not in self.parts:
            return self.properties(params=[*self.parts.get("params", ()), *added])
        first, *others = self.parts["layer"]
        layers = [Chart(**first).add_params(*added).parts, *others]
        return Chart(**_lifted({**self.parts, "layer": layers}, "layer"))

    def __add__(self, other: Chart) -> Chart:
        return layer(self, other)

    def __or__(self, other: Chart) -> Chart:
        return hconcat(self, other)

    def __and__(self, other: Chart) -> Chart:
        return vconcat(self, other)

    def to_dict(self) -> Options:
        """The document."""
        datasets: Options = {}
        drawn = _document(self.parts, datasets, {})
        config = dict(_CONFIG)
        for name, looks in drawn.pop("config", {}).items():
            config[name] = config.get(name, {}) | looks if isinstance(looks, dict) else looks
        named = {"datasets": datasets} if datasets else {}
        return {"config": config, **drawn, "$schema": SCHEMA, **named}

    def to_json(self) -> str:
        """The document as text."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True, ensure_ascii=False)

    def altair(self) -> altair.TopLevelMixin:
        """The same as a chart of Altair's."""
        with extras.needed("a chart in a notebook"):
            import altair

        return altair.Chart.from_dict(self.to_dict())

    def _repr_mimebundle_(self, *args: Any, **more: Any) -> Any:
        return self.altair()._repr_mimebundle_(*args, **more)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self.altair(), name)


def layer(*charts: Chart) -> Chart:
    """Charts drawn over each other; they have one size."""
    found = _together("layer", charts)
    for size in ("height", "width"):
        for part in found["layer"]:
            if size in part:
                found[size] = part.pop(size)
    return Chart(**found)


def concat(*charts: Chart, **properties: Any) -> Chart:
    """Charts in rows of `columns`."""
    return Chart(**_together("concat", charts), **properties)


def hconcat(*charts: Chart, **properties: Any) -> Chart:
    """Charts beside each other."""
    return Chart(**_together("hconcat", charts), **properties)


def vconcat(*charts: Chart, **properties: Any) -> Chart:
    """Charts below each other."""
    return Chart(**_together("vconcat", charts), **properties)


def _channel(name: str, given: Any) -> Any:
    if isinstance(given, list):
        return [_channel(name, one) for one in given]
    found = field(given) if isinstance(given, str) else given
    if name not in _SECOND_ENDS:
        return found
    return {key: found[key] for key in found if key != "type"}


def _together(kind: str, charts: Sequence[Chart]) -> Options:
    """Charts as parts of one, which has the data that all of them share, and their selections."""
    parts = [dict(chart.parts) for chart in charts]
    data = parts[0].get("data")
    found: Options = {kind: parts}
    if data is not None and all(part.get("data") is data for part in parts):
        found = {kind: [{k: part[k] for k in part if k != "data"} for part in parts], "data": data}
    return _lifted(found, kind)


def _lifted(whole: Options, kind: str) -> Options:
    """The selections of the parts as those of the whole, each with the views that it belongs to.

    A view is an object until `_document` names it. Layers have the first of equal selections.
    """
    params = [dict(one) for one in whole.get("params", ())]
    parts = [dict(part) for part in whole[kind]]
    for part in parts:
        for param in part.pop("params", ()):
            views = param.get("views") or [part.setdefault("name", object())]
            bare = {**param, "views": None}
            same = next((one for one in params if {**one, "views": None} == bare), None)
            if same is None:
                params.append({**param, "views": views})
            elif kind != "layer":
                same["views"] = [*same["views"], *views]
    return {**whole, kind: parts} | ({"params": params} if params else {})


def _document(parts: Mapping[str, Any], datasets: Options, views: dict[Any, str]) -> Options:
    """A chart as Vega-Lite has it: data by names, views with names, what it is made of first."""
    kind = next((kind for kind in _PARTS if kind in parts), None)
    found = dict(parts)
    if "data" in parts:
        found["data"] = _named(parts["data"], datasets)
    if "name" in parts:
        found["name"] = views.setdefault(parts["name"], f"view_{len(views)}")
    if kind:
        found[kind] = [_document(part, datasets, views) for part in parts[kind]]
    if "params" in parts:
        found["params"] = [
            {**one, "views": [views[view] for view in one["views"]]} if "views" in one else one
            for one in parts["params"]
        ]
    first = [name for name in ([kind] if kind else ["data", "mark"]) if name in found]
    return {name: found[name] for name in [*first, *sorted(found.keys() - {*first})]}


def _named(data: Options, datasets: Options) -> Options:
    """Data by a name that is a digest of them, so that the same data are there once."""
    text = json.dumps(data["values"], sort_keys=True, default=str)
    name = f"data-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    datasets[name] = data["values"]
    return {"name": name, **{key: data[key] for key in data if key != "values"}}
