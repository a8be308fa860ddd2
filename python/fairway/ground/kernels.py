"""Releases of the kernels that answered, as summaries name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def releases(summaries: Iterable[Mapping[str, Any]]) -> list[str]:
    """The releases that summaries name, each once and in order; a summary may name none."""
    kernels = (summary.get("kernel") for summary in summaries)
    found = (kernel.get("release") for kernel in kernels if isinstance(kernel, Mapping))
    return sorted({str(release) for release in found if release is not None})
