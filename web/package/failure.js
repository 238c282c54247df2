// What can go wrong.

import { decodeText } from "./columns.js";
import { decodeKey } from "./keys.js";

/** The operator refused something, or failed; `code` says which, as in the contract. */
export class OperatorError extends Error {
  constructor(code, message, lookup) {
    super(message);
    this.name = "OperatorError";
    this.code = code;
    this.lookup = lookup;
  }

  /** What a call threw, as one of these where the component threw it. */
  static from(error) {
    const { code, message, lookup } = error?.payload ?? {};
    if (code === undefined) return error;
    return new OperatorError(code, message, lookup && { ...lookup, key: lookup.key && decodeKey(decodeText(lookup.key)) });
  }
}

/** A lookup failed, in one of the ways that the operator knows. */
export class LookupFailure extends Error {
  constructor(kind, message, { retryAfter = 0, cause } = {}) {
    super(message, { cause });
    this.name = "LookupFailure";
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}
