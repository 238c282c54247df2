// Keys with types: a JSON array of a key's values, so that 7 and "7" differ, as in the other hosts.

import { parse, stringify } from "./json.js";

/** The text of a key; null for a record without one. */
export function encodeKey(key) {
  // Most keys are these.
  if (typeof key === "string") return `[${JSON.stringify(key)}]`;
  if (Number.isSafeInteger(key)) return `[${key}]`;
  if (key === null || key === undefined) return null;
  const values = Array.isArray(key) ? key : [key];
  for (const value of values) {
    if (value === null || value === undefined) return null;
    const type = typeof value;
    if (type === "number" && !Number.isFinite(value)) throw new TypeError(`the key has ${value}, which no store holds`);
    if (!["string", "number", "bigint", "boolean"].includes(type)) {
      throw new TypeError(`the key has a value of type ${type}; keys are texts, numbers and booleans, or arrays of them`);
    }
  }
  // -0 and 0 are one number.
  return stringify(values.map((value) => (Object.is(value, -0) ? 0 : value)));
}

/** The key of a text that encodeKey made: the value where it has one, else the array. */
export const decodeKey = (text) => keyOf(parse(text));

/** The key that has these values. */
export const keyOf = (values) => (values.length === 1 ? values[0] : values);
