"""The compiled simulator: validates experiments and runs them."""

from typing import Any, final

from numpy.typing import NDArray

__all__ = [
    "Cancelled",
    "Control",
    "ExperimentError",
    "RunData",
    "SimulationError",
    "algorithms",
    "plan",
    "presets",
    "run",
    "schema",
    "version",
]

class ExperimentError(ValueError):
    """An experiment that cannot be run; one line per error: path, value, remedy."""

class SimulationError(RuntimeError):
    """A run that broke a law of conservation or a limit; names the first offending event."""

class Cancelled(Exception):  # noqa: N818
    """The run was cancelled through its `Control`."""

@final
class Control:
    """Progress and cancellation of one running simulation; safe to use from any thread."""

    def __new__(cls) -> Control: ...
    def cancel(self) -> None:
        """Ask the simulation to stop; `run` then raises `Cancelled`."""
    @property
    def fraction(self) -> float:
        """Simulated time passed, from 0 to 1 of the experiment's duration."""
    @property
    def packets(self) -> int:
        """Packets handled so far."""

@final
class RunData:
    """What one simulation measured."""

    @property
    def summary(self) -> str:
        """Summary over the measuring window, as JSON."""
    @property
    def series(self) -> dict[str, NDArray[Any]]:
        """Columns of the flow time series; `flow` indexes `flow_ids`."""
    @property
    def flow_ids(self) -> list[str]:
        """Names of the flows."""
    @property
    def queues(self) -> dict[str, NDArray[Any]]:
        """Columns of the queue time series; `link` indexes `link_ids`."""
    @property
    def link_ids(self) -> list[str]:
        """Names of the links."""

def version() -> str:
    """Version of the simulator."""

def plan(text: str, source: str) -> str:
    """Validate an experiment file and list its points, as JSON."""

def run(experiment: str, control: Control | None = None) -> RunData:
    """Simulate one experiment given as JSON; releases the GIL."""

def schema() -> str:
    """JSON Schema of experiment files."""

def algorithms() -> str:
    """Every congestion control, as JSON."""

def presets() -> str:
    """Every stack preset, as JSON."""
