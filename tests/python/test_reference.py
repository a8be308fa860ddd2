"""The tables and pages that the documentation's site has from the program."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.main

import fairway
from fairway.cli.main import program
from test_gallery_algorithms import entry_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KNOWN = fairway.algorithms()

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="this is not a source tree")
sys.path.insert(0, str(ROOT / "tools" / "docs"))


def marked():
    """Table -> pages that show it."""
    found = {}
    for page in DOCS.rglob("*.md"):
        for name in re.findall(r"<!-- table: (\S+) -->", page.read_text()):
            found.setdefault(name, []).append(page.relative_to(DOCS).as_posix())
    return found


def test_every_table_is_shown_and_every_table_shown_exists():
    hooks = pytest.importorskip("hooks")
    tables = hooks.reference.tables()
    assert {*tables, *hooks.MEASURED} == set(marked())
    assert all(text.strip() for text in tables.values())


def test_every_command_has_a_page_with_its_options():
    commands = typer.main.get_command(program()).commands
    shown = {name: pages for name, pages in marked().items() if name.startswith("command-")}
    assert shown == {
        f"command-{name}": [f"commands/{name}.md"]
        for name, command in commands.items()
        if not command.hidden
    }


def test_options_are_those_of_the_help():
    from reference import tables

    assert "| `--json` |" in tables()["command-run"]
    assert "### fairway model laws" in tables()["command-model"]
    assert "[`run`](run.md) | Run an experiment" in tables()["commands"]


def test_every_algorithm_has_its_page():
    import reference

    nav = json.dumps(reference.navigation())
    for entry in KNOWN:
        path = reference.page_path(entry)
        assert f'"{path}"' in nav
        assert f"]({path})" in reference.tables()["algorithms"]
        assert re.fullmatch(r"algorithms/[a-z0-9.-]+\.md", path), "every web server serves it"


def test_links_to_code_lead_to_pages_and_from_there_to_code():
    hooks = pytest.importorskip("hooks")

    def shown(where, text):
        return hooks.on_page_markdown(
            text, page=SimpleNamespace(file=SimpleNamespace(src_uri=where))
        )

    assert shown("gelle2008.md", "[a](../crates/cc/src/algorithms/dcm_plus.rs)") == (
        "[a](algorithms/dcm-plus.md)"
    )
    assert shown("commands/x.md", "[a](../../crates/cc/src/algorithms/bic.rs)") == (
        "[a](../algorithms/bic.md)"
    )
    assert shown("algorithms/bic.md", "[a](../../crates/cc/src/algorithms/bic.rs)") == (
        "[a](code/bic.rs.txt)"
    )


def test_pages_and_figures_are_small():
    size = sum(path.stat().st_size for path in DOCS.rglob("*") if path.is_file())
    assert size < 3 << 20


def test_a_page_has_what_its_algorithm_has():
    import reference

    vector = {"sum": "a_b < 3*4 | 5", "expected": 12.0, "computed": 12.0, "holds": True}
    param = {"name": "beta", "meaning": "share", "default": {"paper": 0.5}, "min": 0, "max": 1}
    header = "First:\n- a\n- b\n\n# More\nW<3."
    page = reference.algorithm_page(
        entry_of(name="x++", header=header, params=[param], vectors=[vector])
    )
    assert page.startswith("# Imaginary TCP\n")
    assert "](figures/x-plus-plus.svg)" in page
    assert "(../../crates/cc/src/algorithms/x.rs)" in page
    assert "First:\n\n- a\n- b\n\n### More\nW&lt;3." in page
    assert "| `beta` | share | 0 to 1 | 0.5 |" in page
    assert "| a\\_b &lt; 3\\*4 \\| 5 | 12 | 12 | ✓ |" in page
    # Its experiment can be run.
    experiment = re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1]
    assert "x++" in experiment


def test_figures_lose_only_what_paper_does_not_need():
    import figures

    svg = (
        '<g class="a" role="x" aria-label="y" opacity="1"><path class="background"/>'
        '<path class="background" d="M0,0.25L10.04,3.96" fill="red" opacity="0.5"/></g>'
    )
    assert figures.shortened(svg) == '<g><path d="M0,0.2L10,4" fill="red" opacity="0.5"/></g>'
