// Says why the page does not start. A classic script, because browsers load no modules from a file.
(function () {
  "use strict";
  if (window.location.protocol === "file:") {
    document.getElementById("unserved").hidden = false;
    document.querySelectorAll("main, nav, header .row").forEach(function (part) { part.hidden = true; });
    return;
  }
  document.addEventListener("error", function (event) {
    if (event.target.localName !== "script") { return; }
    document.getElementById("state").textContent = "The laboratory cannot start: " + event.target.src
      + " or a script that it imports cannot be loaded; check that the server has it, then reload the page.";
  }, true);
})();
