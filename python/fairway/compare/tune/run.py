"""Tunes: the default, the search, the proof on fresh seeds, and what is left of it on the disk."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway.backends import Backend
from fairway.backends import backend as find_backend
from fairway.compare.tune import fresh as proof
from fairway.compare.tune import search
from fairway.compare.tune.bench import Bench, Goal, Whole
from fairway.compare.tune.objective import parse_constraint, parse_objective
from fairway.compare.tune.result import Tuning
from fairway.compare.tune.space import parse_parameter
from fairway.compare.tune.subject import complete, subjects
from fairway.errors import InputError
from fairway.experiment.plan import source_of_experiment
from fairway.ground import replacing, store
from fairway.ground.progress import reporter
from fairway.plot.drawing import REPORT, SAME_COMMAND, draw_report

#: Finalists of several objectives that are run again: enough to see the shape of a front.
_FINALISTS = 6


def tune(
    experiment: str | Path,
    objectives: Sequence[str],
    out: str | Path | None = None,
    *,
    algorithm: str | None = None,
    parameters: Sequence[str] = (),
    constraints: Sequence[str] = (),
    flows: Sequence[str] = (),
    also: Sequence[str | Path] = (),
    overrides: Mapping[str, Any] | None = None,
    trials: int = 40,
    repetitions: int = 3,
    fresh: int = 10,
    batch: int = 4,
    seed: int = 1,
    backend: str | Backend = "sim",
    threads: int | None = None,
    quiet: bool = True,
) -> Tuning:
    """Search parameters of an algorithm, and compare the best with the default on fresh seeds.

    Experiments that name modules (`cc = "python:…"`) need `fairway.algorithm.permitting` around it.

    Args:
        experiment: The experiment file; its sweep, if it has one, is what the mean is taken over.
        objectives: Metrics to be large, or small behind a "-"; sums such as "a - 0.5*b".
        out: Directory for runs, report and tuned experiment; given again it goes on from there.
        algorithm: The algorithm; not needed if all parameters are paths.
        parameters: As `--param`: "beta=0.5..0.9", "flow.0.count=1..30"; all of the algorithm's if
            none is named.
        constraints: As `--subject-to`: "jain_index >= 0.9".
        flows: Ids or indices of the flows that are tuned; those that have the algorithm if none is
            named, or else all of TCP.
        also: Further experiment files to be good at, each with the same weight.
        overrides: Values to set in them first: path -> value.
        trials: Values to try.
        repetitions: Seeds of each trial, the same for all.
        fresh: Seeds of the comparison at the end, which the search has not seen.
        batch: Trials proposed at a time.
        seed: Of the search.
        backend: What answers: "sim" or "linux".
        threads: Runs at the same time; as many as there are cores if not given.
        quiet: Whether to show no progress on standard error.

    Raises:
        fairway.InputError: If something given cannot be used.
        fairway.ExperimentError: If an experiment is not valid.
        fairway.RunFailed: If a run failed.
        fairway.Interrupted: On Ctrl-C; what is finished is kept in `out`.
    """
    for name, value, least in (
        ("trials", trials, 1), ("repetitions", repetitions, 1), ("fresh", fresh, 2),
        ("batch", batch, 1),
    ):  # fmt: skip
        if value < least:
            raise InputError(f"{name}: {value}; expected {least} or more")
    if not objectives:
        raise InputError("--objective: say what shall be large, or small behind a minus")
    goal = Goal(tuple(map(parse_objective, objectives)), tuple(map(parse_constraint, constraints)))
    if len({objective.name for objective in goal.objectives}) < len(goal.objectives):
        raise InputError("--objective: each once")
    asked = [parse_parameter(parameter) for parameter in parameters]
    names = [parameter.name for parameter in asked] or [algorithm or ""]
    paths = list(dict.fromkeys(Path(path) for path in (experiment, *also)))
    tuned = subjects(paths, algorithm, flows, overrides or {}, names)
    searched, remarks = complete(asked, algorithm, tuned[0])
    search.require_optuna()
    chosen = find_backend(backend)
    directory = None if out is None else Path(out)
    if directory is not None:
        replacing.check_writable(directory, "sweep")
        source = source_of_experiment("tune", experiment, overrides, chosen.name)
        check = functools.partial(replacing.refuse_another, directory, source)
        check()
        store.mark(directory, "sweep", source, check)
    # A point of every experiment's sweep for each trial, and for each finalist.
    cases = sum(len(subject.plan({}, 0, 1).points) for subject in tuned)
    runs = cases * ((trials + 1) * repetitions + 2 * fresh)
    label = f"tune {algorithm or tuned[0].name}"
    with reporter(label, quiet=quiet) as progress:
        bench = Bench(tuned, goal, chosen, directory, threads, Whole(progress, runs))
        (default,) = bench.scores([{}], 0, repetitions)
        if default.refused is not None:
            raise InputError(f"the default cannot be measured: {default.refused}")
        found = search.search(
            searched, goal, default, lambda wanted: bench.scores(wanted, 0, repetitions),
            trials=trials, batch=batch, seed=seed,
        )  # fmt: skip
        front = search.best(found.trials, goal)
        finalists = search.spread(front, _FINALISTS)
        again = bench.scores(
            [{}, *(trial.score.settings for trial in finalists)], repetitions, fresh
        )
    default_again, *of_finalists = again
    if default_again.refused is not None:
        raise InputError(f"the default cannot be measured again: {default_again.refused}")
    judged = proof.judge(
        goal, list(zip(finalists, of_finalists, strict=True)), default_again, default
    )
    result = Tuning(
        algorithm=algorithm, subjects=tuple(tuned), parameters=tuple(searched), goal=goal,
        repetitions=repetitions, fresh=fresh, seed=seed, batch=batch, backend=chosen.name,
        default=default, found=found, front=tuple(front), finalists=tuple(judged),
        remarks=tuple(remarks), directory=directory,
    )  # fmt: skip
    if directory is not None:
        _save(result, directory)
    return result


def _save(result: Tuning, directory: Path) -> None:
    from fairway.compare.tune.report import report

    files = {**result.files(), "tune.json": store.to_json(result.to_json())}
    store.write_together(directory, files, remove=[REPORT])
    draw_report(directory, lambda: report(result), SAME_COMMAND)
