// The page: what is typed is planned, run and drawn; everything else hangs on that.

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
import { fragment, fromFile, unpacked } from "./share.js";
import * as sweep from "./sweep.js";
import { scan, value } from "./toml.js";

// Typing that pauses for so many milliseconds is run.
const PAUSE = 150;

const FIRST = `# Two flows share one link: change a number, and see.
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

const state = { pinned: null, run: null, runs: null };
const engine = new Engine();

async function json(name, otherwise) {
  const answer = await fetch(`built/${name}`).catch(() => null);
  if (answer?.ok) { return answer.json(); }
  if (otherwise === undefined) { throw new Error(`built/${name} is missing; make it with \`make lab\``); }
  return otherwise;
}

const say = (words) => { byId("state").textContent = words; };

/** A message at the top, with what can be done about it. */
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
  byId("errors").replaceChildren(...errors.map(({ line, message }) => make("li", {},
    button(`Line ${line}: ${message}`, () => editor.goTo(line)))));
}

const runner = new Runner(engine, {
  began(count) {
    sweeps.said.textContent = "";
    showErrors([]);
    byId("progress").value = 0;
    // What is over at once shows no bar.
    clearTimeout(state.timer);
    state.timer = setTimeout(() => { busy(true); say(count > 1 ? `Running ${count} experiments…` : "Running…"); }, 150);
  },
  progress(share) { byId("progress").value = share; },
  asks(packets, text) {
    showErrors([]);
    ended();
    say(`This would be about ${number(packets / 1e6, 2)} million packets, which takes a while.`);
    byId("go").hidden = false;
    byId("go").onclick = () => { byId("go").hidden = true; runner.start(text, { isAllowed: true }); };
  },
  wrong(error, text) {
    ended();
    sweeps.said.textContent = "";
    if (text !== editor.text) {
      // The file is right, and what the form has made of it is not.
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
  async done(runs) {
    const [run] = runs;
    state.runs = runs;
    state.run = run;
    byId("pin").disabled = runs.length > 1;
    byId("title").textContent = run.title;
    document.title = `${run.title} – Fairway`;
    if (runs.length > 1) { await results.many(runs); }
    else if (state.pinned) { await results.two(state.pinned, run); }
    else { await results.one(run); }
    ended();
    const total = runs.reduce((sum, one) => sum + (one.parsed.packets ?? 0), 0);
    const seconds = runs.reduce((sum, one) => sum + one.seconds, 0);
    say(`${runs.length > 1 ? `${runs.length} runs, ` : ""}${number(total)} packets in ${number(seconds, 2)} s`);
    if (runs.length === 1) { exercises?.check(run.parsed); }
    performance.mark("fairway-drawn");
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  },
});

function ended() {
  clearTimeout(state.timer);
  busy(false);
}

const soon = debounced(PAUSE, () => start());

function start() {
  byId("go").hidden = true;
  runner.start(editor.text);
}

const editor = new Editor(byId("editor"), (text) => {
  keep("text", text);
  form.show();
  soon();
});
const form = new Form(byId("form"), () => editor.text, (text) => editor.replace(text));

const known = { promise: null };
/** Schema and algorithms, loaded when they are first needed. */
function catalogue() {
  known.promise ??= Promise.all([engine.schema(), engine.algorithms()]).then(([schema, algorithms]) => ({ schema, algorithms }));
  return known.promise;
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

/** Puts another experiment into the page; the text before it can be had back. */
function load(text) {
  const before = editor.text;
  if (before !== text) { editor.replace(text); } else { start(); }
  showPanel("experiment");
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

/** The experiment of the page's link, if it has one. */
async function linked() {
  try {
    const text = await unpacked(location.hash);
    if (text === null) { return null; }
    history.replaceState(null, "", location.pathname + location.search);
    return text;
  } catch (error) {
    history.replaceState(null, "", location.pathname + location.search);
    notice(`The experiment in this link cannot be read: ${error.message}. Ask for the link again.`);
    return null;
  }
}

function pin() {
  if (state.pinned) { state.pinned = null; results.one(state.run); } else { state.pinned = state.run; results.two(state.pinned, state.run); }
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
    await navigator.clipboard?.writeText(byId("link-text").value).catch(() => {});
    byId("copied").textContent = "Copied.";
  });
  byId("undo").addEventListener("click", () => editor.undo());
  byId("redo").addEventListener("click", () => editor.redo());
  byId("cancel").addEventListener("click", () => runner.cancel());
  byId("pin").addEventListener("click", pin);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && byId("downloads").open) { byId("downloads").open = false; byId("downloads").firstElementChild.focus(); }
  });
  document.addEventListener("click", (event) => { if (!byId("downloads").contains(event.target)) { byId("downloads").open = false; } });
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => { event.preventDefault(); document.body.classList.add("dragging"); });
  }
  for (const name of ["dragleave", "drop"]) {
    document.addEventListener(name, (event) => { event.preventDefault(); document.body.classList.remove("dragging"); });
  }
  document.addEventListener("drop", (event) => { const file = event.dataTransfer?.files[0]; if (file) { openFile(file); } });
  window.addEventListener("hashchange", async () => {
    const text = await linked();
    if (text !== null) { load(text); }
  });
  sweeps = sweep.form(byId("sweep-form"), () => editor.text, (text, isKept) => {
    if (isKept) { editor.replace(text); } else { runner.start(text); }
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
  if (shared !== null && shared !== editor.text) {
    const had = typeof own === "string";
    editor.replace(shared);
    if (had) { notice("This experiment comes from a link.", button("Back to mine", () => { editor.undo(); notice(""); })); }
  }
  await runner.start(editor.text);
  await fillChoices();
  const [examples, tasks] = await Promise.all([json("examples.json", []), json("exercises.json", [])]);
  const listed = Array.isArray(examples) ? examples : Object.entries(examples).map(([name, one]) => ({ name, ...one }));
  gallery.fill(byId("gallery-list"), listed, (example) => { byId("gallery").close(); load(example.text); });
  exercises = new Exercises(tasks, load);
  if (state.run) { exercises.check(state.run.parsed); }
}

begin().catch((error) => {
  say(`The page cannot work: ${error.message}`);
  console.error(error);
});
