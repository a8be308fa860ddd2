// The scene of an animation: which packets are where at a time.
window.fairwayScene = (function () {
  "use strict";
  const scene = JSON.parse(document.getElementById("scene").textContent);
  const packets = scene.packets;
  const length = scene.end_ns - scene.begin_ns;
  const count = packets.flow.length;
  const [DROPPED, LOST] = [1, 2];

  // When a packet is gone: dropped at once, lost half of the way, else where it arrives.
  function sent(i) { return packets.offered[i] + packets.wait[i]; }
  function arrived(i) { return sent(i) + packets.travel[i]; }
  function gone(i) {
    if (packets.fate[i] === DROPPED) { return packets.offered[i]; }
    return packets.fate[i] === LOST ? sent(i) + packets.travel[i] / 2 : arrived(i);
  }
  function isLoss(i) { return packets.fate[i] === DROPPED || packets.fate[i] === LOST; }

  const losses = Array.from({ length: count }, function (_, i) { return i; })
    .filter(function (i) { return isLoss(i) && gone(i) >= 0 && gone(i) <= length; })
    .sort(function (a, b) { return gone(a) - gone(b); });
  // The latest end of the packets up to each: those before the first that ends later than now are gone.
  const latest = new Float64Array(count);
  for (let i = 0, end = -Infinity; i < count; i += 1) { latest[i] = end = Math.max(end, gone(i)); }

  // The first index from which a rising function is above a value.
  function after(size, of, value) {
    let [low, high] = [0, size];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (of(middle) > value) { high = middle; } else { low = middle + 1; }
    }
    return low;
  }

  // What is to be seen at a time: packets by where they are, and those that have just gone.
  function at(now, falls) {
    const seen = { moving: [], falling: [], waiting: scene.directions.map(function () { return []; }) };
    const last = after(count, function (i) { return packets.offered[i]; }, now);
    for (let i = after(count, function (k) { return latest[k]; }, now - falls); i < last; i += 1) {
      if (gone(i) <= now) {
        if (isLoss(i) && now - gone(i) < falls) { seen.falling.push(i); }
      } else if (sent(i) > now) {
        seen.waiting[packets.direction[i]].push(i);
      } else {
        seen.moving.push(i);
      }
    }
    seen.waiting.forEach(function (own) { own.sort(function (a, b) { return sent(a) - sent(b); }); });
    return seen;
  }

  // Most that wait in each queue, which is as long as its box.
  const most = scene.directions.map(function () { return 0; });
  (function () {
    const changes = [];
    for (let i = 0; i < count; i += 1) {
      if (packets.wait[i] > 0) { changes.push([packets.offered[i], 1, i], [sent(i), -1, i]); }
    }
    changes.sort(function (a, b) { return a[0] - b[0] || a[1] - b[1]; });
    const length = most.slice();
    changes.forEach(function ([, change, i]) {
      const direction = packets.direction[i];
      length[direction] += change;
      most[direction] = Math.max(most[direction], length[direction]);
    });
  })();
  const dropsOf = scene.directions.map(function (_, direction) {
    return losses.filter(function (i) { return packets.direction[i] === direction; });
  });

  // Words.
  function seconds(ns) {
    const digits = Math.max(0, Math.min(9, 4 - Math.floor(Math.log10(length / 1e9))));
    return ((scene.begin_ns + ns) / 1e9).toFixed(digits) + " s";
  }

  function described(i) {
    const [link, source, target] = scene.directions[packets.direction[i]];
    const first = packets.number[i];
    const what = ["data from byte " + first, "acknowledgement of " + first + " bytes", "data from byte " + first + ", sent again",
                  "datagram " + first, "SYN or FIN"][packets.kind[i]];
    const fate = ["", ", dropped by the queue", ", lost on the link", ", damaged on the link"][packets.fate[i]];
    return scene.flows[packets.flow[i]].id + ": " + what + ", " + packets.bytes[i] + " bytes with headers; "
      + link + " from " + source + " to " + target + fate + ".";
  }

  return { scene: scene, packets: packets, length: length, after: after, at: at, sent: sent, gone: gone,
           losses: losses, most: most, dropsOf: dropsOf, seconds: seconds, described: described };
})();
