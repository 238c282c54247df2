// The package as it is published, bundled by Vite.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build, createServer, preview } from "vite";

import { openBrowser } from "./host/browser.mjs";

const example = fileURLToPath(new URL("../examples/vite", import.meta.url));
const published = fileURLToPath(new URL("../package", import.meta.url));
const headers = { "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'" };
const wanted = ["LAX to BNA: Los Angeles", "SJC to IAH: San Jose", "XXX to LIH: missing"];
let folder;
let browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lookaside-vite-"));
  await cp(example, folder, { recursive: true });
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: published });
  // As npm unpacks it, which would ask for the other packages of the example, too.
  await mkdir(join(folder, "node_modules"));
  execFileSync("tar", ["-xzf", join(folder, "lookaside-0.1.0.tgz"), "-C", join(folder, "node_modules")]);
  await rename(join(folder, "node_modules", "package"), join(folder, "node_modules", "lookaside"));
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true });
});

const config = () => ({ root: folder, configFile: join(folder, "vite.config.js"), logLevel: "error" });

async function linesOf(url) {
  const page = await browser.context.newPage();
  page.on("pageerror", (error) => console.error(`in the page: ${error}`));
  await page.goto(url);
  const lines = {};
  for (const list of ["here", "worker"]) {
    await page.locator(`#${list} li`).nth(wanted.length - 1).waitFor();
    lines[list] = await page.locator(`#${list} li`).allTextContents();
  }
  await page.close();
  return lines;
}

test("built, it runs under a strict policy, in a page and in a worker", async () => {
  await build(config());
  const server = await preview({ ...config(), preview: { host: "127.0.0.1", port: 0, headers } });
  try {
    assert.deepEqual(await linesOf(server.resolvedUrls.local[0]), { here: wanted, worker: wanted });
  } finally {
    await server.close();
  }
});

test("the dev server serves it as it is", async () => {
  const server = await createServer({ ...config(), server: { host: "127.0.0.1", port: 0, hmr: false } });
  try {
    await server.listen();
    assert.deepEqual(await linesOf(server.resolvedUrls.local[0]), { here: wanted, worker: wanted });
  } finally {
    await server.close();
  }
});
