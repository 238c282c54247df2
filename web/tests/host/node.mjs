// Carries out what is asked on standard input, a JSON object a line, and answers each with one.

import { createInterface } from "node:readline";

import { carryOut } from "./calls.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await carryOut(JSON.parse(line))) + "\n");
}
