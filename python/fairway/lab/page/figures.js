// Charts on the page: each is replaced when the next one is drawn, and not before.

import { button, make, save, fileName } from "./dom.js";

/** Resolves when the library that draws has loaded. */
const library = new Promise((resolve, reject) => {
  const script = document.getElementById("vega");
  if (window.vegaEmbed) { resolve(); return; }
  script.addEventListener("load", resolve);
  script.addEventListener("error", () => reject(new Error("built/vega.js is missing; make it with `make lab`")));
});

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
  const note = make("span", {});
  const figure = make("figure", {}, make("figcaption", {}, make("strong", {}, title), " ", note, " ",
    button("CSV", () => save(fileName(title, ".csv"), csvOf(figure.spec), "text/csv"), { className: "csv", "aria-label": `${title}: data as CSV` })), place);
  figure.place = place;
  figure.note = note;
  return figure;
}

/**
 * Shows charts, each {key, title, note, spec}, in a place; charts of the same key take turns.
 * Resolves when all are drawn.
 */
export async function showCharts(place, charts) {
  await library;
  const old = new Map(Array.from(place.querySelectorAll("figure"), (figure) => [figure.dataset.key, figure]));
  const wanted = new Set(charts.map((chart) => chart.key));
  for (const [key, figure] of old) {
    if (!wanted.has(key)) { window.fairwayCharts.letGo(figure.place); figure.remove(); }
  }
  await Promise.all(charts.map(async ({ key, title, note, spec }, at) => {
    let figure = old.get(key);
    if (!figure) {
      figure = frame(title);
      figure.dataset.key = key;
    }
    if (place.children[at] !== figure) { place.insertBefore(figure, place.children[at] ?? null); }
    const text = JSON.stringify(spec);
    figure.note.textContent = note ?? "";
    if (figure.text === text) { return; }
    figure.querySelector("strong").textContent = title;
    figure.text = text;
    figure.spec = spec;
    const before = figure.place;
    const next = make("div", { className: "chart coming" });
    figure.append(next);
    figure.place = next;
    await window.fairwayCharts.show(next, text);
    window.fairwayCharts.letGo(before);
    before.remove();
    next.classList.remove("coming");
  }));
}
