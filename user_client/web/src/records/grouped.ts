/** Keys in hidden groups: which of a record's keys is hashed is part of the seed. */
import { PeosError } from "../errors.js";
import { Cells, checked, Coin, type Described, ranged, saltOf, THRESHOLD, WORD } from "../mechanisms/base.js";
import { splitmix64 } from "../mechanisms/hashing.js";
import type { Randomness } from "../randomness.js";
import type { Keyed } from "./index.js";
import type { Key } from "./views.js";

const HALF = 32n;
const MASK = WORD - 1n;
const EXT_BITS = 20n;
const WEIGHT = [1n, 1n << 16n] as const;

export function groupedHash(given: Described): Keyed {
  const groups = Number(ranged(given.domain, 1n, 64n, "the number of groups"));
  const names = Array.from({ length: groups }, (_, group) => `weight_${group + 1}`);
  const ranges: Record<string, readonly [bigint, bigint]> = Object.fromEntries(names.map((name) => [name, WEIGHT]));
  const found: Record<string, bigint> = checked(given, { ...ranges, threshold: THRESHOLD, cells: [2n, 1n << 16n] as const });
  const count = found["cells"]!;
  if (count & (count - 1n)) throw new PeosError("mechanism.power_of_two", "d_prime is a power of two where keys are hashed");
  const cells = new Cells(count, HALF);
  const coin = new Coin(found["threshold"]!, cells.least, 1n << HALF);
  const salt = saltOf(given.digest);
  const whole = names.reduce((sum, name) => sum + found[name]!, 0n);
  let sum = 0n;
  const ends = names.map((name) => ((sum += found[name]!) << HALF) / whole);
  const mechanism = { name: given.name, domain: groups, words: 1, digest: given.digest, epsilonLocal: coin.epsilon, gamma: coin.gamma, support: 0 };
  return {
    mechanism: { ...mechanism, randomize: () => [] },
    takes: names.map(() => ["key", 0] as const),
    // The same draws and the same work for every record, whether its key fits or not.
    randomize: (keys, rng: Randomness) => {
      const seed = rng.uint64() >> HALF;
      const key = keys[ends.findIndex((end) => seed < end)] as Key;
      if (key.ext >> EXT_BITS) throw new PeosError("mechanism.ext", `what follows a prefix is a number of at most ${EXT_BITS} bits`);
      const told = cells.preimage(hashed(seed + salt, key.parent, key.ext, BigInt(count.toString(2).length - 1)), rng);
      const anything = rng.uint64() >> HALF;
      return coin.mixed([(seed << HALF) | (key.fits ? told : anything)], rng);
    },
  };
}

function hashed(state: bigint, parent: bigint, ext: bigint, bits: bigint): bigint {
  const shift = 64n - bits;
  const [a1, a2, a3, b, own] = [1n, 2n, 3n, 4n, 5n].map((output) => splitmix64(state & MASK, output));
  const ofParent = ((a1! * (parent >> HALF) + a2! * (parent & ((1n << HALF) - 1n)) + b!) & MASK) >> shift;
  const ofExt = ((a3! * ext + own!) & MASK) >> shift;
  return (ofParent + ofExt) & ((1n << bits) - 1n);
}
