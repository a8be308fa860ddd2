// Charts of a run: the reports' definitions (charts.json) with the run's numbers.
//
// Thinning, rounding and axes are those of python/fairway/plot/figures.py, `over_time`; a test
// compares what both make of one run.

// As there: room around points that stand alone, and sizes of a legend's text in pixels.
const AROUND = 1.05;
const CHARACTER_WIDTH = 6;
const SAMPLE_WIDTH = 28;

const SECONDS = { ns: 1e-9, us: 1e-6, "µs": 1e-6, "μs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

/** A duration in seconds. */
export function seconds(text) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(\S+)\s*$/.exec(text);
  // In whole nanoseconds, as the engine has them: 0.1 s is 0.1 s in any unit.
  return found && found[2] in SECONDS ? Math.round(Number(found[1]) * SECONDS[found[2]] * 1e9) / 1e9 : NaN;
}

/** The measuring window of an experiment in seconds; null if that is the whole run. */
function measuringWindow(experiment) {
  const window = experiment.measure?.window;
  return Array.isArray(window) ? window.map(seconds) : null;
}

// Rust's: half away from zero.
const roundHalfUp = (value) => Math.sign(value) * Math.round(Math.abs(value));
const power = (exponent) => Number(`1e${exponent}`);

// Halves to the even neighbour.
function roundHalfEven(value) {
  const low = Math.floor(value);
  if (value - low !== 0.5) { return Math.round(value); }
  return low % 2 === 0 ? low : low + 1;
}

function decimals(value, places) { return roundHalfEven(value * power(places)) / power(places); }

function figures(value, digits) {
  if (value === 0) { return 0; }
  const order = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
  return order >= 0 ? roundHalfUp(value * power(order)) / power(order) : roundHalfUp(value / power(-order)) * power(-order);
}

/** The samples of a quantity by the names of its lines, in the order of the names' first samples. */
function samples(quantity, run) {
  const table = run[quantity.table];
  const names = quantity.key === "flow" ? run.flow_ids : run.link_ids;
  const lines = new Map();
  const [times, keys, values] = [table.t_s, table[quantity.key], table[quantity.column]];
  let end = 0;
  for (let row = 0; row < times.length; row += 1) {
    const name = names[keys[row]];
    if (!lines.has(name)) { lines.set(name, []); }
    end = Math.max(end, times[row]);
    if (!Number.isNaN(values[row])) { lines.get(name).push([times[row], values[row]]); }
  }
  return { lines, end: end || 1 };
}

function thinned(line, longest, points, keep) {
  if (longest <= points) { return line; }
  const size = Math.ceil(longest / (keep === "mean" ? points : Math.floor(points / 2)));
  const found = [];
  for (let start = 0; start < line.length; start += size) {
    const group = line.slice(start, start + size);
    if (keep === "mean") {
      const mean = (at) => group.reduce((sum, one) => sum + one[at], 0) / group.length;
      found.push([mean(0), mean(1)]);
    } else {
      const low = group.reduce((best, one) => (one[1] < best[1] ? one : best));
      const high = group.reduce((best, one) => (one[1] > best[1] ? one : best));
      found.push(...(high[0] < low[0] ? [high, low] : [low, high]));
    }
  }
  return found;
}

const number = (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value));
const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csv = (rows) => ["t,id,v", ...rows.map(([t, id, v]) => `${number(t)},${cell(id)},${number(v)}`), ""].join("\n");

/**
 * A quantity of a run: rows of time, name and value as drawn, all names, and the end of the time
 * axis; null if the run has no value of it.
 */
export function measured(definitions, name, run) {
  const quantity = definitions.quantities[name];
  const { lines, end } = samples(quantity, run);
  const longest = Math.max(0, ...Array.from(lines.values(), (line) => line.length));
  if (longest === 0) { return null; }
  const places = Math.max(3, 3 - Math.floor(Math.log10(end)));
  const names = Array.from(lines.keys());
  const rows = [...names].sort((left, right) => (left < right ? -1 : 1)).flatMap((id) => (
    thinned(lines.get(id), longest, definitions.points, quantity.keep)
      .map(([t, v]) => [decimals(t, places), id, figures(v * quantity.scale, 5)])
  ));
  return { name, rows, names, end, window: measuringWindow(run.document) };
}

/** The least and the most of the values of several runs, and their latest end: equal axes. */
export function span(all) {
  const values = all.filter(Boolean).flatMap((one) => one.rows.map((row) => row[2]));
  const most = values.reduce((best, one) => Math.max(best, one), 0);
  const least = values.reduce((best, one) => Math.min(best, one), most);
  return { least, most, end: Math.max(...all.filter(Boolean).map((one) => one.end)) };
}

function vertical(quantity, rows, hasPoints) {
  const { least, most } = span([{ rows, end: 0 }]);
  if (most === 0) { return { domain: [0, 1] }; }
  if (quantity.from_zero && hasPoints) { return { domain: [0, AROUND * most] }; }
  if (quantity.from_zero || least < most) { return { zero: quantity.from_zero }; }
  return { domain: [0.5 * most, 1.5 * most] };
}

/** The chart of what was measured; `small` without titles; `equal` is a `span` for its axes. */
export function chart(definitions, found, { small = false, equal = null } = {}) {
  const quantity = definitions.quantities[found.name];
  const spec = structuredClone(small ? quantity.small : quantity.whole);
  const counts = new Map();
  found.rows.forEach(([, id]) => counts.set(id, (counts.get(id) ?? 0) + 1));
  const alone = found.rows.filter(([, id]) => counts.get(id) === 1);
  let end = equal ? equal.end : found.end;
  if (alone.length) { end *= AROUND; }
  const least = equal && !quantity.from_zero ? 0.95 * equal.least : 0;
  const y = equal ? { domain: [least, AROUND * equal.most || 1] } : vertical(quantity, found.rows, alone.length > 0);
  const drawn = found.names.filter((name) => counts.has(name));
  const hasLegend = found.names.length > 1 && found.names.length <= definitions.legend.names;
  const hasWindow = found.window !== null && !(found.window[0] <= 0 && found.window[1] >= end);

  let [band, line, points] = spec.layer;
  for (const { encoding } of spec.layer) {
    encoding.x.scale.domain = [0, end];
    if (!encoding.color) { continue; }
    encoding.y.scale = y;
    encoding.color.scale.domain = found.names;
    if (!hasLegend) { encoding.color.legend = null; continue; }
    const longest = Math.max(...found.names.map((name) => name.length));
    const room = Math.max(Math.floor(definitions.legend.width / (SAMPLE_WIDTH + CHARACTER_WIDTH * longest)), 1);
    if (!small && found.names.length > room) { encoding.color.legend.columns = room; }
    if (drawn.length && drawn.length < found.names.length) { encoding.color.legend.values = drawn; }
  }
  if (!hasLegend) {
    delete line.encoding.opacity;
    spec.params = spec.params.filter((one) => one.name !== "lit");
  }
  spec.datasets = { lines: csv(found.rows) };
  if (hasWindow) {
    spec.datasets.window = `t,u\n${number(found.window[0])},${number(Math.min(found.window[1], end))}\n`;
  } else {
    band = null;
  }
  if (alone.length) { spec.datasets.alone = csv(alone); } else { points = null; }
  return layered(spec, [band, line, points].filter(Boolean), line);
}

// The layers that are left, each selection with the view that it belongs to, or the only one.
function layered(spec, layers, line) {
  if (layers.length > 1) {
    layers.forEach((one) => delete one.name);
    const views = new Set(spec.params.map((one) => (one.name === "lit" ? line : layers[0])));
    layers.filter((one) => views.has(one)).forEach((one, at) => { one.name = `view_${at}`; });
    spec.params.forEach((one) => { one.views = [(one.name === "lit" ? line : layers[0]).name]; });
    return { ...spec, layer: layers };
  }
  const { layer, ...rest } = spec;
  delete line.name;
  rest.params.forEach((one) => delete one.views);
  return { ...rest, ...line };
}
