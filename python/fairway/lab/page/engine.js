// The simulator for the page: plans and runs experiments in workers, so that the page stays awake.

const WORKER = new URL("worker.js", import.meta.url);
const MODULE = new URL("built/lab.wasm", import.meta.url);

/** The compiled simulator, which all workers share. */
async function compiled(url) {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`cannot load the simulator from ${url}: ${response.status} ${response.statusText}; `
      + "reload the page");
  }
  // A server that does not know the type of WebAssembly is no reason to fail.
  const type = response.headers.get("Content-Type") || "";
  return type.startsWith("application/wasm") && WebAssembly.compileStreaming
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

function stopped() {
  return Object.assign(new Error("the run was cancelled"), { name: "AbortError" });
}

/** A worker with the simulator in it, which answers requests in their order. */
class Line {
  #module;
  #worker = null;
  #waiting = new Map();
  #next = 0;

  constructor(module) {
    this.#module = module;
    this.restart(stopped());
  }

  /** Ends the worker; what it was asked fails with `error`, and a fresh one is got ready. */
  restart(error) {
    if (this.#worker !== null) { this.#worker.terminate(); }
    const worker = new Worker(WORKER);
    worker.onmessage = (event) => this.#take(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      const reason = event.message || "its script cannot be loaded";
      this.#fail(new Error(`the simulator's worker failed: ${reason}; reload the page`));
    };
    this.#worker = worker;
    this.#module.then((module) => {
      if (this.#worker === worker) { worker.postMessage({ id: null, method: "start", module: module }); }
    }, () => {});
    this.#fail(error);
  }

  #fail(error) {
    const failed = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of failed) { one.reject(error); }
  }

  /** The answer to a request; `onProgress` hears the share of simulated time that has passed. */
  async ask(method, text = "", onProgress = null) {
    await this.#module;
    return new Promise((resolve, reject) => {
      const id = this.#next;
      this.#next += 1;
      this.#waiting.set(id, { resolve: resolve, reject: reject, onProgress: onProgress });
      this.#worker.postMessage({ id: id, method: method, text: text });
    });
  }

  #take({ id, answer, error, isLost, progress }) {
    const asked = this.#waiting.get(id);
    if (progress !== undefined) {
      if (asked && asked.onProgress) { asked.onProgress(progress); }
      return;
    }
    this.#waiting.delete(id);
    if (isLost) { this.restart(new Error("the simulator was started anew; run it again")); }
    if (!asked) { return; }
    if (error === undefined) { asked.resolve(answer); } else { asked.reject(new Error(error)); }
  }
}

/**
 * Plans and runs experiments.
 *
 * Two workers: an experiment can be checked while another runs.
 */
export class Engine {
  /** Resolves when experiments can be planned and run, or says why they cannot. */
  ready;
  /** Version of the simulator, once it is ready. */
  version = null;
  #planning;
  #running;
  #described;
  #schema = null;
  #last = Promise.resolve();
  /** Grows with every cancellation; a run of an earlier number is not begun. */
  #epoch = 0;
  /** The exact text of a document: numbers of JavaScript do not hold every seed. */
  #texts = new WeakMap();

  constructor() {
    const module = compiled(MODULE);
    this.#planning = new Line(module);
    this.#running = new Line(module);
    this.#described = this.#planning.ask("describe");
    this.ready = this.#described.then(({ version }) => { this.version = version; });
    // Who does not wait for it hears of a failure from the first request.
    this.ready.catch(() => {});
  }

  /** The points of an experiment file: `{title, points: [{label, settings, document}]}`. */
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
   * What one experiment measured, once the runs before it have ended.
   *
   * `document` is that of a point of a plan, unchanged, or its JSON as text.
   */
  run(document, { onProgress = null } = {}) {
    const text = typeof document === "string"
      ? document
      : this.#texts.get(document) || JSON.stringify(document);
    const epoch = this.#epoch;
    const found = this.#last.then(() => {
      if (epoch !== this.#epoch) { throw stopped(); }
      return this.#running.ask("run", text, onProgress);
    });
    this.#last = found.catch(() => {});
    return found;
  }

  /** Stops the run, and those that wait: their promises reject with an `AbortError`. */
  cancel() {
    this.#epoch += 1;
    this.#running.restart(stopped());
  }

  /** JSON Schema of experiment files. */
  schema() {
    // Much longer than all else: only who asks waits for it.
    this.#schema = this.#schema || this.#planning.ask("schema");
    return this.#schema;
  }

  /** Every congestion control, with its parameters. */
  async algorithms() { return (await this.#described).algorithms; }

  /** Every preset of the TCP stack. */
  async presets() { return (await this.#described).presets; }
}
