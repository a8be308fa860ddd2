"""Brings the algorithms' code into the web site; what is copied from it has no prompts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

CODE = Path(__file__).resolve().parent.parent / "crates" / "cc" / "src" / "algorithms"
#: The link in the source tree, and in the site. Browsers show text files, and save others.
IN_TREE, IN_SITE = "](../../crates/cc/src/algorithms/", "](code/"
#: A block of commands, and the prompts in it. A style shows them instead, which is not copied.
CONSOLE = re.compile(r'<code class="language-console">.*?</code>', re.DOTALL)
PROMPT = re.compile(r"^(<code[^>]*>)?\$ ", re.MULTILINE)


def on_files(files: Files, *, config: Any) -> Files:
    """Add the files of code."""
    for path in sorted(CODE.glob("*.rs")):
        uri = f"algorithms/code/{path.name}.txt"
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links lead there."""
    head, *links = markdown.split(IN_TREE)
    return head + "".join(IN_SITE + link.replace(".rs)", ".rs.txt)", 1) for link in links)


def on_page_content(html: str, **_: Any) -> str:
    """Make prompts what the copy button leaves out."""
    return CONSOLE.sub(lambda m: PROMPT.sub(r'\1<span class="prompt"></span>', m[0]), html)
