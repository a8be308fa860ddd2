// The stage of an animation: nodes, links, queues and packets on a canvas.
window.fairwayStage = (function () {
  "use strict";
  const { scene, packets, after, at, sent, gone, losses, most, dropsOf } = window.fairwayScene;
  const palettes = {{ colours | tojson }};
  const [ACK, AGAIN, DATAGRAM, CONTROL] = [1, 2, 3, 4];
  const [DROPPED, CORRUPTED] = [1, 3];
  // Seconds on the screen for which a packet that is gone is seen to fall.
  const FALLS_S = 0.9;
  const stage = document.getElementById("stage");
  let places = [];

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = function (name) { return style.getPropertyValue(name).trim(); };
    return { page: of("--page"), ink: of("--ink"), soft: of("--soft"), line: of("--line"), raised: of("--raised"),
             bad: of("--bad"), flows: palettes[window.fairwayTheme.isDark() ? "dark" : "light"] };
  }
  function colourOf(flow, paint) { return paint.flows[flow % paint.flows.length]; }

  // Room for the rows of nodes beside each other, or below each other on a narrow screen.
  function setHeight() {
    const isNarrow = stage.clientWidth < 560;
    const across = new Map();
    scene.nodes.forEach(function ([, x, y]) { across.set(x, (across.get(x) || 0) + 1); });
    const links = new Map();
    scene.edges.forEach(function ([, one, other]) { const key = [one, other].sort().join("\n"); links.set(key, (links.get(key) || 0) + 1); });
    const rows = Math.max(...across.values(), ...links.values());
    const wanted = isNarrow ? Math.max(110 * across.size, stage.clientWidth * 1.1) : Math.max(230, Math.min(56 * rows, 560));
    stage.style.height = wanted + "px";
  }

  // A canvas of the size that it has on the page, sharp on every screen.
  function fitted(canvas) {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const scale = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) { [canvas.width, canvas.height] = [w, h]; }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    return { pen: pen, width: width, height: height };
  }

  // Places of nodes and courses of links; a narrow screen has the network upright.
  function arranged(width, height) {
    const upright = width < 560;
    const [across, down] = upright ? [36, 44] : [64, 26];
    const spot = scene.nodes.map(function ([, x, y]) {
      const [u, v] = upright ? [y, x] : [x, y];
      return { x: across + u * (width - 2 * across), y: down + v * (height - 2 * down) };
    });
    const number = new Map(scene.nodes.map(function ([name], i) { return [name, i]; }));
    const beside = new Map();
    const courses = scene.edges.map(function ([, one, other]) {
      const key = [one, other].sort().join("\n");
      beside.set(key, (beside.get(key) || 0) + 1);
      return { from: spot[number.get(one)], to: spot[number.get(other)], key: key, rank: beside.get(key) - 1 };
    });
    const most = Math.max(...beside.values());
    const apart = Math.min(90, 2 * ((upright ? width : height) - 2 * (upright ? across : down)) / Math.max(most - 1, 1));
    courses.forEach(function (course) {
      const [dx, dy] = [course.to.x - course.from.x, course.to.y - course.from.y];
      const bend = (course.rank - (beside.get(course.key) - 1) / 2) * apart;
      course.length = Math.hypot(dx, dy) || 1;
      const [nx, ny] = [-dy / course.length, dx / course.length];
      course.middle = { x: (course.from.x + course.to.x) / 2 + nx * bend, y: (course.from.y + course.to.y) / 2 + ny * bend };
    });
    return { spot: spot, courses: courses, upright: upright, width: width - 2 * across, height: height - 2 * down };
  }

  // A point of a link and its heading, for a direction; `aside` is how far to the right of the way.
  function point(plan, direction, share, aside) {
    const [, source, , edge] = scene.directions[direction];
    const course = plan.courses[edge];
    const turned = scene.edges[edge][1] !== source;
    const [a, c] = turned ? [course.to, course.from] : [course.from, course.to];
    const b = course.middle;
    const t = share;
    const mix = function (p, q, r) { return (1 - t) * (1 - t) * p + 2 * t * (1 - t) * q + t * t * r; };
    const slope = function (p, q, r) { return 2 * (1 - t) * (q - p) + 2 * t * (r - q); };
    const [dx, dy] = [slope(a.x, b.x, c.x), slope(a.y, b.y, c.y)];
    const size = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / size, dy / size];
    return { x: mix(a.x, b.x, c.x) - uy * aside, y: mix(a.y, b.y, c.y) + ux * aside, ux: ux, uy: uy, length: course.length };
  }

  function drawLinks(pen, plan, paint) {
    plan.courses.forEach(function (course, edge) {
      const isLink = scene.edges[edge][0] !== "";
      pen.lineWidth = isLink ? 2 : 1;
      pen.strokeStyle = isLink ? paint.soft : paint.line;
      pen.globalAlpha = isLink ? 0.5 : 1;
      pen.beginPath();
      pen.moveTo(course.from.x, course.from.y);
      pen.quadraticCurveTo(course.middle.x, course.middle.y, course.to.x, course.to.y);
      pen.stroke();
      pen.globalAlpha = 1;
    });
  }

  function drawNodes(pen, plan, paint) {
    pen.font = "12px system-ui, sans-serif";
    pen.lineWidth = 1.5;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const inColumn = new Map();
    scene.nodes.forEach(function ([, x]) { inColumn.set(x, (inColumn.get(x) || 0) + 1); });
    scene.nodes.forEach(function ([name, , , isHost], i) {
      const { x, y } = plan.spot[i];
      // A label has the room between two nodes of a column, and is left out where that is too narrow.
      const room = (plan.upright ? plan.width : plan.height) / inColumn.get(scene.nodes[i][1]);
      const letters = plan.upright ? Math.floor((room - 14) / 7) : (room < 21 ? 0 : 9);
      if (letters < 2) { pen.fillStyle = paint.soft; pen.fillRect(x - 3, y - 3, 6, 6); return; }
      const label = name.length > letters ? name.slice(0, letters - 1) + "…" : name;
      const half = Math.max(pen.measureText(label).width / 2 + 6, 14);
      pen.beginPath();
      pen.roundRect(x - half, y - 10, 2 * half, 20, isHost ? 10 : 3);
      pen.fillStyle = paint.raised;
      pen.strokeStyle = paint.soft;
      pen.fill();
      pen.stroke();
      pen.fillStyle = paint.ink;
      pen.fillText(label, x, y);
    });
  }

  // A queue beside the beginning of its link; the packet that is sent next is in front.
  function drawQueue(pen, plan, paint, direction, waiting, now) {
    const lost = after(dropsOf[direction].length, function (k) { return gone(dropsOf[direction][k]); }, now);
    if (most[direction] < 2 && !dropsOf[direction].length) { return; }
    const probe = point(plan, direction, 0, 0);
    const start = Math.min(34 / probe.length, 0.25);
    const long = Math.max(Math.min(72, probe.length * 0.35), 18);
    const base = point(plan, direction, start, 20);
    pen.save();
    pen.translate(base.x, base.y);
    pen.rotate(Math.atan2(base.uy, base.ux));
    pen.fillStyle = paint.page;
    pen.fillRect(0, -6, long, 12);
    const cell = long / Math.max(most[direction], 1);
    waiting.forEach(function (i, rank) {
      pen.fillStyle = colourOf(packets.flow[i], paint);
      pen.fillRect(long - (rank + 1) * cell, -6, cell > 4 ? cell - 1 : Math.max(cell, 0.5), 12);
    });
    pen.strokeStyle = paint.soft;
    pen.lineWidth = 1;
    pen.strokeRect(0, -6, long, 12);
    pen.restore();
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = paint.soft;
    // Beside the box, away from the link.
    const [nx, ny] = [-base.uy, base.ux];
    const middle = { x: base.x + base.ux * long / 2 + nx * 16, y: base.y + base.uy * long / 2 + ny * 16 };
    const label = waiting.length + (dropsOf[direction].length ? "  ✕ " + lost : "");
    pen.textBaseline = "middle";
    pen.textAlign = Math.abs(ny) > 0.5 ? "center" : nx > 0 ? "left" : "right";
    pen.fillText(label, middle.x, middle.y);
  }

  function drawPacket(pen, paint, i, x, y) {
    const kind = packets.kind[i];
    const colour = colourOf(packets.flow[i], paint);
    pen.fillStyle = pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.beginPath();
    if (kind === ACK) { pen.arc(x, y, 2.6, 0, 7); pen.fillStyle = paint.page; pen.fill(); pen.stroke(); return; }
    if (kind === DATAGRAM) { pen.rect(x - 4, y - 4, 8, 8); }
    else if (kind === CONTROL) { pen.moveTo(x, y - 5); pen.lineTo(x + 5, y); pen.lineTo(x, y + 5); pen.lineTo(x - 5, y); pen.closePath(); }
    else { pen.arc(x, y, 4.5, 0, 7); }
    pen.fill();
    if (kind === AGAIN || packets.fate[i] === CORRUPTED) {
      pen.strokeStyle = packets.fate[i] === CORRUPTED ? paint.bad : paint.ink;
      pen.stroke();
    }
  }

  function share(i, now) { return packets.travel[i] > 0 ? (now - sent(i)) / packets.travel[i] : 1; }

  function drawFalling(pen, plan, paint, i, done) {
    const from = packets.fate[i] === DROPPED ? point(plan, packets.direction[i], 0.06, 20) : point(plan, packets.direction[i], 0.5, 6);
    const [x, y] = [from.x, from.y + 60 * done * done];
    pen.globalAlpha = 1 - done * 0.8;
    drawPacket(pen, paint, i, x, y);
    pen.strokeStyle = paint.bad;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x - 5, y - 5); pen.lineTo(x + 5, y + 5); pen.moveTo(x + 5, y - 5); pen.lineTo(x - 5, y + 5);
    pen.stroke();
    pen.globalAlpha = 1;
    places.push({ i: i, x: x, y: y });
  }

  function drawStage(paint, now, speed) {
    setHeight();
    const { pen, width, height } = fitted(stage);
    const plan = arranged(width, height);
    const falls = FALLS_S * speed * 1e9;
    const seen = at(now, falls);
    places = [];
    drawLinks(pen, plan, paint);
    seen.waiting.forEach(function (waiting, direction) { drawQueue(pen, plan, paint, direction, waiting, now); });
    seen.moving.forEach(function (i) {
      const { x, y } = point(plan, packets.direction[i], share(i, now), 6);
      drawPacket(pen, paint, i, x, y);
      places.push({ i: i, x: x, y: y });
    });
    drawNodes(pen, plan, paint);
    seen.falling.forEach(function (i) { drawFalling(pen, plan, paint, i, (now - gone(i)) / falls); });
    const waiting = seen.waiting.reduce(function (sum, own) { return sum + own.length; }, 0);
    const past = after(losses.length, function (k) { return gone(losses[k]); }, now);
    const dropped = losses.slice(0, past).filter(function (i) { return packets.fate[i] === DROPPED; }).length;
    document.getElementById("counts").textContent = "On links " + seen.moving.length + ", waiting " + waiting
      + "; so far dropped " + dropped + ", lost " + (past - dropped) + ".";
  }

  // The packet under a point of the stage, if there is one.
  function packetAt(x, y) {
    const far = function (place) { return Math.hypot(place.x - x, place.y - y); };
    const nearest = places.slice().sort(function (a, b) { return far(a) - far(b); })[0];
    return nearest && far(nearest) < 16 ? nearest.i : null;
  }

  return { colours: colours, colourOf: colourOf, fitted: fitted, draw: drawStage, packetAt: packetAt };
})();
