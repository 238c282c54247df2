// A page of the real Chromium, from a server with a strict content security policy.

import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'";

/** Serves this folder; `answer` may answer a request itself, and then returns true. */
export async function serve(answer = () => false) {
  const server = createServer(async (request, response) => {
    if (answer(request, response)) return;
    const path = join(ROOT, normalize(new URL(request.url, "http://host").pathname));
    try {
      if (!path.startsWith(ROOT)) throw new Error("outside");
      const body = await readFile(path);
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain", "content-security-policy": POLICY }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

/** A page, and what ends it. */
export async function openBrowser(answer) {
  const { server, url } = await serve(answer);
  const browser = await chromium.launch({ executablePath: executable(), args: ["--no-sandbox", "--disable-gpu"] });
  const context = await browser.newContext({ baseURL: url });
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(`in the page: ${error}`));
  page.on("console", (message) => message.type() === "error" && console.error(`in the page: ${message.text()}`));
  const close = async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
  };
  return { browser, page, context, url, close };
}

function executable() {
  try {
    return execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
  } catch {
    throw new Error("Chromium is missing; install it with `apt-get install chromium`");
  }
}
