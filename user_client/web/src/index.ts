/**
 * peos-client: answers questions from a browser. The work takes tens of milliseconds, so a page starts it in a worker:
 *
 *     const client = await start("worker.js", { integrity: "sha256-…", options });
 *     const collection = await client.open(invitation);
 *     collection.summary.sentences;                       // what is asked, and what is guaranteed
 *     const { accepted } = await collection.submit("a dog", ticket);
 */
export { start, type RemoteClient, type RemoteCollection, type Starting } from "./remote.js";
export { PeosError } from "./errors.js";
export type { Options, Result } from "./client.js";
export type { Verified } from "./proofs.js";
export type { Claim, Summary } from "./words.js";
