"""What is compared: an experiment file, or a set of scenarios and algorithms, with its seeds."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairway.algorithm import Algorithms
from fairway.errors import InputError, read_text
from fairway.experiment.plan import MAX_BYTES, Document, Plan, Point, json_copy, parse_toml, plan
from fairway.experiment.plan import set_path as set_value
from fairway.experiment.scenarios import merged
from fairway.ground import shape

#: Seeds on each side where the file does not say how many.
DEFAULT_SEEDS = 4
#: Fewer have no variance.
FEWEST_SEEDS = 2

#: Of a set: `algorithms` take in turn the place of the first flow's in each scenario, which
#: changes some of `base`. Behind a colon an algorithm's variant may stand: "westwood+:paper".
_SET_SHAPE = {
    "title": str,
    "seeds": int,
    "algorithms": [str],
    "base": dict,
    "scenario": shape.Each({"title": str}),
}


def bundled() -> list[str]:
    """Names of the sets that come with Fairway."""
    files = importlib.resources.files("fairway.compare.agree").iterdir()
    return sorted(Path(file.name).stem for file in files if file.name.endswith(".toml"))


def stem(experiment: str | Path | Mapping[str, Any]) -> str:
    """What results of an experiment are called: the file's or the set's name."""
    if isinstance(experiment, Mapping) or "\n" in str(experiment):
        return "experiment"
    return Path(experiment).stem


def comparison_plan(
    experiment: str | Path | Mapping[str, Any],
    *,
    seeds: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """Every run that one side has to do.

    Args:
        experiment: A path, the text of an experiment file or its content; a sweep is compared
            point by point. Or the name of a set that comes with Fairway, or the path of one.
        seeds: Seeds of each point; if not given, what the file says, or else `DEFAULT_SEEDS`.
        overrides: Values to set first: path -> value.

    Raises:
        InputError: If it cannot be read, or with fewer than two seeds.
        fairway.ExperimentError: If an experiment is not valid.
    """
    if seeds is not None and seeds < FEWEST_SEEDS:
        raise InputError(
            f"agree: {seeds} seeds: one has no variance, so nothing could be said of a difference; "
            f"give {FEWEST_SEEDS} or more"
        )
    if (found := _set(experiment)) is not None:
        return _set_plan(found, seeds, overrides or {})
    return _file_plan(experiment, seeds, overrides or {})


def _file_plan(
    experiment: str | Path | Mapping[str, Any], seeds: int | None, overrides: Mapping[str, Any]
) -> Plan:
    once = plan(experiment, overrides=overrides)
    own = 1 + max(point.repetition for point in once.points)
    # Both sides have as many: repeating until an interval is narrow would end at different ones.
    fixed = own >= FEWEST_SEEDS and once.until is None
    wanted = seeds or (own if fixed else DEFAULT_SEEDS)
    if wanted == own and once.until is None:
        return once
    repeated = (
        {"sweep.repetitions": wanted} if once.is_sweep else {"sweep": {"repetitions": wanted}}
    )
    return plan(experiment, overrides={**overrides, **repeated})


def _set(experiment: str | Path | Mapping[str, Any]) -> Document | None:
    """The content of a set; none if `experiment` is something else."""
    if isinstance(experiment, Mapping):
        found, source = json_copy(experiment), "set"
    elif isinstance(experiment, str) and experiment in bundled() and not Path(experiment).exists():
        file = importlib.resources.files("fairway.compare.agree") / f"{experiment}.toml"
        found, source = parse_toml(file.read_text("utf-8"), str(file)), experiment
    elif isinstance(experiment, str) and "\n" in experiment:
        found, source = parse_toml(experiment, "experiment"), "experiment"
    else:
        path = Path(experiment)
        if not path.suffix and not path.exists():
            raise InputError(
                f"{path}: no such experiment file, and no set of that name; "
                f"there is {', '.join(bundled())}"
            )
        found = parse_toml(read_text(path, "experiment file", MAX_BYTES), str(path))
        source = str(path)
    if "scenario" not in found:
        return None
    if wrong := shape.problem(found, _SET_SHAPE):
        raise InputError(f"{source}: not a set of scenarios: {wrong}")
    return dict(found)


def _set_plan(found: Document, seeds: int | None, overrides: Mapping[str, Any]) -> Plan:
    repetitions = {"repetitions": max(seeds or found["seeds"], FEWEST_SEEDS)}
    points = []
    for key, changes in found["scenario"].items():
        document = json_copy({**merged(found["base"], changes), "sweep": repetitions})
        for path, value in overrides.items():
            set_value(document, path, value)
        for name in found["algorithms"]:
            cc, _, variant = name.partition(":")
            of_variant = json_copy(document)
            of_variant["flow"][0] |= {"cc": cc, "cc_variant": variant} if variant else {"cc": cc}
            for point in plan(of_variant).points:
                axes = {"path": key, "cc": name}
                points.append(Point(axes, point.repetition, point.experiment))
    if not points:
        raise InputError(f"{found['title']}: a set without an algorithm or without a scenario")
    return Plan(found["title"], ("path", "cc"), tuple(points), Algorithms())
