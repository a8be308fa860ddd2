// Examples that teach, in groups.

import { button, make } from "./dom.js";

const GROUPS = [
  ["First steps", ["single", "pair", "shares", "asymmetric", "lossy"]],
  ["Queues", ["queues", "aqm", "l4s", "priority"]],
  ["Links that change", ["changes", "impairments", "lte"]],
  ["Many flows and other traffic", ["incast", "short-flows", "workloads", "datagrams", "tcp-udp", "parallel", "parallel-greedy"]],
  ["Larger networks", ["parking-lot", "routes", "fat-tree", "fat-tree-incast", "fat-tree-permutation"]],
  ["Wireless", ["wlan", "wlan-anomaly", "wlan-protection"]],
];
const OTHERS = "Others";

/** The first sentence of the comment at the top of an experiment, without its file's name. */
function sentence(text) {
  const lines = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("#")) { break; }
    if (!/^#\s*\S+\.toml\s*$/.test(line)) { lines.push(line.replace(/^#\s?/, "")); }
  }
  const said = lines.join(" ").trim();
  // An example of a study begins with the study's name and a colon.
  const bare = said.replace(/^\S+: /, "");
  return /^.*?\.(?=\s|$)/.exec(bare)?.[0] ?? bare;
}

/** Fills a place with the examples; `open(example)` shows one. */
export function fill(place, examples, open) {
  const known = new Set(GROUPS.flatMap(([, names]) => names));
  const groups = [...GROUPS, [OTHERS, examples.map((one) => one.name).filter((name) => !known.has(name))]];
  const byName = new Map(examples.map((one) => [one.name, one]));
  place.replaceChildren(...groups.map(([title, names]) => {
    const own = names.map((name) => byName.get(name)).filter(Boolean);
    if (!own.length) { return ""; }
    return make("section", {}, make("h3", {}, title), make("ul", { className: "cards" }, own.map((example) => make("li", {},
      button(example.title, () => open(example), { className: "card" }), make("p", { className: "hint" }, sentence(example.text))))));
  }));
}
