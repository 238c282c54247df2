/** A lookup failed, in one of the ways that the operator knows. */
export class LookupFailure extends Error {
  constructor(kind, message, { retryAfter = 0, cause } = {}) {
    super(message, { cause });
    this.name = "LookupFailure";
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}
