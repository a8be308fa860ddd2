"""`fairway linux build`: from a source to a kernel in the cache."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fairway.backends.linux import cache, extra, source, tarball, tools
from fairway.backends.linux.compile import Compilation
from fairway.backends.linux.kernel import DESCRIPTION, EXECUTABLE, Kernel, described
from fairway.backends.linux.recipe import DEVICES, RANDOMNESS, Edit, Recipe, apply, recipe
from fairway.backends.linux.source import Source, unpack
from fairway.errors import FairwayError, InputError, Interrupted, writing
from fairway.ground import output, store
from fairway.ground.cache import PLACE
from fairway.ground.progress import State, reporter

#: Room that a build needs while it runs, in bytes: Linux 6.12 unpacked and built has 1.9 GB.
_ROOM_BYTES = 3 << 30
_UNFINISHED = ".building-"
#: Parts of the whole time that unpacking and configuring take.
_UNPACKED = 0.10
_CONFIGURED = 0.13


def build(
    path: Path | None = None,
    *,
    release: str | None = None,
    modules: Sequence[Path] = (),
    force: bool = False,
    keep: bool = False,
    jobs: int | None = None,
    quiet: bool = False,
) -> Kernel:
    """The kernel of a source, or of Debian's package of a release; built if it is not there.

    `modules` are directories of congestion controls to build into it.
    """
    ours = recipe(extras=tuple(map(extra.read, modules)))
    origin = _source(path, release)
    digest = cache.digest_of(origin, ours)
    if not force and (known := cache.built_from(digest)):
        return known
    tools.require(_needed(origin), "To build a kernel")
    try:
        with _only_one(cache.root(), quiet=quiet):
            # Another process may have built it while this one waited.
            if not force and (known := cache.built_from(digest)):
                return known
            cores = len(os.sched_getaffinity(0))
            return _build(origin, ours, digest, jobs or cores, keep=keep, quiet=quiet)
    except KeyboardInterrupt:
        raise Interrupted("stopped; nothing was kept of this build") from None


def _source(path: Path | None, release: str | None) -> Source:
    if path is not None:
        if release is not None:
            raise InputError("--kernel and --source both name what is built; give one of them")
        return source.named(path)
    if release is not None:
        return source.of_release(release)
    if found := source.packaged():
        return found[0]
    tools.require((*tools.BUILD, tools.UNPACK["xz"]), "To build a kernel", also=(source.PACKAGE,))
    raise AssertionError("a package that is missing is reported")


def _needed(origin: Source) -> tuple[tools.Tool, ...]:
    unpacker = "" if origin.is_tree else tarball.DECOMPRESSORS[origin.path.suffix]
    return (*tools.BUILD, tools.UNPACK[unpacker]) if unpacker else tools.BUILD


def _build(
    origin: Source, ours: Recipe, digest: str, jobs: int, *, keep: bool, quiet: bool
) -> Kernel:
    started = time.monotonic()
    with _workplace(cache.root()) as place, reporter("kernel", quiet=quiet, single=True) as bar:

        def progress(begin: float, end: float) -> Callable[[float], None]:
            return lambda part: bar.update(State(under_way=begin + (end - begin) * min(part, 1.0)))

        tree = unpack(origin, place, progress(0.0, _UNPACKED))
        warnings, applied = prepare(tree, ours)
        compilation = Compilation(tree, place / "build.log", cache.root() / "failed-build.log")
        compilation.configure(ours.fragment)
        warnings += compilation.check_configuration(ours.fragment)
        compilation.compile(jobs, progress(_CONFIGURED, 1.0))
        release = compilation.release()
        directory = cache.directory(release, digest)
        kernel = Kernel(
            path=directory / EXECUTABLE,
            release=release,
            virtual_time=True,
            repeatable=RANDOMNESS in applied,
            has_network=DEVICES in applied,
            modules=tuple(Path(name).stem for name, _ in ours.modules),
            extras=tuple(name for one in ours.extras for name in one.names),
            digest=digest,
            source=str(origin.path),
            built=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
            compiler=_compiler(),
            build_s=round(time.monotonic() - started, 1),
            warnings=tuple(warnings),
        )
        _keep(kernel, directory, tree, place)
        if keep:
            kept = directory.with_name(f"{directory.name}-tree")
            shutil.rmtree(kept, ignore_errors=True)
            with writing(kept):
                tree.rename(kept)
    finished = described(directory)
    if finished is None:
        raise FairwayError(f"{directory}: the kernel was built, and cannot be read back from there")
    return finished


def prepare(tree: Path, ours: Recipe) -> tuple[list[str], list[Edit]]:
    """Put into a source tree what Fairway brings.

    Returns what the kernel lacks, and the edits that were made.
    """
    applied, warnings = apply(tree, ours.edits)
    with writing(tree):
        if RANDOMNESS in applied:
            (tree / RANDOMNESS.file).with_name("fairway_random.h").write_text(ours.random, "utf-8")
        if DEVICES in applied:
            for name, text in ours.devices:
                (tree / DEVICES.file).with_name(name).write_text(text, "utf-8")
        makefile = tree / "net" / "ipv4" / "Makefile"
        if ours.modules and not makefile.is_file():
            raise InputError(f"{makefile}: no such file; the congestion controls are named there")
        for name, text in (*ours.headers, *ours.modules):
            if (makefile.parent / name).exists():
                raise InputError(
                    f"{makefile.parent / name}: this kernel has a file of that name already, where "
                    "Fairway's own would go"
                )
            (makefile.parent / name).write_text(text, "utf-8")
        for number, one in enumerate(ours.extras):
            one.write(tree / extra.FOLDER / str(number))
        if ours.modules:
            with makefile.open("a", encoding="utf-8") as file:
                objects = (f"obj-y += {Path(name).stem}.o\n" for name, _ in ours.modules)
                file.writelines(("\n", *objects))
                inside = Path(extra.FOLDER).name
                file.writelines(f"obj-y += {inside}/{i}/\n" for i, _ in enumerate(ours.extras))
    return warnings, applied


def _keep(kernel: Kernel, directory: Path, tree: Path, place: Path) -> None:
    """Put the executable, its configuration and its description into the cache."""

    def fill(into: Path) -> None:
        shutil.copy(tree / EXECUTABLE, into / EXECUTABLE)
        shutil.copy(tree / ".config", into / "config")
        shutil.copy(place / "build.log", into / "build.log")
        plain = kernel.to_json()
        # Where it lies is known to whoever finds it, and modules are built in.
        del plain["path"], plain["modules_in"]
        (into / DESCRIPTION).write_text(store.to_json(plain), "utf-8")

    # What is there is a kernel of the same digest, or the remains of one.
    if directory.exists() and described(directory) is None:
        shutil.rmtree(directory, ignore_errors=True)
    _replace(directory, fill)


def _replace(directory: Path, fill: Callable[[Path], None]) -> None:
    with (
        writing(directory),
        tempfile.TemporaryDirectory(dir=directory.parent, prefix=_UNFINISHED) as name,
    ):
        fresh = Path(name) / directory.name
        fresh.mkdir()
        fill(fresh)
        if directory.exists():
            directory.rename(Path(name) / "old")
        fresh.rename(directory)


@contextlib.contextmanager
def _only_one(root: Path, *, quiet: bool) -> Iterator[None]:
    """Hold the cache for one build; what an earlier one that was killed has left is removed."""
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / ".lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not quiet:
                output.print_error("Another process is building a kernel; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in root.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


@contextlib.contextmanager
def _workplace(root: Path) -> Iterator[Path]:
    """A directory for one build, which is gone afterwards whatever happens."""
    free = shutil.disk_usage(root).free
    if free < _ROOM_BYTES:
        raise InputError(
            f"{root}: {free / 1e9:.1f} GB are free, and building a kernel takes "
            f"{_ROOM_BYTES / 1e9:.1f} GB for a while; free some space, or name another directory "
            f"with {PLACE}=DIR"
        )
    with writing(root):
        place = Path(tempfile.mkdtemp(dir=root, prefix=_UNFINISHED))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _compiler() -> str:
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]
