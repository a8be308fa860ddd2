"""Two or more run directories side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway import text
from fairway.errors import InputError
from fairway.page import FILL, Figure, Section, Table, render
from fairway.report import figure
from fairway.results import Run, load

#: Smallest width of a chart beside others, and the room that its legend has, in pixels.
_CHART_WIDTH, _LEGEND_WIDTH = 420, 360


@dataclass(frozen=True)
class Comparison:
    """Runs beside each other.

    Attributes:
        names: What each run is called: its directory.
        runs: The runs.
    """

    names: tuple[str, ...]
    runs: tuple[Run, ...]

    def differences(self) -> dict[str, list[Any]]:
        """What answered and paths of the experiments that are not the same in all, by run."""
        flat = [{"backend": run.backend, **flatten(run.experiment)} for run in self.runs]
        paths = dict.fromkeys(path for one in flat for path in one)
        rows = {path: [one.get(path) for one in flat] for path in paths}
        return {path: row for path, row in rows.items() if any(v != row[0] for v in row)}

    def metrics(self) -> dict[str, list[float | None]]:
        """Each metric of each run."""
        names = dict.fromkeys(name for run in self.runs for name in run.metrics)
        return {name: [run.metrics.get(name) for run in self.runs] for name in names}

    def goodputs(self) -> dict[str, list[float | None]]:
        """Goodput in bit/s of each flow of each run, matched by position.

        A flow is named by its ids: `reno#1`, or `reno#1 / bbr#1` where they differ.
        """
        most = max(len(run.summary["flows"]) for run in self.runs)
        return {
            _names(self.runs, index): [_goodput(run, index) for run in self.runs]
            for index in range(most)
        }

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "runs": [
                {"directory": name, "title": run.title, "seed": run.seed}
                for name, run in zip(self.names, self.runs, strict=True)
            ],
            "differences": self.differences(),
            "metrics": self.metrics(),
            "goodput_bps": self.goodputs(),
        }

    def tables(self) -> list[Table]:
        """What differs, the metrics and the goodputs."""
        changed = {k: [_value(v) for v in row] for k, row in self.differences().items()}
        numbers = {
            text.without_unit(k): [figure(k, v) for v in row] for k, row in self.metrics().items()
        }
        rates = {k: [text.bit_rate(v) for v in row] for k, row in self.goodputs().items()}
        return [
            self._table("What differs", changed),
            self._table("Metrics", numbers),
            self._table("Goodput of each flow", rates),
        ]

    def report(self) -> str:
        """The comparison as HTML, every chart once per run."""
        from fairway.figures import QUANTITIES, is_measured, over_time

        sections = [Section("Summary", tables=self.tables())]
        for quantity in QUANTITIES.values():
            charts = [
                Figure(
                    name,
                    over_time(
                        getattr(run, quantity.table),
                        quantity,
                        width=FILL,
                        legend_width=_LEGEND_WIDTH,
                    ),
                )
                for name, run in zip(self.names, self.runs, strict=True)
                if is_measured(run, quantity)
            ]
            if charts:
                sections.append(Section(quantity.title, figures=charts, grid=_CHART_WIDTH))
        return render("Comparison", " · ".join(self.names), sections)

    def _table(self, caption: str, rows: Mapping[str, Sequence[str]]) -> Table:
        return Table(caption, ["", *self.names], [[name, *row] for name, row in rows.items()])


def compare(directories: Sequence[str | Path]) -> Comparison:
    """Read run directories to compare.

    Raises:
        InputError: With fewer than two, or if one is not a run directory.
    """
    if len(directories) < 2:
        raise InputError("compare: name two or more run directories")
    return Comparison(
        tuple(str(directory) for directory in directories),
        tuple(load(directory) for directory in directories),
    )


def flatten(document: Any, prefix: str = "") -> dict[str, Any]:
    """Every value of a document by its path: `flow.0.cc` -> "bic"."""
    if isinstance(document, Mapping):
        items = [(str(key), value) for key, value in document.items()]
    elif isinstance(document, list) and any(isinstance(v, Mapping) for v in document):
        items = [(str(index), value) for index, value in enumerate(document)]
    else:
        return {prefix: document}
    found: dict[str, Any] = {}
    for key, value in items:
        found.update(flatten(value, f"{prefix}.{key}" if prefix else key))
    return found


def _names(runs: Sequence[Run], index: int) -> str:
    ids = (run.summary["flows"][index]["id"] for run in runs if index < len(run.summary["flows"]))
    return " / ".join(dict.fromkeys(ids))


def _goodput(run: Run, index: int) -> float | None:
    flows = run.summary["flows"]
    return float(flows[index]["goodput_bps"]) if index < len(flows) else None


def _value(value: Any) -> str:
    if isinstance(value, list):
        return " – ".join(map(str, value))
    return text.number(value)
