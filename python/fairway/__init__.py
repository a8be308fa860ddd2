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

    from fairway.agreement.result import Agreement
    from fairway.analysis.result import Analysis
    from fairway.api import (
        agree,
        algorithms,
        analyze,
        animate,
        fidelity,
        gallery,
        load,
        portrait,
        presets,
        reproduce,
        run,
        schema,
    )
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
    from fairway.golden.result import Fidelity
    from fairway.results import Run
    from fairway.study import Reproduction
    from fairway.sweep import Sweep
    from fairway.window_phases import Phase, phases

# Everything is loaded when it is first used, so that `import fairway` costs nothing.
_HOME = {
    "AlgorithmError": "fairway.errors",
    "Agreement": "fairway.agreement.result",
    "Analysis": "fairway.analysis.result",
    "ExperimentError": "fairway.errors",
    "SimulationError": "fairway.errors",
    "agree": "fairway.api",
    "algorithms": "fairway.api",
    "analyze": "fairway.api",
    "animate": "fairway.api",
    "fidelity": "fairway.api",
    "gallery": "fairway.api",
    "load": "fairway.api",
    "portrait": "fairway.api",
    "phases": "fairway.window_phases",
    "presets": "fairway.api",
    "reproduce": "fairway.api",
    "run": "fairway.api",
    "schema": "fairway.api",
    "FairwayError": "fairway.errors",
    "InputError": "fairway.errors",
    "Interrupted": "fairway.errors",
    "NotDrawn": "fairway.errors",
    "RunFailed": "fairway.errors",
    "Fidelity": "fairway.golden.result",
    "Phase": "fairway.window_phases",
    "Run": "fairway.results",
    "Reproduction": "fairway.study",
    "Sweep": "fairway.sweep",
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
