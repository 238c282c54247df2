import { lines } from "./enrich.js";

for await (const line of lines()) postMessage(line);
