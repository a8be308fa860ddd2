"""Modules that a kernel has to load, where links, queues and algorithms are not built in."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from fairway.errors import InputError

#: Where Debian's package user-mode-linux has those of its kernel, by release.
DEBIAN = Path("/usr/lib/uml/modules")
#: What a module's name has before the word for it in a line for `tc`, and in a flow's `cc`.
_OF_TC = ("sch_", "cls_", "act_")
_OF_CC = "tcp_"


def files(plan: dict[str, Any], directory: Path) -> list[str]:
    """The modules that a plan needs of those that there are, in the order of loading.

    The directory has `modules.dep` as `depmod` writes it. The guest reports what is neither there
    nor built in.
    """
    found = [str(path) for path in load_order(directory, set(_names(plan)))]
    if strange := [path for path in found if not path.isprintable()]:
        raise InputError(f"{strange[0]!r}: a module with such a name cannot be loaded; rename it")
    return found


def load_order(directory: Path, names: Collection[str]) -> list[Path]:
    """The named modules, each after those that it depends on."""
    order: dict[Path, None] = {}
    for file, needs in _dependencies(directory / "modules.dep"):
        if Path(file).name.partition(".")[0].replace("-", "_") in names:
            # modules.dep names what a module needs with the deepest last.
            for name in (*reversed(needs), file):
                order.setdefault(directory / name)
    return list(order)


def _dependencies(path: Path) -> Iterator[tuple[str, list[str]]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: cannot read which modules the kernel has: {error}; install its package "
            "again, or run depmod for it"
        ) from None
    for line in lines:
        file, _, needs = line.partition(":")
        yield file, needs.split()


def _names(plan: dict[str, Any]) -> Iterator[str]:
    """The modules that may be meant by a plan's words."""
    for line in plan["links"]:
        yield from line.split()  # veth
    for _, value in plan["sysctls"]:
        yield from (_OF_CC + word for word in value.split())
    for namespace in plan["namespaces"]:
        for line in namespace["tc"]:
            for word in line.split():
                yield from (prefix + word for prefix in _OF_TC)
        for _, value in namespace["sysctls"]:
            yield from (_OF_CC + word for word in value.split())
    for flow in plan["flows"]:
        yield _OF_CC + flow["cc"]
