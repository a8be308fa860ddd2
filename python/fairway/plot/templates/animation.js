// An animation's playback, and the windows of its senders.
(function () {
  "use strict";
  const { scene, packets, length, after, gone, losses, seconds, described } = window.fairwayScene;
  const { colours, colourOf, fitted, packetAt } = window.fairwayStage;
  const MOST_SENDERS = 12;
  const STEPS = 10000;
  const element = function (id) { return document.getElementById(id); };
  const stage = element("stage");
  let now = 0;
  let speed = scene.speed;
  let isPlaying = false;
  let shownAt = null;

  function say(text) { element("said").textContent = text; }

  // Senders: numbers and a chart each.
  const flows = scene.flows.map(function (flow, index) { return { flow: flow, index: index }; })
    .filter(function ({ index }) { return packets.flow.includes(index); });
  const NUMBERS = [["cwnd", "cwnd"], ["ssthresh", "ssthresh"], ["flight", "in flight"], ["srtt_ms", "srtt"]];
  const cards = flows.slice(0, MOST_SENDERS).map(function ({ flow, index }) {
    const card = document.createElement("section");
    card.className = "sender";
    const title = document.createElement("h2");
    const name = document.createElement("span");
    name.textContent = flow.id + (flow.cc === null ? ", datagrams" : "");
    title.append(name);
    const list = document.createElement("dl");
    const values = {};
    const own = losses.filter(function (i) { return packets.flow[i] === index; });
    const shown = flow.cc === null ? [] : NUMBERS;
    [...shown, ["losses", "losses"]].slice(0, 5).forEach(function ([key, label]) {
      const [pair, term, value] = ["div", "dt", "dd"].map(function (tag) { return document.createElement(tag); });
      term.textContent = label;
      value.dataset.of = key;
      pair.append(term, value);
      list.append(pair);
      values[key] = value;
    });
    card.append(title, list);
    element("senders").append(card);
    const chart = flow.cc === null ? null : document.createElement("canvas");
    if (chart) {
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", "cwnd, ssthresh and segments in flight of " + flow.id + " over time");
      chart.addEventListener("click", function (event) { seek(length * (event.offsetX - 30) / (chart.clientWidth - 34)); });
      card.append(chart);
    }
    return { flow: flow, index: index, title: title, values: values, chart: chart, losses: own };
  });
  if (flows.length > cards.length) {
    element("more").textContent = "The first " + cards.length + " of " + flows.length + " flows are shown.";
  }

  function sample(flow) { return after(flow.t_s.length, function (k) { return flow.t_s[k] * 1e9; }, scene.begin_ns + now) - 1; }
  function shownNumber(value) { return value === null || value === undefined ? "–" : String(Number(value.toPrecision(4))); }

  function drawChart(card, paint) {
    const { pen, width, height } = fitted(card.chart);
    const flow = card.flow;
    const [left, right, top, bottom] = [30, width - 4, 6, height - 16];
    const all = [...flow.cwnd, ...flow.flight].filter(function (v) { return v !== null; });
    const peak = Math.max(1, ...all) * 1.05;
    const x = function (ns) { return left + (right - left) * Math.max(0, Math.min(1, ns / length)); };
    const y = function (value) { return bottom - (bottom - top) * Math.min(1, value / peak); };
    pen.font = "10px system-ui, sans-serif";
    pen.fillStyle = paint.soft;
    pen.strokeStyle = paint.line;
    pen.lineWidth = 1;
    pen.strokeRect(left, top, right - left, bottom - top);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    [0, peak / 1.05].forEach(function (value) { pen.fillText(shownNumber(Math.round(value)), left - 4, y(value)); });
    pen.textAlign = "left";
    pen.fillText(seconds(0), left, bottom + 9);
    pen.textAlign = "right";
    pen.fillText(seconds(length), right, bottom + 9);
    // A sample holds until the next one. Gaps are where there is no value.
    const trace = function (values, put) {
      let last = null;
      values.forEach(function (value, k) {
        const px = x(flow.t_s[k] * 1e9 - scene.begin_ns);
        if (value !== null && value !== undefined) { put(px, y(value), last); last = y(value); } else { last = null; }
      });
    };
    const line = function (values, colour, dash, wide) {
      pen.beginPath();
      pen.setLineDash(dash);
      trace(values, function (px, py, last) {
        if (last === null) { pen.moveTo(px, py); } else { pen.lineTo(px, last); pen.lineTo(px, py); }
      });
      pen.strokeStyle = colour;
      pen.lineWidth = wide;
      pen.stroke();
      pen.setLineDash([]);
    };
    pen.fillStyle = paint.line;
    pen.beginPath();
    let end = left;
    trace(flow.flight, function (px, py, last) {
      pen.lineTo(px, last === null ? bottom : last);
      pen.lineTo(px, py);
      end = px;
    });
    pen.lineTo(end, bottom);
    pen.fill();
    line(flow.ssthresh, paint.soft, [4, 3], 1);
    line(flow.cwnd, colourOf(card.index, paint), [], 1.8);
    pen.fillStyle = paint.bad;
    card.losses.forEach(function (i) { pen.fillRect(x(gone(i)) - 0.5, bottom - 5, 1, 5); });
    pen.strokeStyle = paint.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x(now), top);
    pen.lineTo(x(now), bottom);
    pen.stroke();
  }

  function drawCard(card, paint) {
    card.title.style.color = colourOf(card.index, paint);
    const k = sample(card.flow);
    Object.entries(card.values).forEach(function ([key, place]) {
      if (key === "losses") { place.textContent = String(after(card.losses.length, function (n) { return gone(card.losses[n]); }, now)); return; }
      const value = k < 0 ? null : card.flow[key][k];
      place.textContent = shownNumber(value) + (key === "srtt_ms" && value !== null ? " ms" : "");
    });
    if (card.chart) { drawChart(card, paint); }
  }

  function drawLosses(paint) {
    const { pen, width, height } = fitted(element("losses"));
    pen.fillStyle = paint.bad;
    losses.forEach(function (i) { pen.fillRect(8 + (width - 16) * gone(i) / length, 2, 1.5, height - 2); });
  }

  function draw() {
    const paint = colours();
    window.fairwayStage.draw(paint, now, speed);
    cards.forEach(function (card) { drawCard(card, paint); });
    drawLosses(paint);
    element("now").textContent = seconds(now);
    element("time").value = String(Math.round(STEPS * now / length));
    element("time").setAttribute("aria-valuetext", seconds(now));
    document.body.dataset.now = String(Math.round(now));
  }

  // Playback.
  function seek(ns) {
    now = Math.max(0, Math.min(length, ns));
    draw();
  }

  function frame(clock) {
    if (!isPlaying) { return; }
    // A tab that was hidden does not jump.
    const passed = shownAt === null ? 0 : Math.min(clock - shownAt, 100);
    shownAt = clock;
    seek(now + passed * 1e6 * speed);
    if (now >= length) { setPlaying(false); return; }
    window.requestAnimationFrame(frame);
  }

  function setPlaying(wanted) {
    if (wanted && now >= length) { now = 0; }
    element("play").textContent = wanted ? "Pause" : "Play";
    shownAt = null;
    if (wanted && !isPlaying) { window.requestAnimationFrame(frame); }
    isPlaying = wanted;
  }

  function toLoss(step) {
    setPlaying(false);
    const next = after(losses.length, function (k) { return gone(losses[k]); }, now);
    const before = after(losses.length, function (k) { return gone(losses[k]); }, now - 1) - 1;
    const found = losses[step > 0 ? next : before];
    if (found === undefined) { say("No " + (step > 0 ? "further" : "earlier") + " loss in this animation."); return; }
    // The packet is seen beside where it was, not at the very moment.
    seek(Math.ceil(gone(found)));
    say(seconds(gone(found)) + ", " + described(found));
  }

  const speeds = Array.from({ length: 34 }, function (_, k) { return [1, 2, 5][k % 3] * Math.pow(10, Math.floor(k / 3) - 9); });
  speeds.filter(function (one) { return one >= scene.speed / 2000 && one <= Math.max(10, scene.speed); }).forEach(function (one) {
    const option = document.createElement("option");
    option.value = String(one);
    option.textContent = one >= 1 ? one + "×" : "1/" + (1 / one).toLocaleString("en", { maximumFractionDigits: 0 });
    option.selected = Math.abs(one / scene.speed - 1) < 1e-6;
    element("speed").append(option);
  });

  function changeSpeed(step) {
    const choice = element("speed");
    choice.selectedIndex = Math.max(0, Math.min(choice.length - 1, choice.selectedIndex + step));
    speed = Number(choice.value);
    draw();
  }

  function step(frames) { setPlaying(false); seek(now + frames * speed * 1e9 / 30); }

  const keys = {
    " ": function () { setPlaying(!isPlaying); },
    ArrowRight: function (event) { step(event.shiftKey ? 10 : 1); },
    ArrowLeft: function (event) { step(event.shiftKey ? -10 : -1); },
    n: function () { toLoss(1); },
    p: function () { toLoss(-1); },
    "+": function () { changeSpeed(1); },
    "-": function () { changeSpeed(-1); },
    Home: function () { seek(0); },
    End: function () { seek(length); }
  };
  document.addEventListener("keydown", function (event) {
    const isTaken = event.ctrlKey || event.altKey || event.metaKey || event.target.matches("select, summary")
      || (event.key === " " && event.target.matches("button"));
    if (isTaken || !keys[event.key]) { return; }
    event.preventDefault();
    keys[event.key](event);
  });
  element("play").addEventListener("click", function () { setPlaying(!isPlaying); });
  element("next").addEventListener("click", function () { toLoss(1); });
  element("previous").addEventListener("click", function () { toLoss(-1); });
  element("speed").addEventListener("change", function () { speed = Number(element("speed").value); draw(); });
  element("time").addEventListener("input", function () { setPlaying(false); seek(length * Number(element("time").value) / STEPS); });
  stage.addEventListener("click", function (event) {
    const found = packetAt(event.offsetX, event.offsetY);
    if (found !== null) { setPlaying(false); say(described(found)); }
  });
  window.addEventListener("resize", draw);
  window.fairwayTheme.onChange(draw);

  // An address may name a time of the run in seconds: #t=1.5
  function fromAddress() {
    const named = /^#t=([\d.e-]+)$/.exec(window.location.hash);
    seek(named ? Number(named[1]) * 1e9 - scene.begin_ns : 0);
  }
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
})();
