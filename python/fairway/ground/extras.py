"""Libraries that a small installation lacks, and the command that brings them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fairway.errors import InputError, NotEnoughMemory

#: What installs all of them.
COMMAND = "pip install 'fairway[full]'"


class Library(NamedTuple):
    """A library that not every installation has.

    Attributes:
        name: What it is called.
        package: Its name at the package index.
        extra: The extra of Fairway that brings it alone.
        purpose: What Fairway does with it.
    """

    name: str
    package: str
    extra: str
    purpose: str


#: By the names of their modules.
LIBRARIES = {
    "polars": Library("Polars", "polars", "frames", "data frames; sweeps, studies, captures"),
    "scipy": Library("SciPy", "scipy", "frames", "confidence intervals"),
    "vl_convert": Library("vl-convert", "vl-convert-python", "figures", "PDF, PNG and SVG"),
    "altair": Library("Altair", "altair", "figures", "charts in notebooks"),
    "optuna": Library("Optuna", "optuna", "tune", "the search of fairway tune"),
    "distributed": Library("Dask", "distributed", "dask", "sweeps on a cluster"),
    "dask_jobqueue": Library("Dask-Jobqueue", "dask-jobqueue", "dask", "sweeps on Slurm"),
}

#: Modules of what tables of sweeps and their intervals need.
OF_SWEEPS = ("polars", "scipy")


def is_installed(module: str) -> bool:
    """Whether a library is there, without loading it."""
    try:
        return _is_found(module)
    except NotEnoughMemory:
        return True


def _is_found(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def require(what: str, *modules: str) -> None:
    """Refuse, before anything is done, what lacks a library.

    Raises:
        fairway.InputError: With the command that installs it.
        fairway.errors.NotEnoughMemory: If a limit leaves too little for it.
    """
    for module in modules:
        if not _is_found(module):
            raise InputError(_sentence(what, module))


def explained(what: str, error: BaseException) -> str | None:
    """Which library something lacks, in a sentence; None of any other error."""
    module = (getattr(error, "name", None) or "").partition(".")[0]
    is_lacking = isinstance(error, ModuleNotFoundError) and module in LIBRARIES
    return _sentence(what, module) if is_lacking else None


@contextmanager
def needed(what: str) -> Iterator[None]:
    """Turn an import that fails for want of a library into an error with its remedy.

    Raises:
        fairway.InputError: With the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (sentence := explained(what, error)) is None:
            raise
        raise InputError(sentence) from None


def _sentence(what: str, module: str) -> str:
    return f"{what} needs {LIBRARIES[module].name}: {COMMAND}"
