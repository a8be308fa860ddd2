// Themes, and charts that are drawn when they come near.
(function () {
  "use strict";
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const choices = ["system", "light", "dark"];
  let choice = "system";
  try {
    const kept = window.localStorage.getItem("fairway-theme");
    if (choices.includes(kept)) { choice = kept; }
  } catch (error) { /* storage is closed to this page: the choice lasts as long as the page */ }

  function isDark() { return choice === "dark" || (choice === "system" && system.matches); }

  function chartConfig() {
    const dark = isDark();
    const ink = dark ? "#d5dae0" : "#333a42";
    const line = dark ? "#343b44" : "#e3e7eb";
    return {
      background: "transparent",
      font: "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif",
      range: { category: {{ colours | tojson }}[dark ? "dark" : "light"] },
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line,
              titleFontWeight: 500, labelFontSize: 11, titleFontSize: 12 },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, symbolStrokeWidth: 2,
                layout: { top: { direction: "vertical", anchor: "start", margin: 4 } } },
      title: { color: ink, subtitleColor: ink },
      style: { ink: { stroke: ink } }, rule: { color: ink }, text: { color: ink }, view: { stroke: null }
    };
  }

  const charts = Array.from(document.querySelectorAll(".chart"), function (place) {
    return { place: place, spec: place.nextElementSibling.textContent, drawn: false, view: null };
  });

  function titleOf(figure) { return figure.querySelector("figcaption strong").textContent; }

  function draw(chart) {
    chart.drawn = true;
    if (chart.view) { chart.view.finalize(); }
    const actions = { export: true, source: false, compiled: false, editor: false };
    const spec = JSON.parse(chart.spec);
    // Charts of thousands of marks ask for pixels.
    const renderer = (spec.usermeta && spec.usermeta.renderer) || "svg";
    const options = { config: chartConfig(), renderer: renderer, actions: actions };
    window.vegaEmbed(chart.place, spec, options).then(function (result) {
      chart.view = result;
      const drawing = chart.place.querySelector("[role=graphics-document]");
      if (drawing) { drawing.setAttribute("aria-label", titleOf(chart.place.closest("figure")) + ": " + spec.description); }
      const menu = chart.place.querySelector("summary");
      if (menu) { menu.setAttribute("aria-label", "Save this chart as a picture"); }
    }).catch(function (error) {
      chart.place.textContent = "This chart could not be drawn: " + error.message;
      console.error(error);
    });
  }

  // Every node of a chart's definition, which is a tree.
  function nodes(of) {
    return of && typeof of === "object" ? [of].concat(Object.values(of).flatMap(nodes)) : [];
  }

  // The numbers of a chart: those that are given with it, or those that it draws, under their titles.
  function numbers(figure) {
    const given = figure.querySelector("script.data");
    if (given) { return JSON.parse(given.textContent); }
    const spec = JSON.parse(figure.querySelector("script.spec").textContent);
    const every = nodes(spec);
    const inside = every.find(function (node) { return typeof node.values === "string"; });
    const data = inside ? inside.values : Object.values(spec.datasets)[0];
    const titles = {};
    every.forEach(function (node) { if (node.field && typeof node.title === "string") { titles[node.field] = node.title; } });
    const lines = data.split("\n");
    const head = lines[0].split(",").map(function (name) { return JSON.stringify(titles[name] || name); });
    return [head.join(",")].concat(lines.slice(1)).join("\n");
  }

  document.querySelectorAll("button.csv").forEach(function (button) {
    const figure = button.closest("figure");
    button.hidden = false;
    button.addEventListener("click", function () {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([numbers(figure)], { type: "text/csv" }));
      link.download = titleOf(figure).replace(/[^A-Za-z0-9]+/g, "-") + ".csv";
      link.click();
      window.setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
    });
  });

  function redraw() { charts.forEach(function (chart) { if (chart.drawn) { draw(chart); } }); }

  function applyTheme() {
    if (choice === "system") { root.removeAttribute("data-theme"); } else { root.dataset.theme = choice; }
    button.textContent = "Theme: " + choice;
  }

  button.addEventListener("click", function () {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length];
    try { window.localStorage.setItem("fairway-theme", choice); } catch (error) { /* as above */ }
    applyTheme();
    redraw();
  });
  system.addEventListener("change", function () { if (choice === "system") { redraw(); } });
  window.addEventListener("beforeprint", function () {
    charts.forEach(function (chart) { if (!chart.drawn) { draw(chart); } });
  });

  applyTheme();
  const near = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (!entry.isIntersecting) { return; }
      near.unobserve(entry.target);
      draw(charts.find(function (chart) { return chart.place === entry.target; }));
    });
  }, { rootMargin: "600px" });
  charts.forEach(function (chart) { near.observe(chart.place); });
})();
