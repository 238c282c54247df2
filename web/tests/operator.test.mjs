// The package, as its users use it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";

import "fake-indexeddb/auto";

import { createOperator, fetchLookup, indexedDbLookup, LookupFailure, mapLookup } from "../package/index.js";

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const numbers = (count) => Array.from({ length: count }, (_, id) => ({ id }));
const all = async (iterable) => {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
};
const byId = { key: (record) => record.id };

test("records are joined in order, in batches", async () => {
  const batches = [];
  const op = await createOperator({
    capacity: 500,
    lookup: async (keys) => {
      batches.push(keys.length);
      await sleep(Math.random() * 5);
      return keys.map((key) => (key % 3 === 0 ? undefined : key % 3 === 1 ? { double: key * 2 } : [{ a: key }, { b: key }]));
    },
  });
  const joined = await all(op.enrich(numbers(5_000), byId));
  assert.equal(joined.length, 5_000);
  joined.forEach(({ record, key, outcome, rows, attempts, eventTime }, id) => {
    assert.deepEqual(record, { id });
    assert.equal(key, id);
    assert.equal(outcome, id % 3 === 0 ? "missing" : "found");
    assert.deepEqual(rows, id % 3 === 0 ? [] : id % 3 === 1 ? [{ double: id * 2 }] : [{ a: id }, { b: id }]);
    assert.equal(attempts, 1);
    assert.equal(eventTime, undefined);
  });
  assert.ok(batches.length < 500, `${batches.length} batches`);
  const stats = op.stats();
  assert.equal(stats.found + stats.missing, 5_000);
});

test("unordered, the quick overtake the slow, and never a watermark", async () => {
  const op = await createOperator({ order: "unordered", lookup: (keys) => keys.map((key) => sleep(key).then(() => key)) });
  await op.push("slow", { key: 60, eventTime: 1 });
  await op.push("quick", { key: 1, eventTime: 2 });
  await op.pushWatermark(2);
  await op.pushIdle(true);
  await op.push("next", { key: 2, eventTime: 3n });
  op.end();
  const outputs = (await all(op.outputs())).map(({ type, record, eventTime }) => record ?? eventTime ?? type);
  assert.deepEqual(outputs, ["quick", "slow", 2n, "idle", "next"]);
});

test("key-ordered, one lookup a key at a time", async () => {
  const running = new Set();
  const op = await createOperator({
    order: "key-ordered",
    lookup: (keys) =>
      keys.map(async (key) => {
        assert.ok(!running.has(key));
        running.add(key);
        await sleep(Math.random() * 4);
        running.delete(key);
        return key;
      }),
  });
  const records = Array.from({ length: 200 }, (_, n) => ({ id: `k${n % 7}`, n }));
  const joined = await all(op.enrich(records, byId));
  for (let key = 0; key < 7; key++) {
    const order = joined.filter(({ record }) => record.id === `k${key}`).map(({ record }) => record.n);
    assert.deepEqual(order, order.toSorted((a, b) => a - b));
  }
});

test("back-pressure reaches the source", async () => {
  let pulled = 0;
  async function* source() {
    for (let id = 0; id < 100_000; id++) {
      pulled++;
      yield { id };
    }
  }
  const op = await createOperator({ capacity: 10, lookup: (keys) => keys });
  const reader = op.enrich(source(), byId);
  await reader.next();
  await sleep(50);
  assert.ok(pulled < 5_000, `${pulled} records were pulled while nobody read`);
  await reader.return();
  const before = pulled;
  await sleep(20);
  assert.ok(pulled <= before + 1, "the source goes on after its reader went");
});

test("each way to fail is an outcome of its record alone", async () => {
  const never = new Promise(() => {});
  const op = await createOperator({
    timeout: "100ms",
    onFailure: "emit",
    onTimeout: "emit",
    lookup: (keys) =>
      keys.map((key) => {
        switch (key) {
          case "rejects":
            return Promise.reject(new Error("it is down"));
          case "throttled":
            return new LookupFailure("throttled", "later");
          case "never":
            return never;
          case "circular": {
            const row = {};
            row.row = row;
            return row;
          }
          default:
            return key;
        }
      }),
  });
  const joined = await all(op.enrich(["fine", "rejects", "throttled", "never", "circular"].map((id) => ({ id })), byId));
  assert.deepEqual(joined.map(({ outcome }) => outcome), ["found", "failed", "failed", "timed-out", "failed"]);
  assert.equal(joined[1].error, "unavailable: it is down");
  assert.equal(joined[2].error, "throttled: later");
  assert.match(joined[4].error, /^malformed: a row cannot be written/);
});

for (const [name, lookup, error] of [
  ["throws", () => { throw new Error("no"); }, "unavailable: no"],
  ["rejects", async () => { throw new LookupFailure("rejected", "no"); }, "rejected: no"],
  ["answers too few", async (keys) => keys.slice(1), /^malformed: the lookup was asked for 2 keys and gave 1 results/],
  ["gives no list", async () => 7, /^malformed: .* gave no list of results/],
]) {
  test(`a lookup that ${name} fails its keys`, async () => {
    const op = await createOperator({ onFailure: "emit", lookup });
    for (const joined of await all(op.enrich(numbers(2), byId))) {
      assert.equal(joined.outcome, "failed");
      if (typeof error === "string") assert.equal(joined.error, error);
      else assert.match(joined.error, error);
    }
  });
}

test("a failure ends the operator where the policy is to fail", async () => {
  const op = await createOperator({ lookup: (keys) => keys.map((key) => (key === 3 ? new Error("no") : key)) });
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const { record } of op.enrich(numbers(10), byId)) seen.push(record.id);
    },
    (error) => {
      assert.equal(error.name, "OperatorError");
      assert.equal(error.code, "lookup-failed");
      assert.equal(error.lookup.key, 3);
      return true;
    },
  );
  // What was answered in the same turn and goes before it has left.
  assert.deepEqual(seen, [0, 1, 2]);
});

test("retries wait for their delay, and what was found is kept", async () => {
  let calls = 0;
  const op = await createOperator({
    retry: { on: "failure", attempts: 3, delay: "20ms" },
    cache: { maxBytes: 1 << 20 },
    lookup: (keys) => keys.map((key) => (++calls < 3 ? new Error("not yet") : { key })),
  });
  const begin = performance.now();
  const joined = await all(op.enrich([{ id: "a" }, { id: "a" }, { id: "a" }], byId));
  assert.ok(performance.now() - begin >= 39);
  assert.ok(joined.every(({ outcome }) => outcome === "found"));
  assert.equal(calls, 3);
});

test("values keep their digits, and keys their types", async () => {
  const keys = [7, "7", 9007199254740993n, true, ["a b", "c"], ["a", "b c"], -0, "é\u0000\"", null];
  const seen = [];
  const op = await createOperator({ lookup: (keys) => keys.map((key) => (seen.push(key), { big: 12345678901234567890n, key })) });
  const records = keys.map((key) => ({ key, big: 9007199254740993n, text: "9007199254740993", real: 1.5 }));
  const joined = await all(op.enrich(records, { key: (record) => record.key }));
  joined.forEach(({ record, key, rows, attempts }, n) => {
    assert.equal(record.big, 9007199254740993n);
    assert.equal(record.text, "9007199254740993");
    if (keys[n] === null) return assert.equal(attempts, 0);
    assert.deepEqual(key, keys[n] === 0 ? 0 : keys[n]);
    assert.equal(rows[0].big, 12345678901234567890n);
  });
  assert.equal(seen.length, keys.length - 1);
  const failing = await createOperator({ lookup: (keys) => keys });
  await assert.rejects(failing.push("x", { key: Symbol("x") }), /the key has a value of type symbol/);
  await assert.rejects(failing.push("x", { key: NaN }), /the key has NaN/);
});

test("bytes pass as they are", async () => {
  const op = await createOperator({ payloads: "bytes", rows: "bytes", lookup: (keys) => keys.map(() => new Uint8Array([255, 0])) });
  await op.push(new Uint8Array([0, 254]), { key: "a" });
  op.end();
  const [joined] = await all(op.outputs());
  assert.deepEqual([...joined.record], [0, 254]);
  assert.deepEqual([...joined.rows[0]], [255, 0]);
});

test("a snapshot goes on in another operator", async () => {
  const options = { timeout: null, lookup: () => new Promise(() => {}) };
  const op = await createOperator(options);
  for (const { id } of numbers(5)) await op.push({ id }, { key: id });
  const snapshot = op.snapshot();
  op.close();
  const restored = await createOperator({ ...options, capacity: 2, lookup: (keys) => keys }, snapshot);
  restored.end();
  const joined = await all(restored.outputs());
  assert.deepEqual(joined.map(({ record, rows }) => [record.id, rows[0]]), [0, 1, 2, 3, 4].map((id) => [id, id]));
  snapshot[snapshot.length >> 1] ^= 1;
  await assert.rejects(createOperator(options, snapshot), { code: "corrupt-snapshot" });
});

test("streams are piped through", async () => {
  const op = await createOperator({ lookup: (keys) => keys.map((key) => ({ key })) });
  const joined = await all(ReadableStream.from(numbers(3_000)).pipeThrough(op.transform(byId)));
  assert.deepEqual(joined.map(({ record }) => record.id), numbers(3_000).map(({ id }) => id));
});

test("closing aborts what runs, by hand and by a signal", async () => {
  const controller = new AbortController();
  let aborted = 0;
  const lookup = (keys, { signals, signal }) => {
    signals.forEach((signal) => signal.addEventListener("abort", () => aborted++));
    signal.addEventListener("abort", () => (aborted += 10));
    return keys.map(() => new Promise(() => {}));
  };
  const op = await createOperator({ lookup, signal: controller.signal });
  const reading = all(op.enrich(numbers(3), byId));
  await sleep(20);
  controller.abort(new Error("enough"));
  await assert.rejects(reading, /enough/);
  assert.equal(aborted, 13);
  await assert.rejects(op.push("x"), /enough/);
  op.close();
  await assert.rejects(createOperator({ lookup, signal: controller.signal }), /enough/);
});

test("options that make no sense are refused", async () => {
  const lookup = () => [];
  for (const [options, message] of [
    [{}, /lookup: a function/],
    [{ lookup, capacity: 0 }, /capacity/],
    [{ lookup, timeout: "soon" }, /timeout: soon is no duration/],
    [{ lookup, order: "sorted" }, /order/],
    [{ lookup, size: 1 }, /there is no option size/],
    [{ lookup, retry: { count: 1 } }, /there is no option retry.count; there are on, attempts/],
    [{ lookup, payloads: "xml" }, /payloads: write "json" or "bytes"/],
  ]) {
    await assert.rejects(createOperator(options), message);
  }
});

test("texts beyond ASCII cross whole", async () => {
  const text = "größer als 日本 🛫";
  await assert.rejects(createOperator({ lookup: () => [], order: text }), (error) => error.message.includes(text));
  const op = await createOperator({ lookup: () => Promise.reject(new Error(text)) });
  await assert.rejects(all(op.enrich([{ id: text }], byId)), (error) => {
    assert.equal(error.lookup.key, text);
    return error.lookup.message.includes(text) && error.message.includes(text);
  });
});

test("what is in flight can be looked at", async () => {
  const op = await createOperator({ lookup: (keys) => keys.map(() => new Promise(() => {})) });
  await op.push("x", { key: "a" });
  await sleep(10);
  const [element] = op.inspect();
  assert.equal(element.key, "a");
  assert.equal(element.waitsFor, "answer");
  assert.ok(element.age > 1_000_000n);
  op.close();
});

test("fetch looks up over HTTP, and the deadline aborts the request", async () => {
  let aborted = 0;
  const server = createServer((request, response) => {
    const key = decodeURIComponent(new URL(request.url, "http://host").pathname.split("/").at(-1));
    request.on("error", () => {});
    response.on("close", () => (aborted += response.writableEnded ? 0 : 1));
    if (key === "none") return response.writeHead(404).end();
    if (key === "busy") return response.writeHead(503, { "retry-after": "1" }).end();
    if (key === "bad") return response.writeHead(400).end();
    if (key === "slow") return undefined;
    if (key === "many") return response.end('[{"n": 9007199254740993}, {"n": [2, "],["]}]');
    return response.end('{"price": 1.10}');
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  const options = {
    timeout: "300ms",
    onFailure: "emit",
    onTimeout: "emit",
    lookup: fetchLookup({ url: (key) => `${base}/rows/${encodeURIComponent(key)}?secret=hidden` }),
  };
  const op = await createOperator({ ...options, rows: "bytes" });
  const keys = ["a/b", "none", "busy", "bad", "slow", "many"];
  const joined = await all(op.enrich(keys.map((id) => ({ id })), byId));
  assert.deepEqual(joined.map(({ outcome }) => outcome), ["found", "missing", "failed", "failed", "timed-out", "found"]);
  const texts = joined.map(({ rows }) => rows.map((row) => new TextDecoder().decode(row)));
  assert.deepEqual(texts[0], ['{"price": 1.10}']);
  assert.deepEqual(texts[5], ['{"n": 9007199254740993}', '{"n": [2, "],["]}']);
  assert.match(joined[2].error, /^throttled: http.*: the server answered 503$/);
  assert.match(joined[3].error, /^rejected: /);
  assert.ok(!joined[3].error.includes("hidden"));
  await sleep(50);
  assert.equal(aborted, 1);
  server.close();
  server.closeAllConnections();
  const [down] = await all((await createOperator(options)).enrich([{ id: "a" }], byId));
  assert.match(down.error, /^unavailable: /);
});

test("fetch asks for many keys at once where the service takes them", async () => {
  const asked = [];
  const server = createServer((request, response) => {
    const keys = new URL(request.url, "http://host").searchParams.get("ids").split(",");
    asked.push(keys.length);
    response.end(`[${keys.map((key) => (key === "2" ? "null" : key === "3" ? "[1, 2]" : `{"id": ${key}, "price": 1.10}`)).join(", ")}]`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const urlOfBatch = (keys) => `http://127.0.0.1:${server.address().port}/rows?ids=${keys.join(",")}`;
  const op = await createOperator({ lookup: fetchLookup({ urlOfBatch, inOrder: true }), rows: "bytes" });
  const joined = await all(op.enrich(numbers(5), byId));
  const rows = joined.map(({ rows }) => rows.map((row) => new TextDecoder().decode(row)));
  assert.deepEqual(rows, [['{"id": 0, "price": 1.10}'], ['{"id": 1, "price": 1.10}'], [], ["1", "2"], ['{"id": 4, "price": 1.10}']]);
  assert.deepEqual(asked, [5]);
  server.close();
  server.closeAllConnections();
});

test("rows of a batch are matched by their keys, and not by their places", async () => {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://host");
    const rows = searchParams.get("ids").split(",").map((id) => ({ id: Number(id), from: pathname }));
    if (pathname === "/reversed") rows.reverse();
    if (pathname === "/short") rows.pop();
    response.end(JSON.stringify(rows));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const urlOfBatch = (path) => (keys) => `http://127.0.0.1:${server.address().port}${path}?ids=${keys.join(",")}`;
  const join = async (lookup) => {
    const op = await createOperator({ lookup, onFailure: "emit" });
    return all(op.enrich([0, 1, 2, 1].map((id) => ({ id })), byId));
  };
  const joined = await join(fetchLookup({ urlOfBatch: urlOfBatch("/reversed"), rowKey: (row) => row.id }));
  assert.deepEqual(joined.map(({ record, rows }) => [record.id, rows[0].id]), [[0, 0], [1, 1], [2, 2], [1, 1]]);
  const short = await join(fetchLookup({ urlOfBatch: urlOfBatch("/short"), inOrder: true }));
  assert.deepEqual(short.map(({ outcome }) => outcome), ["found", "found", "found", "failed"]);
  assert.match(short[3].error, /^malformed: 4 keys were asked for and 3 rows came back, none for this one/);
  assert.throws(() => fetchLookup({ urlOfBatch: urlOfBatch("/") }), /say whose a row is, by rowKey/);
  server.close();
  server.closeAllConnections();
});

test("a status becomes an outcome", async () => {
  const server = createServer((request, response) => response.writeHead(Number(request.url.slice(1))).end());
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = (key) => `http://127.0.0.1:${server.address().port}/${key}`;
  const outcomes = async (options, statuses) => {
    const op = await createOperator({ lookup: fetchLookup({ url, ...options }), onFailure: "emit" });
    const joined = await all(op.enrich(statuses.map((id) => ({ id })), byId));
    return joined.map(({ outcome, error }) => (outcome === "failed" ? error.split(":")[0] : outcome));
  };
  assert.deepEqual(await outcomes({}, [404, 204, 205, 410]), ["missing", "missing", "missing", "rejected"]);
  assert.deepEqual(await outcomes({ misses: [404, 410] }, [404, 410]), ["missing", "missing"]);
  const rest = await outcomes({}, [202, 206, 408, 425, 500, 400]);
  assert.deepEqual(rest, ["unavailable", "malformed", "unavailable", "unavailable", "unavailable", "rejected"]);
  server.close();
  server.closeAllConnections();
});

test("no text can pass for a number", async () => {
  const text = "\u0001lookaside-bigint:x";
  const op = await createOperator({ lookup: (keys) => keys.map(() => ({ text, big: 12345678901234567890n })) });
  const [joined] = await all(op.enrich([{ text, big: 12345678901234567890n }], { key: () => 1 }));
  for (const value of [joined.record, joined.rows[0]]) assert.deepEqual(value, { text, big: 12345678901234567890n });
});

test("maps and IndexedDB answer lookups", async () => {
  const op = await createOperator({ lookup: mapLookup(new Map([["a", { n: 1 }], [7, [1, 2]]])) });
  const joined = await all(op.enrich(["a", 7, "7"].map((id) => ({ id })), byId));
  assert.deepEqual(joined.map(({ rows }) => rows), [[{ n: 1 }], [1, 2], []]);
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open("users", 1);
    request.onupgradeneeded = () => {
      const users = request.result.createObjectStore("users", { keyPath: "id" });
      users.createIndex("by-city", "city");
      for (const [id, city] of [[1, "Ulm"], [2, "Ulm"], [3, "Bonn"]]) users.add({ id, city });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const own = await createOperator({ lookup: indexedDbLookup({ database: "users", store: "users" }) });
  assert.deepEqual((await all(own.enrich([{ id: 3 }, { id: 4 }], byId))).map(({ rows }) => rows), [[{ id: 3, city: "Bonn" }], []]);
  const index = await createOperator({ lookup: indexedDbLookup({ database, store: "users", index: "by-city" }) });
  const [ulm] = await all(index.enrich([{ id: "Ulm" }], byId));
  assert.deepEqual(ulm.rows.map(({ id }) => id), [1, 2]);
});

/** A clock that stands until it is told to go on. */
class ManualClock {
  #now = 0;
  #timers = [];

  now() {
    return this.#now;
  }

  setTimeout(callback, milliseconds) {
    const timer = { callback, at: this.#now + milliseconds };
    this.#timers.push(timer);
    return timer;
  }

  clearTimeout(timer) {
    this.#timers = this.#timers.filter((other) => other !== timer);
  }

  async advance(milliseconds) {
    this.#now += milliseconds;
    for (const timer of this.#timers.filter(({ at }) => at <= this.#now)) {
      this.clearTimeout(timer);
      timer.callback();
    }
    await sleep(0);
  }
}

test("with a clock of one's own, time goes as that says", async () => {
  const clock = new ManualClock();
  const aborted = [];
  const op = await createOperator({
    clock,
    timeout: "1h",
    onTimeout: "emit",
    onFailure: "emit",
    retry: { on: "failure", attempts: 2, delay: "10m" },
    lookup: (keys, { signals }) => {
      keys.forEach((key, place) => signals[place].addEventListener("abort", () => aborted.push(key)));
      return keys.map((key) => (key === "never" ? new Promise(() => {}) : Promise.reject(new Error("no"))));
    },
  });
  await op.push("a", { key: "never" });
  await sleep(20);
  await op.push("b", { key: "fails" });
  const outputs = op.outputs();
  const first = outputs.next();
  await sleep(20);
  assert.deepEqual(op.inspect().map(({ waitsFor, age }) => [waitsFor, age]), [["answer", 0n], ["retry", 0n]]);
  await clock.advance(10 * 60_000);
  assert.equal(op.stats().retries, 1);
  await clock.advance(50 * 60_000 - 1);
  assert.deepEqual(aborted, []);
  await clock.advance(1);
  assert.equal((await first).value.outcome, "timed-out");
  assert.deepEqual(aborted, ["never"]);
  // A clock that goes back changes nothing.
  await clock.advance(-60_000);
  assert.equal((await outputs.next()).value.outcome, "failed");
  assert.deepEqual(op.inspect(), []);
  op.close();
  await assert.rejects(createOperator({ lookup: () => [], clock: { now: () => 0 } }), /clock: it has no function setTimeout/);
});

test("room says what a push does not wait for, and then a snapshot has everything", async () => {
  const op = await createOperator({ capacity: 3, timeout: null, lookup: () => new Promise(() => {}) });
  assert.equal(op.room(), 3);
  await op.push(1, { key: 1 });
  assert.equal(op.room(), 2);
  await op.pushWatermark(5);
  await op.push(2, { key: 2 });
  assert.equal(op.room(), 0);
  const outputs = op.outputs();
  const next = outputs.next();
  const restored = await createOperator({ timeout: null, lookup: (keys) => keys }, op.snapshot());
  assert.equal(restored.stats().restored, 2);
  let isTaken = false;
  const pushed = op.push(3, { key: 3 }).then(() => (isTaken = true), () => {});
  await sleep(20);
  assert.equal(isTaken, false);
  assert.throws(() => op.snapshot(), /records wait for room/);
  op.close();
  await Promise.all([pushed, next]);
});

test("a lookup that asks for no signals has none made, and those it asks for late are right", async () => {
  const contexts = [];
  const op = await createOperator({
    timeout: 50,
    onTimeout: "emit",
    lookup: (keys, context) => {
      contexts.push(context);
      return keys.map(() => new Promise(() => {}));
    },
  });
  await op.push("a", { key: 1 });
  await op.push("b", { key: 2 });
  await sleep(10);
  const [{ signal, signals }] = contexts;
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false, false]);
  for await (const { outcome } of op.outputs()) {
    assert.equal(outcome, "timed-out");
    break;
  }
  await sleep(20);
  assert.deepEqual([signal.aborted, ...signals.map(({ aborted }) => aborted)], [true, true, true]);
  op.close();
});

test("others have their turns while lookups end at once", async () => {
  const op = await createOperator({ capacity: 1_000, lookup: (keys) => keys });
  let [turns, count] = [0, 0];
  const timer = setInterval(() => turns++, 1);
  for await (const { rows } of op.enrich(numbers(100_000), byId)) count += rows.length;
  clearInterval(timer);
  assert.equal(count, 100_000);
  assert.ok(turns > 0, "no timer ran before the last record had left");
});

test("a snapshot is refused while outputs of a batch are unread, and taken when they are read", async () => {
  const options = { timeout: null, lookup: (keys) => keys.map((key) => (key < 5 ? key : new Promise(() => {}))) };
  const op = await createOperator(options);
  for (const { id } of numbers(8)) await op.push({ id }, { key: id });
  const outputs = op.outputs();
  const read = [(await outputs.next()).value.record.id];
  assert.equal(op.unread(), 4);
  assert.throws(() => op.snapshot(), /4 outputs have left and were not read/);
  while (op.unread() > 0) read.push((await outputs.next()).value.record.id);
  const restored = await createOperator({ ...options, lookup: (keys) => keys }, op.snapshot());
  op.close();
  restored.end();
  for (const { record } of await all(restored.outputs())) read.push(record.id);
  assert.deepEqual(read, [0, 1, 2, 3, 4, 5, 6, 7]);
});

test("who asks for several outputs at once has them in order, and the end for those too many", async () => {
  const op = await createOperator({ lookup: (keys) => keys.map((key) => sleep(key % 3).then(() => key)) });
  const reader = op.enrich(numbers(5), byId);
  const steps = await Promise.all(Array.from({ length: 7 }, () => reader.next()));
  assert.deepEqual(steps.map(({ value, done }) => value?.record.id ?? done), [0, 1, 2, 3, 4, true, true]);
  assert.deepEqual(await reader.next(), { value: undefined, done: true });
  assert.deepEqual(await reader.return(7), { value: 7, done: true });
});

test("a source that fails ends the reader with its error, after what was there", async () => {
  function* source() {
    yield { id: 0 };
    throw new Error("the source broke");
  }
  const op = await createOperator({ lookup: (keys) => keys });
  await assert.rejects(all(op.enrich(source(), byId)), /the source broke/);
  const other = await createOperator({ lookup: (keys) => keys });
  const joined = await all(other.enrich([Promise.resolve({ id: 1 }), { id: 2 }], byId));
  assert.deepEqual(joined.map(({ record }) => record.id), [1, 2]);
  assert.throws(() => other.enrich([], {}), /key: a function/);
});

test("texts beyond ASCII and long digits in them keep their places in a batch", async () => {
  const texts = ["a", "é", "", "日本", "\ud83d\ude00", "12345678901234567890", "z\ufeff"];
  const op = await createOperator({ lookup: (keys) => keys.map((key) => ({ key, big: 12345678901234567890n })) });
  const joined = await all(op.enrich(texts.map((id) => ({ id, big: -9007199254740993n })), byId));
  joined.forEach(({ record, key, rows }, place) => {
    assert.deepEqual(record, { id: texts[place], big: -9007199254740993n });
    assert.equal(key, texts[place]);
    assert.deepEqual(rows, [{ key: texts[place], big: 12345678901234567890n }]);
  });
});

test("bytes that are no JSON fail the record whose row they are", async () => {
  const lookup = (keys) => keys.map((key) => Buffer.from(key === 1 ? "{" : '{"is":"json"}'));
  const op = await createOperator({ onFailure: "emit", lookup });
  const joined = await all(op.enrich(numbers(3), byId));
  assert.deepEqual(joined.map(({ outcome }) => outcome), ["found", "failed", "found"]);
  assert.match(joined[1].error, /^malformed: a row cannot be written/);
});

test("a record that is refused leaves the batch as it was", async () => {
  const op = await createOperator({ payloads: "bytes", rows: "bytes", lookup: (keys) => keys.map((key) => Buffer.from(key)) });
  await op.push(Buffer.from("a"), { key: "a" });
  await assert.rejects(op.push(Buffer.from("b"), { key: "b", eventTime: 1.5 }), RangeError);
  await assert.rejects(op.push("c", { key: "c" }), /takes Uint8Arrays, and this record is of type string/);
  await op.push(Buffer.from("d"), { key: "d", eventTime: 4 });
  op.end();
  const joined = await all(op.outputs());
  assert.deepEqual(
    joined.map(({ record, rows, eventTime }) => [String.fromCharCode(...record), String.fromCharCode(...rows[0]), eventTime]),
    [["a", "a", undefined], ["d", "d", 4n]],
  );
});

test("a reader that stops leaves the rest of its batch to the next one", async () => {
  const op = await createOperator({ lookup: (keys) => keys });
  for (const { id } of numbers(5)) await op.push({ id }, { key: id });
  const read = [];
  for await (const { record } of op.outputs()) {
    read.push(record.id);
    if (read.length === 2) break;
  }
  op.end();
  for await (const { record } of op.outputs()) read.push(record.id);
  assert.deepEqual(read, [0, 1, 2, 3, 4]);
});

test("an answer that was there before its deadline counts, though both are seen in the same turn", async () => {
  let [now, answer] = [0, undefined];
  const timers = new Set();
  const clock = {
    now: () => now,
    setTimeout: (callback) => (timers.add(callback), callback),
    clearTimeout: (callback) => timers.delete(callback),
  };
  const lookup = (keys) => keys.map(() => new Promise((resolve) => (answer = resolve)));
  const op = await createOperator({ clock, timeout: 50, onTimeout: "emit", lookup });
  await op.push("a", { key: 1 });
  const reading = op.outputs().next();
  await sleep(20);
  now = 40;
  answer("row");
  // Promises have their turn, and the event loop has none.
  for (let turn = 0; turn < 10; turn++) await undefined;
  now = 60;
  for (const callback of [...timers]) callback();
  assert.equal((await reading).value.outcome, "found");
  op.close();
});

test("what a failed lookup says of waiting counts where it is a number, and its record ends in any case", async () => {
  for (const retryAfter of [NaN, -1, Infinity, "soon", "Wed, 21 Oct 2026 07:28:00 GMT", {}]) {
    const lookup = () => Promise.reject(Object.assign(new Error("no"), { retryAfter }));
    const op = await createOperator({ onFailure: "emit", onTimeout: "emit", timeout: "2s", lookup });
    const [joined] = await all(op.enrich([{ id: 1 }], byId));
    assert.equal(joined.error, "unavailable: no", String(retryAfter));
  }
  function* broken() {
    yield 1;
    throw new Error("the list broke");
  }
  const op = await createOperator({ onFailure: "emit", onTimeout: "emit", timeout: "2s", lookup: async () => broken() });
  assert.deepEqual((await all(op.enrich(numbers(2), byId))).map(({ error }) => error), Array(2).fill("unavailable: the list broke"));
});

for (const order of ["ordered", "unordered"]) {
  test(`${order}, what was answered while the process was stopped is found`, async () => {
    const responses = [];
    let allAsked;
    const asked = new Promise((resolve) => (allAsked = resolve));
    const server = createServer((_request, response) => responses.push(response) === 50 && allAsked());
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const program = new URL("host/paused.mjs", import.meta.url).pathname;
    const child = spawn(process.execPath, [program, order, `http://127.0.0.1:${server.address().port}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const output = text(child.stdout);
      await asked;
      child.kill("SIGSTOP");
      for (const response of responses) response.end('"an answer"');
      await sleep(2_500);
      child.kill("SIGCONT");
      assert.deepEqual(JSON.parse(await output), { found: 50 });
    } finally {
      child.kill("SIGKILL");
      server.close();
    }
  });
}
