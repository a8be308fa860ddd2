// A sweep of one number: its form, and the text with its [sweep].

import { button, byId, make } from "./dom.js";
import * as toml from "./toml.js";

/** Runs of one sweep, at the most. */
export const MOST = 12;

const LINK = "topology.bottleneck";
const COMMON = [`${LINK}.rate`, `${LINK}.delay`, `${LINK}.queue.limit`, `${LINK}.loss.probability`, "flow.0.cc_params.beta", "duration", "seed"];

/** `steps` numbers, at most `MOST`, evenly from one to another. */
function values(from, to, steps) {
  const count = Math.max(2, Math.min(MOST, Math.round(steps)));
  return Array.from({ length: count }, (_, at) => Number((from + ((to - from) * at) / (count - 1)).toPrecision(6)));
}

/** The text with a sweep of one path, in place of any sweep that it has. */
function swept(text, path, numbers, unit) {
  const list = numbers.map((one) => (unit ? JSON.stringify(`${one} ${unit}`) : String(one))).join(", ");
  return `${toml.withoutTable(text, ["sweep"]).trimEnd()}\n\n[sweep]\n${JSON.stringify(path)} = [${list}]\n`;
}

/** Fills the form; `text()` is the experiment now, `run(text, isKept)` runs its sweep or adds it to the file. */
export function form(place, text, run) {
  const field = (words, control) => make("div", {}, make("label", { htmlFor: control.id }, words), control);
  const list = make("datalist", { id: "paths" });
  const key = make("input", { id: "sweep-key", value: COMMON[0], autocomplete: "off", required: true });
  key.setAttribute("list", "paths");
  const [from, to, steps] = [["from", 1], ["to", 10], ["steps", 4]].map(([name, value]) => (
    make("input", { id: `sweep-${name}`, type: "number", step: "any", value: String(value), required: true })));
  Object.assign(steps, { min: "2", max: String(MOST), step: "1" });
  const unit = make("input", { id: "sweep-unit", size: 8 });
  const said = make("p", { className: "warning", role: "status" });

  // From half to twice the value in the text; a whole number without a unit counts up.
  const suggest = () => {
    const now = toml.value(toml.scan(text()), key.value.trim().split("."));
    const parts = /^\s*(\d+(?:\.\d+)?)\s*(\S*)\s*$/.exec(String(now ?? ""));
    if (!parts) { unit.value = ""; return; }
    const value = Number(parts[1]);
    const isCount = !parts[2] && Number.isInteger(value);
    unit.value = parts[2];
    from.value = isCount ? value : Number((value / 2).toPrecision(3));
    to.value = isCount ? value + Number(steps.value) - 1 : Number((value * 2).toPrecision(3));
  };
  key.addEventListener("change", suggest);
  place.append(field("Key", key), list, field("From", from), field("To", to), field("Runs", steps), field("Unit", unit),
    make("button", { className: "primary" }, "Run the sweep"),
    button("Add to the file", () => { if (place.reportValidity()) { run(asked(), true); } }), said);
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
