// From a text to its results: planned as one types, run, cancelled, and asked about if large.

import { packets } from "./size.js";
import { MOST } from "./sweep.js";

/** Packets beyond which a run is asked about first. */
const MANY = 20e6;

/** What stops a text before it runs; the page says it beside the text. */
export class Refused extends Error {}

/** What tells the points of a sweep apart: the last parts of their paths, if those do. */
function labels(points, title) {
  if (points.length === 1) { return [title]; }
  const isRepeated = points.some((point) => !point.label.endsWith(", repetition 0"));
  const paths = Object.keys(points[0].settings);
  const ends = paths.map((path) => path.split(".").at(-1));
  const areTold = new Set(ends).size === ends.length;
  return points.map((point) => {
    const label = isRepeated ? point.label : point.label.replace(/, repetition 0$/, "");
    return areTold ? paths.reduce((words, path, at) => words.replace(`${path} = `, `${ends[at]} `), label) : label;
  });
}

export class Runner {
  /**
   * `on` has what the page does at each step: `began()`, `progress(share, label)`, `asks(packets)`,
   * `wrong(error)`, `cancelled()`, `done(runs, text)`.
   */
  constructor(engine, on) {
    this.engine = engine;
    this.on = on;
    this.number = 0;
    this.isRunning = false;
  }

  /** Plans and runs a text; whatever runs before it is cancelled. */
  async start(text, { isAllowed = false } = {}) {
    const own = this.next();
    const isCurrent = () => own === this.number;
    try {
      const { title, points } = await this.engine.plan(text);
      if (!isCurrent()) { return; }
      if (points.length > MOST) {
        throw new Refused(`the sweep has ${points.length} runs, and the page runs at most ${MOST}; shorten it, or use \`fairway run\``);
      }
      const large = points.reduce((sum, point) => sum + packets(point.document), 0);
      if (large > MANY && !isAllowed) { this.on.asks(large, text); return; }
      this.on.began(points.length);
      this.isRunning = true;
      const runs = [];
      const names = labels(points, title);
      for (const [at, point] of points.entries()) {
        const onProgress = (share) => isCurrent() && this.on.progress((at + share) / points.length);
        const result = await this.engine.run(point.document, { onProgress });
        if (!isCurrent()) { return; }
        runs.push({ ...result, title, label: names[at], document: point.document, parsed: JSON.parse(result.summary) });
      }
      this.isRunning = false;
      await this.on.done(runs, text);
    } catch (error) {
      if (!isCurrent()) { return; }
      this.isRunning = false;
      if (error.name === "AbortError") { this.on.cancelled(); } else { this.on.wrong(error, text); }
    }
  }

  /** Stops what runs, whose results are not shown. */
  cancel() {
    this.next();
    this.on.cancelled();
  }

  next() {
    this.number += 1;
    if (this.isRunning) {
      this.isRunning = false;
      this.engine.cancel();
    }
    return this.number;
  }
}
