// As node.mjs, with each call carried out in a page of Chromium.

import { createInterface } from "node:readline";

import { openBrowser } from "./browser.mjs";

const { page, close } = await openBrowser();
await page.goto("/tests/host/page.html");
const carryOut = async (request) => (await import("/tests/host/calls.mjs")).carryOut(request);
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await page.evaluate(carryOut, JSON.parse(line));
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await close();
