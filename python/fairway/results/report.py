"""Reports of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway import _core
from fairway.ground import result_schema, text
from fairway.plot import columns
from fairway.plot.citation import Source, citation
from fairway.plot.page import FILL, Figure, Section, Table, render

if TYPE_CHECKING:
    from fairway.results.data import RunData


def run_report(run: RunData, metrics: Sequence[str] = ()) -> str:
    """The report of one run."""
    from fairway.plot.figures import measuring_window
    from fairway.plot.quantities import IN_ORDER, QUANTITIES
    from fairway.results.figures import Figures, is_measured

    own = run.own_report()
    own_tables, own_sections = list(own.tables), list(own.sections)
    charts: list[Figure] = []
    if "transfer" in run.summary:
        from fairway.results import transfer_sections as transfer

        own_tables, own_sections = [transfer.transfer_table(run)], transfer.settings_section(run)
        charts += transfer.transfer_figures(run)
    for name, quantity in QUANTITIES.items():
        if is_measured(run, quantity):
            title = quantity.alt.partition(",")[0]
            note = IN_ORDER if name == "goodput" and _has_losses(run) else ""
            charts.append(Figure(title, Figures(run).draw(name, width=FILL), note))
    shaded = "The measuring window is shaded." if measuring_window(run.experiment) else ""
    from fairway.results.model_sections import is_of_models, model_sections
    from fairway.results.phase_charts import phase_tables
    from fairway.results.program_tables import program_tables

    sections = [
        Section(
            "Summary",
            window_sentence(run.experiment),
            warnings=run.warnings,
            tables=[
                metric_table(run, metrics),
                *own_tables,
                *completion_table(run),
                *([] if own_tables else application_tables(run)),
                *flow_tables(run),
                *link_tables(run),
                *program_tables(run),
                *phase_tables(run),
                *wlan_tables(run),
            ],
        ),
        *([Section("Over time", shaded, figures=charts)] if charts else []),
        *model_sections(run),
        *own_sections,
        *repeated_runs(run),
        experiment_section(run.experiment),
    ]
    packets = run.summary.get("packets")
    lead = f"Backend {run.backend}" + ("" if own_tables else f", seed {run.seed}")
    lead += f", {packets:,} packets." if packets else "."
    if own.lead is not None:
        lead = own.lead
    elif is_of_models(run):
        lead = "What models say; nothing was run, so there are no series."
    return render(run.title, lead, sections, citation=citation([source_of(run, run.title)]))


def source_of(run: RunData, name: str) -> Source:
    """A run as the source of a citation."""
    return Source(name, run.version, run.content_hash, [run.seed], run.commit())


def _has_losses(run: RunData) -> bool:
    return any(flow.get("retransmitted_segments") for flow in run.summary["flows"])


def repeated_runs(run: RunData) -> list[Section]:
    """How far runs of the same experiment differ: measured, or what decides it."""
    from fairway.results import repeat

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


#: What the metrics of a run mean, for who sees their values.
MEANINGS = {
    "goodput_bps": "of all flows together",
    "jain_index": "1 is equal shares; 1/n if one of n flows has everything",
    "asymmetry": "0 is equal shares; 1 if the first of two has everything, −1 the second",
    "unfairness": "(largest − smallest) ÷ smallest goodput: 0 is equal shares, no upper bound",
    "utilisation": "of the bottleneck",
    "loss_ratio": "packets dropped or lost ÷ packets sent",
}


def metric_table(run: RunData, metrics: Sequence[str] = ()) -> Table:
    """Metrics of a run: those named, or of its summary; of one flow, none that compare flows."""
    if metrics:
        chosen = [
            [columns.in_words(name), figure(name, value)]
            for name, value in run.measured(metrics).items()
        ]
        return Table("Metrics", ["metric", "value"], chosen)
    is_alone = sum(flow["cc"] is not None for flow in run.summary["flows"]) < 2
    rows = [
        [result_schema.without_unit(name), figure(name, value), MEANINGS.get(name, "")]
        for name, value in run.metrics.items()
        if not (is_alone and name in COMPARING)
    ]
    return Table("Metrics", ["metric", "value", "meaning"], rows, trailing=1)


def flow_tables(run: RunData) -> list[Table]:
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
    sums = ("goodput_bps", "retransmitted_segments")
    means = ("mean_cwnd_segments", "mean_srtt_s", "mean_one_way_delay_s", "fct_s")
    found: dict[str, float | None] = {}
    for name in (*sums, *means):
        known = [flow[name] for flow in flows if flow[name] is not None]
        count = 1 if name in sums else len(known)
        found[name] = sum(known) / count if known else None
    return found


def datagram_table(flows: Sequence[Mapping[str, Any]]) -> Table:
    """One line per datagram flow."""

    def each(name: str) -> list[Any]:
        return [flow[name] for flow in flows]

    return columns.table("Datagram flows", [
        columns.words("flow", each("id")),
        columns.words("kind", each("kind")),
        *columns.of_rows(flows, "goodput_bps"),
        columns.numbers("sent", each("sent_segments")),
        columns.percent("lost", each("loss_ratio")),
        columns.milliseconds("one-way delay", each("mean_one_way_delay_s")),
        columns.milliseconds("p99 delay", each("p99_one_way_delay_s")),
        *columns.of_rows(flows, "jitter_s"),
    ], labels=2)  # fmt: skip


def _short_route(route: str | None) -> str:
    """A route as a table has room for it: its first and its last link."""
    links = (route or text.ABSENT).split(" > ")
    return " > ".join(links) if len(links) < 3 else f"{links[0]} > … > {links[-1]}"


def flow_table(flows: Sequence[Mapping[str, Any]]) -> Table:
    """One line per flow of TCP."""

    def each(name: str) -> list[Any]:
        return [flow[name] for flow in flows]

    shown = [
        columns.words("flow", each("id")),
        columns.words("cc", each("cc")),
        *columns.of_rows(flows, "goodput_bps"),
        columns.numbers("retrans. segments", each("retransmitted_segments")),
        *columns.of_rows(flows, "mean_cwnd_segments", "mean_srtt_s"),
        columns.milliseconds("one-way delay", each("mean_one_way_delay_s")),
        *columns.of_rows(flows, "fct_s"),
    ]
    routes = [flow.get("route") for flow in flows]
    if any(routes):
        shown.append(columns.words("route", map(_short_route, routes)))
    return columns.table("Flows", shown, labels=2, trailing=int(any(routes)))


#: Applications of one kind that are shown beside each other; of more, only what they have together.
_BESIDE = 4


def application_tables(run: RunData) -> list[Table]:
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
    if columns.is_short_time(name):
        return text.milliseconds(value)
    return f"{text.number(value)} s" if name.endswith("_s") else text.number(value)


def completion_table(run: RunData) -> list[Table]:
    """How long transfers took, by flow and size; none where no flow has several."""
    entries = run.summary.get("completions", [])

    def each(name: str) -> list[Any]:
        return [entry[name] for entry in entries]

    if not entries:
        return []
    unfinished = columns.numbers("unfin.", each("unfinished"))
    return [columns.table("Flow completion times", [
        columns.words("flow", map(_size_class, entries)),
        columns.numbers("count", each("count")),
        *([unfinished] if any(each("unfinished")) else []),
        columns.milliseconds("mean", each("mean_s")),
        columns.milliseconds("median", each("median_s")),
        columns.milliseconds("95 %", each("p95_s")),
        columns.milliseconds("99 %", each("p99_s")),
        columns.numbers("mean slowdown", each("mean_slowdown")),
        columns.numbers("99 % slowdown", each("p99_slowdown")),
    ])]  # fmt: skip


def _size_class(entry: Mapping[str, Any]) -> str:
    """A flow, or a class of its sizes in words."""
    least = entry["from_bytes"]
    if least is None:
        return str(entry["flow"])
    return f"  from {text.size(least)}" if least else f"  below {text.size(entry['below_bytes'])}"


def link_table(run: RunData) -> Table:
    """One line per link."""
    links = run.summary["links"]
    shown = ("utilisation", "drops", "losses", "marks", "mean_backlog_packets", "p99_sojourn_s")
    names = columns.words("link", [link["id"] for link in links])
    return columns.table("Links", [names, *columns.of_rows(links, *shown)])


def link_tables(run: RunData) -> list[Table]:
    """`link_table`, where a link was looked at."""
    return [link_table(run)] if run.summary["links"] else []


def wlan_tables(run: RunData) -> list[Table]:
    """One line per node of the WLAN, if there is one."""
    wlan = run.summary.get("wlan")
    if not wlan:
        return []
    nodes = wlan["nodes"]
    counts = ("delivered", "accesses", "collisions", "errors", "given_up", "duplicates")
    busy, collided = text.number(wlan["busy"]), text.number(wlan["collided"])
    caption = f"WLAN, busy {busy} of the time, collided {collided}"
    names = columns.words("node", [node["id"] for node in nodes])
    return [columns.table(caption, [names, *columns.of_rows(nodes, *counts)])]


#: Metrics that compare flows: the same for every run, they say that there was nothing to compare.
COMPARING = ("jain_index", "asymmetry", "unfairness")


def window_sentence(experiment: Mapping[str, Any]) -> str:
    """When the averages were taken."""
    return partial_sentence(experiment) or f"Averages over {_averaged(experiment)}."


#: Flows that are named one by one as running for a part of the time.
_NAMED = 3


def partial_sentence(experiment: Mapping[str, Any]) -> str:
    """Which flows run for only a part of what averages are taken over; empty if none does."""
    if "flow" not in experiment:  # a capture's
        return ""
    resolved = _core.Experiment(experiment)
    begin_ns, end_ns = (round(at_s * 1e9) for at_s in resolved.window_s)
    partial = []
    for index, times in enumerate(resolved.flow_times_ns):
        flow = experiment["flow"][index]
        bounds = [
            f"{word} {flow[key]}"
            for key, word, at_ns in zip(("start", "stop"), ("from", "until"), times, strict=True)
            if at_ns is not None and begin_ns < at_ns < end_ns
        ]
        if bounds:
            partial.append(f"{flow.get('id') or flow.get('cc') or index} {' '.join(bounds)}")
    if not partial:
        return ""
    more = f" and {len(partial) - _NAMED} more so" if len(partial) > _NAMED else ""
    return (
        f"Averages are over {_averaged(experiment)}, but some flows run for a part of it: "
        f"{', '.join(partial[:_NAMED])}{more}. Goodput counts the rest as nothing delivered; "
        "measure.window = [START, END] averages over another time."
    )


def _averaged(experiment: Mapping[str, Any]) -> str:
    window = experiment.get("measure", {}).get("window")
    return f"the measuring window from {window[0]} to {window[1]}" if window else "the whole run"


def experiment_section(experiment: Mapping[str, Any], title: str = "Experiment") -> Section:
    """The experiment itself, so that the report can be run again."""
    import tomli_w

    return Section(title, preformatted=tomli_w.dumps(experiment))
