"""What can answer an experiment: each backend turns one experiment into one `Run`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from fairway.errors import InputError

if TYPE_CHECKING:
    from fairway import _core
    from fairway.algorithm import Algorithms
    from fairway.results.run import Run


class Progress(Protocol):
    """A view of a running experiment, safe to use from any thread."""

    @property
    def fraction(self) -> float:
        """Part of the experiment done, 0 to 1."""

    def cancel(self) -> None:
        """Ask it to stop."""


class Backend(Protocol):
    """One way to answer an experiment."""

    name: str

    def control(self, cores: int = 1) -> Progress:
        """A fresh handle to follow or stop one run, which may use so many cores."""

    def engine(self) -> str:
        """Digest of the program that computes, so that kept results are not mistaken for new."""

    def check(
        self,
        experiment: _core.Planned | dict[str, Any],
        algorithms: Algorithms | None = None,
    ) -> None:
        """Refuse what it cannot answer, before anything is run.

        Raises:
            fairway.ExperimentError: With every key that it cannot do as the experiment asks.
        """

    def run(
        self, experiment: dict[str, Any], control: Any = None, algorithms: Algorithms | None = None
    ) -> Run:
        """Answer one experiment (a document without a sweep)."""


@runtime_checkable
class OnKernel(Backend, Protocol):
    """A backend whose answers come from a kernel."""

    def release(self) -> str:
        """Release of the kernel, such as "6.1.192"."""


def kernels_last(backends: Iterable[Backend]) -> list[Backend]:
    """The backends in an order in which no kernel refuses first what another cannot do at all."""
    return sorted(backends, key=lambda one: isinstance(one, OnKernel))


def backend(name: str | Backend) -> Backend:
    """The backend of that name; one that is given is itself."""
    if not isinstance(name, str):
        return name
    if name == "sim":
        from fairway.backends.sim import Simulator

        return Simulator()
    if name == "linux":
        from fairway.backends.linux.backend import Linux

        return Linux()
    if name == "xfer":
        from fairway.backends.xfer import Xfer

        return Xfer()
    if name == "model":
        from fairway.backends.model import Models

        return Models()
    raise InputError(
        f'--backend {name}: no such backend; there are "sim", "linux", "model" and "xfer"'
    )
