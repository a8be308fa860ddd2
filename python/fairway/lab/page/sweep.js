// A sweep of one number: its form, and the text that says it.

import { button, byId, make } from "./dom.js";
import * as toml from "./toml.js";

/** Runs of one sweep, at the most. */
export const MOST = 12;

const LINK = "topology.bottleneck";
const COMMON = [`${LINK}.rate`, `${LINK}.delay`, `${LINK}.queue.limit`, `${LINK}.loss.probability`, "flow.0.cc_params.beta", "duration", "seed"];

/** Numbers from one to another in so many steps, at most `MOST`. */
export function values(from, to, steps) {
  const count = Math.max(2, Math.min(MOST, Math.round(steps)));
  return Array.from({ length: count }, (_, at) => Number((from + ((to - from) * at) / (count - 1)).toPrecision(6)));
}

/** The text with a sweep of one path; a sweep that it has makes way. */
export function swept(text, path, numbers, unit) {
  const scanned = toml.scan(text);
  const at = scanned.tables.findIndex((one) => one.path[0] === "sweep");
  const without = at < 0 ? text : text.slice(0, scanned.tables[at].start) + text.slice(
    scanned.tables.slice(at).find((one) => one.path[0] !== "sweep")?.start ?? text.length);
  const list = numbers.map((one) => (unit ? JSON.stringify(`${one} ${unit}`) : String(one))).join(", ");
  return `${without.trimEnd()}\n\n[sweep]\n${JSON.stringify(path)} = [${list}]\n`;
}

/** Fills the form; `run(text)` runs a sweep, `text()` is the experiment now. */
export function form(place, text, run) {
  const field = (words, control) => make("div", {}, make("label", { htmlFor: control.id }, words), control);
  const list = make("datalist", { id: "paths" });
  const key = make("input", { id: "sweep-key", value: COMMON[0], autocomplete: "off" });
  key.setAttribute("list", "paths");
  const [from, to, steps] = [["from", 1], ["to", 10], ["steps", 4]].map(([name, value]) => (
    make("input", { id: `sweep-${name}`, type: "number", step: "any", value: String(value), required: true })));
  Object.assign(steps, { min: "2", max: String(MOST), step: "1" });
  const unit = make("input", { id: "sweep-unit", size: 8 });
  const said = make("p", { className: "warning", role: "status" });

  // The range around what the text says now.
  const suggest = () => {
    const now = toml.value(toml.scan(text()), key.value.trim().split("."));
    const parts = /^\s*(\d+(?:\.\d+)?)\s*(\S*)\s*$/.exec(String(now ?? ""));
    if (!parts) { unit.value = ""; return; }
    unit.value = parts[2];
    from.value = String(Number((Number(parts[1]) / 2).toPrecision(3)));
    to.value = String(Number((Number(parts[1]) * 2).toPrecision(3)));
  };
  key.addEventListener("change", suggest);
  place.append(field("Key", key), list, field("From", from), field("To", to), field("Runs", steps), field("Unit", unit),
    make("button", { className: "primary" }, "Run the sweep"),
    button("Put it into the file", () => { if (place.reportValidity()) { run(asked(), true); } }), said);
  const asked = () => swept(text(), key.value.trim(), values(Number(from.value), Number(to.value), Number(steps.value)), unit.value.trim());
  place.addEventListener("submit", (event) => {
    event.preventDefault();
    run(asked(), false);
  });
  byId("sweep").addEventListener("click", () => {
    place.hidden = !place.hidden;
    byId("sweep").setAttribute("aria-expanded", String(!place.hidden));
    if (place.hidden) { return; }
    const scanned = toml.scan(text());
    const numeric = scanned.entries.filter((one) => !one.item && (typeof one.value === "number" || /^\s*\d/.test(String(one.value))));
    const paths = new Set([...COMMON, ...numeric.map((one) => one.path.join("."))]);
    list.replaceChildren(...Array.from(paths, (path) => make("option", { value: path })));
    suggest();
    key.focus();
  });
  return { said };
}
