"""Models in reports and on the terminal: what they say, how far to trust it, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway.ground import text
from fairway.model import beside
from fairway.plot.columns import named
from fairway.plot.page import Section, Table

if TYPE_CHECKING:
    from fairway.results.data import RunData

#: Flows that have lines of their own; of more, one line says what they do together.
_LINES = 8
#: Figures of one flow and of a link that have a line.
_OF_ONE = ("goodput_bps", "mean_cwnd_segments", "mean_srtt_s", "fct_s", "loss_ratio")
_OF_LINK = ("utilisation", "mean_backlog_packets")


def is_of_models(run: RunData) -> bool:
    """Whether models have answered, and nothing was run."""
    return run.backend == "model"


def model_sections(run: RunData) -> list[Section]:
    """What models say of a run, or which models have answered."""
    if is_of_models(run):
        entries = [*run.summary["flows"], *run.summary["links"]]
        said = {entry["model"]["name"]: entry["model"]["source"] for entry in entries}
        return [Section("Models", tables=[_source_table(said)])]
    model = run.summary.get("model")
    if model is None:
        return []
    if "refused" in model:
        return [Section("Model", f"No model covers this experiment: {_listed(model['refused'])}.")]
    explained = (
        "What the measurement should be by the models named below, and the residual: "
        "measured ÷ predicted − 1."
    )
    outside = [f"{name} is outside of its range: {why}" for name, why in beside.reasons(model)]
    tables = [beside_table(run, model), _source_table(model["sources"])]
    return [Section("Model", explained, tables=tables, warnings=outside)]


def beside_table(run: RunData, model: Mapping[str, Any]) -> Table:
    """Prediction, measurement and residual, one line per figure."""
    flows = {flow["id"]: flow for flow in run.summary["flows"]}
    links = {link["id"]: link for link in run.summary["links"]}
    rows: list[list[str]] = []
    if len(model["flows"]) <= _LINES:
        for entry in model["flows"]:
            rows += _lines(entry, flows[entry["id"]], _OF_ONE)
    else:
        rows += _together(model, run.metrics)
    for entry in model["links"]:
        rows += _lines(entry, links.get(entry["id"], {}), _OF_LINK)
    columns = ["", "model", "predicted", "measured", "residual", "in range"]
    return Table("Model beside measurement", columns, rows, labels=2)


def sentences(run: RunData) -> list[str]:
    """Which models have answered, or what they say of the goodput, for a terminal."""
    if is_of_models(run):
        said = {
            (entry["model"]["name"], entry["model"]["source"]) for entry in run.summary["flows"]
        }
        return [f"From the model {name} ({source})." for name, source in sorted(said)]
    model = run.summary.get("model")
    if model is None or "refused" in model:
        return []
    flows = {flow["id"]: flow for flow in run.summary["flows"]}
    groups: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    for entry in model["flows"]:
        groups.setdefault((entry["model"], entry["outside"]), []).append(entry)
    lines = []
    for (name, outside), entries in groups.items():
        predicted = sum(entry["goodput_bps"] for entry in entries)
        measured = sum(flows[entry["id"]]["goodput_bps"] for entry in entries)
        left = text.percent(beside.residual(predicted, measured))
        of = f" of {text.count(len(entries), 'flow')}" if len(model["flows"]) > 1 else ""
        range_ = f", outside of its range ({outside})" if outside else ""
        lines.append(
            f"Model {name}{range_}: goodput{of} {text.bit_rate(predicted)}, "
            f"measured {text.bit_rate(measured)} ({left})."
        )
    return lines


def _lines(
    entry: Mapping[str, Any], found: Mapping[str, Any], names: Sequence[str]
) -> Iterable[list[str]]:
    for name in names:
        value = entry[name]
        measured = beside.measured(found, name)
        if value is None:
            continue
        yield _line(f"{entry['id']}: {named(name)}", entry, name, value, measured)


def _line(
    label: str, entry: Mapping[str, Any], name: str, value: float, measured: float | None
) -> list[str]:
    return [
        label,
        str(entry["model"]),
        figure(name, value),
        figure(name, measured),
        text.percent(beside.residual(value, measured)),
        text.number(entry["in_range"]),
    ]


def _together(model: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[list[str]]:
    """Figures of all flows."""
    names = list(dict.fromkeys(entry["model"] for entry in model["flows"]))
    entry = {
        "model": ", ".join(names),
        "in_range": all(entry["in_range"] for entry in model["flows"]),
    }
    label = f"{text.count(len(model['flows']), 'flow')}: "
    return [
        _line(label + words, entry, name, model["metrics"][name], metrics[name])
        for name, words in (("goodput_bps", "goodput"), ("loss_ratio", "loss ratio"),
                            ("jain_index", "Jain index"))
        if model["metrics"][name] is not None
    ]  # fmt: skip


def figure(name: str, value: float | None) -> str:
    """A figure with its unit."""
    if value is None:
        return text.ABSENT
    if name.endswith("_bps"):
        return text.bit_rate(value)
    if name == "fct_s":
        return f"{text.number(value)} s"
    if name.endswith("_s"):
        return text.milliseconds(value)
    if name == "loss_ratio":
        return text.percent(value, signed=False)
    return text.number(value)


def _source_table(sources: Mapping[str, str]) -> Table:
    return Table("Sources", ["model", "source"], [list(row) for row in sources.items()], labels=2)


def _listed(lines: Sequence[str]) -> str:
    return "; ".join(lines)
