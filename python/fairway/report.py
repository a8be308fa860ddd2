"""Reports of runs and sweeps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway import repetitions, text
from fairway.page import FILL, Figure, Section, Table, render

if TYPE_CHECKING:
    import polars as pl

    from fairway.figures import AnyChart
    from fairway.results import Run
    from fairway.sweep import Sweep


def run_report(run: Run) -> str:
    """The report of one run."""
    from fairway.figures import QUANTITIES, is_measured

    own_tables: list[Table] = []
    own_sections: list[Section] = []
    charts: list[Figure] = []
    if "transfer" in run.summary:
        from fairway.transfer import sections as transfer

        own_tables, own_sections = [transfer.transfer_table(run)], transfer.settings_section(run)
        charts += transfer.transfer_figures(run)
    if "capture" in run.summary:
        from fairway.analysis import sections as capture

        own_tables, own_sections = capture.capture_tables(run), capture.capture_sections(run)
    for name, quantity in QUANTITIES.items():
        if is_measured(run, quantity):
            title = quantity.alt.partition(",")[0]
            charts.append(Figure(title, run.figures.draw(name, width=FILL)))
    from fairway.model.sections import is_of_models, model_sections
    from fairway.phase_charts import phase_tables

    sections = [
        Section(
            "Summary",
            window_sentence(run.experiment),
            warnings=run.warnings,
            tables=[
                metric_table(run.metrics),
                *own_tables,
                *completion_table(run),
                *([] if own_tables else application_tables(run)),
                *flow_tables(run),
                *link_tables(run),
                *phase_tables(run),
                *wlan_tables(run),
            ],
        ),
        *([Section("Over time", figures=charts)] if charts else []),
        *model_sections(run),
        *own_sections,
        *repeated_runs(run),
        experiment_section(run.experiment),
    ]
    packets = run.summary.get("packets")
    if "capture" in run.summary:
        return render(run.title, capture.capture_lead(run), sections)
    if is_of_models(run):
        lead = "What models say; nothing was run, so there are no series."
        return render(run.title, lead, sections)
    lead = f"Backend {run.backend}" + ("" if own_tables else f", seed {run.seed}")
    return render(run.title, lead + (f", {packets:,} packets." if packets else "."), sections)


def repeated_runs(run: Run) -> list[Section]:
    """How far runs of the same experiment differ: measured, or what decides it."""
    from fairway import repeat

    said = []
    if kernel := run.summary.get("kernel"):
        said.append(_kernel_sentence(kernel))
    found = run.summary.get("repeated")
    if found is None and not said:
        return []
    if found is None:
        said.append("Not measured for this run; --repeat 1 runs it again and compares.")
        return [Section("Repeated runs", " ".join(said))]
    said.append(repeat.sentence(found))
    tables = [_difference_table(found)] if found["differences"] else []
    return [Section("Repeated runs", " ".join(said), tables=tables)]


def _kernel_sentence(kernel: Mapping[str, Any]) -> str:
    """What of a kernel decides how far repeated runs differ."""
    time = "virtual" if kernel["virtual_time"] else "real"
    if kernel["virtual_time"] and kernel["repeatable"]:
        what = "the seed decides its randomness: runs with the same seed are to be the same"
    elif kernel["virtual_time"]:
        what = "its randomness is its own: runs with the same seed differ as those with others do"
    else:
        what = "what else the machine does shows in the results, and runs with the same seed differ"
    return f"Linux {kernel['release']} in {time} time; {what}."


def _difference_table(found: Mapping[str, Any]) -> Table:
    """One line per figure that was not always the same."""
    rows = [
        [
            entry["figure"],
            *(text.number(entry[name]) for name in ("first", "least", "most")),
            f"{entry['relative']:.3%}",
        ]
        for entry in found["differences"]
    ]
    return Table("Differences", ["figure", "first run", "least", "most", "difference"], rows)


def sweep_report(sweep: Sweep) -> str:
    """The report of a sweep: every run in one table, and each metric over the axes."""
    repeated = repetitions.sentence(sweep.until, sweep.stops) if sweep.until else ""
    sections = [Section("Runs", repeated, warnings=sweep.warnings, tables=[sweep_table(sweep)])]
    charts = sweep_charts(sweep, width=FILL)
    figures = [Figure(text.capital(_charted(name)[0]), chart) for name, chart in charts.items()]
    if figures:
        shown = "Means over repetitions, with 95 % confidence intervals where there are several."
        if not sweep.predicted.is_empty():
            shown += " Dashed lines, or diamonds, are what models say."
        sections.append(Section("Metrics", shown, figures=figures, grid=380))
    if sweep.outcomes:
        sections.append(experiment_section(sweep.outcomes[0].point.experiment, "First experiment"))
    return render(sweep.title, f"{text.count(len(sweep), 'run')}.", sections)


def sweep_charts(sweep: Sweep, **size: Any) -> dict[str, AnyChart]:
    """Each metric against the first axis, one line per value of the second."""
    import polars as pl

    from fairway.figures import metric_over_axis

    if not sweep.axes:
        return {}

    def scaled(rows: pl.DataFrame, factor: float) -> pl.DataFrame:
        return rows.with_columns(pl.col("mean", "low", "high") * factor)

    axis, group = sweep.axes[0], sweep.axes[1] if len(sweep.axes) > 1 else None
    numeric = [name for name in sweep.axes if sweep.table[name].dtype.is_numeric()]
    if numeric and group is not None and axis not in numeric:
        axis, group = numeric[0], next(n for n in sweep.axes if n != numeric[0])
    known = {*sweep.axes, "repetition", "seed"}
    metrics = [name for name in sweep.table.columns if name not in known]
    charts: dict[str, AnyChart] = {}
    for metric in metrics:
        by = [axis] + ([group] if group else [])
        rows = estimates(sweep.table, by, metric)
        if not rows.is_empty():
            title, factor = _charted(metric)
            said = estimates(sweep.predicted, by, metric) if metric in sweep.predicted else None
            charts[metric] = metric_over_axis(
                scaled(rows, factor),
                axis=axis,
                metric=title,
                group=group,
                predicted=None if said is None else scaled(said, factor),
                **size,
            )
    return charts


def _charted(metric: str) -> tuple[str, float]:
    """What a metric is called on a chart, and what its values are multiplied by there."""
    words = text.without_unit(metric).replace("_", " ")
    return (f"{words} (Mbit/s)", 1e-6) if metric.endswith("_bps") else (words, 1)


def estimates(table: pl.DataFrame, by: Sequence[str], metric: str) -> pl.DataFrame:
    """Mean and 95 % interval of a metric for each combination of `by`."""
    import polars as pl

    from fairway.stats import mean_interval

    rows = []
    for key, group in table.drop_nulls(metric).group_by(by, maintain_order=True):
        values = [value for value in group[metric].to_list() if math.isfinite(value)]
        if not values:
            continue
        found = mean_interval(values)
        rows.append({**dict(zip(by, key, strict=True)), "mean": found.mean,
                     "low": found.low, "high": found.high})  # fmt: skip
    kinds = dict.fromkeys(("mean", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def metric_table(metrics: Mapping[str, float | None]) -> Table:
    """The metrics of a run."""
    rows = [[text.without_unit(name), figure(name, value)] for name, value in metrics.items()]
    return Table("Metrics", ["metric", "value"], rows)


def flow_tables(run: Run) -> list[Table]:
    """A table of the flows of TCP and one of the datagram flows, those that there are."""
    flows = run.summary["flows"]
    datagrams = [flow for flow in flows if flow["cc"] is None]
    tables = [datagram_table(datagrams)] if datagrams else []
    if len(datagrams) < len(flows):
        tables.insert(0, flow_table(folded([flow for flow in flows if flow["cc"] is not None])))
    return tables


#: Connections of one flow that have a line each; of more, one line says what they did together.
_LINES = 32


def folded(flows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The flows, those of one origin in one line where they are many."""
    origins: dict[tuple[str, bool], list[Mapping[str, Any]]] = {}
    for flow in flows:
        origin, _, rest = str(flow["id"]).partition("/")
        origins.setdefault((origin, rest.endswith("reverse")), []).append(flow)
    lines: list[Mapping[str, Any]] = []
    for (origin, is_back), own in origins.items():
        if len(own) <= _LINES:
            lines += own
            continue
        name = f"{origin}/…" + ("/reverse" if is_back else "")
        lines.append({"id": f"{name} ({len(own):,})", "cc": own[0]["cc"], **_together(own)})
    return lines


def _together(flows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Sums over flows, and means of what is no sum."""

    def mean(name: str) -> float | None:
        known = [flow[name] for flow in flows if flow[name] is not None]
        return sum(known) / len(known) if known else None

    sums = ("goodput_bps", "retransmitted_segments")
    means = ("mean_cwnd_segments", "mean_srtt_s", "mean_one_way_delay_s", "fct_s")

    def total(name: str) -> float | None:
        known = [flow[name] for flow in flows if flow[name] is not None]
        return sum(known) if known else None

    return {
        **{name: total(name) for name in sums},
        **{name: mean(name) for name in means},
    }


def datagram_table(flows: Sequence[Mapping[str, Any]]) -> Table:
    """One line per datagram flow."""
    rows = [
        [
            str(flow["id"]),
            str(flow["kind"]),
            text.bit_rate(flow["goodput_bps"]),
            text.number(flow["sent_segments"]),
            text.percent(flow["loss_ratio"], signed=False),
            text.milliseconds(flow["mean_one_way_delay_s"]),
            text.milliseconds(flow["p99_one_way_delay_s"]),
            text.milliseconds(flow["jitter_s"]),
        ]
        for flow in flows
    ]
    names = ["flow", "kind", "goodput", "sent", "lost", "one-way delay", "p99 delay", "jitter"]
    return Table("Datagram flows", names, rows, labels=2)


def _short_route(route: str | None) -> str:
    """A route as a table has room for it: its first and its last link."""
    links = (route or text.ABSENT).split(" > ")
    return " > ".join(links) if len(links) < 3 else f"{links[0]} > … > {links[-1]}"


def flow_table(flows: Sequence[Mapping[str, Any]]) -> Table:
    """One line per flow of TCP."""
    rows = [
        [
            str(flow["id"]),
            str(flow["cc"]),
            text.bit_rate(flow["goodput_bps"]),
            text.number(flow["retransmitted_segments"]),
            text.number(flow["mean_cwnd_segments"]),
            text.milliseconds(flow["mean_srtt_s"]),
            text.milliseconds(flow["mean_one_way_delay_s"]),
            text.ABSENT if flow["fct_s"] is None else f"{text.number(flow['fct_s'])} s",
        ]
        for flow in flows
    ]
    names = ["flow", "cc", "goodput", "retrans. segments", "mean cwnd", "mean srtt",
             "one-way delay", "fct"]  # fmt: skip
    routes = [flow.get("route") for flow in flows]
    if any(routes):
        names.append("route")
        rows = [[*row, _short_route(route)] for row, route in zip(rows, routes, strict=True)]
    return Table("Flows", names, rows, labels=2)


#: Applications of one kind that are shown beside each other; of more, only what they have together.
_BESIDE = 4


def application_tables(run: Run) -> list[Table]:
    """One table for each kind of application, one line per figure."""
    tables = []
    entries = run.summary.get("applications", [])
    for kind in dict.fromkeys(entry["kind"] for entry in entries):
        own = [entry for entry in entries if entry["kind"] == kind]
        figures = [
            {"connections": entry["connections"], "goodput_bps": entry["goodput_bps"],
             "fct_s": entry["fct_s"], **entry["figures"]}
            for entry in own
        ]  # fmt: skip
        if len(own) <= _BESIDE:
            columns = [str(entry["id"]) for entry in own]
            cells = {name: [of[name] for of in figures] for name in figures[0]}
        else:
            columns = ["mean", "least", "most"]
            cells = {name: _spread([of[name] for of in figures]) for name in figures[0]}
        rows = [
            [_in_words(name), *(figure(name, value) for value in values)]
            for name, values in cells.items()
            if any(value is not None for value in values)
        ]
        caption = kind if len(own) <= _BESIDE else f"{kind}: {text.count(len(own), 'application')}"
        tables.append(Table(f"Applications: {caption}", ["", *columns], rows))
    return tables


def _spread(values: Sequence[float | None]) -> list[float | None]:
    """Mean, least and most of the values that there are."""
    known = [value for value in values if value is not None]
    if not known:
        return [None, None, None]
    return [sum(known) / len(known), min(known), max(known)]


def _in_words(name: str) -> str:
    """A figure's name in words: without its unit where its value has one, else with it."""
    words = name.split("_")
    if words[-1] in ("bps", "s"):
        return " ".join(words[:-1])
    if words[-1] in ("bytes", "chunks"):
        return f"{' '.join(words[:-1])} ({words[-1]})"
    return " ".join(words)


def figure(name: str, value: float | None) -> str:
    """A figure's value, with the unit that its name says."""
    if value is None:
        return text.ABSENT
    if name.endswith("_bps"):
        return text.bit_rate(value)
    return f"{text.number(value)} s" if name.endswith("_s") else text.number(value)


def completion_table(run: Run) -> list[Table]:
    """How long transfers took, by flow and size; none where no flow has several."""
    entries = run.summary.get("completions", [])
    is_any_unfinished = any(entry["unfinished"] for entry in entries)
    rows = [
        [
            _size_class(entry),
            text.number(entry["count"]),
            *([text.number(entry["unfinished"])] if is_any_unfinished else []),
            *(text.milliseconds(entry[f"{name}_s"]) for name in ("mean", "median", "p95", "p99")),
            text.number(entry["mean_slowdown"]),
            text.number(entry["p99_slowdown"]),
        ]
        for entry in entries
    ]
    names = ["flow", "count", *(["unfin."] if is_any_unfinished else []), "mean", "median",
             "95 %", "99 %", "mean slowdown", "99 % slowdown"]  # fmt: skip
    return [Table("Flow completion times", names, rows)] if rows else []


def _size_class(entry: Mapping[str, Any]) -> str:
    """A flow, or a class of its sizes in words."""
    least = entry["from_bytes"]
    if least is None:
        return str(entry["flow"])
    return f"  from {text.size(least)}" if least else f"  below {text.size(entry['below_bytes'])}"


def link_table(run: Run) -> Table:
    """One line per link."""
    rows = [
        [
            str(link["id"]),
            text.number(link["utilisation"]),
            text.number(link["drops"]),
            text.number(link["losses"]),
            text.number(link["marks"]),
            text.number(link["mean_backlog_packets"]),
            text.milliseconds(link["p99_sojourn_s"]),
        ]
        for link in run.summary["links"]
    ]
    names = [
        "link",
        "utilisation",
        "drops",
        "losses",
        "marks",
        "mean backlog (packets)",
        "p99 sojourn",
    ]
    return Table("Links", names, rows)


def link_tables(run: Run) -> list[Table]:
    """`link_table`, where a link was looked at."""
    return [link_table(run)] if run.summary["links"] else []


def wlan_tables(run: Run) -> list[Table]:
    """One line per node of the WLAN, if there is one."""
    wlan = run.summary.get("wlan")
    if not wlan:
        return []
    counts = ("delivered", "accesses", "collisions", "errors", "given_up", "duplicates")
    rows = [
        [str(node["id"]), *(text.number(node[name]) for name in counts)] for node in wlan["nodes"]
    ]
    busy, collided = text.number(wlan["busy"]), text.number(wlan["collided"])
    caption = f"WLAN, busy {busy} of the time, collided {collided}"
    return [Table(caption, ["node", *(_in_words(name) for name in counts)], rows)]


#: Metrics that compare flows: the same for every run, they say that there was nothing to compare.
COMPARING = ("jain_index", "asymmetry", "unfairness")


def sweep_table(sweep: Sweep) -> Table:
    """One line per run of a sweep."""
    table = sweep.table
    hidden = {"seed", *(name for name in COMPARING if table[name].n_unique() <= 1)}
    if not table.height or table["repetition"].max() == 0:
        hidden.add("repetition")
    columns = [name for name in table.columns if name not in hidden]
    axes = len(sweep.axes)
    rows = [
        [text.label(row[name]) for name in columns[:axes]]
        + [figure(name, row[name]) for name in columns[axes:]]
        for row in table.iter_rows(named=True)
    ]
    figures = [text.without_unit(name).replace("_", " ") for name in columns[axes:]]
    headings = [*text.short_paths(columns[:axes]), *figures]
    return Table(text.count(len(sweep), "run"), headings, rows, labels=axes)


def window_sentence(experiment: Mapping[str, Any]) -> str:
    """When the averages were taken."""
    window = experiment.get("measure", {}).get("window")
    if not window:
        return "Averages over the whole run."
    return f"Averages over the measuring window from {window[0]} to {window[1]}."


def experiment_section(experiment: Mapping[str, Any], title: str = "Experiment") -> Section:
    """The experiment itself, so that the report can be run again."""
    import tomli_w

    return Section(title, preformatted=tomli_w.dumps(experiment))
