// What an exercise claims of a run, and whether it holds.

const LISTS = { flow: "flows", link: "links" };

/** The number at a path of a summary, such as "flow.0.mean_srtt_s"; null if there is none. */
export function resolve(summary, path) {
  const parts = path.split(".");
  if (parts[0] === "metric") { return numeric(summary.metrics?.[parts.slice(1).join(".")]); }
  const rows = Object.hasOwn(LISTS, parts[0]) ? summary[LISTS[parts[0]]] : null;
  if (!Array.isArray(rows) || parts.length < 3) { return null; }
  // A name may have dots in it, a figure of a row has none.
  const name = parts.slice(1, -1).join(".");
  const row = rows.find((one) => one.id === name) ?? (/^\d+$/.test(name) ? rows[Number(name)] : undefined);
  return numeric(row?.[parts.at(-1)]);
}

function numeric(value) { return typeof value === "number" && Number.isFinite(value) ? value : null; }

/** One side of a claim: a number, a path, or a path times a factor. */
export function side(summary, given) {
  if (typeof given === "number") { return given; }
  if (typeof given === "string") { return resolve(summary, given); }
  const value = resolve(summary, given.path);
  return value === null ? null : value * (given.times ?? 1);
}

const TESTS = {
  "<": (left, right) => left < right,
  ">": (left, right) => left > right,
  "<=": (left, right) => left <= right,
  ">=": (left, right) => left >= right,
};

/**
 * Whether a claim holds for a summary, with both numbers; null for "held" where one is missing.
 * "within" has a tolerance: a share of the right side.
 */
export function evaluate(claim, summary) {
  const [left, right] = [side(summary, claim.left), side(summary, claim.right)];
  if (left === null || right === null) { return { held: null, left, right }; }
  const held = claim.test === "within"
    ? Math.abs(left - right) <= claim.tolerance * Math.abs(right)
    : Object.hasOwn(TESTS, claim.test) && TESTS[claim.test](left, right);
  return { held, left, right };
}

/** The name of the figure on a side, for its unit; empty for a plain number. */
export function figureOf(given) {
  const path = typeof given === "string" ? given : given?.path;
  return path ? path.split(".").at(-1) : "";
}
