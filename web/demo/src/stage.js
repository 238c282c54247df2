// Draws the operator: what arrives, what is in flight and why, what is done but held, and what leaves.

import { Grid } from "./grid.js";
import { Surface } from "./surface.js";

/** How much of the way to its place an element goes in a millisecond. */
const HASTE = 0.012;
/** Milliseconds for which one that leaves is seen. */
const LEAVING = 500;
/** Those that leave and are drawn at once, at most. */
const MOST_LEAVING = 160;
const OUTCOMES = { found: "found", missing: "missing", failed: "failed", "timed-out": "late" };

/** The picture; it is told what is in flight with each frame. */
export class Stage {
  #surface;
  #palette;
  #calm = matchMedia("(prefers-reduced-motion: reduce)");
  /** Where each element is drawn now; each record has an event time of its own. */
  #shown = new Map();
  #leaving = [];
  #grid;
  #capacity = 0;

  constructor(canvas) {
    this.#surface = new Surface(canvas, () => (this.#grid = undefined));
  }

  set palette(palette) {
    this.#palette = palette;
  }

  /** The record of that event time has left with this outcome. */
  left(eventTime, outcome) {
    const shown = this.#shown.get(eventTime);
    if (!shown || this.#calm.matches || this.#leaving.length >= MOST_LEAVING) return;
    this.#leaving.push({ ...shown, outcome, age: 0 });
  }

  /** Everything goes away at once. */
  clear() {
    this.#shown.clear();
    this.#leaving = [];
  }

  /** Draws a frame that comes `elapsed` milliseconds after the one before. */
  draw({ elements, capacity, behind, timeout, elapsed, killed }) {
    const { width, height } = this.#surface;
    if (!this.#grid || this.#capacity !== capacity) {
      const side = Math.min(90, width * 0.12);
      this.#grid = new Grid(capacity, side, 14, width - 2 * side, height - 28);
      this.#capacity = capacity;
    }
    this.#surface.draw((context) => {
      context.textAlign = "center";
      context.textBaseline = "middle";
      this.#drawSlots(context, elements.length, capacity, killed);
      this.#drawArriving(context, behind, height);
      this.#move(elements, elapsed);
      this.#drawSegments(context, elements);
      this.#drawLeaving(context, elapsed, width);
      for (const element of elements) this.#drawElement(context, element, timeout);
    });
  }

  /** Places that are free. */
  #drawSlots(context, taken, capacity, killed) {
    const { size } = this.#grid;
    context.fillStyle = killed ? this.#palette.failed : this.#palette.line;
    context.beginPath();
    for (let place = taken; place < capacity; place++) {
      const { x, y } = this.#grid.at(place);
      context.rect(x - 0.75, y - 0.75, size > 12 ? 2.5 : 1.5, size > 12 ? 2.5 : 1.5);
    }
    context.fill();
  }

  /** Records that are due and find no room. */
  #drawArriving(context, behind, height) {
    const side = this.#grid.right - this.#grid.columns * this.#grid.size;
    const x = Math.max(10, Math.min(side, 60) / 2);
    const most = Math.floor((height - 60) / 9);
    context.fillStyle = this.#palette.dim;
    for (let place = 0; place < Math.min(behind, most); place++) {
      context.beginPath();
      context.arc(x, height / 2 + (place % 2 === 0 ? 1 : -1) * Math.ceil(place / 2) * 9, 3, 0, 7);
      context.fill();
    }
  }

  #move(elements, elapsed) {
    const share = this.#calm.matches ? 1 : 1 - Math.exp(-HASTE * elapsed);
    const before = this.#shown;
    this.#shown = new Map();
    elements.forEach((element, place) => {
      const id = element.barrier ? `at ${element.eventTime}` : Number(element.eventTime);
      const target = this.#grid.at(place);
      const shown = before.get(id) ?? { x: target.x - this.#grid.size * 2, y: target.y };
      shown.x += (target.x - shown.x) * share;
      shown.y += (target.y - shown.y) * share;
      this.#shown.set(id, shown);
      element.shown = shown;
    });
  }

  /** Every other segment between watermarks is shaded. */
  #drawSegments(context, elements) {
    const { size } = this.#grid;
    let isShaded = false;
    context.fillStyle = this.#palette.shade;
    context.beginPath();
    for (const { barrier, shown } of elements) {
      if (barrier) isShaded = !isShaded;
      else if (isShaded) context.rect(shown.x - size / 2, shown.y - size / 2, size, size);
    }
    context.fill();
  }

  #drawElement(context, element, timeout) {
    const { size } = this.#grid;
    const { x, y } = element.shown;
    const palette = this.#palette;
    if (element.barrier) {
      context.fillStyle = palette.mark;
      context.fillRect(x - size * 0.42, y - Math.max(1.5, size * 0.09), size * 0.84, Math.max(3, size * 0.18));
      return;
    }
    const radius = size * 0.4;
    if (element.outcome) {
      context.fillStyle = palette[OUTCOMES[element.outcome]];
      disc(context, x, y, radius, element.outcome);
    } else {
      const isRetry = element.waitsFor === "retry" || element.attempts > 1;
      context.strokeStyle = isRetry ? palette.retry : palette.asked;
      context.fillStyle = context.strokeStyle;
      context.lineWidth = Math.max(1, size * 0.06);
      context.globalAlpha = 0.35;
      context.beginPath();
      context.arc(x, y, radius, 0, 7);
      context.stroke();
      context.globalAlpha = 1;
      // How much of its time is over.
      const part = Math.min(1, Number(element.age) / 1e6 / (timeout || 4_000));
      context.beginPath();
      context.arc(x, y, radius, -Math.PI / 2, -Math.PI / 2 + Math.max(0.2, part * Math.PI * 2));
      context.stroke();
      if (element.waitsFor === "key") dot(context, x, y, radius * 0.2);
    }
    if (size < 26) return;
    context.fillStyle = element.outcome ? palette.paper : palette.ink;
    context.font = `600 ${Math.round(size * 0.24)}px ui-sans-serif, system-ui, sans-serif`;
    context.fillText(String(element.key ?? ""), x, y + (element.attempts > 1 ? -size * 0.07 : 0));
    if (element.attempts > 1) {
      context.font = `${Math.round(size * 0.18)}px ui-sans-serif, system-ui, sans-serif`;
      context.fillText(`×${element.attempts}`, x, y + size * 0.17);
    }
  }

  #drawLeaving(context, elapsed, width) {
    for (const leaving of this.#leaving) {
      leaving.age += elapsed;
      const part = Math.min(1, leaving.age / LEAVING);
      context.globalAlpha = 1 - part;
      context.fillStyle = this.#palette[OUTCOMES[leaving.outcome]];
      const x = leaving.x + (width - leaving.x) * part * part;
      disc(context, x, leaving.y, this.#grid.size * 0.34, leaving.outcome);
    }
    context.globalAlpha = 1;
    this.#leaving = this.#leaving.filter(({ age }) => age < LEAVING);
  }
}

/** Outcomes differ by shape, too, and not by colour alone. */
function disc(context, x, y, radius, outcome) {
  context.beginPath();
  if (outcome === "failed") context.rect(x - radius * 0.85, y - radius * 0.85, radius * 1.7, radius * 1.7);
  else if (outcome === "timed-out") diamond(context, x, y, radius * 1.1);
  else context.arc(x, y, outcome === "missing" ? radius * 0.6 : radius, 0, 7);
  context.fill();
}

function diamond(context, x, y, radius) {
  context.moveTo(x, y - radius);
  context.lineTo(x + radius, y);
  context.lineTo(x, y + radius);
  context.lineTo(x - radius, y);
  context.closePath();
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}
