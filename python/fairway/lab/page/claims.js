// What an exercise claims of a run, and whether it holds.

const LISTS = { flow: "flows", link: "links", application: "applications" };

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
function side(summary, given) {
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

/** How a claim compares, in words. */
export function words(test) { return typeof test === "string" ? test : `within ${Number((100 * test.within).toPrecision(6))} % of`; }

/**
 * Whether a claim holds for a summary, with both numbers; null for "held" where one is missing.
 * A test `{within: 0.05}` allows that share of the right side.
 */
export function evaluate(claim, summary) {
  const [left, right] = [side(summary, claim.left), side(summary, claim.right)];
  if (left === null || right === null) { return { held: null, left, right }; }
  const held = typeof claim.test === "object"
    ? Math.abs(left - right) <= claim.test.within * Math.abs(right)
    : Object.hasOwn(TESTS, claim.test) && TESTS[claim.test](left, right);
  return { held, left, right };
}

/** The name of the figure on a side, for its unit; empty for a plain number. */
export function figureOf(given) {
  const path = typeof given === "string" ? given : given?.path;
  return path ? path.split(".").at(-1) : "";
}

/** The paths that have another value, or none, in an answer than in the first experiment. */
export function changed(keep, first, answer) {
  const at = (document, path) => path.split(".").reduce(
    (node, part) => (node && typeof node === "object" && Object.hasOwn(node, part) ? node[part] : undefined), document);
  return keep.filter((path) => !isSame(at(first, path), at(answer, path)));
}

function isSame(left, right) {
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") { return left === right; }
  const [a, b] = [Object.keys(left), Object.keys(right)];
  return Array.isArray(left) === Array.isArray(right) && a.length === b.length
    && a.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]));
}
