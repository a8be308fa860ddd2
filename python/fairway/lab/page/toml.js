// Positions of the values in a TOML text, and edits that leave other lines alone.

const BARE = /[A-Za-z0-9_-]/;
const INLINE_TABLE = Symbol("inline table");
// Levels of lists and inline tables: more would overflow the stack.
const DEPTH = 100;

/** A syntax error at a line. */
class Unreadable extends Error {
  constructor(message, line) {
    super(message);
    this.line = line;
  }
}

class Scanner {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.entries = [];
    this.tables = [];
    this.counts = new Map();
    this.breaks = Array.from(text.matchAll(/\n/g), (found) => found.index);
  }

  /** The line of a position: 1 and the number of line breaks before it. */
  line(at = this.at) {
    let [low, high] = [0, this.breaks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.breaks[middle] < at) { low = middle + 1; } else { high = middle; }
    }
    return low + 1;
  }

  fail(message) { throw new Unreadable(message, this.line()); }

  blank() { while (this.text[this.at] === " " || this.text[this.at] === "\t") { this.at += 1; } }

  /** Spaces, line breaks and comments, as they stand between values of a list. */
  space() {
    for (;;) {
      const start = this.at;
      while (/\s/.test(this.text[this.at] ?? "")) { this.at += 1; }
      if (this.text[this.at] === "#") { this.toEnd(); }
      if (this.at === start) { return; }
    }
  }

  toEnd() {
    const end = this.text.indexOf("\n", this.at);
    this.at = end < 0 ? this.text.length : end;
  }

  finishLine() {
    this.blank();
    if (this.text[this.at] === "#") { this.toEnd(); }
    if (this.text[this.at] === "\r") { this.at += 1; }
    if (this.at < this.text.length && this.text[this.at] !== "\n") { this.fail("text after a value"); }
    this.at += 1;
  }

  key() {
    const parts = [];
    for (;;) {
      this.blank();
      const quote = this.text[this.at];
      if (quote === '"' || quote === "'") {
        parts.push(this.string());
      } else {
        const start = this.at;
        while (BARE.test(this.text[this.at] ?? "")) { this.at += 1; }
        if (start === this.at) { this.fail("a key is missing"); }
        parts.push(this.text.slice(start, this.at));
      }
      this.blank();
      if (this.text[this.at] !== ".") { return parts; }
      this.at += 1;
    }
  }

  string() {
    const quote = this.text[this.at];
    const long = this.text.startsWith(quote.repeat(3), this.at);
    const mark = long ? quote.repeat(3) : quote;
    const start = this.at += mark.length;
    for (;;) {
      const one = this.text[this.at];
      if (one === undefined || (!long && one === "\n")) { this.fail("a text has no end"); }
      if (this.text.startsWith(mark, this.at)) { break; }
      this.at += one === "\\" && quote === '"' ? 2 : 1;
    }
    const inside = this.text.slice(start, this.at);
    this.at += mark.length;
    if (quote === "'") { return inside; }
    return inside.replace(/\\(["\\bfnrt]|u[0-9a-fA-F]{4})/g, (escape) => JSON.parse(`"${escape}"`));
  }

  value(path) {
    if (path.length > DEPTH) { this.fail(`more than ${DEPTH} levels`); }
    const start = this.text[this.at];
    if (start === '"' || start === "'") { return this.string(); }
    if (start === "{") { return this.inlineTable(path); }
    if (start === "[") { return this.list(path); }
    const from = this.at;
    while (/[^\s,\]}#]/.test(this.text[this.at] ?? " ")) { this.at += 1; }
    const word = this.text.slice(from, this.at);
    if (word === "true" || word === "false") { return word === "true"; }
    const number = Number(word.replaceAll("_", ""));
    if (word === "" || (Number.isNaN(number) && !/^[+-]?(inf|nan)$|^\d{4}-/.test(word))) { this.fail("a value is missing"); }
    return number;
  }

  list(path) {
    this.at += 1;
    const values = [];
    for (;;) {
      this.space();
      if (this.text[this.at] === "]") { this.at += 1; return values; }
      const start = this.at;
      const own = [...path, String(values.length)];
      values.push(this.value(own));
      this.entries.push({ path: own, value: values.at(-1), start, end: this.at, line: this.line(start), item: true });
      this.space();
      if (this.text[this.at] === ",") { this.at += 1; } else if (this.text[this.at] !== "]") { this.fail("a list has no end"); }
    }
  }

  inlineTable(path) {
    this.at += 1;
    for (;;) {
      this.space();
      if (this.text[this.at] === "}") { this.at += 1; return INLINE_TABLE; }
      this.entry(path, true);
      this.space();
      if (this.text[this.at] === ",") { this.at += 1; } else if (this.text[this.at] !== "}") { this.fail("an inline table has no end"); }
    }
  }

  entry(table, inline) {
    const keyStart = this.at;
    const path = [...table, ...this.key()];
    if (this.text[this.at] !== "=") { this.fail("an equals sign is missing"); }
    this.at += 1;
    this.blank();
    const start = this.at;
    const one = { path, start, keyStart, inline, line: this.line(start) };
    this.entries.push(one);
    one.value = this.value(path);
    one.end = this.at;
  }

  header() {
    const start = this.at;
    const many = this.text[this.at + 1] === "[";
    this.at += many ? 2 : 1;
    const named = this.key();
    if (!this.text.startsWith(many ? "]]" : "]", this.at)) { this.fail("a table's name has no end"); }
    this.at += many ? 2 : 1;
    // Names of lists stand for their last tables.
    const path = [];
    named.forEach((part, index) => {
      path.push(part);
      const name = path.join("\0");
      if (many && index === named.length - 1) { this.counts.set(name, (this.counts.get(name) ?? -1) + 1); }
      if (this.counts.has(name)) { path.push(String(this.counts.get(name))); }
    });
    this.finishLine();
    return { path, line: this.line(start), start, body: Math.min(this.at, this.text.length), many };
  }

  scan() {
    let table = { path: [], line: 1, start: 0, body: 0, many: false };
    this.tables.push(table);
    while (this.at < this.text.length) {
      this.space();
      if (this.at >= this.text.length) { break; }
      if (this.text[this.at] === "[") {
        table = this.header();
        this.tables.push(table);
      } else {
        this.entry(table.path, false);
        this.entries.at(-1).table = table;
        this.finishLine();
      }
    }
  }
}

/** Entries and tables of a text, and its first syntax error, {line, message}, or null. */
export function scan(text) {
  const scanner = new Scanner(text);
  let error = null;
  try {
    scanner.scan();
  } catch (problem) {
    if (!(problem instanceof Unreadable)) { throw problem; }
    error = { line: problem.line, message: problem.message };
  }
  return { text, entries: scanner.entries, tables: scanner.tables, error };
}

const same = (left, right) => left.length === right.length && left.every((part, at) => part === right[at]);
const starts = (path, with_) => with_.length <= path.length && with_.every((part, at) => part === path[at]);

/** The entry at a path; of two, the first. */
export function find(scanned, path) { return scanned.entries.find((one) => same(one.path, path)); }

/** The value at a path, if it is written. */
export function value(scanned, path) { return find(scanned, path)?.value; }

/** Whether anything is written at or below a path. */
export function has(scanned, path) {
  return scanned.entries.some((one) => starts(one.path, path)) || scanned.tables.some((one) => starts(one.path, path));
}

/** How many tables a list has. */
export function count(scanned, name) {
  const all = [...scanned.tables, ...scanned.entries].filter((one) => one.path[0] === name && one.path.length > 1);
  return new Set(all.map((one) => one.path[1])).size;
}

/** The line of the deepest key on the way to a path. */
export function lineOf(scanned, path) {
  for (let length = path.length; length > 0; length -= 1) {
    const part = path.slice(0, length);
    const found = find(scanned, part) ?? scanned.tables.find((one) => same(one.path, part));
    if (found) { return found.line; }
  }
  return 1;
}

/** A value as TOML. */
export function written(plain) { return typeof plain === "string" ? JSON.stringify(plain) : String(plain); }

const lineStart = (text, at) => text.lastIndexOf("\n", at - 1) + 1;

function lineEnd(text, at) {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

/** The text with another value at a path; no other line changes. */
export function set(text, path, plain) {
  const scanned = scan(text);
  const literal = written(plain);
  const found = find(scanned, path);
  if (found) { return text.slice(0, found.start) + literal + text.slice(found.end); }
  const parent = path.slice(0, -1);
  const holder = find(scanned, parent);
  const key = path.at(-1);
  if (holder) {
    if (holder.value !== INLINE_TABLE) { return set(removed(text, parent), path, plain); }
    const inside = text.slice(holder.start + 1, holder.end - 1).trimEnd();
    const more = `${inside.trim() ? `${inside},` : ""} ${key} = ${literal} `;
    return text.slice(0, holder.start + 1) + more + text.slice(holder.end - 1);
  }
  const table = scanned.tables.find((one) => same(one.path, parent));
  if (table) {
    const own = scanned.entries.filter((one) => one.table === table);
    const at = own.length ? lineEnd(text, own.at(-1).end) : table.body;
    const before = at > 0 && text[at - 1] !== "\n" ? "\n" : "";
    return `${text.slice(0, at)}${before}${key} = ${literal}\n${text.slice(at)}`;
  }
  // A table that is not there yet is written in one line with its parent's.
  const grand = scanned.tables.find((one) => one.path.length && same(one.path, parent.slice(0, -1)))
    ?? find(scanned, parent.slice(0, -1));
  if (grand && parent.length > 1) { return insertTable(text, parent, key, literal); }
  const first = scanned.tables.find((one) => one.path.length);
  const at = first ? first.start : text.length;
  const gap = at > 0 && text[at - 1] !== "\n" ? "\n" : "";
  return `${text.slice(0, at)}${gap}[${parent.join(".")}]\n${key} = ${literal}\n\n${text.slice(at)}`;
}

function insertTable(text, path, key, literal) {
  const holder = "\0";
  return set(text, path, holder).replace(written(holder), () => `{ ${key} = ${literal} }`);
}

/** The text without the entry at a path; its line goes if nothing else is on it. */
function removed(text, path) {
  const found = find(scan(text), path);
  if (!found) { return text; }
  if (!found.inline) {
    const from = lineStart(text, found.keyStart);
    return text.slice(0, from) + text.slice(lineEnd(text, found.end));
  }
  const before = text.slice(0, found.keyStart);
  const after = text.slice(found.end);
  if (/^\s*,/.test(after)) { return before + after.replace(/^\s*,\s*/, ""); }
  return `${before.replace(/\s*,\s*$/, " ")}${after.trimStart()}`;
}

/** Where a table begins, with the comments and blank lines directly above it; without one, the text's end. */
function beginning(text, table) {
  if (!table) { return text.length; }
  let at = table.start;
  while (at > 0 && /^\s*(#.*)?$/.test(text.slice(lineStart(text, at - 1), at - 1))) { at = lineStart(text, at - 1); }
  return at;
}

/** The text with one more table in a list, after the last of them. */
export function withTable(text, name, lines) {
  const scanned = scan(text);
  const own = scanned.tables.filter((one) => one.path[0] === name);
  const next = own.length ? scanned.tables[scanned.tables.indexOf(own.at(-1)) + 1] : null;
  const at = beginning(text, next);
  const gap = at > 0 && text[at - 1] !== "\n" ? "\n\n" : "\n";
  return `${text.slice(0, at)}${gap}[[${name}]]\n${lines}\n${text.slice(at)}`;
}

/** The text without a table and the tables within it. */
export function withoutTable(text, path) {
  const scanned = scan(text);
  const from = scanned.tables.findIndex((one) => same(one.path, path));
  if (from < 0) { return text; }
  let to = from + 1;
  while (to < scanned.tables.length && starts(scanned.tables[to].path, path)) { to += 1; }
  const rest = text.slice(beginning(text, scanned.tables[to])).replace(/^\n+/, "");
  return text.slice(0, scanned.tables[from].start) + rest;
}
