"""Writes the built files of the laboratory's page: simulator, charts, examples and exercises.

    python -m fairway.lab.build target/wasm32-unknown-unknown/page/fairway_lab.wasm
    python -m fairway.lab.build --site site/lab

The first form fills `page/built`, the second copies the whole page; `make lab` does both.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from fairway.errors import InputError
from fairway.exercises import exercises
from fairway.experiment.plan import parse_toml
from fairway.lab import charts
from fairway.lab.server import BUILT, PAGE, WASM
from fairway.plot.page import chart_library

#: Experiment files of the source tree.
EXAMPLES = Path(__file__).parents[3] / "examples"

#: Examples that cannot run in a page -> why.
UNFIT = {
    "own.toml": "its algorithm is in Python",
    "programs.toml": "its programs need a real kernel",
    "trace.toml": "its link follows a trace in a file beside it",
}


def examples() -> dict[str, dict[str, str]]:
    """The examples that run in a page: name without its ending -> title and text."""
    found = {}
    for path in sorted(EXAMPLES.glob("*.toml")):
        if path.name not in UNFIT:
            text = path.read_text("utf-8")
            title = parse_toml(text, path.name).get("title", path.stem)
            found[path.stem] = {"title": title, "text": text}
    return found


def fill(wasm: Path) -> None:
    """Write `page/built` around this WebAssembly module."""
    BUILT.mkdir(parents=True, exist_ok=True)
    charts.write(BUILT)
    (BUILT / "vega.js").write_text(chart_library(), encoding="utf-8")
    listed = {"examples": examples(), "exercises": [one.to_json() for one in exercises()]}
    for name, what in listed.items():
        written = json.dumps(what, separators=(",", ":"), ensure_ascii=False)
        (BUILT / f"{name}.json").write_text(written, encoding="utf-8")
    shutil.copyfile(wasm, BUILT / WASM)


def copy(site: Path) -> None:
    """Replace a directory by the whole page, for any server of static files."""
    if not (BUILT / WASM).is_file():
        raise InputError(f"{BUILT / WASM}: not found; build it with `make lab`")
    if site.exists():
        if not (site / "built" / WASM).is_file():
            raise InputError(
                f"--site {site}: exists and is not a copy of the page; delete it or choose another"
            )
        shutil.rmtree(site)
    shutil.copytree(PAGE, site)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Write what the laboratory's page loads.")
    parser.add_argument("wasm", type=Path, nargs="?", help="the simulator as cargo has built it")
    parser.add_argument("--site", type=Path, help="copy the whole page there")
    asked = parser.parse_args()
    try:
        if asked.wasm is not None:
            fill(asked.wasm)
        if asked.site is not None:
            copy(asked.site)
    except (InputError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
