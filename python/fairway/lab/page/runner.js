// From a text to its results: plans it, asks before a large run, runs its points, cancels.

import { packets } from "./size.js";
import { MOST } from "./sweep.js";

/** Packets beyond which the page asks before it runs. */
const MANY = 20e6;

/** Names for the points of a sweep: the last parts of their paths, if those differ. */
function labels(points, title) {
  if (points.length === 1) { return [title]; }
  const isRepeated = points.some((point) => point.repetition > 0);
  const paths = Object.keys(points[0].settings);
  const ends = paths.map((path) => path.split(".").at(-1));
  const isShort = new Set(ends).size === ends.length;
  return points.map(({ settings, repetition }) => {
    const parts = paths.map((path, at) => (isShort ? `${ends[at]} ${settings[path]}` : `${path} = ${settings[path]}`));
    return [...parts, ...(isRepeated ? [`repetition ${repetition}`] : [])].join(", ");
  });
}

export class Runner {
  /**
   * `on` has the page's reactions: `began(count)`, `progress(share)`, `asks(packets, text)`,
   * `wrong(error, text)`, `cancelled()`, and `done(runs, planned, isCurrent)`. Of a sweep of more
   * than `MOST` runs only the first is run; `planned` counts all of them.
   */
  constructor(engine, on) {
    this.engine = engine;
    this.on = on;
    this.number = 0;
    this.isRunning = false;
  }

  /** Plans and runs a text, and cancels the run before it. */
  async start(text, { isAllowed = false } = {}) {
    const own = this.next();
    const isCurrent = () => own === this.number;
    const runs = [];
    let planned = 0;
    try {
      const plan = await this.engine.plan(text);
      if (!isCurrent()) { return; }
      planned = plan.points.length;
      const points = planned > MOST ? plan.points.slice(0, 1) : plan.points;
      const large = points.reduce((sum, point) => sum + packets(point.document), 0);
      if (large > MANY && !isAllowed) { this.on.asks(large, text); return; }
      this.on.began(points.length);
      this.isRunning = true;
      const names = labels(points, plan.title);
      for (const [at, { document }] of points.entries()) {
        const onProgress = (share) => isCurrent() && this.on.progress((at + share) / points.length);
        const result = await this.engine.run(document, { onProgress });
        if (!isCurrent()) { return; }
        runs.push({ ...result, title: plan.title, label: names[at], document, parsed: JSON.parse(result.summary) });
      }
    } catch (error) {
      if (isCurrent()) { this.isRunning = false; this.on.wrong(error, text); }
      return;
    }
    this.isRunning = false;
    await this.on.done(runs, planned, isCurrent);
  }

  /** Stops the run and discards its results. */
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
