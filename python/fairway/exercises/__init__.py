"""Exercises for a course on networks: questions as data, and claims that decide an answer."""

from __future__ import annotations

import difflib
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.errors import InputError, read_text
from fairway.experiment.plan import MAX_BYTES, Document, parse_toml, plan
from fairway.ground import text
from fairway.ground.shape import NUMBER, Either, problem
from fairway.sweep.result import Sweep
from fairway.sweep.start import run

#: A side of a claim: a number, the path of a figure, or so many times a figure.
_SIDE = Either((NUMBER, str, {"path": str, "times": NUMBER}))
#: What `exercise.toml` holds.
SHAPE = {
    "title": str,
    "minutes": int,
    "question": str,
    "hints": [str],
    "keep": [str],
    "claim": [{"text": str, "left": _SIDE, "test": Either((str, {"within": NUMBER})),
               "right": _SIDE}],
    "wrong": [{"why": str, "set": dict}],
}  # fmt: skip

_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}

#: First word of a path -> list of the summary whose entries it names.
_LISTS = {"flow": "flows", "link": "links", "application": "applications"}

#: Of a document, a value that is not there.
_MISSING = object()


@dataclass(frozen=True)
class Verdict:
    """A claim or a key that must stay, and whether an answer holds it.

    Attributes:
        text: The claim's sentence, or what must stay.
        left: The number on the left; None where the run has none, or for a key.
        test: `<`, `>`, `<=`, `>=` or `within 5 %`; empty for a key.
        right: The number on the right, likewise.
        figure: The path of the figure that both numbers are values of; empty for a key.
    """

    text: str
    held: bool
    left: float | None = None
    test: str = ""
    right: float | None = None
    figure: str = ""


@dataclass(frozen=True)
class Exercise:
    """A question, the experiment that it begins with, and what decides an answer.

    Attributes:
        minutes: How long a student needs.
        question: Markdown: paragraphs, `code` and *emphasis*.
        hints: Each says a little more than the one before.
        keep: Paths in the experiment file that an answer may not change.
        claims: As in `exercise.toml`: text, left, test, right.
        wrong: Plausible wrong answers: why, and what they set in the first experiment.
        start: TOML of the first experiment.
    """

    key: str
    title: str
    minutes: int
    question: str
    hints: tuple[str, ...]
    keep: tuple[str, ...]
    claims: tuple[Mapping[str, Any], ...]
    wrong: tuple[Mapping[str, Any], ...]
    start: str
    solution: str

    def to_json(self) -> dict[str, Any]:
        """What a page needs to pose the exercise and to check an answer by the same rules."""
        return {
            "key": self.key,
            "title": self.title,
            "minutes": self.minutes,
            "question": self.question,
            "hints": list(self.hints),
            "start": self.start,
            "keep": list(self.keep),
            "claims": [dict(claim) for claim in self.claims],
        }


def exercises() -> list[Exercise]:
    """The exercises that come with Fairway, in the order of a course."""
    return [load(directory) for directory in directories().values()]


def find(key: str) -> Exercise:
    """The exercise of that key.

    Raises:
        InputError: If there is none.
    """
    known = directories()
    if key not in known:
        near = difflib.get_close_matches(key, list(known), n=2)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise InputError(f"no exercise named {key!r}; {meant}there is {', '.join(known)}")
    return load(known[key])


def check(
    exercise: Exercise, answer: str | Path, overrides: Mapping[str, Any] | None = None
) -> list[Verdict]:
    """Run an answer with the simulator and decide what must stay and every claim.

    Args:
        exercise: What is answered.
        answer: A path, or the text of an experiment file.
        overrides: Values to set in it first: path -> value.

    Raises:
        InputError: If it is a sweep, or no experiment.
    """
    planned = plan(answer, overrides=overrides)
    asked = planned.points[0].experiment
    if planned.is_sweep:
        raise InputError(
            f"exercise {exercise.key}: the answer has a [sweep]; an answer is one run: remove it"
        )
    found = run(asked)
    assert not isinstance(found, Sweep)
    stays = unchanged(exercise.keep, plan(exercise.start).points[0].experiment, asked)
    return stays + [decide(claim, found.summary) for claim in exercise.claims]


def unchanged(keep: Sequence[str], first: Document, answer: Document) -> list[Verdict]:
    """Whether each of these paths has the same value, or none, in both experiments."""
    return [Verdict(f"{path} is as it was", _at(first, path) == _at(answer, path)) for path in keep]


def decide(claim: Mapping[str, Any], summary: Mapping[str, Any]) -> Verdict:
    """Whether a run holds a claim; a figure that does not exist holds none."""
    left, right = (_side(claim[side], summary) for side in ("left", "right"))
    test = claim["test"]
    words = test if isinstance(test, str) else f"within {100 * test['within']:g} %"
    held = left is not None and right is not None and _holds(left, test, right)
    named = _path(claim["left"]) or _path(claim["right"])
    return Verdict(str(claim["text"]), held, left, words, right, named)


def _holds(left: float, test: str | Mapping[str, float], right: float) -> bool:
    if isinstance(test, str):
        return _COMPARED[test](left, right)
    return abs(left - right) <= test["within"] * abs(right)


def _path(side: Any) -> str:
    """The figure on a side of a claim; empty for a number."""
    named = side["path"] if isinstance(side, Mapping) else side
    return named if isinstance(named, str) else ""


def _side(side: Any, summary: Mapping[str, Any]) -> float | None:
    path = _path(side)
    if not path:
        return float(side)
    value = figure(summary, path)
    times = float(side["times"]) if isinstance(side, Mapping) else 1.0
    return None if value is None else value * times


def figure(summary: Mapping[str, Any], path: str) -> float | None:
    """A number of a summary: `flow.0.goodput_bps`, `link.bottleneck.drops`, `metric.jain_index`.

    Flows, links and applications are named by id or by index. None where there is none.
    """
    kind, _, rest = path.partition(".")
    entry, _, column = rest.rpartition(".")
    row: Mapping[str, Any] = summary["metrics"] if kind == "metric" else {}
    if kind in _LISTS:
        rows = summary.get(_LISTS[kind], [])
        by_id = {str(one["id"]): one for one in reversed(rows)}
        by_index = {str(index): one for index, one in enumerate(rows)}
        row = {**by_index, **by_id}.get(entry, {})
    value = row.get(column)
    if not isinstance(value, NUMBER) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)


def _at(document: Any, path: str) -> Any:
    """The value at a path of an experiment file, in which lists are entered by index."""
    for name in path.split("."):
        if isinstance(document, Mapping):
            document = document.get(name, _MISSING)
        elif isinstance(document, list):
            place = text.whole(name)
            document = document[place] if place is not None and place < len(document) else _MISSING
        else:
            return _MISSING
    return document


@functools.cache
def directories() -> dict[str, Path]:
    """Key -> directory; a number before the key of each gives the order of the course."""
    found = sorted(path.parent for path in Path(__file__).parent.glob("*/exercise.toml"))
    return {directory.name.partition("-")[2]: directory for directory in found}


def load(directory: Path) -> Exercise:
    """Read the files of an exercise.

    Raises:
        InputError: If one is missing or holds something other than it should.
    """
    file = directory / "exercise.toml"
    raw = parse_toml(read_text(file, "exercise", MAX_BYTES), str(file))
    wrong = problem(raw, SHAPE) or _unknown(raw)
    if wrong:
        raise InputError(f"{file}: {wrong}; write it as docs/exercises/README.md says")
    start, solution = (
        read_text(directory / f"{name}.toml", "experiment file", MAX_BYTES)
        for name in ("start", "solution")
    )
    return Exercise(
        key=directory.name.partition("-")[2],
        title=raw["title"],
        minutes=raw["minutes"],
        question=raw["question"].strip(),
        hints=tuple(raw["hints"]),
        keep=tuple(raw["keep"]),
        claims=tuple(raw["claim"]),
        wrong=tuple(raw["wrong"]),
        start=start,
        solution=solution,
    )


def _unknown(raw: Mapping[str, Any]) -> str | None:
    """A key, test or first word of a path that means nothing."""
    for index, claim in enumerate(raw["claim"]):
        if isinstance(claim["test"], str) and claim["test"] not in _COMPARED:
            return f"claim.{index}.test is {claim['test']!r}; expected {', '.join(_COMPARED)}"
        for side in ("left", "right"):
            path = _path(claim[side])
            if path and path.partition(".")[0] not in (*_LISTS, "metric"):
                return f"claim.{index}.{side} is {path!r}; expected {', '.join(_LISTS)} or metric"
    surplus = sorted(raw.keys() - SHAPE.keys())
    return f"{surplus[0]} means nothing here" if surplus else None
