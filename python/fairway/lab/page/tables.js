// Tables of a run, of two beside each other, and of a sweep.

import { make } from "./dom.js";
import { ABSENT, figure, figures, named } from "./numbers.js";

const FLOW = ["goodput_bps", "retransmitted_segments", "mean_cwnd_segments", "mean_srtt_s", "mean_one_way_delay_s", "fct_s"];
const LINK = ["utilisation", "drops", "losses", "marks", "mean_backlog_packets", "p99_sojourn_s"];
// Rows of a table; of more flows, the first are shown.
const ROWS = 32;

/** A table: the first `labels` columns are text, the others numbers. */
export function table(caption, columns, labels = 1, trailing = 0) {
  const isNumber = (at) => at >= labels && at < columns.length - trailing;
  const rows = (columns[0]?.cells ?? []).map((_, row) => make("tr", {}, columns.map(({ cells }, at) => (
    at === 0 ? make("th", { scope: "row" }, cells[row]) : make("td", { className: isNumber(at) ? "n" : "" }, cells[row])
  ))));
  const head = columns.map(({ heading }, at) => make("th", { scope: "col", className: isNumber(at) ? "n" : "" }, heading));
  return make("div", { className: "scroll", role: "region", "aria-label": caption, tabIndex: 0 },
    make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)));
}

const text = (heading, cells) => ({ heading, cells: cells.map((cell) => cell ?? ABSENT) });

/** Metrics, flows and links of a run. */
export function ofRun(definitions, summary) {
  const isAlone = summary.flows.filter((flow) => flow.cc !== null).length < 2;
  const metrics = Object.entries(summary.metrics).filter(([name]) => !(isAlone && definitions.comparing.includes(name)));
  const flows = summary.flows.slice(0, ROWS);
  const more = summary.flows.length - flows.length;
  const tables = [
    table("Metrics", [
      text("metric", metrics.map(([name]) => named(name))),
      text("value", metrics.map(([name, value]) => figure(name, value))),
      text("meaning", metrics.map(([name]) => definitions.meanings[name] ?? "")),
    ], 1, 1),
    table(more > 0 ? `Flows (the first ${ROWS} of ${summary.flows.length})` : "Flows", [
      text("flow", flows.map((flow) => flow.id)),
      text("cc", flows.map((flow) => flow.cc ?? flow.kind)),
      ...FLOW.map((name) => figures(name, flows.map((flow) => flow[name]))),
    ], 2),
  ];
  const links = summary.links.slice(0, ROWS);
  if (links.length) {
    tables.push(table("Links", [
      text("link", links.map((link) => link.id)),
      ...LINK.map((name) => figures(name, links.map((link) => link[name]))),
    ]));
  }
  return tables;
}

/** The figures of a summary by their names, to compare. */
function flat(summary) {
  const found = Object.entries(summary.metrics).map(([name, value]) => [named(name), name, value]);
  for (const [rows, names] of [[summary.flows, FLOW], [summary.links, LINK]]) {
    for (const row of rows.slice(0, ROWS)) {
      names.forEach((name) => found.push([`${row.id}: ${named(name)}`, name, row[name]]));
    }
  }
  return new Map(found.map(([words, name, value]) => [words, { name, value }]));
}

/** What differs between a pinned run and the one beside it. */
export function differences(before, after) {
  const [left, right] = [flat(before), flat(after)];
  const rows = [...new Set([...left.keys(), ...right.keys()])]
    .map((words) => ({ words, name: (left.get(words) ?? right.get(words)).name, a: left.get(words)?.value, b: right.get(words)?.value }))
    .filter(({ a, b }) => (a ?? null) !== (b ?? null));
  const change = ({ a, b }) => (a && typeof b === "number" ? `${b >= a ? "+" : "−"}${Math.abs(100 * (b / a - 1)).toPrecision(3)} %` : ABSENT);
  if (!rows.length) { return make("p", {}, "Both runs have the same figures."); }
  return table("Differences", [
    text("figure", rows.map((row) => row.words)),
    text("pinned", rows.map(({ name, a }) => figure(name, a))),
    text("now", rows.map(({ name, b }) => figure(name, b))),
    text("change", rows.map(change)),
  ]);
}

/** One row for each run of a sweep. */
export function ofSweep(runs) {
  const names = Object.keys(runs[0].parsed.metrics);
  const mean = (run, of) => {
    const values = run.parsed.flows.map((flow) => flow[of]).filter((value) => typeof value === "number");
    return values.length ? values.reduce((sum, one) => sum + one, 0) / values.length : null;
  };
  return table("Runs", [
    text("run", runs.map((run) => run.label)),
    ...names.map((name) => figures(name, runs.map((run) => run.parsed.metrics[name]))),
    figures("mean_srtt_s", runs.map((run) => mean(run, "mean_srtt_s"))),
  ]);
}
