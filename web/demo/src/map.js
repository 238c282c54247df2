// A map of the flights that have left: from the airport that the lookup found to where they went.

import { geoAlbersUsa } from "d3-geo";

import { Surface } from "./surface.js";

/** Milliseconds for which a flight is seen. */
const SEEN = 2_500;
const MOST = 120;

/** Airports as dots, which draw the land by themselves, and flights as arcs. */
export class FlightMap {
  #surface;
  #palette;
  #places = new Map();
  #points = new Map();
  #land;
  #flights = [];

  constructor(canvas) {
    this.#surface = new Surface(canvas, () => this.#project());
  }

  set palette(palette) {
    this.#palette = palette;
    this.#project();
  }

  /** `places`: a list of code, latitude and longitude. */
  set places(places) {
    this.#places = new Map(places.map(([iata, latitude, longitude]) => [iata, [longitude, latitude]]));
    this.#project();
  }

  /** A flight has left the operator. */
  add({ origin, destination, delay }, row) {
    const from = this.#points.get(row?.iata ?? origin);
    const to = this.#points.get(destination);
    if (from && to && this.#flights.length < MOST) this.#flights.push({ from, to, isLate: delay > 15, age: 0 });
  }

  #project() {
    const { width, height } = this.#surface;
    if (!this.#palette || width === 0) return;
    const scale = Math.min(width / 0.98, height / 0.6) * 1.22;
    const projection = geoAlbersUsa().scale(scale).translate([width / 2, height / 2]);
    this.#points = new Map();
    // Drawn once: it is laid under the flights of each frame.
    this.#land = new Path2D();
    for (const [iata, place] of this.#places) {
      const point = projection(place);
      if (!point) continue;
      this.#points.set(iata, point);
      this.#land.rect(point[0] - 0.6, point[1] - 0.6, 1.2, 1.2);
    }
  }

  draw(elapsed) {
    if (!this.#land) return;
    this.#flights = this.#flights.filter((flight) => (flight.age += elapsed) < SEEN);
    this.#surface.draw((context) => {
      context.fillStyle = this.#palette.land;
      context.fill(this.#land);
      for (const { from, to, isLate, age } of this.#flights) {
        const part = age / SEEN;
        context.globalAlpha = 1 - part;
        context.strokeStyle = isLate ? this.#palette.retry : this.#palette.asked;
        context.lineWidth = 1.2;
        context.setLineDash(isLate ? [4, 3] : []);
        const rise = Math.hypot(to[0] - from[0], to[1] - from[1]) * 0.18;
        context.beginPath();
        context.moveTo(...from);
        context.quadraticCurveTo((from[0] + to[0]) / 2, (from[1] + to[1]) / 2 - rise, ...to);
        context.stroke();
        context.setLineDash([]);
        context.fillStyle = context.strokeStyle;
        context.fillRect(from[0] - 1.5, from[1] - 1.5, 3, 3);
      }
      context.globalAlpha = 1;
    });
  }
}
