// Long tables and lists: rows are searched, chosen by value, sorted, and found again by the address.
(function () {
  "use strict";
  const numeric = new Intl.Collator("en", { numeric: true });

  function value(text) {
    const found = text.replace(/,(?=\d{3})/g, "").match(/-?\d[\d.]*(e[-+]?\d+)?/);
    return found ? Number(found[0]) : NaN;
  }

  // A block is a table or a list with its tools; `state` is what is chosen, and part of the address.
  function block(place) {
    const list = place.querySelector(":scope > .verdicts");
    const table = list ? null : place.querySelector("table");
    const rows = Array.from(list ? list.children : place.querySelectorAll("tbody tr"));
    const form = place.querySelector(".tools");
    if (!form) { return null; }
    const said = form.querySelector("output");
    const search = form.querySelector("input");
    const choices = Array.from(form.querySelectorAll("select"));
    let pick = "";

    function valuesOf(row, choice) {
      if (choice.dataset.column) { return [row.cells[Number(choice.dataset.column)].textContent]; }
      return row.getAttribute("data-tag-" + choice.dataset.tag).split("|").filter(Boolean);
    }

    choices.forEach(function (choice) {
      const known = new Set(rows.flatMap(function (row) { return valuesOf(row, choice); }));
      known.forEach(function (name) { choice.add(new Option(name, name)); });
    });

    function matches(row, words) {
      const text = row.textContent.toLowerCase();
      return words.every(function (word) { return text.includes(word); })
        && choices.every(function (c) { return !c.value || valuesOf(row, c).includes(c.value); })
        && (!pick || row.dataset.pick.split("|").includes(pick));
    }

    function show() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      rows.forEach(function (row) {
        const shown = matches(row, words);
        row.classList.toggle("left-out", !shown);
        count += shown ? 1 : 0;
      });
      const noun = table ? "rows" : "claims";
      said.textContent = count === rows.length ? count + " " + noun : count + " of " + rows.length + " " + noun;
    }

    function query() {
      const asked = new URLSearchParams();
      [search].concat(choices).forEach(function (field) {
        if (field.value) { asked.set(field.name, field.value); }
      });
      if (pick) { asked.set("pick", pick); }
      return asked.toString();
    }

    function changed() {
      show();
      const asked = query();
      window.history.replaceState(null, "", "#" + place.id + (asked ? "?" + asked : ""));
    }

    function set(asked) {
      [search].concat(choices).forEach(function (field) { field.value = asked.get(field.name) || ""; });
      pick = asked.get("pick") || "";
      show();
    }

    form.addEventListener("input", changed);
    form.querySelector(".clear").addEventListener("click", function () {
      set(new URLSearchParams());
      changed();
      search.focus();
    });
    if (table) { sortable(table, rows); }
    form.hidden = false;
    show();
    return { place: place, set: set };
  }

  function sortable(table, rows) {
    const heads = Array.from(table.tHead.rows[0].cells);
    const next = { none: "ascending", ascending: "descending", descending: "none" };

    function compare(column, isNumber, sign) {
      return function (left, right) {
        const [a, b] = [left, right].map(function (row) { return row.cells[column].textContent; });
        if (!isNumber) { return sign * numeric.compare(a, b); }
        const [x, y] = [value(a), value(b)];
        // What has no value comes last, either way.
        if (isNaN(x) || isNaN(y)) { return Number(isNaN(x)) - Number(isNaN(y)); }
        return sign * (x - y);
      };
    }

    heads.forEach(function (head, column) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", function () {
        const order = next[head.getAttribute("aria-sort")];
        heads.forEach(function (other) { other.setAttribute("aria-sort", "none"); });
        head.setAttribute("aria-sort", order);
        const sorted = order === "none" ? rows
          : rows.slice().sort(compare(column, head.classList.contains("n"), order === "ascending" ? 1 : -1));
        table.tBodies[0].append(...sorted);
      });
    });
  }

  const blocks = Array.from(document.querySelectorAll(".rows"), block).filter(Boolean);

  // "#runs?pick=7" is the table "runs" with those rows.
  function follow() {
    const [id, asked] = window.location.hash.slice(1).split("?");
    const found = blocks.find(function (of) { return of.place.id === id; });
    if (!found || asked === undefined) { return; }
    found.set(new URLSearchParams(asked));
    found.place.scrollIntoView();
    (found.place.querySelector(".scroll") || found.place).focus({ preventScroll: true });
  }

  document.querySelectorAll("a[data-rows]").forEach(function (link) {
    link.href = link.getAttribute("href") + "?" + link.dataset.rows;
  });
  window.addEventListener("hashchange", follow);
  follow();
})();
