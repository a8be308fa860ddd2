// Charts and tables of one run, of two beside each other, and of a sweep.

import { byId, make } from "./dom.js";
import { showCharts } from "./figures.js";
import { chart, measured, span } from "./specs.js";
import * as tables from "./tables.js";

// Charts stand in pairs if their legends have at most so many names.
const FEW = 4;

const short = (title) => title.replace(" over time", "");

export class Results {
  constructor(definitions) {
    this.definitions = definitions;
    this.names = Object.keys(definitions.quantities);
    this.figures = byId("figures");
    this.tables = byId("tables");
    const select = make("select", { id: "quantity", onchange: () => this.draw?.() },
      this.names.map((name) => make("option", { value: name }, short(definitions.quantities[name].title))));
    this.quantity = select;
    byId("show").append(make("label", { htmlFor: "quantity", className: "hint" }, "Chart"), select);
  }

  arrange(kind) {
    this.figures.className = `figures ${kind}`;
    byId("show").hidden = kind !== "small";
  }

  async show(charts, ownTables) {
    const isShown = await showCharts(this.figures, charts);
    if (isShown) { this.tables.replaceChildren(...ownTables()); }
    return isShown;
  }

  note(name, run) {
    const { note } = this.definitions.quantities[name];
    return note && run.parsed.flows.some((flow) => flow.retransmitted_segments) ? note : "";
  }

  /** Draws one run; resolves to whether it is shown, which later results prevent. */
  one(run) {
    this.draw = async () => {
      const found = this.names.map((name) => measured(this.definitions, name, run)).filter(Boolean);
      this.arrange(found.every(({ names }) => names.length <= FEW) ? "pairs" : "");
      return this.show(found.map((one) => ({
        key: one.name, title: this.definitions.quantities[one.name].title, note: this.note(one.name, run),
        spec: chart(this.definitions, one),
      })), () => tables.ofRun(this.definitions, run.parsed));
    };
    return this.draw();
  }

  /** Draws a pinned run and another beside each other, with equal axes. */
  two(pinned, run) {
    this.draw = async () => {
      this.arrange("beside");
      const charts = this.names.flatMap((name) => {
        const both = [pinned, run].map((one) => measured(this.definitions, name, one));
        if (!both.some(Boolean)) { return []; }
        const equal = span(both);
        const title = short(this.definitions.quantities[name].title);
        return both.map((one, at) => one && {
          key: `${name}-${at}`, title: `${title}: ${at ? "now" : "pinned"}`, spec: chart(this.definitions, one, { equal }),
        }).filter(Boolean);
      });
      return this.show(charts, () => [tables.differences(pinned.parsed, run.parsed), ...tables.ofRun(this.definitions, run.parsed)]);
    };
    return this.draw();
  }

  /** Draws the runs of a sweep small, with equal axes. */
  many(runs) {
    this.draw = async () => {
      this.arrange("small");
      const name = this.quantity.value;
      const all = runs.map((run) => measured(this.definitions, name, run));
      const equal = all.some(Boolean) ? span(all) : null;
      return this.show(all.map((one, at) => one && {
        key: `sweep-${at}`, title: runs[at].label, spec: chart(this.definitions, one, { equal, small: true }),
      }).filter(Boolean), () => [tables.ofSweep(runs)]);
    };
    return this.draw();
  }
}
