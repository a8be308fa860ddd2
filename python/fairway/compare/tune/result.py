"""What came of tuning: as sentences, tables, plain data, and experiment files that run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.compare.tune.bench import Goal, Score
from fairway.compare.tune.fresh import Comparison, Finalist, check_json, comparison_json
from fairway.compare.tune.search import Found, Trial
from fairway.compare.tune.space import Parameter
from fairway.compare.tune.subject import Subject
from fairway.ground import text
from fairway.plot.page import Table

_VERDICTS = {
    "better": "better",
    "worse": "worse",
    "not shown": "no difference could be shown",
    "kept": "kept",
    "not kept": "not kept",
    "undecided": "undecided",
}


@dataclass(frozen=True)
class Tuning:
    """A search, and the proof of what it found.

    Attributes:
        repetitions: Seeds of each trial.
        fresh: Seeds of the comparison at the end.
        batch: Trials proposed at a time.
        default: What the default measured on the seeds of the search.
        front: The best trial; of several objectives, all that no other is better than.
        finalists: Those of them that were compared with the default on fresh seeds.
    """

    algorithm: str | None
    subjects: tuple[Subject, ...]
    parameters: tuple[Parameter, ...]
    goal: Goal
    repetitions: int
    fresh: int
    seed: int
    batch: int
    backend: str
    default: Score
    found: Found
    front: tuple[Trial, ...]
    finalists: tuple[Finalist, ...]
    remarks: tuple[str, ...]
    directory: Path | None

    @property
    def title(self) -> str:
        """What was done, in a few words."""
        places = ", ".join(subject.name for subject in self.subjects)
        return f"Tuning {self.algorithm or 'parameters'} on {places}"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Everything that was tried."""
        return self.found.trials

    @property
    def warnings(self) -> list[str]:
        """What has to be known before the values are used."""
        found = list(self.remarks)
        refused = [trial for trial in self.trials if trial.score.refused]
        if refused:
            found.append(
                f"{text.count(len(refused), 'trial')} of {len(self.trials)} could not be measured; "
                f"the first: {refused[0].score.refused}"
            )
        if not any(self.goal.is_met(trial.score) for trial in self.front):
            found.append("no trial kept all constraints; shown is the one that is least off them")
        if self.finalists and all(map(_is_one_run, self.finalists)):
            found.append(f"every seed gave the same: {text.NOTHING_RANDOM}")
        for finalist in self.finalists:
            kept = self.goal.is_met(finalist.trial.score)
            if kept and any(check.kept != "kept" for check in finalist.checks):
                found.append(
                    f"trial {finalist.trial.number} kept its constraints in the search, which "
                    "fresh seeds do not confirm: an optimum lies on its constraints, so ask for a "
                    "little more than is needed"
                )
        return found

    def sentences(self) -> Iterator[str]:
        """The verdicts, for people: of each finalist and objective."""
        for finalist in self.finalists:
            values = f"Trial {finalist.trial.number}"
            if finalist.fresh.refused is not None:
                yield f"{values}: could not be measured again: {finalist.fresh.refused}."
                continue
            for comparison in finalist.comparisons:
                yield f"{values}: {verdict_text(comparison, self.fresh)}"
            for check in finalist.checks:
                low, high = check.chosen.low, check.chosen.high
                yield (
                    f"{values}: {check.constraint} is {_VERDICTS[check.kept]}: "
                    f"{text.number(check.chosen.mean)} {_interval(low, high)}."
                )

    def curse(self) -> str:
        """Why the seeds of the search do not count, with what they said."""
        best = self.finalists[0]
        said = ""
        if best.comparisons and (searched := best.comparisons[0].in_search) is not None:
            said = (
                f" On those of the search {best.comparisons[0].objective.name} differed by "
                f"{_signed(searched)}, on fresh ones by {_signed(best.comparisons[0].effect.mean)}."
            )
        return (
            f"The best of {text.count(len(self.trials), 'trial')} looks better on the "
            f"{text.count(self.repetitions, 'seed')} it was chosen by than it is (the winner's "
            f"curse), so that only fresh seeds count.{said}"
        )

    def comparison_table(self) -> Table:
        """Tuned beside default on fresh seeds."""
        rows = []
        for finalist in self.finalists:
            number = f"#{finalist.trial.number}"
            for c in finalist.comparisons:
                rows.append([
                    number, c.objective.name, text.number(c.default), text.number(c.chosen),
                    _signed(c.effect.mean), _interval(c.low, c.high), _VERDICTS[c.verdict],
                ])  # fmt: skip
            for check in finalist.checks:
                rows.append([
                    number, str(check.constraint), text.number(check.default.mean),
                    text.number(check.chosen.mean), text.ABSENT,
                    _interval(check.chosen.low, check.chosen.high), _VERDICTS[check.kept],
                ])  # fmt: skip
        columns = ["", "", "default", "tuned", "difference", "95 % interval", "verdict"]
        caption = f"Tuned beside default, on {text.count(self.fresh, 'fresh seed')}"
        return Table(caption, columns, rows, labels=2)

    def parameter_table(self) -> Table:
        """What was searched, and the values of each finalist."""
        columns = ["", "searched", "default"]
        columns += [f"#{finalist.trial.number}" for finalist in self.finalists]
        rows = [
            [
                parameter.name,
                parameter.range_text(),
                _shown(parameter.default),
                *(text.label(f.trial.score.settings[parameter.name]) for f in self.finalists),
            ]
            for parameter in self.parameters
        ]
        return Table("Parameters", columns, rows, labels=2)

    def case_table(self) -> Table:
        """The same comparison in each experiment and point of its sweep; no rows for one case."""
        rows = [
            [f"#{finalist.trial.number}", case, comparison.objective.name, _signed(mean),
             _interval(low, high)]
            for finalist in self.finalists
            for comparison in finalist.comparisons
            if len(comparison.by_case) > 1
            for case, (mean, low, high) in comparison.by_case.items()
        ]  # fmt: skip
        columns = ["", "case", "objective", "difference", "95 % interval"]
        return Table("Case by case", columns, rows, labels=3)

    def trial_table(self) -> Table:
        """Every trial on the seeds of the search."""
        names = [parameter.name for parameter in self.parameters]
        formulas = self.goal.formulas
        rows = [
            [
                str(trial.number),
                *(text.label(trial.score.settings[name]) for name in names),
                *(
                    text.ABSENT if trial.score.refused else text.number(trial.score.mean(index))
                    for index in range(len(formulas))
                ),
            ]
            for trial in self.trials
        ]
        default = [text.number(self.default.mean(index)) for index in range(len(formulas))]
        shown = [_shown(parameter.default) for parameter in self.parameters]
        columns = ["trial", *names, *(formula.name for formula in formulas)]
        return Table(
            f"Means of {text.count(self.repetitions, 'seed')}",
            columns, [["default", *shown, *default], *rows],
        )  # fmt: skip

    def files(self) -> Mapping[str, str]:
        """The tuned experiments: name of the file -> its text; each runs as it stands."""
        import tomli_w

        found = {}
        for finalist in self.finalists:
            settings = finalist.trial.score.settings
            values = ", ".join(f"{name} = {text.label(value)}" for name, value in settings.items())
            said = [
                f"{comparison.objective.name}: {verdict_text(comparison, self.fresh)}"
                for comparison in finalist.comparisons
            ]
            for subject in self.subjects:
                head = f"{subject.path.name} with values that `fairway tune` found: {values}"
                comment = "".join(f"# {line}\n" for line in (head, *said))
                parts = ["tuned"]
                parts += [subject.name] if len(self.subjects) > 1 else []
                parts += [str(finalist.trial.number)] if len(self.finalists) > 1 else []
                document = subject.document(settings)
                found["-".join(parts) + ".toml"] = f"{comment}\n{tomli_w.dumps(document)}"
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "title": self.title,
            "algorithm": self.algorithm,
            "experiments": [str(subject.path) for subject in self.subjects],
            "flows": [list(subject.flows) for subject in self.subjects],
            "backend": self.backend,
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "objectives": [
                {"name": objective.name, "direction": objective.direction}
                for objective in self.goal.objectives
            ],
            "constraints": [str(constraint) for constraint in self.goal.constraints],
            "seed": self.seed,
            "batch": self.batch,
            "repetitions": self.repetitions,
            "fresh": self.fresh,
            "default": self._score_json(self.default),
            "trials": [
                {"number": trial.number, **self._score_json(trial.score)} for trial in self.trials
            ],
            "importances": [dict(shares) for shares in self.found.importances],
            "front": [trial.number for trial in self.front],
            "finalists": [
                {
                    "number": finalist.trial.number,
                    "settings": dict(finalist.trial.score.settings),
                    "refused": finalist.fresh.refused,
                    "comparisons": [comparison_json(c) for c in finalist.comparisons],
                    "constraints": [check_json(check) for check in finalist.checks],
                }
                for finalist in self.finalists
            ],
            "warnings": self.warnings,
        }

    def _score_json(self, score: Score) -> dict[str, Any]:
        settings = dict(score.settings)
        if score.refused is not None:
            return {"settings": settings, "refused": score.refused}
        means = {f.name: score.mean(index) for index, f in enumerate(self.goal.formulas)}
        return {"settings": settings, "means": means, "kept": self.goal.is_met(score)}

    def __repr__(self) -> str:
        return f"<Tuning {self.title!r}: {text.count(len(self.trials), 'trial')}>"


def verdict_text(comparison: Comparison, fresh: int) -> str:
    """What fresh seeds say of an objective, as a sentence."""
    c = comparison
    values = (
        f"{c.objective.name} is {text.number(c.chosen)} instead of {text.number(c.default)} on "
        f"{text.count(fresh, 'fresh seed')}"
    )
    off = f"{_signed(c.effect.mean)} {_interval(c.low, c.high)}"
    if c.verdict == "not shown":
        return f"no better than the default could be shown: {values} ({off})."
    share = f", {text.percent(c.effect.mean / abs(c.default))}" if c.default else ""
    return f"{c.verdict} than the default by {off}{share}: {values}."


def _shown(default: Any) -> str:
    """A default, which may have more digits than values that are tried."""
    if default is None:
        return text.ABSENT
    return text.number(default) if isinstance(default, float) else text.label(default)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + text.number(value)


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return text.ABSENT
    return f"[{text.number(low)}, {text.number(high)}]"


def _is_one_run(finalist: Finalist) -> bool:
    """Whether fresh seeds gave the same values in every case and formula."""
    rows = [values for rows in finalist.fresh.cases.values() for values in rows]
    return bool(rows) and all(len(values) > 1 and len(set(values)) == 1 for values in rows)
