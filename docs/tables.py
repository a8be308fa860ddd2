"""Writes the reference tables of this documentation from the program itself.

    .venv/bin/python docs/tables.py            write them
    .venv/bin/python docs/tables.py --check    fail if a page differs from the program

A page holds `<!-- table: NAME -->` and `<!-- end -->`; what stands between is replaced.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairway import _core

DOCS = Path(__file__).resolve().parent
MARKED = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(header)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(value: Any) -> str:
    """A value as it would be written in TOML, marked as code."""
    return f"`{toml(value)}`"


def toml(value: Any) -> str:
    """A value as it would be written in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{quoted(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def quoted(key: str) -> str:
    """A TOML key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def keys(section: Mapping[str, Any], skip: Iterable[str] = ()) -> str:
    """The table of a section's keys."""
    rows = []
    for name, key in section["properties"].items():
        if name in skip:
            continue
        if "default" in key:
            absent = code(key["default"])
        else:
            absent = "required" if name in section["required"] else ""
        meaning = key["description"]
        if "enum" in key:
            meaning += " One of " + ", ".join(code(choice) for choice in key["enum"]) + "."
        rows.append([f"`{name}`", code(key["examples"][0]), absent, meaning])
    return table(["key", "example", "default", "meaning"], rows)


def presets() -> str:
    """Every preset and what it sets."""
    found = json.loads(_core.presets())
    summaries = "".join(f"- `{preset['name']}`: {preset['summary']}\n" for preset in found)
    switches = dict.fromkeys(name for preset in found for name in preset["switches"])
    rows = [
        [f"`{name}`", *(show(preset["switches"].get(name)) for preset in found)]
        for name in switches
    ]
    header = ["switch", *(f"`{preset['name']}`" for preset in found)]
    return summaries + "\n" + table(header, rows)


def algorithms() -> str:
    """Every algorithm with its variants."""
    rows = [
        [
            f"`{algorithm['name']}`",
            algorithm["summary"],
            ", ".join(f"`{variant}`" for variant in algorithm["variants"]),
            f"{algorithm['source']}",
        ]
        for algorithm in json.loads(_core.algorithms())
    ]
    return table(["`cc`", "what it does", "variants", "source"], rows)


def parameters() -> str:
    """Every parameter of every algorithm."""
    rows = []
    for algorithm in json.loads(_core.algorithms()):
        for param in algorithm["params"]:
            defaults = "; ".join(
                f"{value:g} ({variant})" for variant, value in param["default"].items()
            )
            bounds = f"{param['min']:g} to {param['max']:g}"
            name = f"`{param['name']}`"
            rows.append([f"`{algorithm['name']}`", name, param["meaning"], defaults, bounds])
    return table(["algorithm", "parameter", "meaning", "default", "range"], rows)


def show(value: Any) -> str:
    """The value of a switch, for reading."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def tables() -> dict[str, str]:
    """Every table by name."""
    experiment = json.loads(_core.schema())
    properties = experiment["properties"]
    stack = properties["stack"]
    topology = properties["topology"]
    bottleneck = topology["properties"]["bottleneck"]
    link = bottleneck["properties"]
    switches = [name for name in stack["properties"] if name not in ("preset", "cc_variant")]
    return {
        "experiment": keys(experiment),
        "stack": keys(stack),
        "topology": keys(topology),
        "link": keys(topology["properties"]["link"]["items"]),
        "queue": keys(link["queue"]),
        "loss": keys(link["loss"]),
        # A flow has every switch of the stack too; its table would repeat them.
        "flow": keys(properties["flow"]["items"], skip=switches),
        "measure": keys(properties["measure"]),
        "presets": presets(),
        "algorithms": algorithms(),
        "parameters": parameters(),
    }


def main() -> int:
    """Write or check every page; the exit code."""
    found = tables()
    stale = []
    for page in sorted(DOCS.glob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = MARKED.sub(lambda m: f"{m[1]}\n{found[m[2]]}\n{m[3]}", old)
        if new != old:
            stale.append(page.name)
            if "--check" not in sys.argv[1:]:
                page.write_text(new, encoding="utf-8")
    if "--check" in sys.argv[1:] and stale:
        print(f"out of date: {', '.join(stale)}; run docs/tables.py", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
