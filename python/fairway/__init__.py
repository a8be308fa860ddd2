"""Fairway: a laboratory for TCP congestion control.

>>> import fairway
>>> run = fairway.run("pair.toml")          # doctest: +SKIP
>>> run.flows                               # doctest: +SKIP
>>> run.figures.cwnd()                      # doctest: +SKIP
"""

from __future__ import annotations

# As of `typing`, without its import: until `__main__` runs, Ctrl-C is a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairway.api import (
        agree,
        analyze,
        animate,
        fidelity,
        gallery,
        load,
        portrait,
        reproduce,
        schema,
    )
    from fairway.capture.analysis.result import Analysis
    from fairway.compare.agree.run import Agreement
    from fairway.compare.fidelity.run import Fidelity
    from fairway.errors import (
        AlgorithmError,
        ExperimentError,
        FairwayError,
        InputError,
        Interrupted,
        NotDrawn,
        RunFailed,
        SimulationError,
    )
    from fairway.ground.registry import algorithms, presets
    from fairway.metrics.phases import Phase, phases
    from fairway.results.run import Run
    from fairway.study.reproduce import Reproduction
    from fairway.sweep.result import Sweep
    from fairway.sweep.start import run

# Everything is loaded when it is first used, so that `import fairway` costs nothing.
_HOME = {
    "AlgorithmError": "fairway.errors",
    "Agreement": "fairway.compare.agree.run",
    "Analysis": "fairway.capture.analysis.result",
    "ExperimentError": "fairway.errors",
    "SimulationError": "fairway.errors",
    "agree": "fairway.api",
    "algorithms": "fairway.ground.registry",
    "analyze": "fairway.api",
    "animate": "fairway.api",
    "fidelity": "fairway.api",
    "gallery": "fairway.api",
    "load": "fairway.api",
    "portrait": "fairway.api",
    "phases": "fairway.metrics.phases",
    "presets": "fairway.ground.registry",
    "reproduce": "fairway.api",
    "run": "fairway.sweep.start",
    "schema": "fairway.api",
    "FairwayError": "fairway.errors",
    "InputError": "fairway.errors",
    "Interrupted": "fairway.errors",
    "NotDrawn": "fairway.errors",
    "RunFailed": "fairway.errors",
    "Fidelity": "fairway.compare.fidelity.run",
    "Phase": "fairway.metrics.phases",
    "Run": "fairway.results.run",
    "Reproduction": "fairway.study.reproduce",
    "Sweep": "fairway.sweep.result",
}

__all__ = [
    "Agreement",
    "AlgorithmError",
    "Analysis",
    "ExperimentError",
    "FairwayError",
    "Fidelity",
    "InputError",
    "Interrupted",
    "NotDrawn",
    "Phase",
    "Reproduction",
    "Run",
    "RunFailed",
    "SimulationError",
    "Sweep",
    "__version__",
    "agree",
    "algorithms",
    "analyze",
    "animate",
    "fidelity",
    "gallery",
    "load",
    "phases",
    "portrait",
    "presets",
    "reproduce",
    "run",
    "schema",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from fairway import _core

        return _core.version()
    if name in _HOME:
        import importlib

        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'fairway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
