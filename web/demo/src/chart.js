// A figure over the last half minute, as a line.

import { Surface } from "./surface.js";

const POINTS = 120;

/** One small chart; a point is added every quarter of a second. */
export class Chart {
  #surface;
  #points = [];
  #colour;

  /** `colour` is a name of the palette. */
  constructor(canvas, colour) {
    this.#surface = new Surface(canvas, () => this.#palette && this.draw());
    this.#colour = colour;
  }

  #palette;

  set palette(palette) {
    this.#palette = palette;
    this.draw();
  }

  add(value) {
    this.#points.push(value);
    if (this.#points.length > POINTS) this.#points.shift();
    this.draw();
  }

  draw() {
    const most = Math.max(1, ...this.#points) * 1.15;
    this.#surface.draw((context, width, height) => {
      context.strokeStyle = this.#palette.line;
      context.beginPath();
      context.moveTo(0, height - 0.5);
      context.lineTo(width, height - 0.5);
      context.stroke();
      if (this.#points.length < 2) return;
      context.beginPath();
      this.#points.forEach((value, index) => {
        const x = width - ((this.#points.length - 1 - index) * width) / (POINTS - 1);
        context.lineTo(x, height - 1 - (value / most) * (height - 3));
      });
      context.strokeStyle = this.#palette[this.#colour];
      context.lineWidth = 1.75;
      context.lineJoin = "round";
      context.stroke();
    });
  }
}

/** The value below which that part of `values` lies. */
export function percentile(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
