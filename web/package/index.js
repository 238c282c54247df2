// Enrich streams with asynchronous lookups. See index.d.ts for what everything means.

export { createOperator, OperatorError } from "./operator.js";
export { LookupFailure } from "./failure.js";
export { fetchLookup, indexedDbLookup, mapLookup } from "./lookups.js";
