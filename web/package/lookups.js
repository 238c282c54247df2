// Lookups that come with the package.

import { LookupFailure } from "./failure.js";
import { RawJson } from "./json.js";

/** Looks up in a Map, or in a plain object. */
export function mapLookup(map) {
  const get = map instanceof Map ? (key) => map.get(key) : (key) => (Object.hasOwn(map, key) ? map[key] : undefined);
  return (keys) => keys.map(get);
}

/** Looks up by HTTP: a request for each key, or one for many. */
export function fetchLookup({
  url,
  urlOfBatch,
  rowKey,
  inOrder = false,
  misses = [404],
  init,
  rows = (body) => new RawJson(body),
  fetch = globalThis.fetch,
}) {
  if (urlOfBatch && !rowKey && !inOrder) {
    throw new TypeError(
      "urlOfBatch: say whose a row is, by rowKey: (row) => row.id, or inOrder: true where the service promises one for each key, in the keys' order",
    );
  }
  const ask = async (target, key, signal) => {
    const given = typeof init === "function" ? init(key) : init;
    let response;
    try {
      response = await fetch(target, { ...given, signal });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new LookupFailure("unavailable", `${describe(target)}: ${error.message}`, { cause: error });
    }
    if (misses.includes(response.status) || response.status === 204 || response.status === 205) return undefined;
    // 202: it is still being made; 206: nobody asked for a part.
    if (response.ok && response.status !== 202 && response.status !== 206) return rows(await response.text(), key);
    throw failure(response, target);
  };
  if (urlOfBatch) {
    return async (keys, { signal }) => {
      const found = await ask(urlOfBatch(keys), keys, signal);
      if (found === undefined) return keys.map(() => undefined);
      const list = found instanceof RawJson ? found.rows().map((text) => new RawJson(text)) : found;
      return rowKey ? byKey(keys, list, rowKey) : byPlace(keys, list);
    };
  }
  return (keys, { signals }) => keys.map((key, place) => ask(url(key), key, signals[place]));
}

/** The rows of each key, of rows that say whose they are. */
function byKey(keys, list, rowKey) {
  const found = new Map();
  for (const row of list) {
    const key = String(rowKey(row instanceof RawJson ? JSON.parse(row.text) : row));
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return keys.map((key) => {
    const rows = found.get(String(key)) ?? [];
    return rows.every((row) => row instanceof RawJson) ? new RawJson(`[${rows.map(({ text }) => text).join(",")}]`) : rows;
  });
}

/** What each key finds, of a list in the keys' order; the keys that it is too short for fail. */
function byPlace(keys, list) {
  if (list.length > keys.length) {
    throw new LookupFailure("malformed", `${keys.length} keys were asked for and ${list.length} rows came back`);
  }
  const none = () => new LookupFailure("malformed", `${keys.length} keys were asked for and ${list.length} rows came back, none for this one`);
  return keys.map((_, place) => (place < list.length ? list[place] : none()));
}

function failure(response, target) {
  const kind = KINDS.get(response.status);
  const message = `${describe(target)}: the server answered ${response.status}`;
  if (response.status === 429 || response.status === 503) {
    return new LookupFailure("throttled", message, { retryAfter: retryAfter(response.headers.get("retry-after")) });
  }
  return new LookupFailure(kind ?? (response.status >= 500 ? "unavailable" : "rejected"), message);
}

/** What statuses mean that their hundred does not tell. */
const KINDS = new Map([
  [202, "unavailable"],
  [206, "malformed"],
  [408, "unavailable"],
  [425, "unavailable"],
]);

/** Milliseconds of a Retry-After: seconds, or until a date. */
function retryAfter(value) {
  if (value === null) return 0;
  const delay = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(delay) ? Math.max(0, delay) : 0;
}

/** A URL without what may be secret. */
function describe(target) {
  return String(target).split(/[?#]/, 1)[0];
}

/** Looks up in an object store of IndexedDB, by its own keys or by an index. */
export function indexedDbLookup({ database, store, index }) {
  const opened = typeof database === "string" ? open(database) : Promise.resolve(database);
  // It is told to each lookup.
  opened.catch(() => {});
  return async (keys) => {
    const source = (await opened).transaction(store, "readonly").objectStore(store);
    const found = index === undefined ? source : source.index(index);
    return Promise.all(keys.map((key) => done(index === undefined ? found.get(key) : found.getAll(key))));
  };
}

function open(name) {
  return done(globalThis.indexedDB.open(name));
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
