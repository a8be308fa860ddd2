// Errors of the engine, each with the line of the text that it is about.

import { lineOf, scan } from "./toml.js";

// How the engine calls a text that is no file.
const SOURCE = /^experiment: /;

/** Lines of a message as {line, message}; one that names no place is at line 1. */
export function located(message, text) {
  const scanned = scan(text);
  const count = text.split("\n").length;
  return message.split("\n").filter((one) => one.trim()).map((line) => {
    const one = line.replace(SOURCE, "");
    const at = /^line (\d+), column \d+/.exec(one);
    if (at) { return { line: Math.min(Number(at[1]), count), message: one }; }
    const path = /^((?:[^\s:."]+|"[^"]*")(?:\.(?:[^\s:."]+|"[^"]*"))*): /.exec(one);
    if (!path) { return { line: 1, message: one }; }
    return { line: lineOf(scanned, path[1].split(".").map((part) => part.replaceAll('"', ""))), message: one };
  });
}
