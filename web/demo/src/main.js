// The page: puts the parts together, and draws a frame as often as the screen does.

import { AirportLookup } from "./airports.js";
import { blockingOf } from "./blocking.js";
import { Chart, percentile } from "./chart.js";
import { PageClock } from "./clock.js";
import { FlightMap } from "./map.js";
import { followPalette } from "./palette.js";
import { Run } from "./run.js";
import { readSettings, writeSettings } from "./settings.js";
import { buildSliders } from "./sliders.js";
import { Stage } from "./stage.js";
import { Table } from "./table.js";

/** Milliseconds between two changes of what is read and not watched. */
const SLOWLY = 250;
/** Milliseconds over which figures are taken. */
const WINDOW = 2_000;

const element = (id) => document.getElementById(id);
const settings = readSettings(location.search);
const clock = new PageClock();
const lookup = new AirportLookup(settings, clock);
const stage = new Stage(element("stage"));
const map = new FlightMap(element("map"));
const table = new Table(element("joined"));
const charts = {
  throughput: new Chart(element("throughput-chart"), "found"),
  latency: new Chart(element("latency-chart"), "asked"),
  held: new Chart(element("held-chart"), "retry"),
};
/** When records left, and how long they took: of the last seconds. */
let latest = [];
const run = new Run(settings, {
  clock,
  lookup: lookup.lookup,
  onOutput(output, latency) {
    stage.left(Number(output.eventTime), output.outcome);
    map.add(output.record, output.rows[0]);
    table.add(output, latency);
    latest.push({ at: clock.now(), latency });
  },
  onRollback(count) {
    say(`Restored from the last checkpoint; ${count} records that had left since then are made again.`);
  },
});

/** Tells those who do not see it what has happened. */
function say(text) {
  element("said").textContent = text;
}

function setOrder(order) {
  settings.order = order;
  document.querySelector(`input[name="order"][value="${order}"]`).checked = true;
  changed("order");
  say(`Order: ${order}.`);
}

function changed(name) {
  history.replaceState(null, "", writeSettings(settings));
  run.changed(name);
}

function setPaused(paused) {
  if (paused) clock.pause();
  else clock.resume();
  element("pause").setAttribute("aria-pressed", String(paused));
  element("step").disabled = !paused;
  say(paused ? "Paused." : "Running.");
}

function step() {
  if (!clock.paused) return;
  const answered = clock.step();
  if (!answered) run.pushOne();
  say(answered ? "An answer came." : "A record came.");
}

function setKilled(killed) {
  if (killed) {
    run.kill();
    stage.clear();
    say("Killed: what was in flight is gone.");
  } else {
    run.restore();
  }
  element("kill").textContent = killed ? "Restore" : "Kill";
}

function bind() {
  document.querySelector(`input[name="order"][value="${settings.order}"]`).checked = true;
  for (const input of document.querySelectorAll('input[name="order"]')) {
    input.addEventListener("change", () => setOrder(input.value));
  }
  element("pause").addEventListener("click", () => setPaused(!clock.paused));
  element("step").addEventListener("click", step);
  element("speed").addEventListener("change", ({ target }) => (clock.speed = Number(target.value)));
  element("slow").addEventListener("click", () => lookup.makeOneSlow());
  element("kill").addEventListener("click", () => setKilled(!run.killed));
  const keys = {
    " ": () => setPaused(!clock.paused),
    ".": step,
    1: () => setOrder("ordered"),
    2: () => setOrder("unordered"),
    3: () => setOrder("key-ordered"),
    k: () => setKilled(true),
    r: () => setKilled(false),
  };
  element("stage").addEventListener("keydown", (event) => {
    const action = keys[event.key.toLowerCase()];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  buildSliders(element("sliders"), settings, changed);
  followPalette((palette) => {
    for (const drawn of [stage, map, ...Object.values(charts)]) drawn.palette = palette;
  });
}

let before = performance.now();
let slowly = before;

function frame(now) {
  const elapsed = Math.min(100, now - before);
  before = now;
  const elements = run.inFlight();
  const { capacity, timeout } = settings;
  stage.draw({ elements, capacity, behind: run.behind, timeout, elapsed: clock.paused ? Math.min(elapsed, 16) : elapsed, killed: run.killed });
  map.draw(clock.paused ? 0 : elapsed);
  if (now - slowly >= SLOWLY) {
    showFigures(elements);
    slowly = now;
  }
  requestAnimationFrame(frame);
}

function showFigures(elements) {
  latest = latest.filter(({ at }) => at > clock.now() - WINDOW);
  const latencies = latest.map(({ latency }) => latency);
  const counts = run.counts();
  const held = elements.filter(({ waitsFor, barrier }) => waitsFor === "order" && !barrier).length;
  const figures = {
    ...counts,
    behind: run.behind,
    held,
    flying: elements.length,
    throughput: Math.round((latest.length * 1_000) / WINDOW),
    p50: Math.round(percentile(latencies, 0.5)),
    p99: Math.round(percentile(latencies, 0.99)),
  };
  if (!clock.paused) {
    charts.throughput.add(figures.throughput);
    charts.latency.add(figures.p50);
    charts.held.add(held);
  }
  for (const [name, value] of Object.entries(figures)) {
    const place = element(name);
    if (place) place.textContent = value.toLocaleString("en");
  }
  const blocking = blockingOf(elements, settings.order, clock);
  element("blocking").textContent = run.killed ? "Killed. Restore goes on from the last checkpoint." : blocking;
  element("stage").setAttribute("aria-label", `The operator: ${elements.length} of ${settings.capacity} places taken, ${held} answered and held. ${blocking}`);
  table.draw();
  if (element("inside").open) listInside(elements);
}

function listInside(elements) {
  element("inside-rows").replaceChildren(
    ...elements.slice(0, 100).map(({ barrier, key, waitsFor, age, attempts, outcome }) => {
      const line = document.createElement("tr");
      for (const text of [barrier ? "watermark" : key, waitsFor, `${Math.round(Number(age) / 1e6)} ms`, attempts, outcome ?? ""]) {
        line.insertCell().textContent = String(text);
      }
      return line;
    }),
  );
}

async function start() {
  bind();
  await lookup.connect();
  map.places = await (await fetch("/api/airports")).json();
  await run.start();
  requestAnimationFrame(frame);
}

start().catch((error) => {
  element("blocking").textContent = `It cannot be shown: ${error.message}. Is the server there? \`cargo xtask web\` starts it.`;
});
