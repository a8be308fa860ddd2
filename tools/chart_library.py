"""Writes the scripts that draw charts in reports into the package: Vega, as vl-convert bundles it.

    python tools/chart_library.py

`make build` does it; whatever else builds a wheel has to. Needs the package vl-convert-python.
"""

from pathlib import Path

import vl_convert

FILE = Path(__file__).parents[1] / "python/fairway/plot/library/vega-embed.js"


def main() -> None:
    """Write the file, whole or not at all."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    whole = FILE.with_suffix(".new")
    whole.write_text(bundle, encoding="utf-8")
    whole.replace(FILE)


if __name__ == "__main__":
    main()
