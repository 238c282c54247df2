import { lines } from "./enrich.js";

function show(list, line) {
  const item = document.createElement("li");
  item.textContent = line;
  document.getElementById(list).append(item);
}

// Vite makes a file of its own of the worker.
const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
worker.onmessage = ({ data }) => show("worker", data);

for await (const line of lines()) show("here", line);
