// Numbers as people read them: as python/fairway/ground/text.py writes them.

export const ABSENT = "–";
const TIMES = ["delay", "rtt", "sojourn", "jitter"];
const RATES = [["Tbit/s", 1e12], ["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]];

const grouped = (value, places) => value.toLocaleString("en", {
  minimumFractionDigits: places, maximumFractionDigits: places,
});
const order = (value) => Math.floor(Math.log10(Math.abs(value)));

/** A number with that many significant digits, thousands apart, no exponent if avoidable. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) { return ABSENT; }
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) { return grouped(value, 0); }
  if (size >= 1e-4 && size < 1e15) { return grouped(value, Math.max(0, digits - 1 - order(value))); }
  return value.toExponential(digits - 1);
}

/** Numbers under each other, all with as many decimals. */
export function column(values) {
  const known = values.filter((value) => value !== null && Number.isFinite(value));
  const sizes = known.filter((value) => value).map(Math.abs);
  if (!sizes.length || known.every(Number.isInteger)) { return values.map((value) => number(value)); }
  const largest = Math.max(...sizes);
  if (largest < 1e-4) { return values.map((value) => number(value)); }
  const large = Math.min(...sizes.filter((size) => size >= largest / 10));
  const least = order(Math.min(...sizes));
  const places = Math.max(3 - order(large), -least <= 4 ? Math.min(1 - least, 4) : 0, 0);
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) { return ABSENT; }
    const smallest = 10 ** -places;
    const isTooSmall = value !== 0 && Math.abs(value) < smallest / 2;
    return isTooSmall ? `<${grouped(smallest, places)}` : grouped(value, places);
  });
}

function rateUnit(value) { return RATES.find(([, factor]) => value >= factor) ?? ["bit/s", 1]; }

/** The unit that a figure is shown in, and what its values are multiplied by for it. */
function unitOf(name, values) {
  if (name.endsWith("_bps")) {
    const sizes = values.filter((value) => value).map(Math.abs);
    const [unit, factor] = sizes.length ? rateUnit(Math.sqrt(Math.min(...sizes) * Math.max(...sizes))) : RATES[2];
    return [unit, 1 / factor];
  }
  if (!name.endsWith("_s")) { return ["", 1]; }
  return TIMES.some((part) => name.includes(part)) ? ["ms", 1e3] : ["s", 1];
}

/** A figure's name in words, without its unit. */
export function named(name) {
  return name.replace(/_(bps|s)$/, "").replaceAll("_", " ").replace("one way", "one-way").replace("retransmitted", "retrans.");
}

/** A figure of several rows: its heading with its unit, and its cells. */
export function figures(name, values) {
  const [unit, factor] = unitOf(name, values);
  const scaled = values.map((value) => (typeof value === "number" ? Number((value * factor).toPrecision(12)) : null));
  return { heading: unit ? `${named(name)} (${unit})` : named(name), cells: column(scaled) };
}

/** A figure's value with its unit. */
export function figure(name, value) {
  if (typeof value !== "number") { return ABSENT; }
  const [unit, factor] = unitOf(name, [value]);
  return `${number(Number((value * factor).toPrecision(12)))}${unit ? ` ${unit}` : ""}`;
}
