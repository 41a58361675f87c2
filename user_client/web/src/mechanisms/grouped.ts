/**
 * Keys in hidden groups: which of a record's keys is hashed is part of the seed. A task makes the keys of a record
 * (peos.tasks); documents that this client opens ask for one answer of a list, so it refuses them (see index.ts).
 */
import { PeosError } from "../errors.js";
import type { Randomness } from "../randomness.js";
import { Cells, checked, Coin, type Described, ranged, saltOf, THRESHOLD } from "./base.js";
import { splitmix64 } from "./hashing.js";

const HALF = 32n;
const MASK = (1n << 64n) - 1n;
const EXT_BITS = 20n;

/** What one group would be sent; where nothing `fits`, a uniform word is. */
export interface Key {
  readonly parent: bigint;
  readonly ext: bigint;
  readonly fits: boolean;
}

export class GroupedHash {
  readonly epsilonLocal: number;
  private readonly coin: Coin;
  private readonly cells: Cells;
  private readonly ends: bigint[] = [];
  private readonly salt: bigint;

  constructor(given: Described) {
    const groups = Number(ranged(given.domain, 1n, 64n, "the number of groups"));
    const names = Array.from({ length: groups }, (_, group) => `weight_${group + 1}`);
    const weight = [1n, 1n << 16n] as const;
    const ranges: Record<string, readonly [bigint, bigint]> = Object.fromEntries(names.map((name) => [name, weight]));
    const found: Record<string, bigint> = checked(given, { ...ranges, threshold: THRESHOLD, cells: [2n, 1n << 16n] as const });
    if (found["cells"]! & (found["cells"]! - 1n))
      throw new PeosError("mechanism.power_of_two", "d_prime is a power of two where keys are hashed");
    this.cells = new Cells(found["cells"]!, HALF);
    this.coin = new Coin(found["threshold"]!, this.cells.least, 1n << HALF);
    this.epsilonLocal = this.coin.epsilon;
    this.salt = saltOf(given.digest);
    const whole = names.reduce((sum, name) => sum + found[name]!, 0n);
    let sum = 0n;
    for (const name of names) this.ends.push(((sum += found[name]!) << HALF) / whole);
  }

  /** The same draws and the same work for every record, whether its key fits or not. */
  randomize(keys: readonly Key[], rng: Randomness): bigint[] {
    if (keys.length !== this.ends.length || keys.some((key) => key.ext >> EXT_BITS))
      throw new PeosError("mechanism.keys", "a record has a key for each group, or none");
    const seed = rng.uint64() >> HALF;
    const key = keys[this.ends.findIndex((end) => seed < end)]!;
    const told = this.cells.preimage(this.hash(seed, key.parent, key.ext), rng);
    const anything = rng.uint64() >> HALF;
    return this.coin.mixed([(seed << HALF) | (key.fits ? told : anything)], rng);
  }

  private hash(seed: bigint, parent: bigint, ext: bigint): bigint {
    const bits = BigInt(this.cells.cells.toString(2).length - 1);
    const shift = 64n - bits;
    const [a1, a2, a3, b, own] = [1n, 2n, 3n, 4n, 5n].map((output) => splitmix64((seed + this.salt) & MASK, output));
    const ofParent = ((a1! * (parent >> HALF) + a2! * (parent & ((1n << HALF) - 1n)) + b!) & MASK) >> shift;
    const ofExt = ((a3! * ext + own!) & MASK) >> shift;
    return (ofParent + ofExt) & ((1n << bits) - 1n);
  }
}
