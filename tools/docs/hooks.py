"""Builds into the site what the program writes: tables, pages and figures of algorithms.

Also brings along the algorithms' code, and keeps prompts out of what is copied from a page.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import figures
import reference
from fidelity import measured as fidelity_tables
from mkdocs.structure.files import File, Files

import fairway

ALGORITHMS = reference.DOCS.parent / "crates" / "cc" / "src" / "algorithms"
#: A link to an algorithm's code in the source tree, and whether an algorithm's page has it.
IN_TREE = re.compile(r"\]\((\.\./)?\.\./crates/cc/src/algorithms/(\w+)\.rs\)")
#: A block of commands, and the prompts in it. A style shows them instead, which is not copied.
CONSOLE = re.compile(r'<code class="language-console">.*?</code>', re.DOTALL)
PROMPT = re.compile(r"^(<code[^>]*>)?\$ ", re.MULTILINE)

PICTURE = "[![Every algorithm on three paths](gallery.svg)](gallery.svg)"

gallery = functools.cache(fairway.gallery)
#: Tables that take runs of the simulator.
MEASURED: dict[str, Callable[[], str]] = {
    "gallery": lambda: f"{PICTURE}\n\n{figures.numbers(gallery())}",
    "fidelity": lambda: fidelity_tables(fairway.fidelity()),
    "fidelity-6.12": lambda: fidelity_tables(fairway.fidelity(kernel="6.12")),
}


def on_config(config: Any) -> Any:
    """List the algorithms' pages behind their overview."""
    parts = {title: pages for part in config.nav for title, pages in part.items()}
    chapters = [chapter for chapter in parts["Reference"] if "Congestion control" in chapter]
    chapters[0]["Congestion control"].extend(reference.navigation())
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the algorithms' pages, figures and code, as text, which browsers show."""
    for entry in reference.known():
        page, path = reference.algorithm_page(entry), reference.page_path(entry)
        files.append(File.generated(config, path, content=page))
    for path, chart in figures.of_algorithms(gallery()).items():
        files.append(File.generated(config, path, content=figures.svg(chart)))
    for code in sorted(ALGORITHMS.glob("*.rs")):
        uri = f"algorithms/code/{code.name}.txt"
        files.append(File.generated(config, uri, abs_src_path=str(code)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Fill in tables; links to an algorithm's code lead to its page, and from there to the code."""
    places = {entry["file"]: reference.page_path(entry) for entry in reference.known()}
    own = page.file.src_uri.startswith("algorithms/")

    def link(match: re.Match[str]) -> str:
        above, name = match[1] or "", match[2]
        target = f"code/{name}.rs.txt" if own else above + places[f"{name}.rs"]
        return f"]({target})"

    return IN_TREE.sub(link, reference.expanded(markdown, MEASURED))


def on_page_content(html: str, **_: Any) -> str:
    """Make prompts what the copy button leaves out."""
    return CONSOLE.sub(lambda m: PROMPT.sub(r'\1<span class="prompt"></span>', m[0]), html)
