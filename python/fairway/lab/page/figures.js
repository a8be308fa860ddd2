// Charts on the page: each stays until its replacement is drawn.

import { button, make, save, fileName } from "./dom.js";

const missing = (file) => `${file} cannot be loaded; check that the server has it, then reload the page`;

/** Resolves when the drawing library has loaded. */
const library = new Promise((resolve, reject) => {
  document.head.append(make("script", {
    src: "built/vega.js", onload: resolve,
    onerror: () => reject(new Error(missing("built/vega.js"))),
  }));
});
// Awaited when charts are drawn.
library.catch(() => {});

function csvOf(spec) {
  const titles = { id: "name" };
  for (const part of spec.layer ?? [spec]) {
    const { x, y } = part.encoding;
    if (y) { titles.t = x.title ?? "Time (s)"; titles.v = part.encoding.tooltip?.[2]?.title ?? y.title; }
  }
  const [head, ...rows] = spec.datasets.lines.split("\n");
  return [head.split(",").map((name) => JSON.stringify(titles[name] ?? name)).join(","), ...rows].join("\n");
}

function frame(title) {
  const place = make("div", { className: "chart" });
  const note = make("p", { className: "hint" });
  const figure = make("figure", {}, make("figcaption", {}, make("strong", {}, title), " ",
    button("CSV", () => save(fileName(title, ".csv"), csvOf(figure.spec), "text/csv"), { className: "csv", "aria-label": `${title}: data as CSV` })), place, note);
  figure.place = place;
  figure.note = note;
  return figure;
}

// Counts the calls: an earlier one stops.
let turn = 0;

/** Lets the browser paint. */
const painted = () => new Promise((resolve) => { setTimeout(resolve); });

/**
 * Draws charts, each {key, title, note, spec}, in a place, one after the other; a chart replaces
 * that of its key. Resolves to whether all are drawn: a later call stops this one.
 */
export async function showCharts(place, charts) {
  turn += 1;
  const own = turn;
  await library;
  if (!window.fairwayCharts) { throw new Error(missing("built/charts.js")); }
  const old = new Map(Array.from(place.querySelectorAll("figure"), (figure) => [figure.dataset.key, figure]));
  const wanted = new Set(charts.map((chart) => chart.key));
  for (const [key, figure] of old) {
    if (!wanted.has(key)) { window.fairwayCharts.letGo(figure.place); figure.remove(); }
  }
  const figures = charts.map(({ key, title }) => {
    const figure = old.get(key) ?? frame(title);
    figure.dataset.key = key;
    return figure;
  });
  figures.forEach((figure, at) => {
    if (place.children[at] !== figure) { place.insertBefore(figure, place.children[at] ?? null); }
  });
  for (const [at, figure] of figures.entries()) {
    if (own !== turn) { return false; }
    await show(figure, charts[at]);
    if (at + 1 < figures.length) { await painted(); }
  }
  return own === turn;
}

async function show(figure, { title, note, spec }) {
  figure.querySelector("strong").textContent = title;
  figure.note.textContent = note ?? "";
  figure.note.hidden = !note;
  const text = JSON.stringify(spec);
  if (figure.text === text) { return; }
  figure.text = text;
  figure.spec = spec;
  const before = figure.place;
  const next = make("div", { className: "chart coming" });
  before.after(next);
  figure.place = next;
  await window.fairwayCharts.show(next, text);
  window.fairwayCharts.letGo(before);
  before.remove();
  next.classList.remove("coming");
}
