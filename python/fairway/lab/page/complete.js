// Completion of keys and values from the schema of experiment files and the list of algorithms.

import { make } from "./dom.js";

// Choices in the list, at most.
const MOST = 60;
const WORD = /[A-Za-z0-9_.+-]*$/;

/** The end of a text: its table, and the key or value that has begun. */
function context(before) {
  const lines = before.split("\n");
  const line = lines.at(-1);
  if (/^\s*\[/.test(line) && !/\]/.test(line)) {
    return { mode: "header", path: [], word: WORD.exec(line)[0], many: /^\s*\[\[/.test(line) };
  }
  const header = lines.slice(0, -1).reverse().find((one) => /^\s*\[\[?[^\]]+\]\]?\s*(#.*)?$/.test(one));
  const path = header ? header.replace(/#.*/, "").replace(/[[\]\s]/g, "").split(".") : [];
  // Tables that are open within the line.
  const stack = [[]];
  let key = null;
  let token = "";
  let quote = "";
  for (const one of line) {
    if (quote) { if (one === quote) { quote = ""; } token += one; continue; }
    if (one === '"' || one === "'") { quote = one; token += one; continue; }
    if (one === "#") { return null; }
    if (one === "=") { key = token.trim().replace(/^["']|["']$/g, "").split("."); token = ""; continue; }
    if (one === "{") { stack.push(key ?? []); key = null; token = ""; continue; }
    if (one === "}") { stack.pop(); key = null; token = ""; continue; }
    if (one === "," && !token.trim().startsWith("[")) { key = null; token = ""; continue; }
    token += one;
  }
  const at = [...path, ...stack.flat()];
  const word = token.trimStart();
  if (key === null) { return { mode: "key", path: at, word: WORD.exec(word)[0] }; }
  return { mode: "value", path: [...at, ...key], word: word.replace(/^\[?\s*/, "") };
}

/** The schemas at a path. */
export function schemaAt(schema, path) {
  let nodes = [schema];
  for (const part of path) {
    nodes = nodes.flatMap((node) => {
      const own = node.type === "array" && node.items ? node.items : node;
      const variants = [own, ...(own.anyOf ?? []), ...(own.oneOf ?? [])];
      if (/^\d+$/.test(part) && node.items) { return [node.items]; }
      return variants.map((one) => one.properties?.[part]).filter(Boolean);
    });
  }
  return nodes.flatMap((node) => {
    const own = node.type === "array" && node.items ? node.items : node;
    return [own, ...(own.anyOf ?? []), ...(own.oneOf ?? [])];
  });
}

function valuesOf(nodes, algorithms, path) {
  const found = new Map();
  const summaries = new Map(algorithms.map((one) => [one.name, one.summary]));
  for (const node of nodes) {
    for (const one of node.enum ?? []) {
      found.set(JSON.stringify(one), path.at(-1) === "cc" ? summaries.get(one) ?? "" : "");
    }
    if (node.type === "boolean") { found.set("true", "").set("false", ""); }
    const plain = [...(node.default === undefined ? [] : [node.default]), ...(node.examples ?? [])];
    for (const one of plain.filter((value) => typeof value !== "object")) {
      if (!found.has(JSON.stringify(one))) { found.set(JSON.stringify(one), one === node.default ? "default" : "example"); }
    }
  }
  return Array.from(found, ([text, detail]) => ({ text, detail }));
}

/** Choices at a context: {text, detail}. */
export function choices(schema, algorithms, at) {
  const isBegun = ({ text }) => text.replaceAll('"', "").toLowerCase().startsWith(at.word.replaceAll('"', "").toLowerCase());
  if (at.mode === "header") {
    const paths = [];
    const walk = (node, path) => Object.entries(node.properties ?? {}).forEach(([name, one]) => {
      const inner = one.type === "array" ? one.items ?? {} : one;
      if (!inner.properties || path.length > 2) { return; }
      if ((one.type === "array") === at.many) { paths.push({ text: [...path, name].join("."), detail: one.description ?? "" }); }
      if (!at.many) { walk(inner, [...path, name]); }
    });
    walk(schema, []);
    return paths.filter(isBegun).slice(0, MOST);
  }
  const nodes = schemaAt(schema, at.path);
  if (at.mode === "value") { return valuesOf(nodes, algorithms, at.path).filter(isBegun).slice(0, MOST); }
  const keys = nodes.flatMap((node) => Object.entries(node.properties ?? {}));
  return Array.from(new Map(keys), ([text, node]) => ({ text, detail: node.description ?? "" })).filter(isBegun).slice(0, MOST);
}

/** Offers choices in a list beside the caret of an editor. */
export class Completion {
  /** `known()` is a promise of {schema, algorithms}. */
  constructor(editor, known) {
    this.editor = editor;
    this.known = known;
    this.list = make("ul", { id: "choices", className: "choices", role: "listbox", "aria-label": "Completions", hidden: true });
    editor.inside.append(this.list);
    editor.area.setAttribute("aria-controls", "choices");
    editor.area.addEventListener("input", (event) => {
      if (event.inputType?.startsWith("insert") && event.inputType !== "insertFromPaste") { this.offer(false); } else { this.close(); }
    });
    editor.area.addEventListener("keydown", (event) => this.pressed(event));
    editor.area.addEventListener("blur", () => this.close());
    editor.area.addEventListener("scroll", () => this.close());
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const option = event.target.closest("li");
      if (option) { this.take(Number(option.dataset.at)); }
    });
  }

  async offer(isAsked) {
    const { area } = this.editor;
    const at = context(area.value.slice(0, area.selectionStart));
    if (!at || (!isAsked && !at.word.replaceAll('"', "") && at.mode !== "value")) { this.close(); return; }
    const before = area.selectionStart;
    const { schema, algorithms } = await this.known();
    if (area.selectionStart !== before || document.activeElement !== area) { return; }
    const offered = choices(schema, algorithms, at).filter(({ text }) => text !== at.word);
    this.show(offered, at);
  }

  show(offered, at) {
    this.offered = offered;
    this.at = at;
    if (!offered.length) { this.close(); return; }
    this.list.replaceChildren(...offered.map(({ text, detail }, index) => {
      const option = make("li", { id: `choice-${index}`, role: "option" }, make("code", {}, text), make("span", {}, detail));
      option.dataset.at = index;
      return option;
    }));
    const { area, measure } = this.editor;
    const lines = area.value.slice(0, area.selectionStart - at.word.length).split("\n");
    this.list.hidden = false;
    const left = 8 + lines.at(-1).length * measure.width - area.scrollLeft;
    this.list.style.left = `${Math.max(0, Math.min(left, area.clientWidth - this.list.offsetWidth - 4))}px`;
    const below = measure.pad + lines.length * measure.line - area.scrollTop;
    const above = below - measure.line - this.list.offsetHeight - 4;
    this.list.style.top = `${below + this.list.offsetHeight > area.clientHeight && above > 0 ? above : below}px`;
    this.choose(0);
  }

  choose(at) {
    this.chosen = (at + this.offered.length) % this.offered.length;
    Array.from(this.list.children).forEach((option, index) => option.setAttribute("aria-selected", String(index === this.chosen)));
    // Not `scrollIntoView`, which moves the editor and the page as well.
    const { offsetTop, offsetHeight } = this.list.children[this.chosen];
    const { scrollTop, clientHeight } = this.list;
    if (offsetTop < scrollTop) { this.list.scrollTop = offsetTop; }
    if (offsetTop + offsetHeight > scrollTop + clientHeight) { this.list.scrollTop = offsetTop + offsetHeight - clientHeight; }
    this.editor.area.setAttribute("aria-activedescendant", `choice-${this.chosen}`);
  }

  close() {
    this.list.hidden = true;
    this.editor.area.removeAttribute("aria-activedescendant");
  }

  take(index) {
    const { area } = this.editor;
    const { text } = this.offered[index];
    const to = area.selectionStart;
    let words = text;
    if (this.at.mode === "key") { words += area.value.slice(to).match(/^\s*=/) ? "" : " = "; }
    if (this.at.mode === "header") { words += this.at.many ? "]]" : "]"; }
    this.close();
    const typed = area.value.slice(to).startsWith('"') && this.at.word.startsWith('"') ? to + 1 : to;
    this.editor.insert(to - this.at.word.length, typed, words);
    area.focus();
  }

  pressed(event) {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); this.offer(true); return; }
    if (this.list.hidden) { return; }
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) { event.preventDefault(); this.choose(this.chosen + moves[event.key]); }
    else if (event.key === "Enter" || event.key === "Tab") { event.preventDefault(); this.take(this.chosen); }
    else if (event.key === "Escape") { event.preventDefault(); this.close(); }
    else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) { this.close(); }
  }
}
