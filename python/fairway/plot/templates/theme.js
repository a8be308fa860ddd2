// The theme: that of the system, light or dark, and a button that chooses.
window.fairwayTheme = (function () {
  "use strict";
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const choices = ["system", "light", "dark"];
  const listeners = [];
  let choice = "system";
  try {
    const kept = window.localStorage.getItem("fairway-theme");
    if (choices.includes(kept)) { choice = kept; }
  } catch (error) { /* storage is closed to this page: the choice lasts as long as the page */ }

  function apply() {
    if (choice === "system") { root.removeAttribute("data-theme"); } else { root.dataset.theme = choice; }
    button.textContent = "Theme: " + choice;
  }

  function tell() { listeners.forEach(function (listener) { listener(); }); }

  button.addEventListener("click", function () {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length];
    try { window.localStorage.setItem("fairway-theme", choice); } catch (error) { /* as above */ }
    apply();
    tell();
  });
  system.addEventListener("change", function () { if (choice === "system") { tell(); } });
  apply();
  return {
    isDark: function () { return choice === "dark" || (choice === "system" && system.matches); },
    onChange: function (listener) { listeners.push(listener); }
  };
})();
