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

    from fairway.api import load as load
    from fairway.api import reproduce as reproduce
    from fairway.capture.analysis.command import analyze as analyze
    from fairway.capture.analysis.result import Analysis as Analysis
    from fairway.capture.animation import animate as animate
    from fairway.compare.agree.parting import FirstDifference as FirstDifference
    from fairway.compare.agree.parting import first_difference as first_difference
    from fairway.compare.agree.run import Agreement as Agreement
    from fairway.compare.agree.run import agree as agree
    from fairway.compare.fidelity.run import Fidelity as Fidelity
    from fairway.compare.fidelity.run import fidelity as fidelity
    from fairway.compare.gallery.run import gallery as gallery
    from fairway.compare.gallery.run import portrait as portrait
    from fairway.errors import AlgorithmError as AlgorithmError
    from fairway.errors import ExperimentError as ExperimentError
    from fairway.errors import FairwayError as FairwayError
    from fairway.errors import InputError as InputError
    from fairway.errors import Interrupted as Interrupted
    from fairway.errors import NotDrawn as NotDrawn
    from fairway.errors import RunFailed as RunFailed
    from fairway.errors import SimulationError as SimulationError
    from fairway.ground.registry import algorithms as algorithms
    from fairway.ground.registry import presets as presets
    from fairway.ground.registry import schema as schema
    from fairway.metrics.phases import Phase as Phase
    from fairway.metrics.phases import phases as phases
    from fairway.results.run import Run as Run
    from fairway.study.reproduce import Reproduction as Reproduction
    from fairway.sweep.result import Sweep as Sweep
    from fairway.sweep.start import run as run

#: Public names by the module that has them. Each is loaded when it is first used, so that
#: `import fairway` costs nothing.
_NAMES = {
    "api": "load reproduce",
    "capture.analysis.command": "analyze",
    "capture.analysis.result": "Analysis",
    "capture.animation": "animate",
    "compare.agree.parting": "FirstDifference first_difference",
    "compare.agree.run": "Agreement agree",
    "compare.fidelity.run": "Fidelity fidelity",
    "compare.gallery.run": "gallery portrait",
    "errors": "AlgorithmError ExperimentError FairwayError InputError Interrupted NotDrawn "
    "RunFailed SimulationError",
    "ground.registry": "algorithms presets schema",
    "metrics.phases": "Phase phases",
    "results.run": "Run",
    "study.reproduce": "Reproduction",
    "sweep.result": "Sweep",
    "sweep.start": "run",
}
_HOME = {name: f"fairway.{module}" for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from fairway import _core

        return _core.version()
    if name in _HOME:
        import importlib

        from fairway.ground import extras

        with extras.needed(f"fairway.{name}"):
            return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'fairway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
