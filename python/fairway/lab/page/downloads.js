// Results as files.

import { fileName, save } from "./dom.js";

/** Columns of a run as CSV; the column `key` has names. */
function csv(table, key, names) {
  const columns = Object.keys(table);
  const quoted = names.map((name) => (/[",\n\r]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  const lines = [columns.join(",")];
  for (let row = 0; row < table[columns[0]].length; row += 1) {
    lines.push(columns.map((name) => {
      const value = table[name][row];
      return name === key ? quoted[value] : Number.isNaN(value) ? "" : value;
    }).join(","));
  }
  return `${lines.join("\n")}\n`;
}

const KINDS = {
  summary: (run) => save("summary.json", run.summary, "application/json"),
  series: (run) => save(fileName(run.title, "-series.csv"), csv(run.series, "flow", run.flow_ids), "text/csv"),
  queues: (run) => save(fileName(run.title, "-queues.csv"), csv(run.queues, "link", run.link_ids), "text/csv"),
};

/** Saves the experiment's text, or something of its last run. */
export function download(kind, text, title, run) {
  if (kind === "toml") { save(fileName(title, ".toml"), text, "application/toml"); } else if (run) { KINDS[kind](run); }
}
