"""What the site's reference holds: tables and pages that the program writes.

`hooks.py` puts the tables where a page of `docs/` says `<!-- table: NAME -->`, and adds a page for
each algorithm. None of it is tracked: `fairway algorithms`, `presets`, `schema` and `--help` print
the same.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from markdown_text import capitalised, code, escaped, table, toml
from reference_commands import commands
from reference_keys import key_tables, queue_keys
from reference_laws import law_sections, laws

from fairway import _core
from fairway.cli.algorithms import bounds, by_family, markdown
from fairway.experiment import scenarios
from fairway.ground import result_schema
from fairway.metrics.catalogue import EXPERIMENT, OF_FLOWS, OF_LINKS, unit_of
from fairway.metrics.catalogue import FUNCTIONS as METRIC_FUNCTIONS
from fairway.metrics.transfer import FIGURES as TRANSFER_FIGURES

DOCS = Path(__file__).resolve().parents[2] / "docs"
#: Where an algorithm's code is, from a page of `docs/` and from its own page.
CODE = "../crates/cc/src/algorithms/"
MARKED = re.compile(r"<!-- table: (\S+) -->")


def preset_names() -> str:
    """Every preset and what it is."""
    found = json.loads(_core.presets())
    return "".join(f"- `{preset['name']}`: {preset['summary']}\n" for preset in found)


def presets() -> str:
    """What every preset sets; what differs from the first one is bold."""
    found = json.loads(_core.presets())
    first = found[0]["switches"]
    rows = [
        [f"`{name}`", show(value), *(beside(p["switches"][name], value) for p in found[1:])]
        for name, value in first.items()
    ]
    return table(["switch", *(f"`{preset['name']}`" for preset in found)], rows)


def beside(value: Any, first: Any) -> str:
    """The value of a switch beside that of the first preset."""
    return show(value) if value == first else f"**{show(value)}**"


def preset_sources() -> str:
    """Where the values of every preset are from."""
    parts = []
    for preset in json.loads(_core.presets()):
        rows = []
        for name, value in preset["switches"].items():
            written = show(value) if value is None else code(value)
            rows.append([f"`{name}`", written, escaped(preset["sources"][name])])
        heading = f"### {preset['name']}\n\n{preset['summary']}\n\n"
        parts.append(heading + table(["switch", "value", "source"], rows))
    return "\n".join(parts)


def tcp_info() -> str:
    """Every column that holds a field of the kernel's."""
    fields = [one for one in result_schema.columns("tcp_info").values() if one.source]
    rows = [[f"`{field.name}`", field.meaning, field.source] for field in fields]
    return table(["column", "meaning", "since Linux"], rows)


def result_columns(name: str, header: str = "column") -> str:
    """The columns of a table of results."""
    found = result_schema.columns(name).values()
    rows = [[f"`{one.name}`", one.unit, escaped(one.meaning)] for one in found]
    if not any(unit for _, unit, _ in rows):
        return table([header, "meaning"], ([name, meaning] for name, _, meaning in rows))
    return table([header, "unit", "meaning"], rows)


def result_metrics() -> str:
    """The metrics that stand in a summary."""
    rows = [
        [f"`{one.name}`", one.unit, escaped(one.meaning), one.source]
        for one in result_schema.columns("metrics").values()
    ]
    return table(["metric", "unit", "definition", "source"], rows)


def algorithms() -> str:
    """Every algorithm with its variants, by family."""
    parts = []
    for family, entries in by_family(known()):
        rows = [
            [
                f"[`{entry['name']}`](algorithms/{page_name(entry)}.md)",
                entry["summary"],
                entry["signal"],
                str(entry["year"]),
                ", ".join(f"`{variant}`" for variant in entry["variants"]),
                entry["source"],
            ]
            for entry in entries
        ]
        header = ["`cc`", "what it does", "signal", "year", "variants", "source"]
        parts.append(f"### {capitalised(family)}\n\n{table(header, rows)}")
    return "\n".join(parts)


def metric_names() -> str:
    """Metrics that sweeps, studies and claims know by name."""
    rows = [
        [f"`{of}{metric.name}`", metric.unit, metric.needs, function_link(metric.function)]
        for of, metrics in (("", OF_FLOWS), ("link.<id>.", OF_LINKS))
        for metric in metrics
    ]
    rows += [
        [f"`transfer.<id>.{name}`", unit_of(name), EXPERIMENT, function_link(figure.function)]
        for name, figure in TRANSFER_FIGURES.items()
    ]
    return table(["name", "unit", "made of", "what it is"], rows)


def function_link(function: Callable[..., Any]) -> str:
    """A link to where a function of metrics is explained."""
    return f"[`{function.__name__}`](#{function.__name__})"


def metric_functions() -> str:
    """Every function of metrics, with formula, edge cases and source."""
    named = [metric.function for metric in (*OF_FLOWS, *OF_LINKS)]
    named += [figure.function for figure in TRANSFER_FIGURES.values()]
    parts = []
    for function in sorted({*named, *METRIC_FUNCTIONS}, key=lambda one: one.__name__):
        text = inspect.getdoc(function) or ""
        # Arguments and errors are for who calls it.
        paragraphs = [p for p in text.split("\n\n") if not re.match(r"(Args|Raises):", p)]
        arguments = ", ".join(inspect.signature(function).parameters)
        heading = f"### {function.__name__}\n\n`fairway.metrics.{function.__name__}({arguments})`"
        parts.append("\n\n".join([heading, *(escaped(p) for p in paragraphs)]) + "\n")
    return "\n".join(parts)


def gallery_paths() -> str:
    """The paths of the gallery as experiments."""
    reno = next(entry for entry in known() if entry["name"] == "reno")
    parts = []
    for path in scenarios.gallery_paths():
        experiment = f"```toml\n{tomli_w.dumps(path.of(reno))}```\n"
        parts.append(f"### {path.key}\n\n{capitalised(path.title)}.\n\n{experiment}")
    return "\n".join(parts)


def algorithm_page(entry: Mapping[str, Any]) -> str:
    """The page of one algorithm."""
    scenario = scenarios.canonical(entry)
    title, variants = entry["title"], entry["variants"]
    others = "".join(f", `{variant}`" for variant in variants[1:])
    facts = [
        f"`cc = {toml(entry['name'])}`",
        f"{entry['family']}, {entry['year']}",
        f"signal: {entry['signal']}",
        f"variants: `{variants[0]}`{others}",
        f"source: {entry['source']}",
        f"code: [`{entry['file']}`](../{CODE}{entry['file']})",
    ]
    lines = [
        f"# {title}\n",
        f"{entry['summary']}\n",
        "".join(f"- {fact}\n" for fact in facts),
        f"![{title}: window and queue over time](figures/{page_name(entry)}.svg)\n",
        f"{title}, variant `{scenarios.variant(entry)}`: {scenario.title}.\n",
        f"{page_markdown(entry['header'])}\n",
        "## Parameters\n",
        parameters(entry),
        "## Sums\n",
        sums(entry),
        "## The experiment of the figure\n",
        f"```toml\n{tomli_w.dumps(scenario.of(entry))}```",
    ]
    return "\n".join(lines) + "\n"


def page_markdown(header: str) -> str:
    """A header for these pages: a list begins after an empty line, and headings are not titles."""
    text = re.sub(r"^(#+ )", r"##\1", markdown(header), flags=re.MULTILINE)
    item = r"(?:[-*]|\d+\.) "
    return re.sub(rf"^(?!{item}|\s|\|)(.+)\n(?={item})", r"\1\n\n", text, flags=re.MULTILINE)


def parameters(entry: Mapping[str, Any]) -> str:
    """The parameters of an algorithm, with a default for each variant that has it."""
    if not entry["params"]:
        return "None.\n"
    rows = []
    for param in entry["params"]:
        values = [param["default"].get(variant) for variant in entry["variants"]]
        defaults = ["–" if value is None else f"{value:.6g}" for value in values]
        rows.append([f"`{param['name']}`", param["meaning"], bounds(param), *defaults])
    variants = [f"`{variant}`" for variant in entry["variants"]]
    return table(["parameter", "meaning", "range", *variants], rows)


def sums(entry: Mapping[str, Any]) -> str:
    """What was worked out by hand, beside what the code gives."""
    if not entry["vectors"]:
        return "None yet.\n"
    rows = [
        [
            vector["sum"].replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;"),
            f"{vector['expected']:.7g}",
            f"{vector['computed']:.7g}",
            "✓" if vector["holds"] else "✗",
        ]
        for vector in entry["vectors"]
    ]
    header = ["worked out by hand from the source", "by hand", "by the code", ""]
    return table(header, rows)


def navigation() -> list[dict[str, list[dict[str, str]]]]:
    """The pages of the algorithms by family, as `nav` of `mkdocs.yml` has pages."""
    return [
        {capitalised(family): [{entry["title"]: page_path(entry)} for entry in entries]}
        for family, entries in by_family(known())
    ]


@functools.cache
def known() -> list[dict[str, Any]]:
    """Every algorithm."""
    return list(json.loads(_core.algorithms()))


def page_name(entry: Mapping[str, Any]) -> str:
    """The name of an algorithm's page: a plus would be a space to some web servers."""
    return str(entry["name"]).replace("+", "-plus")


def page_path(entry: Mapping[str, Any]) -> str:
    """Where the site has an algorithm's page."""
    return f"algorithms/{page_name(entry)}.md"


def fields(kind: type) -> str:
    """The fields of what a congestion control written in Python is shown."""
    names = [name for name, field in vars(kind).items() if inspect.isdatadescriptor(field)]
    order = list(inspect.signature(kind).parameters)
    rows = []
    for name in sorted(names, key=lambda n: order.index(n) if n in order else len(order)):
        if name.removesuffix("_s") in names and name.endswith("_s"):
            continue  # beside the same in nanoseconds
        shown = f"`{name}`, `{name}_s`" if f"{name}_s" in names else f"`{name}`"
        rows.append([shown, inspect.getdoc(getattr(kind, name)).replace(", ns", "")])
    return table(["field", "meaning"], rows)


def show(value: Any) -> str:
    """The value of a switch, for reading."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


@functools.cache
def tables() -> dict[str, str]:
    """Every table by name."""
    return {
        **key_tables(),
        **commands(),
        "queue-keys": queue_keys(),
        "preset-names": preset_names(),
        "presets": presets(),
        "preset-sources": preset_sources(),
        "tcp_info": tcp_info(),
        "result-flows": result_columns("flows", "of a flow"),
        "result-datagrams": result_columns("datagrams", "of a datagram flow"),
        "result-flow-monitor": result_columns("flows.flow_monitor", "of `flow_monitor`"),
        "result-applications": result_columns("applications", "of an application"),
        "result-completions": result_columns(
            "completions", "of transfers that began in the measuring window"
        ),
        "result-links": result_columns("links", "of a link direction"),
        "result-wlan": result_columns("wlan", "of a WLAN"),
        "result-wlan-nodes": result_columns("wlan.nodes", "of a node"),
        "result-metrics": result_metrics(),
        "result-series": result_columns("series"),
        "result-queues": result_columns("queues"),
        "result-losses": result_columns("losses"),
        "result-packets": result_columns("packets"),
        "result-intervals": result_columns("intervals"),
        "init": fields(_core.Init),
        "ack": fields(_core.Ack),
        "rate-sample": fields(_core.RateSample),
        "flow-state": fields(_core.Flow),
        "algorithms": algorithms(),
        "gallery-paths": gallery_paths(),
        "metric-names": metric_names(),
        "metric-functions": metric_functions(),
        "laws": laws(),
        "law-sections": law_sections(),
    }


def expanded(page: str, measured: Mapping[str, Callable[[], str]]) -> str:
    """A page with its tables; those that take runs are made when a page has them."""

    def text(match: re.Match[str]) -> str:
        name = match[1]
        return measured[name]() if name in measured else tables()[name]

    return MARKED.sub(text, page)
