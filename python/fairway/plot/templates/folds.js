// Folds: a link to what is in one opens it, and print shows what is in all.
(function () {
  "use strict";

  function openAt() {
    const place = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (!place) { return; }
    const own = place.matches(".verdicts > li") ? place.querySelector("details") : place.closest("details");
    if (!own) { return; }
    own.open = true;
    place.scrollIntoView();
  }

  // Contents are of no use on paper, and a chart's menu is none of its text.
  const folds = Array.from(document.querySelectorAll("header details, main details:not(.chart details)"));
  let opened = [];

  window.addEventListener("beforeprint", function () {
    opened = folds.filter(function (fold) { return !fold.open; });
    opened.forEach(function (fold) { fold.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (fold) { fold.open = false; });
  });
  window.addEventListener("hashchange", openAt);
  openAt();
})();
