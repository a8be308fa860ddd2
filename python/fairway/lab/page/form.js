// The form: the usual settings of an experiment, each tied to its line in the file.

import { button, byId, make } from "./dom.js";
import * as toml from "./toml.js";

const LINK = ["topology", "bottleneck"];
const TIMES = ["us", "ms", "s", "min"];
const FIELDS = [
  { id: "duration", words: "Duration", path: ["duration"], units: TIMES.slice(1) },
  { id: "rate", words: "Rate", path: [...LINK, "rate"], units: ["kbit/s", "Mbit/s", "Gbit/s"] },
  { id: "delay", words: "Delay, one way", path: [...LINK, "delay"], units: TIMES.slice(0, 3) },
  { id: "buffer", words: "Buffer", path: [...LINK, "queue", "limit"], units: ["packets", "bdp", "kB", "MB"], otherwise: "1 bdp" },
  { id: "discipline", words: "Queue discipline", path: [...LINK, "queue", "kind"], choices: "disciplines", otherwise: "droptail" },
  { id: "loss", words: "Loss probability", path: [...LINK, "loss", "probability"], plain: true, otherwise: 0 },
  { id: "preset", words: "TCP stack", path: ["stack", "preset"], choices: "presets", otherwise: "linux-6.1" },
];
const NEW_FLOW = 'cc = "cubic"';
// Rows for flows; the text has the others.
const MOST_FLOWS = 32;

const QUANTITY = /^\s*(\d+(?:\.\d+)?)\s*([^\s\d]\S*)\s*$/;

/** Splits a quantity as written; null if it is none. */
function split(value) {
  const found = typeof value === "string" ? QUANTITY.exec(value) : null;
  return found && { number: found[1], unit: found[2] };
}

/** Gives a select these options, unless it has them. */
function offer(select, names) {
  const distinct = Array.from(new Set(names));
  if (distinct.join("\0") === select.offered) { return; }
  select.offered = distinct.join("\0");
  select.replaceChildren(...distinct.map((name) => make("option", { value: name }, name)));
}

export class Form {
  /** `text()` is the text now; `changed(text)` gets it with an edit. */
  constructor(place, text, changed) {
    this.place = place;
    this.text = text;
    this.changed = changed;
    this.lists = { algorithms: [], disciplines: [], presets: [] };
    this.fields = make("div", { className: "fields" });
    this.flows = make("div", { className: "flows" });
    this.note = make("p", { className: "hint", id: "form-note", hidden: true });
    this.all = make("fieldset", {}, make("legend", { className: "hidden" }, "The usual settings"), this.fields,
      make("h3", {}, "Flows"), this.flows,
      button("Add a flow", () => this.edit(toml.withTable(this.text(), "flow", NEW_FLOW)), { id: "add-flow" }));
    place.append(this.note, this.all);
  }

  /** Choices of the selects, once they are known. */
  choose(lists) {
    this.lists = lists;
    this.state = null;
    this.show();
  }

  edit(text) { if (text !== this.text()) { this.changed(text); } }

  /** Shows the text's settings; rebuilds the fields only if they are others, so that the focus stays. */
  show() {
    const scanned = toml.scan(this.text());
    this.all.disabled = scanned.error !== null;
    const kind = toml.value(scanned, ["topology", "kind"]);
    const count = toml.count(scanned, "flow");
    const notes = [];
    if (scanned.error) {
      notes.push(`The form is off: line ${scanned.error.line} of the file is not valid TOML.`);
    } else {
      if (kind !== "dumbbell") { notes.push(`The form has no fields for a "${kind}" network: edit it in the file.`); }
      if (toml.has(scanned, ["sweep"])) { notes.push("The form has no fields for [sweep]: edit it in the file."); }
      if (count > MOST_FLOWS) { notes.push(`The form shows ${MOST_FLOWS} of ${count} flows: edit the others in the file.`); }
    }
    this.note.textContent = notes.join(" ");
    this.note.hidden = !notes.length;
    if (scanned.error) { return; }
    const fields = FIELDS.filter((field) => kind === "dumbbell" || field.path[0] !== "topology");
    const flows = this.flowRows(scanned, Math.min(count, MOST_FLOWS));
    const state = JSON.stringify([fields.map((field) => field.id), flows, this.lists]);
    if (state !== this.state) {
      const focused = document.activeElement?.id;
      this.state = state;
      this.fields.replaceChildren(...fields.map((field) => this.field(field)));
      this.flows.replaceChildren(...flows.map((flow, at) => this.flow(flow, at, scanned, count)));
      if (focused && this.place.contains(byId(focused))) { byId(focused).focus(); }
    }
    this.place.querySelectorAll("[data-path]").forEach((control) => this.fill(control, scanned));
  }

  flowRows(scanned, count) {
    return Array.from({ length: count }, (_, at) => {
      const kind = toml.value(scanned, ["flow", String(at), "kind"]) ?? "bulk";
      return { kind, isListed: scanned.tables.some((one) => one.many && one.path.join() === `flow,${at}`) };
    });
  }

  field(field) {
    return make("div", { className: "field" }, make("label", { htmlFor: `f-${field.id}` }, field.words), this.control(field));
  }

  flow({ kind, isListed }, at, scanned, count) {
    const path = (name) => ["flow", String(at), name];
    const name = `Flow ${at + 1}`;
    const isTcp = toml.value(scanned, path("cc")) !== undefined || kind === "bulk";
    const controls = [
      isTcp
        ? this.control({ id: `cc-${at}`, path: path("cc"), choices: "algorithms", label: `${name}: algorithm` })
        : make("span", { className: "hint" }, `${kind}: edit it in the file`),
      this.control({ id: `start-${at}`, path: path("start"), units: TIMES.slice(1), otherwise: "0 s", label: `${name}: start`, prefix: "from" }),
      this.control({ id: `count-${at}`, path: path("count"), plain: true, whole: true, otherwise: 1, label: `${name}: how many`, prefix: "×" }),
    ];
    const gone = button("×", () => this.edit(toml.withoutTable(this.text(), ["flow", String(at)])), {
      "aria-label": `Remove flow ${at + 1}`, title: "Remove this flow", disabled: count < 2 || !isListed, className: "gone",
    });
    return make("div", { className: "flow", role: "group", "aria-label": name }, controls, gone);
  }

  control(field) {
    const id = `f-${field.id}`;
    const label = field.label ? { "aria-label": field.label } : {};
    const commit = (plain) => this.edit(toml.set(this.text(), field.path, plain));
    if (field.choices) {
      const select = make("select", { id, ...label, onchange: () => commit(select.value) });
      select.dataset.path = JSON.stringify(field.path);
      select.field = field;
      return select;
    }
    const number = make("input", { id, type: "number", min: "0", step: field.whole ? "1" : "any", ...label });
    number.dataset.path = JSON.stringify(field.path);
    number.field = field;
    const unit = field.units && make("select", { id: `${id}-unit`, "aria-label": `${field.label ?? field.words}: unit` });
    number.unit = unit;
    const changed = () => {
      if (number.value === "" || !number.validity.valid) { return; }
      commit(field.plain ? Number(number.value) : `${Number(number.value)} ${unit.value}`);
    };
    number.addEventListener("input", changed);
    unit?.addEventListener("change", changed);
    return make("span", { className: "quantity" }, field.prefix ?? null, number, unit);
  }

  fill(control, scanned) {
    const { field } = control;
    const value = toml.value(scanned, field.path);
    const shown = value ?? field.otherwise;
    if (field.choices) {
      offer(control, [...(shown === undefined ? [] : [String(shown)]), ...this.lists[field.choices]].sort());
      control.value = String(shown ?? "");
      return;
    }
    if (field.plain) {
      const isWritten = field.id === "loss" && value === undefined && toml.has(scanned, field.path.slice(0, -1));
      control.disabled = isWritten;
      control.title = isWritten ? "This kind of loss is set in the file" : "";
      const text = shown === undefined ? "" : String(shown);
      if (Number(control.value) !== Number(text) || control.value === "") { control.value = isWritten ? "" : text; }
      return;
    }
    const parts = split(shown);
    control.disabled = control.unit.disabled = shown !== undefined && !parts;
    control.title = control.disabled ? `"${shown}" is set in the file` : "";
    offer(control.unit, [...field.units, ...(parts ? [parts.unit] : [])]);
    control.unit.value = parts?.unit ?? field.units[field.id === "rate" ? 1 : 0];
    // A number that is being typed, such as "5.", stays as it is typed.
    if (!parts) { control.value = ""; } else if (Number(control.value) !== Number(parts.number) || control.value === "") { control.value = parts.number; }
  }
}
