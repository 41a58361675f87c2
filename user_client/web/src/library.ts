/** All of it without a worker: for Node, for tests and measurements. */
import * as all from "./later.js";
import { later } from "./loading.js";

later.load = () => Promise.resolve(all);

export * from "./client.js";
export { Forgetful } from "./memory.js";
export { PeosError } from "./errors.js";
export { unhex, hex } from "./bytes.js";
export { publicKey } from "./schemes.js";
export { system, Randomness } from "./randomness.js";
