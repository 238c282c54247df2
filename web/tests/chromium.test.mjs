// The package in the real Chromium, under a strict content security policy.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openBrowser } from "./host/browser.mjs";

let browser;
const seen = { requests: 0, aborted: 0 };

before(async () => {
  browser = await openBrowser((request, response) => {
    const [, kind, key] = request.url.split("/");
    if (kind !== "rows") return false;
    seen.requests++;
    response.on("close", () => (seen.aborted += response.writableEnded ? 0 : 1));
    if (key !== "slow") response.end(JSON.stringify({ key }));
    return true;
  });
  await browser.page.goto("/tests/host/page.html");
});

after(() => browser.close());

test("records are joined in a page", async () => {
  const joined = await browser.page.evaluate(async () => {
    const { createOperator } = await import("/package/index.js");
    const op = await createOperator({ capacity: 1_000, lookup: async (keys) => keys.map((key) => (key % 2 ? { key } : null)) });
    const counts = { found: 0, missing: 0, inOrder: 0 };
    const records = Array.from({ length: 100_000 }, (_, id) => ({ id }));
    let next = 0;
    for await (const { record, outcome } of op.enrich(records, { key: (record) => record.id })) {
      counts[outcome]++;
      counts.inOrder += record.id === next++;
    }
    return counts;
  });
  assert.deepEqual(joined, { found: 50_000, missing: 50_000, inOrder: 100_000 });
});

test("the deadline aborts the fetch, which the server sees", async () => {
  const outcomes = await browser.page.evaluate(async () => {
    const { createOperator, fetchLookup } = await import("/package/index.js");
    const op = await createOperator({ timeout: "300ms", onTimeout: "emit", lookup: fetchLookup({ url: (key) => `/rows/${key}` }) });
    const outcomes = [];
    for await (const { outcome, rows } of op.enrich(["a", "slow", "b"], { key: (record) => record })) outcomes.push([outcome, rows[0]?.key]);
    return outcomes;
  });
  assert.deepEqual(outcomes, [["found", "a"], ["timed-out", undefined], ["found", "b"]].map(([outcome, key]) => [outcome, key]));
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(seen, { requests: 3, aborted: 1 });
});

test("a worker enriches, too", async () => {
  const right = await browser.page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker("/tests/host/worker.mjs", { type: "module" });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(20_000);
      }),
  );
  assert.equal(right, 20_000);
});

test("a page that was frozen loses nothing", async () => {
  const page = await browser.context.newPage();
  await page.goto("/tests/host/page.html");
  const session = await browser.context.newCDPSession(page);
  await page.evaluate(async () => {
    const { createOperator } = await import("/package/index.js");
    const wait = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
    const op = await createOperator({
      timeout: "5s",
      onTimeout: "emit",
      onFailure: "emit",
      retry: { on: "failure", attempts: 5, delay: 20 },
      lookup: (keys) => keys.map((key) => wait().then(() => (Math.random() < 0.3 ? Promise.reject(new Error("no")) : key))),
    });
    globalThis.outcomes = [];
    globalThis.done = (async () => {
      const records = Array.from({ length: 2_000 }, (_, id) => ({ id }));
      for await (const { record, outcome } of op.enrich(records, { key: (record) => record.id })) globalThis.outcomes.push([record.id, outcome]);
    })();
  });
  for (let freeze = 0; freeze < 3; freeze++) {
    await session.send("Page.setWebLifecycleState", { state: "frozen" });
    await new Promise((resolve) => setTimeout(resolve, 200));
    await session.send("Page.setWebLifecycleState", { state: "active" });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const outcomes = await page.evaluate(async () => {
    await globalThis.done;
    return globalThis.outcomes;
  });
  assert.equal(outcomes.length, 2_000);
  outcomes.forEach(([id, outcome], place) => {
    assert.equal(id, place);
    assert.ok(["found", "failed"].includes(outcome), outcome);
  });
  await page.close();
});

test("a tab that was closed goes on from IndexedDB", async () => {
  const first = await browser.context.newPage();
  await first.goto("/tests/host/page.html");
  await first.evaluate(async () => {
    const { createOperator } = await import("/package/index.js");
    const op = await createOperator({ timeout: null, lookup: () => new Promise(() => {}) });
    for (let id = 0; id < 5; id++) await op.push({ id, big: 9007199254740993n }, { key: id });
    const snapshot = op.snapshot();
    await new Promise((resolve, reject) => {
      const request = indexedDB.open("snapshots", 1);
      request.onupgradeneeded = () => request.result.createObjectStore("snapshots");
      request.onsuccess = () => {
        const transaction = request.result.transaction("snapshots", "readwrite");
        transaction.objectStore("snapshots").put(snapshot, "last");
        transaction.oncomplete = resolve;
        transaction.onerror = () => reject(transaction.error);
      };
    });
  });
  await first.close();
  const second = await browser.context.newPage();
  await second.goto("/tests/host/page.html");
  const joined = await second.evaluate(async () => {
    const { createOperator, indexedDbLookup } = await import("/package/index.js");
    const [snapshot] = await indexedDbLookup({ database: "snapshots", store: "snapshots" })(["last"]);
    const op = await createOperator({ timeout: null, lookup: (keys) => keys.map((key) => key * 2) }, snapshot);
    op.end();
    const joined = [];
    for await (const { record, rows } of op.outputs()) joined.push([record.id, String(record.big), rows[0]]);
    return joined;
  });
  assert.deepEqual(joined, [0, 1, 2, 3, 4].map((id) => [id, "9007199254740993", id * 2]));
  await second.close();
});
