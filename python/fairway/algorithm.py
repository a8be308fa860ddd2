"""Congestion controls of your own: classes that an experiment names.

`cc = "python:module.Class"` in an experiment file finds a class beside the file or on `sys.path`,
if whoever runs it permits that (`permitting`); `fairway.run(…, algorithms={"mine": Class})` gives
one a name. docs/your-own-algorithm.md is the guide.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import inspect
import linecache
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from fairway._core import Ack, Flow, Init, Member, Planned, RateSample, Subflow
from fairway.errors import InputError
from fairway.ground.names import real
from fairway.ground.permission import Origin, Permission, permission

__all__ = [
    "Ack",
    "Algorithms",
    "CongestionControl",
    "Flow",
    "Init",
    "Member",
    "RateSample",
    "Subflow",
]

#: What names of classes that are found by import begin with.
PREFIX = "python:"

#: A class, or whatever else makes an algorithm when it is called with an `Init` and parameters.
Maker = Callable[..., Any]


class CongestionControl(Protocol):
    """What every congestion control has. Windows are in bytes, times in nanoseconds.

    At the start and after each event it is asked for `cwnd()` and `ssthresh()` and, if it has
    them, for `pacing_rate()` (bit/s of payload, or None for as fast as the window allows),
    `wants_reduction()` (whether to reduce the window now) and `min_rto()` (a lower bound of the
    retransmission timeout, or None). Once, at the start, it is asked for `needs()`
    (`{"rate_samples": True}` for delivery rates, `{"ecn": "accurate"}` for marks to the byte,
    `"scalable"` for ECT(1) too) and
    `restarts_after_loss()` (whether a loss throws it back to slow start), if it has them.
    """

    def cwnd(self) -> int:
        """Congestion window: one segment or more."""

    def ssthresh(self) -> int | None:
        """Slow-start threshold; None while it is infinite."""

    def on_ack(self, ack: Ack, flow: Flow) -> None:
        """An acknowledgement arrived."""

    def on_congestion(self, signal: str, flow: Flow) -> None:
        """Congestion was found, once per episode; `signal` is "loss", "ecn" or "delay"."""

    def on_recovered(self, cwnd: int, flow: Flow) -> None:
        """The episode is over; `cwnd` is the window with which the stack leaves it."""

    def on_rto(self, first: bool, flow: Flow) -> None:
        """The retransmission timer expired; `first` is false if the same data timed out before."""

    def on_spurious(self, flow: Flow) -> None:
        """The last reduction was for nothing."""

    def on_idle(self, idle: int, rto: int, restart_window: int, flow: Flow) -> None:
        """Sending resumes after `idle` without anything outstanding."""


#: What every class has; see `CongestionControl`.
_METHODS = tuple(name for name in vars(CongestionControl) if not name.startswith("_"))


class Algorithms:
    """The classes that an experiment may name: those given, and those that can be imported.

    It holds the permission that the experiment was read with, for the thread that runs it.

    Args:
        given: Name in the experiment -> class.
        beside: Directory of the experiment file, where modules are looked for first.
        origin: The place that the experiment was read from.
    """

    def __init__(
        self,
        given: Mapping[str, Maker] | None = None,
        beside: Path | None = None,
        origin: Origin | None = None,
    ) -> None:
        self._given = dict(given or {})
        self.origin = origin or Origin()
        self.permission = permission()
        self._beside = None if beside is None else real(beside)
        self._imported: dict[str, Maker] = {}
        self._sources: dict[str, dict[str, str | None]] = {}
        for name, maker in self._given.items():
            _check_given(name, maker)

    def __contains__(self, name: str) -> bool:
        """Whether the name stands for a class, which may turn out not to be there."""
        return name in self._given or name.startswith(PREFIX)

    def __getitem__(self, name: str) -> Maker:
        """The class of that name."""
        if name not in self._given and name not in self._imported:
            self._imported[name] = _imported(name, self._beside, self.permission)
        maker = self._given[name] if name in self._given else self._imported[name]
        self._sources.setdefault(name, _source(maker))
        return maker

    def used(self, experiment: Planned | Mapping[str, Any]) -> dict[str, dict[str, str | None]]:
        """Which classes an experiment (a document without a sweep) names, and their code.

        Returns:
            Name -> `class`, its qualified name; `file`, where it stands; and `sha256` of that file,
            or of the class where there is no file. None for what cannot be found out.
        """
        if not self._sources:
            return {}
        found = (flow.get("cc") for flow in experiment.get("flow", ()))
        names = {cc for cc in found if cc in self._sources}
        return {name: self._sources[name] for name in sorted(names)}


def _check_given(name: str, maker: Maker) -> None:
    from fairway.ground.registry import algorithms

    where = f"algorithms: {name!r}"
    if not isinstance(name, str) or not name.strip() or name.startswith(PREFIX):
        raise InputError(f'{where} cannot be a name; choose one such as "mine"')
    if any(entry["name"] == name for entry in algorithms()):
        raise InputError(f"{where} is one of Fairway's own; choose another name")
    if not callable(maker):
        raise InputError(f"{where} is {_kind(maker)}; give a class")


def _kind(value: object) -> str:
    return f"{value!r:.60} ({type(value).__name__})"


def _imported(name: str, beside: Path | None, permission: Permission) -> Maker:
    """The class that a name such as `python:module.Class` stands for."""
    if permission.backend != "sim":
        raise InputError(
            f"{permission.backend} cannot run a class in Python; only the simulator on this "
            "machine can (--backend sim, without --dask)"
        )
    path = name.removeprefix(PREFIX)
    module_name, _, class_name = path.rpartition(".")
    if not all(part.isidentifier() for part in path.split(".")) or not module_name:
        raise InputError('expected a module and a class; write "python:my_module.MyClass"')
    if path.partition(".")[0] in sys.stdlib_module_names:
        raise InputError(f"{module_name} is a module of Python itself; name one of your own")
    if not permission.python:
        raise InputError(_not_permitted(module_name, beside))
    with _IMPORTING:
        module = _module(module_name, beside)
    maker = getattr(module, class_name, None)
    if maker is None:
        known = [
            name
            for name, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == module.__name__
        ]
        raise InputError(
            f"{module_name} ({_file(module) or 'no file'}) has no class {class_name}; "
            f"it has {', '.join(known) or 'none'}"
        )
    if not inspect.isclass(maker):
        raise InputError(f"{path} is {_kind(maker)}, not a class")
    # Before it is called: a class of something else may do anything when it is made.
    missing = [method for method in _METHODS if not callable(getattr(maker, method, None))]
    if missing:
        raise InputError(
            f"{path} is no congestion control: it has no method {', '.join(missing)}; "
            "fairway.algorithm.CongestionControl shows what one has"
        )
    return maker


def _not_permitted(module_name: str, beside: Path | None) -> str:
    """Which file would have run, and how to permit it."""
    file = _find(module_name, beside)
    if file is None:
        return _not_found(module_name.partition(".")[0], beside)
    return (
        f"would run the code in {file} (SHA-256 {_digest(file.read_bytes())}); read it, and give "
        "--allow-python (in Python, allow_python=True) if you trust it"
    )


def _find(module_name: str, beside: Path | None) -> Path | None:
    """The file of a module, found without importing anything."""
    importlib.invalidate_caches()
    root = module_name.partition(".")[0]
    local = None if beside is None else _local(root, beside)
    places = [str(beside)] if local is not None else None
    name = ""
    for part in module_name.split("."):
        name = f"{name}.{part}" if name else part
        spec = importlib.machinery.PathFinder.find_spec(name, places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _not_found(module_name: str, beside: Path | None) -> str:
    place = f" in {beside} or" if beside else ""
    root = module_name.partition(".")[0]
    return f"no module {module_name}{place} on sys.path; put {root}.py beside the experiment file"


#: Only one thread imports at a time.
_IMPORTING = threading.RLock()

#: Digest of the file of every module that was imported here.
_DIGESTS: dict[str, str] = {}


def _module(name: str, beside: Path | None) -> ModuleType:
    """Import a module; again, if its file has changed or is not the one beside the experiment."""
    root = name.partition(".")[0]
    local = None if beside is None else _local(root, beside)
    if _is_stale(name, local):
        for loaded in [m for m in sys.modules if m == root or m.startswith(f"{root}.")]:
            del sys.modules[loaded]
    try:
        with _searching(beside if local else None):
            module = importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in (name, root):
            raise InputError(_not_found(error.name, beside)) from None
        raise InputError(f"importing {name} failed: {_told(error)}") from error
    if (file := _file(module)) is not None:
        _DIGESTS[name] = _digest(file.read_bytes())
    return module


def _local(root: str, beside: Path) -> Path | None:
    """The file or package of that name in a directory, unless the name is Python's own."""
    if root in sys.stdlib_module_names or root == __package__:
        return None
    places = (beside / f"{root}.py", beside / root)
    return next((place for place in places if place.exists()), None)


def _is_stale(name: str, local: Path | None) -> bool:
    module = sys.modules.get(name)
    file = None if module is None else _file(module)
    if file is None or not file.is_file():
        return False
    if local is not None and local not in (file, *file.parents):
        return True
    return name in _DIGESTS and _DIGESTS[name] != _digest(file.read_bytes())


@contextmanager
def _searching(beside: Path | None) -> Iterator[None]:
    """Look in a directory first, and leave no compiled files there: edits come within a second."""
    importlib.invalidate_caches()
    linecache.checkcache()
    if beside is None:
        yield
        return
    place, writes = str(beside), sys.dont_write_bytecode
    sys.path.insert(0, place)
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes
        sys.path.remove(place)
        # What the module imports later is still found, behind everything else.
        if place not in sys.path:
            sys.path.append(place)


def _told(error: Exception) -> str:
    """An exception in a line: its kind, its message and where it was raised."""
    message = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return message  # which has the place
    return f"{message} ({frames[-1].filename}, line {frames[-1].lineno})"


def _file(module: ModuleType) -> Path | None:
    name = getattr(module, "__file__", None)
    return None if name is None else real(Path(name))


def _source(maker: Maker) -> dict[str, str | None]:
    """What a run says of a class: its name, its file, and a digest of that."""
    while isinstance(maker, functools.partial):
        maker = maker.func
    described: Any = maker if inspect.isclass(maker) or inspect.isroutine(maker) else type(maker)
    found: dict[str, str | None] = {
        "class": f"{described.__module__}.{described.__qualname__}",
        "file": None,
        "sha256": None,
    }
    place = _written_in(described)
    if place is not None and Path(place).is_file():
        found.update(file=Path(place).name, sha256=_digest(Path(place).read_bytes()))
    elif place is not None and (lines := linecache.getlines(place)):
        found.update(sha256=_digest("".join(lines).encode()))  # the cell of a notebook
    return found


def _written_in(described: Any) -> str | None:
    """Name of the file, or of the notebook's cell, in which a class or function stands."""
    # Its methods say it best: a module's name may be that of a program that made the class.
    parts = vars(described).values() if inspect.isclass(described) else [described]
    functions = [inspect.unwrap(part) for part in parts if inspect.isfunction(part)]
    if functions:
        return str(functions[0].__code__.co_filename)
    try:
        return inspect.getsourcefile(described)
    except TypeError:
        return None  # its module has no file


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()
