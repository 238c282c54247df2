// The demo's lookups: airports by their codes, answered as late and as badly as the page asks for.
//
//   GET  /api/airports           all places, for the map
//   GET  /api/answers/SESSION    a stream of answers, a JSON text a line: {id, row} or {id, error}
//   POST /api/lookups/SESSION    {ask: [[id, code, milliseconds, fails]], cancel: [id]}
//
// A browser opens six connections to a server at most, and a hundred lookups are to be under way: so answers of all
// lookups share one response.

import { readFileSync } from "node:fs";

const LINES = readFileSync(new URL("../../../examples/airports.csv", import.meta.url), "utf8").trim().split(/\r?\n/);
/** Longest body of a request that is read, in bytes. */
const LARGEST = 1 << 20;

/** A line's cells; a cell in quotes may hold commas. */
function cells(line) {
  return Array.from(line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g), ([, cell]) => cell.replace(/^"|"$/g, "").replaceAll('""', '"'));
}

const airports = new Map(
  LINES.slice(1).map((line) => {
    const [iata, name, city, state, , latitude, longitude] = cells(line);
    return [iata, { iata, name, city, state, latitude: Number(latitude), longitude: Number(longitude) }];
  }),
);
const places = JSON.stringify([...airports.values()].map(({ iata, latitude, longitude }) => [iata, latitude, longitude]));

/** One page's lookups. */
class Session {
  #response;
  #timers = new Map();
  #lines = [];

  constructor(response) {
    this.#response = response;
    response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
    response.flushHeaders();
  }

  ask(id, code, milliseconds, fails) {
    this.#timers.set(id, setTimeout(() => {
      this.#timers.delete(id);
      this.#send(fails ? { id, error: `the airport service has no answer for ${code}` } : { id, row: airports.get(code) ?? null });
    }, milliseconds));
  }

  cancel(id) {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  /** What is answered in one turn goes out together. */
  #send(answer) {
    if (this.#lines.push(JSON.stringify(answer)) > 1) return;
    setImmediate(() => {
      this.#response.write(`${this.#lines.join("\n")}\n`);
      this.#lines = [];
    });
  }

  close() {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#response.end();
  }
}

const sessions = new Map();

/** Answers requests for `/api`, as middleware. */
export async function answer(request, response, next) {
  const [, api, kind, session] = new URL(request.url, "http://host").pathname.split("/");
  if (api !== "api") return next();
  if (request.method === "GET" && kind === "airports") {
    return response.writeHead(200, { "content-type": "application/json" }).end(places);
  }
  if (request.method === "GET" && kind === "answers" && session) {
    sessions.get(session)?.close();
    const opened = new Session(response);
    sessions.set(session, opened);
    return response.on("close", () => {
      opened.close();
      if (sessions.get(session) === opened) sessions.delete(session);
    });
  }
  if (request.method === "POST" && kind === "lookups" && sessions.has(session)) {
    const asked = await bodyOf(request).catch(() => undefined);
    if (!Array.isArray(asked?.ask) || !Array.isArray(asked.cancel)) return response.writeHead(400).end();
    for (const [id, code, milliseconds, fails] of asked.ask) sessions.get(session)?.ask(id, code, Number(milliseconds) || 0, fails);
    for (const id of asked.cancel) sessions.get(session)?.cancel(id);
    return response.writeHead(204).end();
  }
  return response.writeHead(404).end();
}

async function bodyOf(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > LARGEST) throw new Error("too long");
  }
  return JSON.parse(text);
}
