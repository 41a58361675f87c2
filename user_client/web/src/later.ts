/** What only some pages need: views of a record, the mechanisms of tasks, and proofs that a report was counted. A script of its own, to be loaded by need. */
export { ask, decodeProof, verified } from "./proofs.js";
export { keyed, recorded } from "./records/index.js";
