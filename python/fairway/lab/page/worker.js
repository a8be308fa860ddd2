// Instantiates the simulator and answers one request after the other. A classic script without
// imports, so that every browser with WebAssembly runs it.
"use strict";

// Types of columns. Counts become numbers that charts can draw: they are exact up to 2^53.
const ARRAYS = {
  f64: Float64Array, u64: BigUint64Array, i64: BigInt64Array, u32: Uint32Array,
  u8: Uint8Array, i8: Int8Array, bool: Uint8Array,
};
const WIDE = new Set(["u64", "i64"]);

const decoder = new TextDecoder();
const encoder = new TextEncoder();

let core = null;
let current = null;

/** Lets the simulator answer `text` by one of its calls; throws the error that it gives. */
function call(name, text) {
  const bytes = encoder.encode(text);
  const place = core.input(bytes.length);
  new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
  let trap = null;
  try {
    core[name]();
  } catch (error) {
    trap = error;
  }
  const reply = decoder.decode(
    new Uint8Array(core.memory.buffer, core.reply(), core.reply_length()));
  if (trap !== null && reply === "") { throw outOfMemory(trap); }
  const found = JSON.parse(reply);
  if (found.error) { throw Object.assign(new Error(found.error.message), { trap: trap }); }
  return found;
}

/** What a trap means that the simulator has no words for. */
function outOfMemory(trap) {
  const used = Math.round(core.memory.buffer.byteLength / 2 ** 20);
  const message = trap instanceof WebAssembly.RuntimeError
    ? `the experiment needs more memory than a page may use (it had ${used} MiB); shorten it, sample `
      + "less often, or use `fairway run`"
    : `internal error; please report it with the experiment: ${trap}`;
  return Object.assign(new Error(message), { trap: trap });
}

/** Columns copied out of the simulator's memory. */
function copied(places) {
  return Object.fromEntries(places.map(function (column) {
    const Kind = ARRAYS[column.type];
    const length = column.bytes / Kind.BYTES_PER_ELEMENT;
    const view = new Kind(core.memory.buffer, column.address, length);
    return [column.name, WIDE.has(column.type) ? Float64Array.from(view, Number) : view.slice()];
  }));
}

function run(document) {
  const began = performance.now();
  const found = call("run", document);
  found.seconds = (performance.now() - began) / 1000;
  for (const table of ["series", "queues", "losses"]) {
    found[table] = found[table] && copied(found[table]);
  }
  core.release();
  return found;
}

/** The buffers of a run's columns, which move to the page instead of being copied again. */
function buffers(found) {
  return [found.series, found.queues, found.losses]
    .flatMap((table) => Object.values(table || {}).map((column) => column.buffer));
}

async function start(module) {
  const page = {
    progress: (fraction) => self.postMessage({ id: current, progress: fraction }),
  };
  core = (await WebAssembly.instantiate(module, { page: page })).exports;
}

let started = null;

self.onmessage = async function (event) {
  const { id, method, text, module } = event.data;
  if (method === "start") { started = start(module); }
  try {
    await started;
    current = id;
    const answer = method === "start" ? null : method === "run" ? run(text) : call(method, text);
    self.postMessage({ id: id, answer: answer }, method === "run" ? buffers(answer) : []);
  } catch (error) {
    // Behind a trap the simulator is in no known state: the page starts another worker.
    self.postMessage({ id: id, error: String(error.message || error), isLost: Boolean(error.trap) });
  }
};
