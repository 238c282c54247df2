// JSON that rounds no number: whole numbers that a double cannot hold are BigInt.

import { textAt } from "./columns.js";
import { joinJson } from "./wasm/lookaside_web.js";

/** A token that matters: a text, or a number. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Digits that no digit and no quote comes before: so each is looked at once, and texts of digits are none. */
const LONG_NUMBER = /(?:^|[^\d"])\d{16}/;
/** Stands before digits that are to be a BigInt. It is drawn anew each time, so that no text can be made to begin with it. */
const MARK = `${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** The value of a JSON text. */
export function parse(text) {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  let marked = false;
  const safe = text.replace(TOKENS, (token) => {
    if (token[0] === '"' || /[.eE]/.test(token) || Number.isSafeInteger(Number(token))) return token;
    marked = true;
    return JSON.stringify(MARK + token);
  });
  if (!marked) return JSON.parse(text);
  return JSON.parse(safe, (_, value) =>
    typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/** What gives the values of a column of JSON texts, by their places. */
export function valuesOf(column) {
  let values;
  try {
    // Parsed together, which takes a fraction of the time.
    const [text, hasLongNumber] = joinJson(column.ends, column.bytes);
    values = hasLongNumber ? parse(text) : JSON.parse(text);
  } catch {
    // One is no JSON: the others are read all the same.
  }
  if (values?.length === column.ends.length) return (place) => values[place];
  return (place) => parse(textAt(column, place));
}

/** The JSON text of a value; BigInt is written as its digits. */
export function stringify(value) {
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch {
    // A BigInt, most likely: the way below tells.
  }
  let marked = false;
  const text = JSON.stringify(value, (_, inner) => {
    if (typeof inner !== "bigint") return inner;
    marked = true;
    return MARK + inner;
  });
  if (text === undefined) throw new TypeError("the value has no JSON: it is undefined, a function or a symbol");
  if (!marked) return text;
  return text.replace(MARKED, "$1");
}

/** A JSON text that is a row, or an array of rows, as it is written. */
export class RawJson {
  constructor(text) {
    this.text = text;
  }

  /** The texts of its rows: each element of an array, none for null, else the whole. */
  rows() {
    const text = this.text.trim();
    // What is no JSON shows here, and not downstream.
    JSON.parse(text);
    if (text === "null") return [];
    return text[0] === "[" ? elements(text) : [text];
  }
}

/** The elements of the array in a JSON text. */
function elements(text) {
  const found = [];
  let depth = 0;
  let start = 1;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/g)) {
    if (token === "[" || token === "{") depth++;
    if (token === "]" || token === "}") depth--;
    if ((token === "," && depth === 1) || depth === 0) {
      const element = text.slice(start, index).trim();
      if (element !== "") found.push(element);
      start = index + 1;
    }
  }
  return found;
}
