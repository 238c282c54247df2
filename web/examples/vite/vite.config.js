export default {
  // The package's modules and its worker are ES modules, with `await` at their top.
  build: { target: "es2022" },
  worker: { format: "es" },
  // The package finds its .wasm files beside itself, which bundling in advance for the dev server would move.
  optimizeDeps: { exclude: ["lookaside"] },
};
