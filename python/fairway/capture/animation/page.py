"""The page that plays a scene: one HTML file that needs no network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairway.ground import text
from fairway.plot.page import filled, policy
from fairway.results.run import Run

_STYLES = ("report.css", "animation.css")
_SCRIPTS = ("theme.js", "animation_scene.js", "animation_stage.js", "animation.js")


def page(run: Run, scene: Mapping[str, Any]) -> str:
    """The page of a run's scene."""
    style = "".join(map(filled, _STYLES))
    script = "".join(map(filled, _SCRIPTS))
    begin, end = (f"{text.exact(scene[name] / 1e9)} s" for name in ("begin_ns", "end_ns"))
    times = text.count(len(scene["packets"]["flow"]), "time")
    lead = f"From {begin} to {end} of the run, seed {run.seed}: packets cross links {times}."
    return filled(
        "animation.html",
        title=run.title,
        lead=lead,
        scene=_safe(json.dumps(scene, separators=(",", ":"), ensure_ascii=False)),
        style=style,
        script=script,
        policy=policy([script], [style]),
    )


def _safe(document: str) -> str:
    """JSON of the same value that ends no script element and hides nothing."""
    return text.json_printable(document).replace("<", "\\u003c")
