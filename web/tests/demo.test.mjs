// The page that shows the operator, in the real Chromium, as `cargo xtask web` serves it.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import axe from "axe-core";
import { build, preview } from "vite";

import { openBrowser } from "./host/browser.mjs";

const configFile = fileURLToPath(new URL("../demo/vite.config.js", import.meta.url));
/** Where screenshots are kept, to be looked at. */
const screenshots = fileURLToPath(new URL("../../target/web/screenshots/", import.meta.url));
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

let server;
let browser;
let address;

before(async () => {
  await mkdir(screenshots, { recursive: true });
  await build({ configFile, logLevel: "error" });
  server = await preview({ configFile, preview: { port: 0, strictPort: false } });
  address = server.resolvedUrls.local[0];
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

/** A page of the demo, whose errors fail the test. */
async function open(search = "", { init, ...options } = {}) {
  const context = await browser.browser.newContext({ viewport: DESKTOP, ...options });
  const page = await context.newPage();
  if (init) await page.addInitScript(init);
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(`${address}${search}`);
  const figure = async (id) => Number((await page.locator(`#${id}`).textContent()).replaceAll(",", ""));
  const until = async (id, isEnough) => {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const value = await figure(id);
      if (isEnough(value)) return value;
      assert.ok(Date.now() < deadline, `${id} stays at ${value}`);
      await page.waitForTimeout(50);
    }
  };
  const close = async () => {
    assert.deepEqual(errors, []);
    await context.close();
  };
  return { page, figure, until, close };
}

/** Nothing is missing from what has left, and nothing has left again. */
async function isExact(figure) {
  assert.equal(await figure("lost"), 0);
  assert.equal(await figure("twice"), 0);
}

test("records come, are looked up by fetch, and leave, with their airports", async () => {
  const { page, figure, until, close } = await open("?latency=50&failures=0");
  await until("emitted", (emitted) => emitted > 100);
  await isExact(figure);
  const rows = await page.locator("#joined tr").allTextContents();
  assert.equal(rows.length, 10);
  assert.ok(rows.some((row) => /→.*[A-Z]{2}found/.test(row)), rows.join("\n"));
  await close();
});

test("the order is switched while it runs, and nothing is lost", async () => {
  const { page, figure, until, close } = await open("?rate=500&latency=100&capacity=200");
  for (const order of ["unordered", "key-ordered", "ordered", "unordered"]) {
    await page.getByText(order, { exact: true }).click();
    const emitted = await figure("emitted");
    await until("emitted", (now) => now > emitted + 200);
    await isExact(figure);
  }
  assert.match(page.url(), /order=unordered/);
  await close();
});

test("the order is switched while records have not crossed yet, and nothing is lost", async () => {
  const init = () => {
    // Batches cross to the operator in the next turn of the event loop: here, that comes late.
    const { postMessage } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (...message) {
      setTimeout(() => postMessage.apply(this, message), 150);
    };
  };
  const { page, figure, until, close } = await open("?rate=100&latency=5&failures=0", { init });
  for (const order of ["unordered", "key-ordered", "ordered", "unordered"]) {
    await until("read", (read) => read > 0);
    const emitted = await figure("emitted");
    await page.getByText(order, { exact: true }).click();
    await until("emitted", (now) => now > emitted + 50);
    await isExact(figure);
  }
  await close();
});

test("a slow lookup holds back the records behind it, where order is kept", async () => {
  const { page, until, close } = await open("?latency=100&spread=0&failures=0&timeout=0");
  await until("emitted", (emitted) => emitted > 20);
  await page.getByRole("button", { name: "One slow lookup" }).click();
  await until("held", (held) => held > 20);
  assert.match(await page.locator("#blocking").textContent(), /^[A-Z0-9]+ has been looked up for .* answered records stay behind it, since order is kept\.$/);
  await page.screenshot({ path: `${screenshots}held.png` });
  await close();
});

test("it stands still, goes by steps, and goes slowly", async () => {
  const { page, figure, until, close } = await open("?rate=100&latency=200");
  await until("emitted", (emitted) => emitted > 20);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.waitForTimeout(500);
  const [read, emitted] = [await figure("read"), await figure("emitted")];
  await page.waitForTimeout(700);
  assert.deepEqual([await figure("read"), await figure("emitted")], [read, emitted]);
  // Answers that have come are first, and records follow.
  for (let step = 0; step < 60; step++) await page.getByRole("button", { name: "Step" }).click();
  await until("read", (now) => now > read);
  await isExact(figure);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Speed").selectOption("0.05");
  const slow = await until("read", (now) => now > read + 5);
  await page.waitForTimeout(1_000);
  assert.ok((await figure("read")) < slow + 30);
  await close();
});

test("killed, it goes on from the last checkpoint: nothing is lost, and nothing comes twice", async () => {
  const { page, figure, until, close } = await open("?rate=500&latency=200&capacity=200&order=unordered");
  for (let kill = 0; kill < 3; kill++) {
    const emitted = await figure("emitted");
    await until("emitted", (now) => now > emitted + 300);
    await page.getByRole("button", { name: "Kill" }).click();
    await page.getByText("Killed. Restore goes on from the last checkpoint.").waitFor();
    assert.equal(await figure("flying"), 0);
    await page.getByRole("button", { name: "Restore" }).click();
    await until("flying", (flying) => flying > 50);
    assert.match(await page.locator("#said").textContent(), /^Restored from the last checkpoint/);
  }
  const emitted = await figure("emitted");
  await until("emitted", (now) => now > emitted + 300);
  await isExact(figure);
  await close();
});

test("failed lookups are tried again, and what stays without an answer times out", async () => {
  const { page, until, close } = await open("?latency=150&failures=50&attempts=2&timeout=500&rate=40&capacity=200");
  await until("emitted", (emitted) => emitted > 100);
  const seen = new Set();
  for (let look = 0; look < 100 && seen.size < 3; look++) {
    for (const outcome of await page.locator("#joined td.outcome").allTextContents()) seen.add(outcome);
    await page.waitForTimeout(100);
  }
  assert.ok(["found", "failed", "timed out"].every((outcome) => seen.has(outcome)), [...seen].join());
  await close();
});

test("all of it can be done from the keyboard", async () => {
  const { page, figure, until, close } = await open("?latency=50");
  await until("emitted", (emitted) => emitted > 10);
  await page.locator("#stage").focus();
  await page.keyboard.press("Space");
  assert.equal(await page.locator("#pause").getAttribute("aria-pressed"), "true");
  const read = await figure("read");
  for (let step = 0; step < 60; step++) await page.keyboard.press(".");
  await until("read", (now) => now > read);
  await page.keyboard.press("Space");
  await page.keyboard.press("2");
  assert.ok(await page.getByRole("radio", { name: "unordered", exact: true }).isChecked());
  await page.keyboard.press("k");
  await page.getByText("Killed. Restore").waitFor();
  await page.keyboard.press("r");
  await until("flying", (flying) => flying > 1);
  // From the picture back to the controls, and a slider with the arrows.
  await page.getByLabel("capacity").focus();
  await page.keyboard.press("End");
  assert.match(page.url(), /capacity=1000/);
  await page.getByText("What is in flight, as a list").click();
  await page.locator("#inside-rows tr").first().waitFor();
  await close();
});

test("a thousand are in flight", async () => {
  const { page, figure, until, close } = await open("?rate=5000&latency=600&capacity=1000&order=unordered&watermarks=100&timeout=10000");
  await until("flying", (flying) => flying > 900);
  await until("emitted", (emitted) => emitted > 3_000);
  await isExact(figure);
  await page.screenshot({ path: `${screenshots}thousand.png` });
  await close();
});

test("it is accessible: light, dark, on a phone", async () => {
  for (const [name, options] of Object.entries({
    desktop: {},
    "desktop-dark": { colorScheme: "dark" },
    phone: { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
    "phone-dark": { viewport: PHONE, isMobile: true, hasTouch: true, colorScheme: "dark" },
  })) {
    const { page, until, close } = await open("", options);
    await until("emitted", (emitted) => emitted > 150);
    await page.screenshot({ path: `${screenshots}${name}.png`, fullPage: true });
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], name);
    const { scroll, width } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, width: innerWidth }));
    assert.ok(scroll <= width, `${name}: ${scroll} px wide on ${width}`);
    await close();
  }
});

test("without its server it says so", async () => {
  const context = await browser.browser.newContext();
  const page = await context.newPage();
  await page.route("**/api/**", (route) => route.abort());
  await page.goto(address);
  await page.getByText("It cannot be shown").waitFor();
  await context.close();
});
