"""Kernels that were built, and which of them answers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fairway.backends.linux import packaged, source
from fairway.backends.linux.kernel import Kernel, described, examined
from fairway.backends.linux.recipe import Recipe, recipe
from fairway.backends.linux.source import Source
from fairway.errors import InputError
from fairway.ground import store
from fairway.ground.cache import cache_directory

#: Names another kernel than the default: an executable, or the release of one that was built.
CHOICE = "FAIRWAY_KERNEL"
#: The option that does so.
OPTION = "--kernel"
#: Hexadecimal digits of the digest in the name of a kernel's directory.
_DIGITS = 16
#: Fewer of them name no kernel: a letter alone would be that of any.
_FEWEST_DIGITS = 8
_IDENTITIES = "identities.json"


def root() -> Path:
    """The directory of the kernels: `$FAIRWAY_CACHE/linux`, by default `~/.cache/fairway/linux`."""
    return cache_directory("linux")


def find(choice: str | None = None, needed: Collection[str] = ()) -> Kernel | None:
    """The kernel that experiments run on, if possible with the `needed` congestion controls.

    That is the one which `choice`, else FAIRWAY_KERNEL, names: an executable, or the release of a
    kernel that was built, or its series, as "6.12". Else it is the one built from the
    default source with this version's configuration; else the one built last; else Debian's
    packaged one, which has no virtual time. Of several, one with nothing of others is taken, unless
    it is needed.

    Raises:
        fairway.InputError: If no kernel of that name is there, or kernels of several series are.
    """
    if choice is not None:
        return _chosen(choice, f"{OPTION} {choice}", needed)
    if named := os.environ.get(CHOICE, ""):
        return _chosen(named, f"{CHOICE}={named}", needed)
    built = _fitting(kernels(), needed, default_digest())
    return built[0] if built else packaged.kernel()


def _fitting(
    built: list[Kernel], needed: Collection[str], default: str | None = None
) -> list[Kernel]:
    """The kernels in the order in which they are taken.

    Those that have all that is needed come first, of them those with the least beyond it, and of
    these the one with the `default` digest.
    """
    known = {name for kernel in built for name in kernel.extras}
    wanted = known.intersection(f"tcp_{name}" for name in needed)

    def key(kernel: Kernel) -> tuple[bool, int, bool]:
        lacks = not wanted <= set(kernel.extras)
        return lacks, len(kernel.extras), kernel.digest != default

    return sorted(built, key=key)


def kernels() -> list[Kernel]:
    """The kernels that were built, the last one first."""
    try:
        places = [place for place in root().iterdir() if not place.name.startswith(".")]
    except OSError:
        return []
    found = [kernel for place in places if (kernel := described(place))]
    return sorted(found, key=lambda kernel: kernel.built, reverse=True)


def directory(release: str, digest: str) -> Path:
    """Where a kernel is kept."""
    return root() / f"{release}-{digest[:_DIGITS]}"


def built_from(digest: str) -> Kernel | None:
    """The kernel with that digest, if it was built."""
    return next((kernel for kernel in kernels() if kernel.digest == digest), None)


def default_digest() -> str | None:
    """Digest of the kernel that `fairway linux build` makes by default; none without a source."""
    sources = source.packaged()
    return digest_of(sources[0]) if sources else None


def digest_of(origin: Source, ours: Recipe | None = None) -> str:
    """Digest of the kernel that would be made from a source now."""
    try:
        identity = origin.identity() if origin.is_tree else _remembered_identity(origin)
    except OSError as error:
        raise InputError(
            f"{origin.path}: cannot read this source: {error.strerror or error}; "
            "check the permissions, or name another with --source"
        ) from error
    return (ours or recipe()).digest(identity)


def _chosen(choice: str, said: str, needed: Collection[str]) -> Kernel:
    """The kernel of a name; `said` is where the name comes from."""
    if os.sep in choice:
        path = Path(choice).expanduser().absolute()
        if path == packaged.EXECUTABLE and (obstacle := packaged.obstacle()):
            raise InputError(
                f"{said}: the packaged kernel {obstacle}; `fairway linux build` makes one that can"
            )
        return examined(path)
    built = kernels()
    fitting = [
        kernel
        for kernel in _fitting(built, needed)
        if _is_release(kernel, choice) or _is_digest(kernel, choice)
    ]
    if len(series := {_series(kernel) for kernel in fitting}) > 1:
        names = " or ".join(".".join(map(str, one)) for one in sorted(series))
        raise InputError(f"{said}: fits several kernels that were built; write {names}")
    if fitting:
        return fitting[0]
    releases = ", ".join(sorted({kernel.release for kernel in built})) or "none"
    raise InputError(
        f"{said}: no kernel of that release was built (built: {releases}); `fairway linux build "
        f"{OPTION} {choice}` builds Debian's linux-source-{choice}, `fairway linux build --source "
        "PATH` any other. To name an executable, write its path with a slash"
    )


def _is_release(kernel: Kernel, version: str) -> bool:
    """Whether a release is a version or one of its updates: 6.12.117 is of 6.12, and not of 6.1."""
    return f"{kernel.release}.".startswith(f"{version}.")


def _series(kernel: Kernel) -> tuple[int, ...]:
    """The two numbers of a release that its updates share: (6, 12) of 6.12.117."""
    return tuple(map(int, re.findall(r"\d+", kernel.release)[:2]))


def _is_digest(kernel: Kernel, choice: str) -> bool:
    """Whether it is the beginning of the kernel's digest, long enough to be meant."""
    return len(choice) >= _FEWEST_DIGITS and kernel.digest.startswith(choice)


def _remembered_identity(tarball: Source) -> str:
    """The identity of a tarball, read again only if the file has changed.

    Reading 140 MB takes half a second, and every run of an experiment asks.
    """
    state = tarball.path.stat()
    key = f"{tarball.path}:{state.st_size}:{state.st_mtime_ns}"
    memory = root() / _IDENTITIES
    known = _read_memory(memory)
    identity = known.get(key)
    if not isinstance(identity, str):
        identity = tarball.identity()
        _write_memory(memory, {**known, key: identity})
    return identity


def _read_memory(memory: Path) -> dict[str, Any]:
    try:
        known = json.loads(memory.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_memory(memory: Path, known: dict[str, Any]) -> None:
    """Keep it if that can be done: without it, the next call is slower and no more."""
    try:
        store.write_file(memory, store.to_json(known))
    except InputError:
        return
