// The WebAssembly modules, compiled once for all operators of a page, a worker or a process.

import initHost, * as host from "./wasm/lookaside_web.js";
import { instantiate } from "./wasm/lookaside.js";

const urls = {
  "lookaside_web_bg.wasm": new URL("./wasm/lookaside_web_bg.wasm", import.meta.url),
  "lookaside.core.wasm": new URL("./wasm/lookaside.core.wasm", import.meta.url),
  "lookaside.core2.wasm": new URL("./wasm/lookaside.core2.wasm", import.meta.url),
  "lookaside.core3.wasm": new URL("./wasm/lookaside.core3.wasm", import.meta.url),
};

const compiled = new Map();

function compile(name) {
  if (!compiled.has(name)) {
    const module = load(urls[name]);
    compiled.set(name, module);
    // What failed is tried again by the next operator.
    module.catch(() => compiled.delete(name));
  }
  return compiled.get(name);
}

async function load(url) {
  if (url.protocol === "file:") {
    const { readFile } = await import(/* @vite-ignore */ "node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  // Bundlers make such a URL of a small file, which a strict policy does not let anybody fetch.
  const inline = /^data:[^,]*;base64,(.*)$/s.exec(url.href);
  if (inline) return WebAssembly.compile(Uint8Array.from(atob(decodeURIComponent(inline[1])), (unit) => unit.charCodeAt(0)));
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot load ${url}: the server answered ${response.status}`);
  // Not every server says application/wasm, which streaming asks for.
  return WebAssembly.compile(await response.arrayBuffer());
}

let started;

/** The classes of the host, once they can be used. */
export async function startHost() {
  started ??= compile("lookaside_web_bg.wasm").then((module) => initHost({ module_or_path: module }));
  await started.catch((error) => {
    started = undefined;
    throw error;
  });
  return host;
}

/** An instance of the component with these imports. */
export async function instantiateComponent(lookup) {
  const imports = { "lookaside:async-lookup/lookup": lookup, "lookaside:async-lookup/types": {} };
  return instantiate(compile, imports);
}
