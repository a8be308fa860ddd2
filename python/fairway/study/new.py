"""Scaffolds a study: a directory that runs at once, with a line of explanation at each key."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.errors import InputError, read_text
from fairway.experiment.plan import MAX_BYTES, Document, parse_override, parse_toml, plan
from fairway.ground import store, text
from fairway.study.files import keys, load_study

#: What varies if nothing is said, and of what.
_AXIS, _METRIC = "flow.0.cc=reno,cubic", "jain_index"
#: Files that an experiment names, which go with it.
_FILE_KEYS = ("trace",)
#: Lines of the table of published numbers at most; with more, one writes it oneself.
_MOST_POINTS = 10_000


@dataclass(frozen=True)
class Axis:
    """What varies; `column` is its name for people and in the table of published numbers."""

    path: str
    values: list[Any]
    column: str


def new_study(
    directory: Path,
    *,
    experiment: Path | None = None,
    axes: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> list[Path]:
    """Write a study that runs as it stands, and return its files.

    The last part of the directory is the key. The axes, as `path=value,value`, are those of the
    sweep in the experiment file if none are given. The metric is `jain_index` if none is given.

    Raises:
        InputError: If the directory is there already, or something given cannot be used.
        ExperimentError: If a value of an axis makes an experiment that is not valid.
    """
    name = directory.name
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(f"{directory}: expected a name of letters, digits, dots and dashes")
    if directory.exists():
        raise InputError(f"{directory}: exists already; choose another name or remove it")
    if directory == Path(name) and name == "all":
        raise InputError("all: means all studies to `fairway reproduce`; choose another name")
    if directory == Path(name) and name in keys():
        raise InputError(f"{name}: a study of that name comes with Fairway; choose another name")
    files = _experiment(experiment)
    document = parse_toml(files["experiment.toml"], str(experiment))
    found = _axes(axes or _axes_of(document) or [_AXIS])
    sweep = {axis.path: axis.values for axis in found}
    plan(experiment or files["experiment.toml"], overrides={"sweep": sweep})
    measured = tuple(dict.fromkeys(metrics or [_METRIC]))
    for metric in measured:
        if re.search(r'[\s,"]', metric) or metric in [axis.column for axis in found]:
            raise InputError(f"--metric {metric}: expected the name of a metric, as jain_index")
    files |= _described(name, found, measured)
    files["published/values.csv"] = _table(found, measured)

    def fill(place: Path) -> None:
        store.write_files(place, files)
        load_study(place).part.plan(quick=False)

    store.write_directory(directory, fill, "study")
    return [directory / file for file in files]


def _experiment(path: Path | None) -> dict[str, str]:
    """The experiment file, and the traces that it names."""
    if path is None:
        return {"experiment.toml": _template("experiment.toml").render()}
    content = read_text(path, "experiment file", MAX_BYTES)
    plan(path)
    files = {"experiment.toml": content}
    for name in _named(parse_toml(content, str(path))):
        beside = path.parent / name
        if beside.is_file() and Path(name).name == name:
            files[name] = read_text(beside, "trace", MAX_BYTES)
    return files


def _named(node: Any) -> Iterator[str]:
    """The files that an experiment names."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in _FILE_KEYS and isinstance(value, str) and "\n" not in value:
                yield value
            yield from _named(value)
    elif isinstance(node, list):
        for entry in node:
            yield from _named(entry)


def _axes_of(document: Document) -> list[str]:
    """The axes of the experiment's own sweep that list plain values, as `--axis` has them."""
    return [
        f"{path}={json.dumps(values, ensure_ascii=False)}"
        for path, values in document.get("sweep", {}).items()
        if isinstance(values, list)
        and len(values) > 1
        and all(isinstance(value, str | int | float) for value in values)
    ]


def _axes(given: Sequence[str]) -> list[Axis]:
    parts = [_axis(one) for one in given]
    paths = [path for path, _ in parts]
    if len(set(paths)) < len(paths):
        raise InputError("--axis: each path once")
    columns = text.short_paths(paths)
    return [
        Axis(path, values, column) for (path, values), column in zip(parts, columns, strict=True)
    ]


def _axis(given: str) -> tuple[str, list[Any]]:
    path, equals, written = (part.strip() for part in given.partition("="))
    if not (path and equals):
        raise InputError(f"--axis {given}: expected PATH=VALUE,VALUE, as flow.0.cc=reno,cubic")
    whole = parse_override(
        f"{path}={written}" if written.startswith("[") else f"{path}=[{written}]"
    )
    values = whole[1]
    if not isinstance(values, list):
        values = [parse_override(f"{path}={part}")[1] for part in written.split(",")]
    if len(values) < 2 or len({text.label(value) for value in values}) < len(values):
        raise InputError(f"--axis {given}: expected two or more values that differ")
    for value in values:
        if not isinstance(value, str | int | float) or value == "":
            raise InputError(
                f"--axis {given}: {value!r}: expected texts, numbers, true or false; for tables "
                "write `scenarios` into study.toml afterwards"
            )
    return path, values


def _described(name: str, axes: Sequence[Axis], metrics: Sequence[str]) -> dict[str, str]:
    """`study.toml` and `claims.toml`."""
    match = ", ".join(f"{_toml(axis.path)} = {_toml(axis.column)}" for axis in axes)
    first, last = (text.label(axes[0].values[index]) for index in (0, -1))
    words = {
        "name": name,
        "axes": axes,
        "metrics": metrics,
        "match": f"{{ {match} }}",
        "question": f"What does {axes[0].column} do to {metrics[0]}?",
        "statement": f"{metrics[0]} is higher with {axes[0].column} {last} than {first}",
        "others": [axis.path for axis in axes[1:]],
    }
    return {file: _template(file).render(words) for file in ("study.toml", "claims.toml")}


def _table(axes: Sequence[Axis], metrics: Sequence[str]) -> str:
    """A line for each point, whose numbers are still to be filled in."""
    points = list(itertools.islice(itertools.product(*(a.values for a in axes)), _MOST_POINTS + 1))
    if len(points) > _MOST_POINTS:
        raise InputError(f"--axis: more than {_MOST_POINTS:,} points; begin with fewer values")
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow([*(axis.column for axis in axes), *metrics])
    for point in points:
        shown = [int(value) if isinstance(value, bool) else value for value in point]
        writer.writerow([*shown, *[""] * len(metrics)])
    return content.getvalue()


def _template(file: str) -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fairway.study", "template"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["toml"] = _toml
    return environment.get_template(file)


def _toml(value: Any) -> str:
    """A text, number, truth value or list of these as TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False)
