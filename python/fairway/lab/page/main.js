// The page: plans, runs and draws the experiment as it is typed.

import { Completion, schemaAt } from "./complete.js";
import { button, byId, debounced, make } from "./dom.js";
import { download } from "./downloads.js";
import { Editor } from "./editor.js";
import { Engine } from "./engine.js";
import { located } from "./errors.js";
import { Exercises } from "./exercises.js";
import { Form } from "./form.js";
import * as gallery from "./gallery.js";
import { keep, kept } from "./keep.js";
import { number } from "./numbers.js";
import { Results } from "./results.js";
import { Runner } from "./runner.js";
import { fragment, fromFile, isLink, unpacked } from "./share.js";
import * as sweep from "./sweep.js";
import { scan, value } from "./toml.js";

// A pause in typing, in milliseconds, that starts a run.
const PAUSE = 150;

const FIRST = `# Two flows share one link: change a number and watch the charts.
title    = "CUBIC and Reno on one link"
duration = "30 s"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "1 bdp" }

[[flow]]
cc = "cubic"

[[flow]]
cc    = "reno"
start = "2 s"
`;

const state = { pinned: null, run: null, swept: null };
const engine = new Engine();

async function json(name, otherwise) {
  const answer = await fetch(`built/${name}`).catch(() => null);
  if (answer?.ok) { return answer.json(); }
  if (otherwise === undefined) { throw new Error(`built/${name} cannot be loaded; check that the server has it, then reload the page`); }
  return otherwise;
}

const say = (words) => { byId("state").textContent = words; };

/** A message at the top, with buttons for what can be done. */
function notice(words, ...actions) {
  const place = byId("notice");
  place.hidden = !words;
  place.replaceChildren(...(words ? [make("p", {}, words), ...actions, button("Close", () => notice(""))] : []));
}

function busy(isBusy) {
  byId("progress").hidden = byId("cancel").hidden = !isBusy;
  byId("go").hidden = true;
  byId("charts").classList.toggle("stale", isBusy);
}

function showErrors(errors) {
  editor.setErrors(errors);
  const items = errors.map(({ line, message }) => make("li", {},
    button(message.startsWith("line ") ? message : `Line ${line}: ${message}`, () => editor.goTo(line))));
  byId("errors").replaceChildren(...(items.length ? [make("ul", { "aria-label": "Errors" }, items)] : []));
}

const runner = new Runner(engine, {
  began(count) {
    sweeps.said.textContent = "";
    showErrors([]);
    byId("progress").value = 0;
    // A short run shows no bar.
    clearTimeout(state.timer);
    state.timer = setTimeout(() => { busy(true); say(count > 1 ? `Running ${count} experiments…` : "Running…"); }, 150);
  },
  progress(share) { byId("progress").value = share; },
  asks(packets, text) {
    showErrors([]);
    ended();
    say(`About ${number(packets / 1e6, 2)} million packets: this run takes a while.`);
    byId("go").hidden = false;
    byId("go").onclick = () => run(text, { isAllowed: true });
  },
  wrong(error, text) {
    ended();
    sweeps.said.textContent = "";
    if (text === state.swept) {
      // The error is in the form's sweep, not in the file.
      sweeps.said.textContent = located(error.message, text).map((one) => one.message).join("; ");
      say("The sweep cannot run; the charts are of the last run.");
      return;
    }
    showErrors(located(error.message, text));
    say("The experiment has an error; the charts are of the last run.");
  },
  cancelled() {
    ended();
    say("Cancelled; the charts are of the last run.");
  },
  async done(runs, planned, isCurrent) {
    const isSingle = runs.length === 1;
    const [run] = runs;
    state.run = run;
    byId("pin").disabled = !isSingle;
    document.querySelectorAll("[data-save]").forEach((one) => { one.disabled = one.dataset.save !== "toml" && !isSingle; });
    byId("title").textContent = run.title;
    document.title = `${run.title} – Fairway`;
    await (isSingle ? drawRun() : results.many(runs));
    if (!isCurrent()) { return; }
    ended();
    const total = runs.reduce((sum, one) => sum + (one.parsed.packets ?? 0), 0);
    const seconds = runs.reduce((sum, one) => sum + one.seconds, 0);
    const which = planned > runs.length
      ? `The first of ${planned} runs (the page draws ${sweep.MOST} at most): ` : isSingle ? "" : `${runs.length} runs, `;
    say(`${which}${number(total)} packets in ${number(seconds, 2)} s`);
    if (isSingle) { exercises?.check(run.parsed, run.document); }
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  },
});

function ended() {
  clearTimeout(state.timer);
  busy(false);
}

/** Draws the last run, beside the pinned one if there is one. */
function drawRun() { return state.pinned ? results.two(state.pinned, state.run) : results.one(state.run); }

const soon = debounced(PAUSE, () => run(editor.text));

/** Runs a text in place of what runs or is about to. */
function run(text, options) {
  soon.stop();
  byId("go").hidden = true;
  if (text === editor.text) { state.swept = null; }
  return runner.start(text, options).catch(failed);
}

/** Reports an error of the page itself. */
function failed(error) {
  ended();
  say(`The laboratory failed: ${error.message}`);
  console.error(error);
}

const editor = new Editor(byId("editor"), (text) => {
  keep("text", text);
  form.show();
  soon();
});
const form = new Form(byId("form"), () => editor.text, (text) => editor.replace(text));

let known = null;
/** Schema and algorithms, loaded when they are first needed. */
function catalogue() {
  known ??= Promise.all([engine.schema(), engine.ready]).then(([schema, { algorithms }]) => ({ schema, algorithms }));
  return known;
}

new Completion(editor, catalogue);

async function fillChoices() {
  const { schema, algorithms } = await catalogue();
  const at = (path) => schemaAt(schema, path).flatMap((node) => node.enum ?? []);
  form.choose({
    algorithms: algorithms.map((one) => one.name),
    disciplines: at(["topology", "bottleneck", "queue", "kind"]),
    presets: at(["stack", "preset"]),
  });
}

/** Opens another experiment; undo returns the one before it. */
function load(text) {
  editor.replace(text);
  run(editor.text);
  showPanel("experiment");
}

/** Opens the experiment of a link, which leaves a way back. */
function loadLinked(text) {
  const before = editor.text;
  load(text);
  if (before !== editor.text && before !== FIRST) {
    notice("This experiment comes from a link.", button("Back to mine", () => { load(before); notice(""); }));
  }
}

function showPanel(name) {
  document.querySelectorAll(".panel").forEach((panel) => panel.classList.toggle("shown", panel.id === name));
  document.querySelectorAll(".tabs button").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.panel === name)));
}

async function openFile(file) {
  try { load(await fromFile(file)); notice(""); } catch (error) { notice(error.message); }
}

async function share() {
  try {
    const end = await fragment(editor.text);
    byId("link-text").value = location.href.replace(/#.*/, "") + end;
    byId("copied").textContent = "";
    byId("link").showModal();
    byId("link-text").select();
  } catch (error) {
    notice(error.message);
  }
}

/** The experiment in the page's address, if it has one; the address loses it. */
async function linked() {
  const { hash } = location;
  if (!isLink(hash)) { return null; }
  history.replaceState(null, "", location.pathname + location.search);
  try {
    return await unpacked(hash);
  } catch (error) {
    notice(`The experiment in this link cannot be read: ${error.message}. Ask for the link again.`);
    return null;
  }
}

function pin() {
  state.pinned = state.pinned ? null : state.run;
  drawRun().catch(failed);
  byId("pin").textContent = state.pinned ? "Unpin" : "Pin this run";
  byId("pin").setAttribute("aria-pressed", String(state.pinned !== null));
}

function wire() {
  document.querySelectorAll("[data-close]").forEach((one) => one.addEventListener("click", () => one.closest("dialog").close()));
  document.querySelectorAll(".tabs button").forEach((one) => one.addEventListener("click", () => showPanel(one.dataset.panel)));
  document.querySelectorAll("[data-save]").forEach((one) => one.addEventListener("click", () => {
    download(one.dataset.save, editor.text, String(value(scan(editor.text), ["title"]) ?? "experiment"), state.run);
    byId("downloads").open = false;
  }));
  byId("open-gallery").addEventListener("click", () => byId("gallery").showModal());
  byId("open-exercises").addEventListener("click", () => byId("exercises").showModal());
  byId("open-file").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", (event) => { if (event.target.files[0]) { openFile(event.target.files[0]); } event.target.value = ""; });
  byId("share").addEventListener("click", share);
  byId("copy").addEventListener("click", async () => {
    byId("link-text").select();
    try {
      await navigator.clipboard.writeText(byId("link-text").value);
      byId("copied").textContent = "Copied.";
    } catch {
      // The page may not write to the clipboard, or the host has no HTTPS.
      byId("copied").textContent = "Selected: copy it with Ctrl+C.";
    }
  });
  byId("undo").addEventListener("click", () => editor.undo());
  byId("redo").addEventListener("click", () => editor.redo());
  byId("cancel").addEventListener("click", () => runner.cancel());
  byId("pin").addEventListener("click", pin);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && byId("downloads").open) { byId("downloads").open = false; byId("downloads").firstElementChild.focus(); }
  });
  document.addEventListener("click", (event) => { if (!byId("downloads").contains(event.target)) { byId("downloads").open = false; } });
  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      // Text that is dragged stays the browser's.
      if (!event.dataTransfer?.types.includes("Files")) { return; }
      event.preventDefault();
      document.body.classList.toggle("dragging", ["dragenter", "dragover"].includes(name));
      if (name === "drop" && event.dataTransfer.files[0]) { openFile(event.dataTransfer.files[0]); }
    });
  }
  window.addEventListener("hashchange", async () => {
    const text = await linked();
    if (text !== null) { loadLinked(text); }
  });
  sweeps = sweep.form(byId("sweep-form"), () => editor.text, (text, isKept) => {
    if (isKept) { editor.replace(text); return; }
    state.swept = text;
    run(text);
  });
}

let results = null;
let sweeps = null;
let exercises = null;

async function begin() {
  wire();
  const definitions = json("charts.json");
  const shared = await linked();
  const own = kept("text", null);
  editor.begin(typeof own === "string" ? own : FIRST);
  form.show();
  results = new Results(await definitions);
  const { version } = await engine.ready;
  byId("version").textContent = version;
  if (shared === null) { await run(editor.text); } else { loadLinked(shared); }
  await fillChoices();
  const [examples, tasks] = await Promise.all([json("examples.json", {}), json("exercises.json", [])]);
  const listed = Object.entries(examples).map(([name, one]) => ({ name, ...one }));
  gallery.fill(byId("gallery-list"), listed, (example) => { byId("gallery").close(); load(example.text); });
  exercises = new Exercises(tasks, load, (text) => engine.plan(text));
  if (state.run) { exercises.check(state.run.parsed, state.run.document); }
}

begin().catch(failed);
