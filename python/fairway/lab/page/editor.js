// The text of the experiment: line numbers, colours, errors under their lines, and undoing.

import { debounced, make } from "./dom.js";
import { kept, keep } from "./keep.js";

// Steps of undo.
const STEPS = 100;
// Of those, the ones that outlast a reload, and their characters: browsers keep about 5 MB for a page.
const KEPT = 20;
const KEPT_CHARACTERS = 1_000_000;
// A pause in typing, in milliseconds, that begins a new step.
const PAUSE = 700;
// Longest text that is coloured, in characters.
const COLOURED = 100_000;

const TOKENS = [
  ["comment", /^#.*/],
  ["string", /^("""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)/],
  ["key", /^[A-Za-z0-9_-]+(?=[ \t]*[.=])/],
  ["number", /^[+-]?\d[\d_.eE+-]*|^(?:true|false)\b/],
];

/** Keeps the latest texts for a reload. */
function keepSteps(texts) {
  const latest = [];
  let room = KEPT_CHARACTERS;
  for (const text of texts.slice(-KEPT).reverse()) {
    room -= text.length;
    if (room < 0) { break; }
    latest.unshift(text);
  }
  keep("undo", latest);
}

function coloured(text) {
  if (text.length > COLOURED) { return [text]; }
  const found = [];
  let plain = "";
  let at = 0;
  const add = (kind, word) => {
    if (plain) { found.push(plain); plain = ""; }
    found.push(make("span", { className: kind }, word));
    at += word.length;
  };
  while (at < text.length) {
    const rest = text.slice(at, at + 4000);
    const header = (at === 0 || text[at - 1] === "\n") && /^[ \t]*\[\[?[^\]\n]*\]?\]?/.exec(rest);
    const token = header ? ["header", header[0]]
      : TOKENS.map(([kind, pattern]) => [kind, pattern.exec(rest)?.[0]]).find(([, word]) => word);
    if (token) { add(...token); continue; }
    const word = /^(?:[A-Za-z_]+|\s+|.)/.exec(rest)[0];
    plain += word;
    at += word.length;
  }
  return [...found, plain];
}

export class Editor {
  /** `changed(text)` is called after every change. */
  constructor(place, changed) {
    this.changed = changed;
    this.errors = [];
    this.gutter = make("div", { className: "gutter", "aria-hidden": "true" });
    this.colours = make("pre", { className: "colours", "aria-hidden": "true" });
    this.area = make("textarea", {
      id: "toml", spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off",
      "aria-label": "Experiment file (TOML)", "aria-describedby": "errors editor-help", "aria-autocomplete": "list",
    });
    this.marks = make("div", { className: "marks-of-errors", "aria-hidden": "true" });
    this.inside = make("div", { className: "inside" }, this.colours, this.area, this.marks);
    place.append(this.gutter, this.inside);
    const before = kept("undo", []);
    this.past = Array.isArray(before) ? before.filter((one) => typeof one === "string") : [];
    this.future = [];
    this.isTyping = false;
    this.last = "";
    const paused = debounced(PAUSE, () => { this.isTyping = false; });
    this.area.addEventListener("input", () => {
      if (!this.isTyping) { this.step(this.last); }
      this.isTyping = true;
      paused();
      this.shown();
      this.changed(this.text);
    });
    this.area.addEventListener("scroll", () => this.follow());
    this.area.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey) { return; }
      const key = event.key.toLowerCase();
      if (key === "z") { event.preventDefault(); if (event.shiftKey) { this.redo(); } else { this.undo(); } }
      if (key === "y") { event.preventDefault(); this.redo(); }
    });
    for (const name of ["keyup", "click", "focus", "blur"]) { this.area.addEventListener(name, () => this.dodge()); }
  }

  get text() { return this.area.value; }

  /** Another text, as one step to undo. */
  replace(text) {
    if (text === this.text) { return; }
    this.step(this.text);
    this.isTyping = false;
    this.put(text);
  }

  /** The first text, before any step. */
  begin(text) {
    this.area.value = text;
    this.errors = [];
    this.shown();
  }

  put(text) {
    const { selectionStart, scrollTop } = this.area;
    this.area.value = text;
    this.area.setSelectionRange(Math.min(selectionStart, text.length), Math.min(selectionStart, text.length));
    this.area.scrollTop = scrollTop;
    this.shown();
    this.changed(text);
  }

  step(text) {
    this.past = [...this.past, text].slice(-STEPS);
    this.future = [];
    keepSteps(this.past);
  }

  undo() { this.move(this.past, this.future); }

  redo() { this.move(this.future, this.past); }

  move(from, to) {
    if (!from.length) { return; }
    to.push(this.text);
    this.isTyping = false;
    this.put(from.pop());
    keepSteps(this.past);
  }

  /** Puts text over a part, as if it had been typed. */
  insert(from, to, words) {
    this.step(this.text);
    this.area.setRangeText(words, from, to, "end");
    this.shown();
    this.changed(this.text);
  }

  shown() {
    this.last = this.text;
    const lines = this.text.split("\n").length;
    this.gutter.replaceChildren(...Array.from({ length: lines }, (_, at) => make("div", {}, String(at + 1))));
    this.colours.replaceChildren(...coloured(this.text), "\n");
    this.follow();
  }

  follow() {
    const { scrollLeft, scrollTop } = this.area;
    this.colours.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
    this.marks.style.transform = `translateY(${-scrollTop}px)`;
    this.gutter.style.transform = `translateY(${-scrollTop}px)`;
  }

  /** Size of a character, and the room above the first line. */
  get measure() {
    if (!this.size) {
      const probe = make("span", {}, "0".repeat(50));
      this.colours.append(probe);
      this.size = { width: probe.getBoundingClientRect().width / 50, line: parseFloat(getComputedStyle(this.area).lineHeight) };
      probe.remove();
    }
    return { ...this.size, pad: parseFloat(getComputedStyle(this.area).paddingTop) };
  }

  /** Shows errors, each {line, message}, under their lines, counted from 1. */
  setErrors(errors) {
    this.errors = errors;
    const { line, pad } = this.measure;
    const lines = new Set(errors.map((error) => error.line));
    this.marks.replaceChildren(...errors.map((error) => {
      const mark = make("div", { className: "mark-of-error" }, error.message);
      mark.dataset.line = error.line;
      mark.style.top = `${pad + error.line * line}px`;
      return mark;
    }));
    Array.from(this.gutter.children).forEach((one, at) => one.classList.toggle("wrong", lines.has(at + 1)));
    this.area.setAttribute("aria-invalid", String(errors.length > 0));
    this.dodge();
  }

  /** Hides an error while the caret is in a line that it covers. */
  dodge() {
    const row = this.text.slice(0, this.area.selectionStart).split("\n").length;
    const isIn = document.activeElement === this.area;
    for (const mark of this.marks.children) {
      const line = Number(mark.dataset.line);
      const covered = Math.max(1, Math.round(mark.offsetHeight / this.measure.line));
      mark.classList.toggle("faint", isIn && row > line && row <= line + covered);
    }
  }

  /** Puts the caret into a line. */
  goTo(line) {
    const at = this.text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.area.focus();
    this.area.setSelectionRange(at, at);
    this.area.scrollTop = Math.max(0, (line - 4) * this.measure.line);
    this.dodge();
  }
}
