// Exercises: a question, an experiment to start from, and claims that a run meets or not.

import { changed, evaluate, figureOf, words } from "./claims.js";
import { button, byId, make } from "./dom.js";
import { kept, keep } from "./keep.js";
import { figure, number } from "./numbers.js";

/** Paragraphs with `code` and *emphasis*, as elements. */
function prose(text) {
  return text.split(/\n\s*\n/).map((paragraph) => make("p", {}, ...paragraph.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map((part) => {
    if (/^`[^`]+`$/.test(part)) { return make("code", {}, part.slice(1, -1)); }
    if (/^\*[^*]+\*$/.test(part)) { return make("em", {}, part.slice(1, -1)); }
    return part.replaceAll("\n", " ");
  })));
}

export class Exercises {
  /** `begin(text)` loads an experiment, `plan(text)` is the engine's. */
  constructor(exercises, begin, plan) {
    this.exercises = exercises;
    this.plan = plan;
    this.begin = begin;
    this.solved = new Set(kept("solved", []));
    this.current = exercises.find((one) => one.key === kept("exercise", null)) ?? null;
    this.place = byId("exercise");
    this.fill();
    if (this.current) { this.show(); }
  }

  /** Lists the exercises in their dialog. */
  fill() {
    const items = this.exercises.map((one) => make("li", {},
      button(one.title, () => this.open(one), { className: "card" }),
      make("p", { className: "hint" }, `${one.minutes} minutes${this.solved.has(one.key) ? " · ✓ solved" : ""}`)));
    byId("exercise-list").replaceChildren(items.length
      ? make("ul", { className: "cards" }, items)
      : make("p", {}, "No exercises found: built/exercises.json is missing; `make lab` writes it."));
  }

  open(exercise) {
    byId("exercises").close();
    this.current = exercise;
    keep("exercise", exercise.key);
    this.show();
    this.begin(exercise.start);
  }

  show() {
    const { current } = this;
    let shown = 0;
    const hints = make("ol", { className: "hints" });
    const more = button("Hint", () => {
      hints.append(make("li", {}, prose(current.hints[shown])));
      shown += 1;
      more.hidden = shown >= current.hints.length;
    }, { hidden: !current.hints?.length });
    this.claims = make("ul", { className: "claims", "aria-live": "polite" });
    this.place.replaceChildren(
      make("h2", { tabIndex: -1 }, current.title), ...prose(current.question),
      make("h3", {}, "Claims"), this.claims, hints,
      make("div", { className: "row" }, more, button("Start again", () => this.begin(current.start)), button("Close the exercise", () => this.close())));
    this.place.hidden = false;
    this.claims.replaceChildren(...current.claims.map((claim) => make("li", {}, claim.text)));
  }

  close() {
    this.current = null;
    keep("exercise", null);
    this.place.hidden = true;
    this.place.replaceChildren();
  }

  /** Judges a run by the claims, and names the keys that must not change but have. */
  async check(summary, document) {
    const { current } = this;
    if (!current) { return; }
    const first = (await this.plan(current.start)).points[0].document;
    const found = current.claims.map((claim) => ({ claim, ...evaluate(claim, summary) }));
    const lost = changed(current.keep ?? [], first, document);
    if (this.current !== current) { return; }
    this.claims.replaceChildren(...found.map(judged), ...lost.map((path) => make("li", { className: "open" },
      make("strong", {}, "✗ must not change:"), " ", make("code", {}, path))));
    if (lost.length || !found.every(({ held }) => held)) { return; }
    this.solved.add(current.key);
    keep("solved", [...this.solved]);
    this.claims.append(make("li", { className: "held" }, make("strong", {}, "Solved.")));
    this.fill();
  }
}

/** A claim with its verdict and both numbers. */
function judged({ claim, held, left, right }) {
  const word = held === null ? "not measured" : held ? "holds" : "does not hold";
  const name = figureOf(claim.left) || figureOf(claim.right);
  const shown = (value) => (name ? figure(name, value) : number(value));
  const both = held === null ? "" : `${shown(left)} ${words(claim.test)} ${shown(right)}`;
  return make("li", { className: held ? "held" : "open" }, make("strong", {}, `${held ? "✓" : "✗"} ${word}`), ` ${claim.text} `,
    make("span", { className: "hint" }, held ? both : both && `(not: ${both})`));
}
