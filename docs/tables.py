"""Writes the reference tables of this documentation, and a page for each algorithm.

    .venv/bin/python docs/tables.py            write them
    .venv/bin/python docs/tables.py --check    fail if a page differs from the program

A page holds `<!-- table: NAME -->` and `<!-- end -->`; what stands between is replaced. Pages in
`algorithms/` are written whole, and listed in `mkdocs.yml` between `# algorithms` and `# end`.
Their figures are drawn by `figures.py`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from tables_commands import commands
from tables_keys import key_tables, queue_keys
from tables_models import law_sections, laws
from tables_text import capitalised, code, escaped, table, toml

from fairway import _core
from fairway.cli.explain import bounds, by_family, markdown
from fairway.experiment import scenarios
from fairway.metrics.catalogue import EXPERIMENT, OF_FLOWS, OF_LINKS
from fairway.metrics.catalogue import FUNCTIONS as METRIC_FUNCTIONS
from fairway.metrics.transfer import FIGURES as TRANSFER_FIGURES

DOCS = Path(__file__).resolve().parent
#: One page for each algorithm.
PAGES = DOCS / "algorithms"
SITE = DOCS.parent / "mkdocs.yml"
#: Where algorithms' code is, from their pages.
CODE = "../../crates/cc/src/algorithms/"
LISTED = re.compile(r"( *# algorithms\n).*?( *# end\n)", re.DOTALL)
MARKED = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


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
    rows = [
        [f"`{field['name']}`", field["meaning"], field["since"]]
        for field in json.loads(_core.tcp_info_fields())
    ]
    return table(["column", "meaning", "since Linux"], rows)


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
        [f"`transfer.<id>.{name}`", figure.unit, EXPERIMENT, function_link(figure.function)]
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
        f"code: [`{entry['file']}`]({CODE}{entry['file']})",
    ]
    lines = [
        "<!-- Written by docs/tables.py from the program; change that. -->",
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


def navigation() -> str:
    """The pages of the algorithms, for `mkdocs.yml`."""
    indent = " " * 10
    lines = []
    for family, entries in by_family(known()):
        lines.append(f"{indent}- {capitalised(family)}:\n")
        lines += [
            f"{indent}    - {json.dumps(entry['title'])}: algorithms/{page_name(entry)}.md\n"
            for entry in entries
        ]
    return "".join(lines)


def known() -> list[dict[str, Any]]:
    """Every algorithm."""
    return list(json.loads(_core.algorithms()))


def page_name(entry: Mapping[str, Any]) -> str:
    """The name of an algorithm's page: a plus would be a space to some web servers."""
    return str(entry["name"]).replace("+", "-plus")


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


def tables() -> dict[str, str]:
    """Every table by name."""
    return {
        **key_tables(),
        "queue-keys": queue_keys(),
        "preset-names": preset_names(),
        "presets": presets(),
        "preset-sources": preset_sources(),
        "tcp_info": tcp_info(),
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
        "commands": commands(),
    }


def files() -> dict[Path, str]:
    """Every file that is written here, with what it should hold."""
    found = tables()
    pages = {}
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        pages[page] = MARKED.sub(lambda m: f"{m[1]}\n{found[m[2]]}\n{m[3]}", text)
    for entry in known():
        pages[PAGES / f"{page_name(entry)}.md"] = algorithm_page(entry)
    site = SITE.read_text(encoding="utf-8")
    pages[SITE] = LISTED.sub(lambda m: f"{m[1]}{navigation()}{m[2]}", site)
    return pages


def main() -> int:
    """Write or check every page; the exit code."""
    wanted = files()
    stale = [path for path in PAGES.glob("*.md") if path not in wanted]
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
    if "--check" in sys.argv[1:]:
        if stale:
            names = ", ".join(path.name for path in stale)
            print(f"out of date: {names}; run docs/tables.py", file=sys.stderr)  # noqa: T201
        return 1 if stale else 0
    PAGES.mkdir(exist_ok=True)
    for path in stale:
        if path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
