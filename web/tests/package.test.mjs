// What is in the package.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";

const folder = new URL("../package/", import.meta.url);
const component = new URL("../../target/guest/wasm32-wasip2/guest/lookaside_component.wasm", import.meta.url);

const files = async () => {
  const names = [...(await readdir(folder)), ...(await readdir(new URL("wasm/", folder))).map((name) => `wasm/${name}`)];
  return Promise.all(
    names.filter((name) => /\.(js|ts|wasm|json|md)$/.test(name)).map(async (name) => [name, await readFile(new URL(name, folder))]),
  );
};

test("it runs the very component that wasmtime runs", async () => {
  const [whole, core] = await Promise.all([readFile(component), readFile(new URL("wasm/lookaside.core.wasm", folder))]);
  assert.ok(core.length > 100_000);
  assert.ok(whole.includes(core), "the component's module is not the package's; run `cargo xtask web --build`");
});

test("it is under 200 KB, packed", async () => {
  const packed = (await files()).reduce((sum, [, content]) => sum + gzipSync(content, { level: 9 }).length, 0);
  assert.ok(packed < 200_000, `${packed} bytes`);
});

test("it needs no eval, no threads and no other package", async () => {
  for (const [name, content] of await files()) {
    if (!name.endsWith(".js")) continue;
    const text = content.toString();
    assert.doesNotMatch(text, /\beval\(|new Function\(|SharedArrayBuffer\(|WebAssembly\.(Suspending|promising)/, name);
    for (const [, from] of text.matchAll(/^\s*(?:import|export)[^;]*from\s+["']([^"']+)["']/gm)) {
      assert.ok(from.startsWith("."), `${name} imports ${from}`);
    }
  }
  const manifest = JSON.parse(await readFile(new URL("package.json", folder)));
  assert.equal(manifest.dependencies, undefined);
});

test("it runs in a worker of Node", async () => {
  const script = `
    import { parentPort } from "node:worker_threads";
    const { createOperator } = await import(${JSON.stringify(new URL("index.js", folder).href)});
    const op = await createOperator({ lookup: (keys) => keys });
    let count = 0;
    for await (const joined of op.enrich([1, 2, 3], { key: (record) => record })) count += joined.rows[0];
    parentPort.postMessage(count);
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`));
  const sum = await new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
  assert.equal(sum, 6);
  await worker.terminate();
});
