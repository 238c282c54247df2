// The source: real flights, one after another, without end.

import flights from "../../../examples/flights.json";

/** Milliseconds since 1970; those of one minute differ by one, so that each flight has a time of its own. */
const times = [];
for (const { date } of flights) {
  const time = Date.parse(`${date.replaceAll("/", "-").replace(" ", "T")}Z`);
  times.push(Math.max(time, (times.at(-1) ?? 0) + 1));
}
/** From the first to the last, and a minute. */
const PERIOD = times.at(-1) - times[0] + 60_000;

/** The flight at a place in the stream; a source can be read again from any place on. */
export function flightAt(place) {
  const index = place % flights.length;
  const { date, delay, distance, origin, destination } = flights[index];
  const eventTime = times[index] + PERIOD * Math.floor(place / flights.length);
  return { place, date, delay, distance, origin, destination, eventTime };
}
