// Exercises: a question, an experiment to begin with, and claims that a run fulfils or not.

import { evaluate, figureOf } from "./claims.js";
import { button, byId, make } from "./dom.js";
import { kept, keep } from "./keep.js";
import { figure, number } from "./numbers.js";

/** Paragraphs with `code` and *emphasis*, as elements. */
export function prose(text) {
  return text.split(/\n\s*\n/).map((paragraph) => make("p", {}, ...paragraph.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map((part) => {
    if (/^`[^`]+`$/.test(part)) { return make("code", {}, part.slice(1, -1)); }
    if (/^\*[^*]+\*$/.test(part)) { return make("em", {}, part.slice(1, -1)); }
    return part.replaceAll("\n", " ");
  })));
}

export class Exercises {
  /** `begin(text)` loads an experiment. */
  constructor(exercises, begin) {
    this.exercises = exercises;
    this.begin = begin;
    this.solved = new Set(kept("solved", []));
    this.current = exercises.find((one) => one.key === kept("exercise", null)) ?? null;
    this.place = byId("exercise");
    this.fill();
    if (this.current) { this.show(); }
  }

  /** The list to choose from. */
  fill() {
    const items = this.exercises.map((one) => make("li", {},
      button(one.title, () => this.open(one), { className: "card" }),
      make("p", { className: "hint" }, `${one.minutes} minutes${this.solved.has(one.key) ? " · ✓ solved" : ""}`)));
    byId("exercise-list").replaceChildren(items.length
      ? make("ul", { className: "cards" }, items)
      : make("p", {}, "There are no exercises beside this page."));
  }

  open(exercise) {
    byId("exercises").close();
    this.current = exercise;
    keep("exercise", exercise.key);
    this.hints = 0;
    this.show();
    this.begin(exercise.start);
  }

  show() {
    const { current } = this;
    this.hints ??= 0;
    const hints = make("ol", { className: "hints" });
    const more = button("Hint", () => {
      hints.append(make("li", {}, prose(current.hints[this.hints])));
      this.hints += 1;
      more.hidden = this.hints >= current.hints.length;
    }, { hidden: !current.hints?.length });
    this.hints = 0;
    this.claims = make("ul", { className: "claims", "aria-live": "polite" });
    this.place.replaceChildren(
      make("h2", { tabIndex: -1 }, current.title), ...prose(current.question),
      make("h3", {}, "To show"), this.claims, hints,
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

  /** Shows what a run says to the claims. */
  check(summary) {
    if (!this.current) { return; }
    const shown = (given, value) => (figureOf(given) ? figure(figureOf(given), value) : number(value));
    const found = this.current.claims.map((claim) => {
      const { held, left, right } = evaluate(claim, summary);
      const word = held === null ? "not measured" : held ? "holds" : "does not hold";
      const name = figureOf(claim.left) || figureOf(claim.right);
      const both = held === null ? "" : `: ${figure(name, left)} ${claim.test} ${typeof claim.right === "number" ? figure(name, right) : shown(claim.right, right)}`;
      return { held, item: make("li", { className: held ? "held" : "open" },
        make("strong", {}, `${held ? "✓" : "✗"} ${word}`), ` ${claim.text} `, make("span", { className: "hint" }, both.replace(/^: /, ""))) };
    });
    this.claims.replaceChildren(...found.map(({ item }) => item));
    if (found.every(({ held }) => held)) {
      this.solved.add(this.current.key);
      keep("solved", [...this.solved]);
      this.claims.append(make("li", { className: "held" }, make("strong", {}, "Solved.")));
      this.fill();
    }
  }
}
