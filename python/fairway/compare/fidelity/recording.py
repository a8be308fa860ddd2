"""Reads a directory of golden traces: what was recorded over which paths."""

from __future__ import annotations

import gzip
import importlib.resources
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairway.compare.fidelity import scenarios
from fairway.compare.fidelity.kernel_traces import (
    KEY,
    SETTLED_S,
    TABLE,
    algorithms,
    document,
    of_samples,
)
from fairway.compare.fidelity.scenarios import Scenario
from fairway.compare.releases import preset_of
from fairway.errors import InputError
from fairway.ground import registry, store
from fairway.metrics.episodes import Trace

#: Columns that figures are taken from; a trace may have others.
_NEEDED = (
    "t_s", "cwnd_segments", "ssthresh_segments", "srtt_us", "total_retrans", "bytes_acked",
)  # fmt: skip
#: Of them, those that may have no value yet.
_MAY_LACK = ("ssthresh_segments", "srtt_us")
#: What `recorded.json` says; a scenario is a name, or a table as in golden.toml.
_SAID = {"kernel": str, "scenarios": [(str, dict)], "algorithms": [str]}
#: The recording that is taken without a word, and how directories of recordings are called.
DEFAULT = "6.1"
_PREFIX = "linux-"
#: Tells flows apart, where a trace has several.
_FLOW = "flow"
#: Largest trace in bytes, unpacked.
_MAX_TRACE_BYTES = 256 << 20
_SUFFIXES = (".csv.gz", ".csv")


@dataclass(frozen=True)
class Recorded:
    """What was recorded of one experiment.

    Attributes:
        algorithm: As the recording calls it; of several flows "cubic+reno".
        flows: The congestion control of each flow, as experiments call it.
    """

    scenario: str
    algorithm: str
    flows: tuple[str, ...]
    traces: tuple[Trace, ...]
    experiment: dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """A directory of golden traces.

    Attributes:
        kernel: Release of the kernel, if the recording says it.
    """

    directory: Path
    kernel: str | None
    recorded: tuple[Recorded, ...]


def packed(kernel: str = DEFAULT) -> Path:
    """The recording of a kernel that comes with the package, by release: "6.12"."""
    place = Path(str(importlib.resources.files("fairway.compare.fidelity")))
    directory = place / f"{_PREFIX}{kernel}"
    if kernel != Path(kernel).name or not directory.is_dir():
        known = sorted(found.name.removeprefix(_PREFIX) for found in place.glob(f"{_PREFIX}*"))
        raise InputError(
            f"--kernel {kernel}: no recording of that release comes with Fairway (there are "
            f"{', '.join(known)}); `fairway linux record-golden DIR --kernel {kernel}` makes one, "
            "and `fairway fidelity --golden DIR` takes it"
        )
    return directory


def read(directory: Path) -> Recording:
    """Read a recording."""
    place = _place(directory)
    said = _said(place)
    known = scenarios.declared(place)  # which refuses a scenario without a name
    tables = _tables(place)
    _complete(place, said, tables)
    rank = {name: index for index, name in enumerate(_names(said))}
    recorded = []
    for scenario, algorithm in sorted(tables, key=lambda key: (rank.get(key[0], len(rank)), key)):
        traces = tables[scenario, algorithm]
        path = known.get(scenario) or scenarios.by_name(scenario, str(traces[0][0]))
        recorded.append(_one(path, algorithm, traces, said.get("kernel"), is_own=bool(said)))
    return Recording(place, said.get("kernel"), tuple(recorded))


def _place(directory: Path) -> Path:
    """The directory with the traces: this one, or the only one in it that has some."""
    if not directory.exists():
        raise InputError(f"{directory}: no such directory; --golden names one of golden traces")
    if not directory.is_dir():
        raise InputError(f"{directory}: is a file; --golden names a directory of golden traces")
    if _has_traces(directory):
        return directory
    inner = [
        place for place in sorted(directory.iterdir()) if place.is_dir() and _has_traces(place)
    ]
    if len(inner) == 1:
        return inner[0]
    if inner:
        names = ", ".join(place.name for place in inner)
        raise InputError(f"{directory}: has no traces itself, but {names} have; name one of them")
    raise InputError(
        f"{directory}: has no golden traces, {TABLE} or <scenario>.<algorithm>.csv.gz; "
        f"`fairway linux record-golden DIR` records some, and without --golden those that come "
        "with Fairway are taken"
    )


def _has_traces(directory: Path) -> bool:
    return (directory / TABLE).is_file() or bool(_traces(directory))


def _traces(directory: Path) -> list[Path]:
    return [
        path
        for path in sorted(directory.iterdir())
        if path.name.endswith(_SUFFIXES) and _split(path) is not None
    ]


def _split(path: Path) -> tuple[str, str] | None:
    """Scenario and algorithm of a trace; none if it is no trace, as summary.csv is none."""
    stem = path.name.removesuffix(".gz").removesuffix(".csv")
    scenario, _, algorithm = stem.rpartition(".")
    if algorithm.isdecimal():  # one file for each flow: <scenario>.<algorithms>.<number>
        scenario, _, algorithm = scenario.rpartition(".")
    return (scenario, algorithm) if scenario and algorithm else None


def _tables(directory: Path) -> dict[tuple[str, str], list[tuple[Path, pl.DataFrame]]]:
    """The samples of each scenario and algorithm, and where they are from.

    They are in one table, in a file each, or in a file for each flow.
    """
    found: dict[tuple[str, str], list[tuple[Path, pl.DataFrame]]] = {}
    table = directory / TABLE
    if table.is_file():
        samples = _table(table, (*KEY, *_NEEDED)).partition_by(*KEY, as_dict=True)
        found = {(str(key[0]), str(key[1])): [(table, part)] for key, part in samples.items()}
    for path in _traces(directory):
        key = _split(path)
        assert key is not None
        found.setdefault(key, []).append((path, _table(path, _NEEDED)))
    return found


def _said(directory: Path) -> dict[str, Any]:
    path = directory / store.RECORDED
    if not path.is_file():
        return {}
    return dict(store.read_json(path, "recording", _SAID))


def _names(said: Mapping[str, Any]) -> list[str]:
    """Names of the scenarios in recorded.json, in its order."""
    entries = said.get("scenarios", ())
    return [entry["name"] if isinstance(entry, Mapping) else entry for entry in entries]


def _complete(
    directory: Path, said: Mapping[str, Any], tables: Mapping[tuple[str, str], object]
) -> None:
    """Refuse a recording that says of itself that there is more."""
    for scenario in _names(said):
        for algorithm in said.get("algorithms", ()):
            if (scenario, algorithm) not in tables:
                raise InputError(
                    f"{directory}: {store.RECORDED} names {scenario} with {algorithm}, but "
                    "there is no trace of it; record it again"
                )


def _one(
    path: Scenario,
    algorithm: str,
    tables: list[tuple[Path, pl.DataFrame]],
    kernel: str | None,
    *,
    is_own: bool,
) -> Recorded:
    file = tables[0][0]
    frames = [frame for file, table in tables for frame in _flows(table, file)]
    names = _congestion_controls(algorithm, file)
    if len(names) == 1:
        names *= len(frames)
    if len(names) != len(frames):
        raise InputError(
            f"{file}: {len(frames)} flows, but the name says {len(names)} congestion controls"
        )
    traces = tuple(of_samples(frame) for frame in frames)
    flows = [
        {"cc": cc} | ({"start": start} if (start := _start(trace, path.rtt_s)) else {})
        for cc, trace in zip(names, traces, strict=True)
    ]
    end = max(trace.t_s[-1] for trace in traces)
    experiment = document(
        path.name, path.rate, path.delay, path.limit, path.duration or f"{math.ceil(end)} s",
        loss=path.loss, sample=f"{round(traces[0].step_s * 1000)} ms", flows=flows,
        is_of_own_kernel=is_own, preset=preset_of(kernel),
    )  # fmt: skip
    return Recorded(path.name, algorithm, tuple(names), traces, experiment)


def _start(trace: Trace, rtt_s: float) -> str | None:
    """When a flow started that did not at the beginning.

    A flow's first sample is an interval after its start, give or take some. Where a recording's
    hosts had to find each other's hardware addresses first, across the delay, the SYN waited for
    one round trip, so that the first round-trip time is two of them, and everything is as late.
    """
    start = trace.t_s[0] - trace.step_s
    if start > 2 * trace.step_s:
        return f"{round(start, 1):g} s"
    waited = abs(trace.srtt_s[0] - 2 * rtt_s) <= rtt_s / 10
    return f"{rtt_s * 1000:g} ms" if waited else None


def _congestion_controls(algorithm: str, file: Path) -> list[str]:
    """What experiments call the congestion controls in a trace's name: cubic, or cubic+reno."""
    known = {entry["name"]: entry["name"] for entry in registry.algorithms()} | algorithms()
    if algorithm in known:
        return [known[algorithm]]
    names: list[str] = []
    for part in re.split(r"[^a-z0-9]+", algorithm.lower()):
        if part in ("vs", "and", ""):
            continue
        count = re.fullmatch(r"(\d+)x?([a-z].*)", part)
        times, name = (int(count[1]), count[2]) if count else (1, part)
        if name not in known or times > 1000:
            raise InputError(
                f"{file}: {algorithm}: no congestion control of that name; a trace is called "
                f"<scenario>.<algorithm>.csv.gz, and the kernel's are {', '.join(algorithms())}"
            )
        names += [known[name]] * times
    return names


def _flows(frame: pl.DataFrame, file: Path) -> Iterator[pl.DataFrame]:
    """The samples of each flow in a trace, checked."""
    if _FLOW not in frame.columns:
        yield _numbers(frame, file)
        return
    for _, flow in frame.group_by(_FLOW, maintain_order=True):
        yield _numbers(flow, file)


def _table(file: Path, needed: tuple[str, ...]) -> pl.DataFrame:
    """A table of samples as text."""
    try:
        with gzip.open(file) if file.name.endswith(".gz") else file.open("rb") as opened:
            data = opened.read(_MAX_TRACE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{file}: cannot read this trace: {error}") from None
    if len(data) > _MAX_TRACE_BYTES:
        raise InputError(f"{file}: larger than {_MAX_TRACE_BYTES} bytes; is this really a trace?")
    if not data.strip():
        raise InputError(f"{file}: empty; a trace has the columns {', '.join(needed)}")
    try:
        frame = pl.read_csv(data, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"{file}: not a table of comma-separated values: {first}") from None
    if lacking := [name for name in needed if name not in frame.columns]:
        raise InputError(
            f"{file}: no column {lacking[0]}; a trace has {', '.join(needed)}, and this one "
            f"{', '.join(frame.columns)}"
        )
    return frame


def _numbers(frame: pl.DataFrame, file: Path) -> pl.DataFrame:
    """The needed columns as numbers that figures can be taken from."""
    columns = []
    for name in _NEEDED:
        text = frame[name]
        column = text.cast(pl.Float64, strict=False)
        may_lack = name in _MAY_LACK
        wrong = (text.is_not_null() if may_lack else True) & ~column.is_finite().fill_null(False)
        if wrong.any():
            row = int(wrong.arg_true()[0])
            expected = "a number or nothing" if may_lack else "a number"
            raise InputError(
                f"{file}: {name} in row {row + 1}: expected {expected}, found "
                f"{text[row] if text[row] is not None else 'nothing'}"
            )
        columns.append(column)
    numbers = pl.DataFrame(columns)
    times = numbers["t_s"]
    if not (times.diff().drop_nulls() > 0).all():
        raise InputError(f"{file}: t_s does not increase from each sample to the next")
    if numbers.filter(pl.col("t_s") >= SETTLED_S).height < 2:
        last = f"ends at {times[-1]:g} s" if len(times) else "has no samples"
        raise InputError(
            f"{file}: {last}, but figures are taken from {SETTLED_S} s on; record it for longer"
        )
    return numbers
