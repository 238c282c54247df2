// Lookups that come with the package.

import { LookupFailure } from "./failure.js";
import { RawJson } from "./json.js";

/** Looks up in a Map, or in a plain object. */
export function mapLookup(map) {
  const get = map instanceof Map ? (key) => map.get(key) : (key) => (Object.hasOwn(map, key) ? map[key] : undefined);
  return (keys) => keys.map(get);
}

/** Looks up by HTTP: a request for each key, or one for many. */
export function fetchLookup({ url, urlOfBatch, init, rows = (body) => new RawJson(body), fetch = globalThis.fetch }) {
  const ask = async (target, key, signal) => {
    const given = typeof init === "function" ? init(key) : init;
    let response;
    try {
      response = await fetch(target, { ...given, signal });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new LookupFailure("unavailable", `${describe(target)}: ${error.message}`, { cause: error });
    }
    if (response.status === 404 || response.status === 204) return undefined;
    if (response.ok) return rows(await response.text(), key);
    throw failure(response, target);
  };
  if (urlOfBatch) {
    return async (keys, { signal }) => {
      const found = await ask(urlOfBatch(keys), keys, signal);
      if (found === undefined) return keys.map(() => undefined);
      // Each element of the answer's list is what one key finds.
      return found instanceof RawJson ? found.rows().map((text) => new RawJson(text)) : found;
    };
  }
  return (keys, { signals }) => keys.map((key, place) => ask(url(key), key, signals[place]));
}

function failure(response, target) {
  const message = `${describe(target)}: the server answered ${response.status}`;
  if (response.status === 429 || response.status === 503) {
    return new LookupFailure("throttled", message, { retryAfter: retryAfter(response.headers.get("retry-after")) });
  }
  return new LookupFailure(response.status >= 500 ? "unavailable" : "rejected", message);
}

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
