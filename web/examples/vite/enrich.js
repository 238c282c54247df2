// Joins a few flights with their airports: the same in a page and in a worker.

import { createOperator, mapLookup } from "lookaside";

const airports = { LAX: "Los Angeles", SJC: "San Jose", HNL: "Honolulu" };
const flights = [
  { origin: "LAX", destination: "BNA" },
  { origin: "SJC", destination: "IAH" },
  { origin: "XXX", destination: "LIH" },
];

/** A line for each flight. */
export async function* lines() {
  const op = await createOperator({ timeout: "2s", lookup: mapLookup(airports) });
  for await (const { record, outcome, rows } of op.enrich(flights, { key: (flight) => flight.origin })) {
    yield `${record.origin} to ${record.destination}: ${outcome === "found" ? rows[0] : outcome}`;
  }
}
