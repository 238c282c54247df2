// Carries out calls of the operator for the scenarios, in Node and in browsers.
//
// Numbers of 64 bits are texts of their digits, and bytes are base64.

import { instantiateComponent, startHost } from "../../package/modules.js";

const { Imports, Operator } = await startHost();
const operators = new Map();
/** Answers that were given since the last other call, by operator: that call takes them as one batch. */
const answers = new Map();
let lastId = 0;

const bytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
const base64 = (bytes) => {
  let characters = "";
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return btoa(characters);
};
const strings = (column) =>
  Array.from(column.ends, (end, row) => base64(column.bytes.subarray(row === 0 ? 0 : column.ends[row - 1], end)));
const column = (text) => {
  const value = bytes(text ?? "");
  return { ends: Uint32Array.of(value.length), bytes: value };
};
const plain = (value) =>
  JSON.parse(
    JSON.stringify(value, (_, inner) => {
      if (typeof inner === "bigint") return String(inner);
      return inner instanceof Uint8Array ? base64(inner) : inner;
    }),
  );

const calls = {
  async open({ options, snapshot }) {
    const imports = new Imports();
    const exports = await instantiateComponent(imports.lookup());
    operators.set(++lastId, Operator.open(imports, exports, options, 0n, snapshot && bytes(snapshot)));
    return lastId;
  },
  answer({ operator, ...answer }) {
    if (!answers.has(operator)) answers.set(operator, []);
    answers.get(operator).push(answer);
  },
  close({ operator }) {
    answers.delete(operator);
    operators.get(operator)?.free();
    operators.delete(operator);
  },
  pushRecord(operator, { now, eventTime, key, orderKey, payload }) {
    const records = {
      eventTimes: BigInt64Array.of(BigInt(eventTime)),
      keys: column(key),
      keyless: Uint32Array.from(key === null ? [0] : []),
      orderKeys: orderKey === null ? undefined : column(orderKey),
      payloads: column(payload),
    };
    return operator.pushRecords(records, now) === 1;
  },
  pushWatermark: (operator, { now, eventTime }) => operator.pushWatermark(BigInt(eventTime), now),
  pushIdle: (operator, { now, idle }) => operator.pushIdle(idle, now),
  endInput: (operator, { now }) => operator.endInput(now),
  poll(operator, { now, max }) {
    const { outputs, state, wakeAt, room } = operator.poll(max, 0xffff_ffff, now);
    const columns = {
      ...outputs,
      kinds: [...outputs.kinds],
      eventTimes: [...outputs.eventTimes],
      keyless: [...outputs.keyless],
      attempts: [...outputs.attempts],
      rowCounts: [...outputs.rowCounts],
    };
    for (const name of ["keys", "payloads", "rows"]) columns[name] = strings(outputs[name]);
    return { outputs: columns, state, wakeAt, room };
  },
  takeRequests: (operator) =>
    operator.takeRequests().flatMap((batch) => {
      const [keys, payloads] = [strings(batch.keys), batch.payloads && strings(batch.payloads)];
      return Array.from(batch.ids, (id, row) => ({
        id,
        attempt: batch.attempts[row],
        deadline: batch.deadlines[row],
        key: keys[row],
        payload: payloads?.[row],
      }));
    }),
  snapshot: (operator) => operator.snapshot(),
  stats: (operator) => operator.stats(),
  inspect: (operator, { now, max }) => operator.inspect(max, now),
};

/** The columns of a `completion-batch`. */
function batchOf(answers) {
  const rows = answers.flatMap(({ rows }) => rows.map(bytes));
  let end = 0;
  return {
    ids: BigUint64Array.from(answers, ({ id }) => BigInt(id)),
    attempts: Uint32Array.from(answers, ({ attempt }) => attempt),
    statuses: Uint8Array.from(answers, ({ status }) => status),
    arrivals: BigUint64Array.from(answers, ({ arrival }) => BigInt(arrival)),
    rowCounts: Uint32Array.from(answers, ({ rows }) => rows.length),
    rows: { ends: Uint32Array.from(rows, (row) => (end += row.length)), bytes: Uint8Array.from(rows.flatMap((row) => [...row])) },
    retryAfter: BigUint64Array.from(answers, ({ retryAfter }) => BigInt(retryAfter)),
  };
}

/** Carries one call out. */
export async function carryOut({ call, operator, now, ...request }) {
  try {
    if (call !== "answer" && answers.has(operator)) {
      operators.get(operator).answer(batchOf(answers.get(operator)));
      answers.delete(operator);
    }
    const done =
      call === "open" || call === "close" || call === "answer"
        ? await calls[call]({ operator, ...request })
        : calls[call](operators.get(operator), { ...request, now: now === undefined ? undefined : BigInt(now) });
    return { done: plain(done ?? null) };
  } catch (error) {
    return { error: plain(error.payload ?? { code: "trap", message: String(error) }) };
  }
}
