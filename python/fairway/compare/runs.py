"""Two or more run directories side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.capture.analysis.run import load
from fairway.errors import InputError
from fairway.ground import text
from fairway.ground.kernels import releases
from fairway.metrics.reading import check_names
from fairway.plot import columns
from fairway.plot.citation import citation
from fairway.plot.columns import Column
from fairway.plot.page import FILL, Figure, Section, Table, render
from fairway.plot.quantities import QUANTITIES, Quantity
from fairway.results.report import source_of
from fairway.results.run import Run
from fairway.sweep.tables import COSTS

#: Runs that are columns of a table; of more, each has a line.
_BESIDE = 3
#: Smallest width of a chart beside others, and the room that its legend has, in pixels.
_CHART_WIDTH, _LEGEND_WIDTH = 420, 360
#: Points of a rate's line at most, in a chart of that width: a mean over some pixels each, where
#: every sample of several flows would cover the others.
_RATE_POINTS = 100
#: Room above the largest value, and below the smallest one, as a part of what lies between.
_MARGIN = 0.04
#: What is shown of each flow: column -> how, and what it is called.
FLOW_COLUMNS: Mapping[str, tuple[Callable[[str, Sequence[float | None]], Column], str]] = {
    "goodput_bps": (columns.rates, "Goodput"),
    "mean_srtt_s": (columns.milliseconds, "Mean smoothed RTT"),
    "retransmitted_segments": (columns.numbers, "Retransmitted segments"),
}


@dataclass(frozen=True)
class Comparison:
    """Runs beside each other.

    Attributes:
        names: What each run is called: its directory.
        chosen: Metrics to show, if not those of the summaries, delay and retransmissions.
    """

    names: tuple[str, ...]
    runs: tuple[Run, ...]
    chosen: tuple[str, ...] = ()

    def differences(self) -> dict[str, list[Any]]:
        """What answered and paths of the experiments that are not the same in all, by run."""
        return differing([asked(run.summary, run.experiment, run.version) for run in self.runs])

    def metrics(self) -> dict[str, list[float | None]]:
        """Each metric of each run."""
        found = [
            run.measured(self.chosen) if self.chosen else {**run.metrics, **run.measured(COSTS)}
            for run in self.runs
        ]
        names = dict.fromkeys(name for metrics in found for name in metrics)
        return {name: [metrics.get(name) for metrics in found] for name in names}

    def of_flows(self, column: str) -> dict[str, list[float | None]]:
        """A column of each flow of each run, matched by position.

        A flow is named by its ids: `reno#1`, or `reno#1 / bbr#1` where they differ.
        """
        summaries = [run.summary for run in self.runs]
        return {
            name: [flow_value(summary, index, column) for summary in summaries]
            for index, name in enumerate(flow_names(summaries))
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
            **{column: self.of_flows(column) for column in FLOW_COLUMNS},
        }

    def tables(self) -> list[Table]:
        """What differs, the metrics, and goodput, round trip and retransmissions of the flows."""
        changed = {k: [_value(v) for v in row] for k, row in self.differences().items()}
        metrics = [
            columns.figures(name, row)
            for name, row in self.metrics().items()
            if self.chosen or any(value is not None for value in row)
        ]
        return [
            self._table(
                "What differs", [Column(path, row) for path, row in changed.items()], text_only=True
            ),
            self._table("Metrics", metrics),
            *(self._flow_table(column) for column in FLOW_COLUMNS),
        ]

    def _flow_table(self, column: str) -> Table:
        kind, title = FLOW_COLUMNS[column]
        shown = [
            # A heading of two names is short enough.
            kind(name if name.count(" / ") < 2 else f"flow {index}", row)
            for index, (name, row) in enumerate(self.of_flows(column).items())
        ]
        return self._table(f"{title} of each flow", shown)

    def report(self) -> str:
        """The comparison as HTML, every chart once per run."""
        sections = [Section("Summary", tables=self.tables())]
        for quantity in QUANTITIES.values():
            if charts := self.charts(quantity):
                sections.append(Section(quantity.title, figures=charts, grid=_CHART_WIDTH))
        sources = [source_of(run, name) for name, run in zip(self.names, self.runs, strict=True)]
        lead = " · ".join(self.names)
        return render("Comparison", lead, sections, citation=citation(sources))

    def charts(self, quantity: Quantity) -> list[Figure]:
        """A quantity of each run that has it, over the same time and between the same ends."""
        from fairway.plot.figures import measuring_window
        from fairway.plot.over_time import MAX_POINTS, over_time, thin
        from fairway.results.figures import drawn_table, is_measured

        frames = [
            (name, drawn_table(run, quantity), measuring_window(run.experiment))
            for name, run in zip(self.names, self.runs, strict=True)
            if is_measured(run, quantity)
        ]
        points = _RATE_POINTS if quantity.keep == "mean" else MAX_POINTS
        drawn = [
            thin(frame, quantity.key, quantity.column, points, quantity.keep).numbers(
                quantity.column
            )
            for _, frame, _ in frames
        ]
        most = max((float(values.max()) for values in drawn), default=0.0)
        least = min((float(values.min()) for values in drawn), default=0.0)
        low, high = (0.0 if quantity.from_zero else least), most
        margin = _MARGIN * ((high - low) or abs(high) or 1.0)
        return [
            Figure(
                name,
                over_time(
                    frame,
                    quantity,
                    points=points,
                    y_min=0.0 if quantity.from_zero else quantity.scale * (low - margin),
                    y_max=quantity.scale * (high + margin),
                    end_s=max(float(one.numbers("t_s").max()) for _, one, _ in frames),
                    window=window,
                    width=FILL,
                    legend_width=_LEGEND_WIDTH,
                ),
            )
            for name, frame, window in frames
        ]

    def _table(
        self, caption: str, quantities: Sequence[Column], *, text_only: bool = False
    ) -> Table:
        """Each quantity beside the runs, or where runs are many, a line for each run."""
        # A directory that is named twice has two names.
        names = [
            f"{name} ({count})" if (count := self.names[:index].count(name) + 1) > 1 else name
            for index, name in enumerate(self.names)
        ]
        if quantities and len(self.runs) > _BESIDE:
            lines = [columns.words("run", names), *quantities]
            return columns.table(caption, lines, labels=len(lines) if text_only else 1, keys=1)
        rows = [[quantity.heading, *quantity.cells] for quantity in quantities]
        return Table(caption, ["", *names], rows)


def compare(directories: Sequence[str | Path], metrics: Sequence[str] = ()) -> Comparison:
    """Read run directories to compare.

    Args:
        directories: The directories.
        metrics: Metrics to show, by the names of `fairway.metrics.measure`, instead of those of
            the summaries, delay and retransmissions.

    Raises:
        InputError: With fewer than two, if one is not a run directory, or if there is no such
            metric.
    """
    check_names(metrics)
    if len(directories) < 2:
        raise InputError("compare: name two or more run directories")
    return Comparison(
        tuple(str(directory) for directory in directories),
        tuple(load(directory) for directory in directories),
        tuple(metrics),
    )


def asked(
    summary: Mapping[str, Any], experiment: Mapping[str, Any], version: str
) -> dict[str, Any]:
    """All that decides a run by name: what answered, the user's own code, and the experiment."""
    own = {
        f"code of {name}": code["sha256"] for name, code in summary.get("algorithms", {}).items()
    }
    kernel = {"kernel": found[0]} if (found := releases([summary])) else {}
    return {
        "backend": summary["backend"], "version": version, **kernel, **own, **flatten(experiment)
    }  # fmt: skip


def differing(sides: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What is not the same on all sides: name -> the value of each side."""
    rows = {name: [side.get(name) for side in sides] for side in sides for name in side}
    return {name: row for name, row in rows.items() if any(value != row[0] for value in row)}


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


def flow_names(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the flows at each position: their ids, those that differ with a stroke between."""
    ids = [[str(flow["id"]) for flow in summary["flows"]] for summary in summaries]
    return [
        " / ".join(dict.fromkeys(one for one in at if one is not None))
        for at in itertools.zip_longest(*ids)
    ]


def flow_value(summary: Mapping[str, Any], index: int, column: str) -> float | None:
    """A column of the flow at that position; None if there is no such flow or value."""
    flows = summary["flows"]
    value = flows[index][column] if index < len(flows) else None
    return None if value is None else float(value)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return " – ".join(map(str, value))
    return text.number(value)
