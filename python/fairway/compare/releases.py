"""Releases of Linux and the presets that are of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fairway.ground.kernels import releases
from fairway.ground.registry import DEFAULT_PRESET, presets


def preset_of(kernel: str | None) -> str:
    """The preset of a kernel's release: of the newest version that is not newer than it."""
    release = _version(kernel or "")
    versions = {
        _version(preset["name"].removeprefix("linux-")): str(preset["name"])
        for preset in presets()
        if preset["name"].startswith("linux-")
    }
    older = [version for version in versions if version <= release]
    return versions[max(older)] if older else DEFAULT_PRESET


def mismatch(experiment: Mapping[str, Any], summaries: Iterable[Mapping[str, Any]]) -> str:
    """A caution if a run's kernel is not the Linux of the experiment's preset, or nothing."""
    kernel = next(iter(releases(summaries)), None)
    preset = str(experiment.get("stack", {}).get("preset", DEFAULT_PRESET))
    own = preset_of(kernel)
    if kernel is None or preset == own or not preset.startswith("linux-"):
        return ""
    return (
        f"The preset is {preset}, the kernel is Linux {kernel}: differences between these releases "
        f"are included. --set stack.preset={own} leaves them out."
    )


def _version(release: str) -> tuple[int, ...]:
    digits = re.match(r"[0-9]{1,9}(\.[0-9]{1,9})*", release)
    return tuple(map(int, digits[0].split("."))) if digits else ()
