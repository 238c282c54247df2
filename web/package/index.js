// Enrich streams with asynchronous lookups. See index.d.ts for what everything means.

export { createOperator } from "./operator.js";
export { LookupFailure, OperatorError } from "./failure.js";
export { fetchLookup, indexedDbLookup, mapLookup } from "./lookups.js";
