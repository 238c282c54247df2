// Builds and serves the demo; `/api` is answered by the same server.

import { fileURLToPath } from "node:url";

import { defineConfig } from "vite";

import { answer } from "./server/lookups.js";

const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'",
};

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  clearScreen: false,
  resolve: { alias: { lookaside: fileURLToPath(new URL("../package/index.js", import.meta.url)) } },
  plugins: [
    {
      name: "airports",
      configureServer: ({ middlewares }) => void middlewares.use(answer),
      configurePreviewServer: ({ middlewares }) => void middlewares.use(answer),
    },
  ],
  server: { host: "127.0.0.1", port: 4173, fs: { allow: ["../.."] } },
  preview: { host: "127.0.0.1", port: 4173, headers },
  build: { target: "es2022", outDir: "../../target/web/demo", emptyOutDir: true, assetsInlineLimit: 0 },
});
