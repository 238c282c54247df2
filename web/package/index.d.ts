/** A key: a text, a number or a boolean, or an array of them. A record without one makes no lookup and is a miss. */
export type Key = string | number | bigint | boolean | readonly (string | number | bigint | boolean)[];

/** Milliseconds, a text such as `"250ms"`, `"2s"` or `"5m"`, or `null` for no bound. */
export type Duration = number | string | null;

/** What becomes of a record that ends so: it leaves, is left out and counted, or ends the operator. */
export type Policy = "emit" | "drop" | "fail";

/** What a lookup is told beside its keys. */
export interface LookupContext {
  /** One a key: aborted when the record times out, and when the operator is closed. */
  readonly signals: readonly AbortSignal[];
  /** Aborted when the last of the keys is. */
  readonly signal: AbortSignal;
}

/**
 * What one key finds: nothing, a row, or an array of rows. A row is any value that has JSON, with BigInt for whole numbers that
 * a double does not hold, or a `Uint8Array`, which is taken as it is. An `Error` is a failure of this key alone.
 */
export type Found = unknown;

/**
 * Answers keys: a list as long as the keys, of what each finds, or of promises of that. Keys that are asked for in one
 * microtask come together. What throws or rejects is a failure: `unavailable`, unless it is a {@link LookupFailure}.
 */
export type Lookup = (keys: Key[], context: LookupContext) => Iterable<Found> | Promise<Iterable<Found>>;

/** The time that an operator lives by. */
export interface Clock {
  /** Milliseconds; a time that goes back is not believed. */
  now(): number;
  /** Calls back once, when `now()` is so much later. */
  setTimeout(callback: () => void, milliseconds: number): unknown;
  /** Gives up a timer that `setTimeout` gave. */
  clearTimeout(timer: any): void;
}

/** How an operator works. The defaults are those of the contract. */
export interface OperatorOptions {
  lookup: Lookup;
  /** In which order records leave: as they came (default), as their lookups end, or as they came within a key. */
  order?: "ordered" | "unordered" | "key-ordered";
  /** Records and watermarks in flight at most: 1 to 16777215, 100 by default. */
  capacity?: number;
  /** Bytes in flight at which no further record is taken. */
  maxBytes?: number | null;
  /** How long a record may take, all attempts included; 60 s by default. */
  timeout?: Duration;
  /** For records that nothing was found for: `emit` by default. */
  onMissing?: Policy;
  /** For records whose lookup failed: `fail` by default. */
  onFailure?: Policy;
  /** For records whose lookup timed out: `fail` by default. */
  onTimeout?: Policy;
  /** Further attempts. */
  retry?: {
    on?: "none" | "failure" | "missing" | "both";
    attempts?: number;
    delay?: Duration;
    multiplier?: number;
    maxDelay?: Duration;
    jitterSeed?: number | bigint | null;
  };
  /** What was found is used again; equal keys in flight then share one lookup. */
  cache?: {
    maxBytes: number;
    expireAfterWrite?: Duration;
    expireAfterAccess?: Duration;
    missingExpireAfterWrite?: Duration;
  };
  /** Closes the operator when it is aborted. */
  signal?: AbortSignal;
  /** Whose time counts, for tests and for what can be paused; the platform's by default. */
  clock?: Clock;
  /**
   * How records cross: as JSON (default), or as the bytes that they are. What leaves as bytes shares its memory with its
   * neighbours: `.slice()` what is kept for long, changed, or transferred.
   */
  payloads?: "json" | "bytes";
  /** How rows are given: parsed from JSON (default), or as bytes, which share their memory like those of records. */
  rows?: "json" | "bytes";
}

/** Where a record's key, order and event time come from. Event times are milliseconds. */
export interface Fields<R> {
  key: (record: R) => Key | null | undefined;
  orderKey?: (record: R) => Key | null | undefined;
  eventTime?: (record: R) => bigint | number | null | undefined;
}

/** A record with what was found for it. */
export interface Joined<R = any, Row = any> {
  type: "record";
  record: R;
  key: Key | undefined;
  outcome: "found" | "missing" | "failed" | "timed-out";
  rows: Row[];
  /** Lookups made for it; 0 where none was needed. */
  attempts: number;
  eventTime: bigint | undefined;
  /** For what failed or timed out: why. */
  error?: string;
}

/** What leaves an operator. */
export type Output<R = any, Row = any> =
  | Joined<R, Row>
  | { type: "watermark"; eventTime: bigint }
  | { type: "idle" }
  | { type: "active" };

/** An element in flight. */
export interface InFlight {
  id?: bigint;
  eventTime: bigint;
  barrier: boolean;
  key?: Key;
  waitsFor: "slot" | "key" | "answer" | "retry" | "order" | "downstream";
  /** Nanoseconds since it was accepted. */
  age: bigint;
  attempts: number;
  deadline?: bigint;
  outcome?: Joined["outcome"];
  lastError?: string;
}

/** An operator. */
export interface Operator {
  /** Joins each record; the input ends with `records`, and the operator with the output. */
  enrich<R, Row = any>(records: Iterable<R> | AsyncIterable<R>, fields: Fields<R>): AsyncGenerator<Joined<R, Row>, void>;
  /** For `ReadableStream.pipeThrough`. */
  transform<R, Row = any>(fields: Fields<R>): { writable: WritableStream<R>; readable: ReadableStream<Joined<R, Row>> };
  /** Offers a record; resolves once it has room. */
  push<R>(record: R, fields?: { key?: Key | null; orderKey?: Key | null; eventTime?: bigint | number | null }): Promise<void>;
  /** How many more records, watermarks and statuses have room now; who pushes no more than that never waits. */
  room(): number;
  /** Offers a watermark, in milliseconds. */
  pushWatermark(time: bigint | number): Promise<void>;
  /** Offers a status: idle, or active again. */
  pushIdle(idle: boolean): Promise<void>;
  /** Says that no more input comes. */
  end(): void;
  /** What leaves, in order; one reader at a time. While nobody reads, it stays inside and room runs out. */
  outputs<R = any, Row = any>(): AsyncGenerator<Output<R, Row>, void>;
  /**
   * All that was pushed and has not left: `createOperator(options, snapshot)`, here or in another host, goes on with it. Throws
   * while records wait for room or outputs wait for their reader, which would not be in it: see `room()` and `unread()`.
   */
  snapshot(): Uint8Array;
  /** How many outputs have left and wait for their reader; they leave in batches. */
  unread(): number;
  /** Counters and gauges by name. */
  stats(): Record<string, number>;
  /** What is in flight, oldest first. */
  inspect(max?: number): InFlight[];
  /** Ends it: lookups are aborted, readers and writers end. */
  close(reason?: unknown): void;
}

/** Opens an operator; where a snapshot is given, where that left off. */
export function createOperator(options: OperatorOptions, snapshot?: Uint8Array): Promise<Operator>;

/** The operator refused something, or failed. */
export class OperatorError extends Error {
  /** As in the contract: `lookup-failed`, `refused-option`, `corrupt-snapshot` and so on. */
  readonly code: string;
  /** For `lookup-failed`: whose lookup. */
  readonly lookup?: { id: bigint; key?: Key; outcome: Joined["outcome"]; attempts: number; message: string };
}

/** A lookup failed, in one of the ways that the operator knows. */
export class LookupFailure extends Error {
  constructor(
    kind: "unavailable" | "throttled" | "rejected" | "malformed",
    message: string,
    options?: { /** Milliseconds before another attempt. */ retryAfter?: number; cause?: unknown },
  );
  readonly kind: "unavailable" | "throttled" | "rejected" | "malformed";
  readonly retryAfter: number;
}

/** Looks up in a Map, or in a plain object. */
export function mapLookup(map: Map<unknown, Found> | Record<string, Found>): Lookup;

/**
 * Looks up by HTTP. 404, 204 and 205 are misses; 429 and 503 are `throttled`, with `Retry-After`; 202, 408, 425 and other 5xx
 * are `unavailable`, 206 is `malformed`, and other 4xx are `rejected`. The record's deadline aborts its request.
 */
export function fetchLookup(options: {
  /** The URL for a key: encode what you put into it. */
  url?: (key: Key) => string | URL;
  /** The URL for all keys of a batch, whose answer is a list; `rowKey` or `inOrder` says whose its elements are. */
  urlOfBatch?: (keys: Key[]) => string | URL;
  /** The key of a row of a batch's answer. Keys without rows are misses. */
  rowKey?: (row: unknown) => unknown;
  /** Whether the service promises an element for each key of a batch, in their order: a row, a list of rows, or null. */
  inOrder?: boolean;
  /** The statuses that say that there is no row; 404 by default. */
  misses?: number[];
  /** For `fetch`, such as headers. */
  init?: RequestInit | ((key: Key | Key[]) => RequestInit);
  /** Rows of a response's text; its JSON as it is written, by default. */
  rows?: (body: string, key: Key | Key[]) => Found;
  fetch?: typeof globalThis.fetch;
}): Lookup;

/** Looks up in an object store of IndexedDB, by its own keys or by an index. */
export function indexedDbLookup(options: { database: string | IDBDatabase; store: string; index?: string }): Lookup;
