// The simulator for the page: plans and runs experiments in workers, so that the page stays responsive.

const WORKER = new URL("worker.js", import.meta.url);
const MODULE = new URL("built/lab.wasm", import.meta.url);

/** The compiled simulator, which both workers share. */
async function compiled(url) {
  const response = await fetch(url).catch((error) => ({ ok: false, status: "", statusText: error.message }));
  if (!response.ok) {
    throw new Error(`cannot load the simulator from ${url}: ${response.status} ${response.statusText}; `
      + "check that the server has the file, then reload the page");
  }
  // Some servers do not know the type of WebAssembly, which streaming needs.
  const type = response.headers.get("Content-Type") || "";
  return type.startsWith("application/wasm") && WebAssembly.compileStreaming
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

function aborted() {
  return Object.assign(new Error("the run was cancelled"), { name: "AbortError" });
}

/** A worker with the simulator, which answers requests in order. */
class Line {
  #module;
  #worker = null;
  #pending = new Map();
  #next = 0;

  constructor(module) {
    this.#module = module;
    this.restart(aborted());
  }

  /** Replaces the worker; pending requests fail with `error`. */
  restart(error) {
    if (this.#worker !== null) { this.#worker.terminate(); }
    const worker = new Worker(WORKER);
    worker.onmessage = (event) => this.#take(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      const reason = event.message || `cannot load ${WORKER}`;
      // Later requests fail with this error, too.
      this.#module = Promise.reject(new Error(`the simulator's worker failed: ${reason}; reload the page`));
      this.#module.catch((failure) => this.#fail(failure));
    };
    this.#worker = worker;
    this.#module.then((module) => {
      if (this.#worker === worker) { worker.postMessage({ id: null, method: "start", module: module }); }
    }, () => {});
    this.#fail(error);
  }

  #fail(error) {
    const failed = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of failed) { one.reject(error); }
  }

  /** The answer to a request; `onProgress` gets the share of simulated time that has passed. */
  async ask(method, text = "", onProgress = null) {
    await this.#module;
    return new Promise((resolve, reject) => {
      const id = this.#next;
      this.#next += 1;
      this.#pending.set(id, { resolve: resolve, reject: reject, onProgress: onProgress });
      this.#worker.postMessage({ id: id, method: method, text: text });
    });
  }

  #take({ id, answer, error, isLost, progress }) {
    const asked = this.#pending.get(id);
    if (progress !== undefined) {
      if (asked && asked.onProgress) { asked.onProgress(progress); }
      return;
    }
    this.#pending.delete(id);
    if (isLost) { this.restart(new Error("the simulator was restarted; run the experiment again")); }
    if (!asked) { return; }
    if (error === undefined) { asked.resolve(answer); } else { asked.reject(new Error(error)); }
  }
}

/** Plans and runs experiments, each in a worker of its own, so that typing is checked during a run. */
export class Engine {
  /** The simulator's `{version, algorithms}`, or why it cannot be used. */
  ready;
  #planning;
  #running;
  #last = Promise.resolve();
  /** Counts cancellations; a queued run of an earlier epoch does not start. */
  #epoch = 0;
  /** The exact text of each document: a JavaScript number cannot hold every seed. */
  #texts = new WeakMap();

  constructor() {
    const module = compiled(MODULE);
    this.#planning = new Line(module);
    this.#running = new Line(module);
    this.ready = this.#planning.ask("describe");
    // Without this, a failure that nobody awaits yet is an unhandled rejection.
    this.ready.catch(() => {});
  }

  /** The points of an experiment file: `{title, points: [{settings, repetition, document}]}`. */
  async plan(text) {
    const found = await this.#planning.ask("plan", text);
    for (const point of found.points) {
      const exact = point.document;
      point.document = JSON.parse(exact);
      this.#texts.set(point.document, exact);
    }
    return found;
  }

  /**
   * The results of one experiment; runs are queued.
   *
   * `document` is that of a point of a plan, unchanged, or its JSON as text.
   */
  run(document, { onProgress = null } = {}) {
    const text = typeof document === "string"
      ? document
      : this.#texts.get(document) || JSON.stringify(document);
    const epoch = this.#epoch;
    const found = this.#last.then(() => {
      if (epoch !== this.#epoch) { throw aborted(); }
      return this.#running.ask("run", text, onProgress);
    });
    this.#last = found.catch(() => {});
    return found;
  }

  /** Cancels the run and all queued runs: their promises reject with an `AbortError`. */
  cancel() {
    this.#epoch += 1;
    this.#running.restart(aborted());
  }

  /** JSON Schema of experiment files. */
  schema() { return this.#planning.ask("schema"); }
}
