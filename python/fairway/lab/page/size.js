// How large a run is, before it begins.

const RATES = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12 };
// An Ethernet frame's payload, in bits.
const PACKET = 1500 * 8;

import { seconds } from "./specs.js";

function rates(node) {
  if (!node || typeof node !== "object") { return []; }
  return Object.entries(node).flatMap(([name, one]) => {
    if (!/rate$/.test(name) || typeof one !== "string") { return rates(one); }
    const found = /^\s*(\d+(?:\.\d+)?)\s*(\S+)\s*$/.exec(one);
    return found && found[2] in RATES ? [Number(found[1]) * RATES[found[2]]] : [];
  });
}

/** Packets that the links of an experiment could carry: of a dumbbell, its bottleneck. */
export function packets(experiment) {
  const { topology } = experiment;
  const links = topology.kind === "dumbbell" ? topology.bottleneck : topology;
  const total = rates(links).reduce((sum, rate) => sum + rate, 0);
  return (total * (seconds(experiment.duration) || 0)) / PACKET;
}
