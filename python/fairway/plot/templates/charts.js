// Charts, the first of which are there when the page is; their tooltips; and zooming.
(function () {
  "use strict";

  function chartConfig() {
    const dark = window.fairwayTheme.isDark();
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
      // Room for numbers, as much in every chart: plots above each other begin at the same place.
      axisY: { minExtent: 40 },
      title: { color: ink, subtitleColor: ink },
      style: { ink: { stroke: ink } }, rule: { color: ink }, text: { color: ink }, view: { stroke: null }
    };
  }

  const charts = Array.from(document.querySelectorAll(".chart"), function (place) {
    return { place: place, spec: place.nextElementSibling.textContent, drawn: null, view: null };
  });
  // Charts that are drawn before the page is shown, so that a picture of it taken at once has them.
  const AT_ONCE = 12;

  function titleOf(figure) { return figure.querySelector("figcaption strong").textContent; }

  // Rows of a table as CSV, which has no quoted line breaks.
  function rows(csv) {
    const cells = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g;
    const lines = csv.split("\n").filter(Boolean).map(function (line) {
      return Array.from(line.matchAll(cells), function (cell) {
        return cell[1] === undefined ? cell[2] : cell[1].replace(/""/g, '"');
      });
    });
    return lines.slice(1).map(function (line) {
      return Object.fromEntries(lines[0].map(function (name, at) { return [name, line[at]]; }));
    });
  }

  // The definition with its tables as rows: Vega makes a function of text to read CSV, which the
  // page's policy forbids.
  function readable(spec) {
    Object.entries(spec.datasets || {}).forEach(function ([name, values]) {
      if (typeof values === "string") { spec.datasets[name] = rows(values); }
    });
    nodes(spec).forEach(function (node) {
      if (typeof node.values === "string") { node.values = rows(node.values); }
      if (node.format && node.format.type === "csv") { delete node.format.type; }
    });
    return spec;
  }

  function draw(chart) {
    if (chart.view) { chart.view.finalize(); }
    const actions = { export: true, source: false, compiled: false, editor: false };
    const spec = readable(JSON.parse(chart.spec));
    // Charts of thousands of marks ask for pixels.
    const renderer = (spec.usermeta && spec.usermeta.renderer) || "svg";
    // Expressions are interpreted (`ast`) and looks are in the style sheet, as the policy has it.
    const options = { config: chartConfig(), renderer: renderer, actions: actions, ast: true,
                      defaultStyle: false, forceActionsMenu: true, tooltip: { disableDefaultStyle: true } };
    chart.drawn = window.vegaEmbed(chart.place, spec, options).then(function (result) {
      if (!charts.includes(chart)) { result.finalize(); return; }
      chart.view = result;
      chart.place.vegaView = result.view; // for a console
      linkZoom(chart);
      showNearest(chart);
      const drawing = chart.place.querySelector("[role=graphics-document]");
      if (drawing) { drawing.setAttribute("aria-label", titleOf(chart.place.closest("figure")) + ": " + spec.description); }
      const menu = chart.place.querySelector("summary");
      if (menu) { menu.setAttribute("aria-label", "Save this chart as a picture"); }
    }).catch(function (error) {
      chart.place.textContent = "This chart could not be drawn: " + error.message;
      console.error(error);
    });
  }

  // The points of lines and the marks that have something to say, where they are in the chart.
  function points(view) {
    const found = [];
    function walk(mark, x, y, width) {
      mark.items.forEach(function (item) {
        if (mark.marktype === "group") {
          item.items.forEach(function (inner) {
            walk(inner, x + (item.x || 0), y + (item.y || 0), item.width || Infinity);
          });
        } else if (mark.role === "mark" && item.tooltip && item.opacity !== 0.12
                   && (mark.marktype === "line" || mark.marktype === "symbol")
                   && item.x >= 0 && item.x <= width) {
          found.push({ x: x + item.x, y: y + item.y, item: item });
        }
      });
    }
    walk(view.scenegraph().root, 0, 0, Infinity);
    return found;
  }

  // What is nearest to the pointer tells its numbers, and not only what is right under it.
  function showNearest(chart) {
    const view = chart.view.view;
    const dot = document.createElement("div");
    dot.className = "dot";
    dot.hidden = true;
    chart.place.append(dot);
    let under = null;
    view.addEventListener("pointermove", function (event, item) { under = item; });
    chart.place.addEventListener("pointerleave", function (event) {
      dot.hidden = true;
      view.tooltip().call(view, view._handler, event, null, null);
    });
    chart.place.addEventListener("pointermove", function (event) {
      dot.hidden = true;
      const drawing = chart.place.querySelector("svg.marks, canvas.marks");
      if (!drawing || !drawing.contains(event.target)) { return; }
      const box = drawing.getBoundingClientRect();
      const [left, top] = [view.origin()[0] + view.padding().left, view.origin()[1] + view.padding().top];
      const [x, y] = [event.clientX - box.left - left, event.clientY - box.top - top];
      // A mark of its own that is under the pointer, and no line or band, has said what it is.
      const kind = under && under.tooltip && under.mark.marktype;
      if (x < 0 || y < 0 || y > view.height() || (kind && kind !== "line" && kind !== "rect")) { return; }
      let nearest = null;
      let least = kind === "rect" ? 24 : Infinity;
      points(view).forEach(function (point) {
        const far = Math.hypot(point.x - x, point.y - y);
        if (far < least) { [nearest, least] = [point, far]; }
      });
      if (!nearest) { return; }
      const place = chart.place.getBoundingClientRect();
      dot.style.left = (box.left - place.left + left + nearest.x) + "px";
      dot.style.top = (box.top - place.top + top + nearest.y) + "px";
      dot.hidden = false;
      view.tooltip().call(view, view._handler, event, nearest.item, nearest.item.tooltip);
    });
  }

  // Charts of one section over the same time are moved and zoomed together.
  const ZOOM = "zoom_t";
  const groups = new Map();

  function linkZoom(chart) {
    const view = chart.view.view;
    let domain;
    try { domain = view.signal(ZOOM) === undefined && view.scale("x").domain(); } catch (error) { return; }
    const section = chart.place.closest("section").id;
    const key = chart.group || (domain ? section + " " + domain : null);
    if (!key) { return; }
    chart.group = key;
    if (!groups.has(key)) { groups.set(key, { shown: null }); }
    const group = groups.get(key);
    if (group.shown) { view.signal(ZOOM, group.shown).runAsync(); }
    view.addSignalListener(ZOOM, function (name, shown) {
      if (String(shown) === String(group.shown)) { return; }
      group.shown = shown;
      charts.forEach(function (other) {
        if (other !== chart && other.group === key && other.view) { other.view.view.signal(ZOOM, shown).runAsync(); }
      });
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
    const inside = every.filter(function (node) { return typeof node.values === "string"; })
      .map(function (node) { return node.values; });
    // Of several, such as a shaded span and lines, the one with most.
    const data = inside.concat(Object.values(spec.datasets || {})).sort(function (a, b) { return b.length - a.length; })[0];
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

  // For a page whose charts come and go: a place that is on the page shows a definition, and one
  // that is about to leave it lets its chart go.
  window.fairwayCharts = {
    show: function (place, spec) {
      const chart = { place: place, spec: spec, drawn: null, view: null };
      charts.push(chart);
      draw(chart);
      return chart.drawn;
    },
    letGo: function (place) {
      const at = charts.findIndex(function (chart) { return chart.place === place; });
      if (at >= 0 && charts[at].view) { charts[at].view.finalize(); }
      if (at >= 0) { charts.splice(at, 1); }
    }
  };

  window.fairwayTheme.onChange(function () {
    charts.forEach(function (chart) { if (chart.drawn) { draw(chart); } });
  });

  function drawOnce(chart) {
    if (!chart.drawn) { draw(chart); }
    return chart.drawn;
  }

  window.addEventListener("beforeprint", function () { charts.forEach(drawOnce); });

  // Promises of these are kept before the page has loaded; the others come in turn, or when near.
  charts.slice(0, AT_ONCE).forEach(drawOnce);
  (async function () {
    for (const chart of charts.slice(AT_ONCE)) {
      await new Promise(function (next) { window.setTimeout(next); });
      await drawOnce(chart);
    }
  })();
  const near = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (!entry.isIntersecting) { return; }
      near.unobserve(entry.target);
      drawOnce(charts.find(function (chart) { return chart.place === entry.target; }));
    });
  }, { rootMargin: "600px" });
  charts.forEach(function (chart) { near.observe(chart.place); });
})();
