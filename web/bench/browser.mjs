// A million records in a worker of Chromium, and the longest that a frame of its page took meanwhile.

import { parseArgs } from "node:util";

import { openBrowser } from "../tests/host/browser.mjs";

const { values: given } = parseArgs({
  options: { records: { type: "string", default: "1000000" }, reps: { type: "string", default: "5" } },
});
const count = Number(given.records);
if (!(count >= 1)) throw new Error(`--records ${given.records}: write how many records there are, at least 1`);
const browser = await openBrowser();
try {
  await browser.page.goto("/tests/host/page.html");
  console.log(`Chromium ${browser.browser.version()}: ${count} records in a worker, lookups that end at once, 1,000 in flight, in order`);
  for (const form of ["json", "bytes"]) {
    for (let rep = 1; rep <= Number(given.reps); rep++) {
      const { right, seconds, frames, longest } = await browser.page.evaluate(measure, { form, count });
      if (right !== count) throw new Error(`${right} of ${count} records were right`);
      const cost = ((seconds / count) * 1e6).toFixed(2);
      console.log(`${form}, ${rep}: ${seconds.toFixed(2)} s, ${cost} us a record; ${frames} frames, the longest ${longest.toFixed(1)} ms`);
    }
  }
} finally {
  await browser.close();
}

/** In the page: has a worker enrich, and counts the frames meanwhile. */
function measure(task) {
  return new Promise((resolve, reject) => {
    const worker = new Worker("/bench/worker.mjs", { type: "module" });
    let [last, longest, frames, isOver] = [performance.now(), 0, 0, false];
    const onFrame = () => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
      frames++;
      if (!isOver) requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);
    worker.onmessage = ({ data }) => {
      isOver = true;
      worker.terminate();
      resolve({ ...data, frames, longest });
    };
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(task);
  });
}
