// The form: the usual numbers of an experiment, each tied to its line of the text.

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
  { id: "loss", words: "Loss probability", path: [...LINK, "loss", "probability"], plain: true },
  { id: "preset", words: "TCP stack", path: ["stack", "preset"], choices: "presets", otherwise: "linux-6.1" },
];
const NEW_FLOW = 'cc = "cubic"';

const QUANTITY = /^\s*(\d+(?:\.\d+)?)\s*([^\s\d]\S*)\s*$/;

/** Splits a quantity as written; null if it is none. */
function split(value) {
  const found = typeof value === "string" ? QUANTITY.exec(value) : null;
  return found && { number: found[1], unit: found[2] };
}

export class Form {
  /** `changed(text)` gets the text with an edit; `text()` is the text now. */
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

  /** Shows what the text says; a form whose fields are the same is left alone but for its values. */
  show() {
    const scanned = toml.scan(this.text());
    this.all.disabled = scanned.error !== null;
    const kind = toml.value(scanned, ["topology", "kind"]);
    const count = toml.count(scanned, "flow");
    const notes = [];
    if (scanned.error) {
      notes.push(`The form waits: line ${scanned.error.line} of the text cannot be read.`);
    } else {
      if (kind !== "dumbbell") { notes.push(`A network of kind "${kind}" has no fields here: edit it in the text.`); }
      if (toml.has(scanned, ["sweep"])) { notes.push("The text has a [sweep], which has no fields here."); }
    }
    this.note.textContent = notes.join(" ");
    this.note.hidden = !notes.length;
    if (scanned.error) { return; }
    const fields = FIELDS.filter((field) => kind === "dumbbell" || field.path[0] !== "topology");
    const flows = this.flowRows(scanned, count);
    const state = JSON.stringify([fields.map((field) => field.id), flows, this.lists]);
    if (state !== this.state) {
      const focused = document.activeElement?.id;
      this.state = state;
      this.fields.replaceChildren(...fields.map((field) => this.field(field, scanned)));
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

  field(field, scanned) {
    return make("div", { className: "field" }, make("label", { htmlFor: `f-${field.id}` }, field.words), this.control(field, scanned));
  }

  flow({ kind, isListed }, at, scanned, count) {
    const path = (name) => ["flow", String(at), name];
    const name = `Flow ${at + 1}`;
    const isTcp = toml.value(scanned, path("cc")) !== undefined || kind === "bulk";
    const controls = [
      isTcp
        ? this.control({ id: `cc-${at}`, path: path("cc"), choices: "algorithms", label: `${name}: algorithm` }, scanned)
        : make("span", { className: "hint" }, `${kind}: edit it in the text`),
      this.control({ id: `start-${at}`, path: path("start"), units: TIMES.slice(1), otherwise: "0 s", label: `${name}: start`, prefix: "from" }, scanned),
      this.control({ id: `count-${at}`, path: path("count"), plain: true, whole: true, otherwise: 1, label: `${name}: how many`, prefix: "×" }, scanned),
    ];
    const gone = button("×", () => this.edit(toml.withoutTable(this.text(), ["flow", String(at)])), {
      "aria-label": `Remove flow ${at + 1}`, title: "Remove this flow", disabled: count < 2 || !isListed, className: "gone",
    });
    return make("div", { className: "flow", role: "group", "aria-label": name }, controls, gone);
  }

  control(field, scanned) {
    const id = `f-${field.id}`;
    const label = field.label ? { "aria-label": field.label } : {};
    const isKnown = toml.value(scanned, field.path) !== undefined;
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
    number.isKnown = isKnown;
    const unit = field.units && make("select", { id: `${id}-unit`, "aria-label": `${field.label ?? field.words}: unit` });
    number.unit = unit;
    const changed = () => {
      if (number.value === "" || !number.validity.valid) { return; }
      commit(field.plain ? Number(number.value) : `${number.value} ${unit.value}`);
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
      const names = new Set([...(shown === undefined ? [] : [String(shown)]), ...this.lists[field.choices]]);
      const state = JSON.stringify([...names]);
      if (control.names !== state) {
        control.names = state;
        control.replaceChildren(...Array.from(names).sort().map((name) => make("option", { value: name }, name)));
      }
      control.value = String(shown ?? "");
      return;
    }
    const isWritten = toml.has(scanned, field.path.slice(0, -1)) && value === undefined
      && field.id === "loss" && toml.has(scanned, field.path.slice(0, -1));
    if (field.plain) {
      control.disabled = isWritten;
      control.title = isWritten ? "This kind of loss is set in the text" : "";
      const text = shown === undefined ? "" : String(shown);
      if (Number(control.value) !== Number(text) || control.value === "") { control.value = isWritten ? "" : text; }
      return;
    }
    const parts = split(shown);
    control.disabled = control.unit.disabled = shown !== undefined && !parts;
    control.title = control.disabled ? `"${shown}" is set in the text` : "";
    const units = new Set([...field.units, ...(parts ? [parts.unit] : [])]);
    if (control.unit.options.length !== units.size) {
      control.unit.replaceChildren(...Array.from(units, (one) => make("option", { value: one }, one)));
    }
    control.unit.value = parts?.unit ?? field.units[field.id === "rate" ? 1 : 0];
    // A number that is being typed, such as "5.", stays as it is typed.
    if (!parts) { control.value = ""; } else if (Number(control.value) !== Number(parts.number) || control.value === "") { control.value = parts.number; }
  }
}
