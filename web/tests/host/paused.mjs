// A process that looks up fifty keys at a server, each with a timeout of a second, and says what became of them.
// Usage: node paused.mjs ORDER URL

import { get } from "node:http";

import { createOperator } from "../../package/index.js";

const [order, url] = process.argv.slice(2);

/** The body at `url`; `signal` ends the request. */
const fetchText = (url, signal) =>
  new Promise((resolve, reject) => {
    const request = get(url, { signal }, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve(text);
    });
    request.on("error", reject);
  });

const op = await createOperator({
  order,
  timeout: 1_000,
  onTimeout: "emit",
  lookup: (keys, { signals }) => keys.map((key, place) => fetchText(`${url}/${key}`, signals[place])),
});
for (let id = 0; id < 50; id++) await op.push({ id }, { key: id });
op.end();
const outcomes = {};
for await (const { outcome } of op.outputs()) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
process.stdout.write(JSON.stringify(outcomes));
