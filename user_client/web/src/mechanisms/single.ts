/** The mechanisms whose report is one word: a coin, and a coding of the answer. */
import type { Randomness } from "../randomness.js";
import { Cells, checked, Coin, type Described, MAX_ENUMERABLE, type Mechanism, ranged, saltOf, THRESHOLD } from "./base.js";
import { hashed, primeFrom, rank, splitmix64 } from "./hashing.js";

const HALF = 32n;
const LOW = (1n << HALF) - 1n;

interface Coding {
  coin: Coin;
  support?: number;
  encode(value: number, rng: Randomness): bigint;
}

function single(given: Described, { coin, support = 0, encode }: Coding): Mechanism {
  return {
    name: given.name,
    domain: Number(given.domain),
    words: 1,
    digest: given.digest,
    epsilonLocal: coin.epsilon,
    gamma: coin.gamma,
    support,
    randomize: (value, rng) => coin.mixed([encode(value, rng)], rng),
  };
}

function domainOf(given: Described, most = MAX_ENUMERABLE): bigint {
  return ranged(given.domain, 2n, most, `the domain of ${given.name}`);
}

/** Randomised response: the word's cell among d is the answer. */
export function grr(given: Described): Mechanism {
  const { threshold } = checked(given, { threshold: THRESHOLD });
  const cells = new Cells(domainOf(given), 64n);
  const coin = new Coin(threshold, cells.least, 1n << 64n);
  const support = Number(cells.least) / 2 ** 64;
  return single(given, { coin, support, encode: (value, rng) => cells.preimage(BigInt(value), rng) });
}

/** Local hashing: a seed, and a number of the cell that it hashes the answer to. */
export function solh(given: Described): Mechanism {
  const { threshold, cells: count } = checked(given, { threshold: THRESHOLD, cells: [2n, 1n << 16n] });
  const domain = domainOf(given);
  const [cells, salt] = [new Cells(count, HALF), saltOf(given.digest)];
  const prime = primeFrom(domain > count ? domain : count);
  return single(given, {
    coin: new Coin(threshold, cells.least, 1n << HALF),
    support: Number(cells.least) / 2 ** 32,
    encode: (value, rng) => {
      const seed = rng.uint64() >> HALF;
      const cell = hashed(seed, BigInt(rank(value, Number(domain))), count, prime, salt);
      return (seed << HALF) | cells.preimage(cell, rng);
    },
  });
}

/** Hadamard response: a row, and its signs at the answer. */
export function hadamard(given: Described): Mechanism {
  const { threshold, signs } = checked(given, { threshold: THRESHOLD, signs: [1n, 24n] });
  const degree = BigInt((domainOf(given) - 1n).toString(2).length);
  ranged(signs, 1n, degree, "the number of signs for so many values");
  const modulus = irreducible(degree);
  return single(given, {
    coin: new Coin(threshold, 1n, 1n << signs),
    encode: (value, rng) => {
      const word = rng.uint64();
      let row = (((word >> 24n) * ((1n << degree) - 1n)) >> 40n) + 1n;
      const place = BigInt(rank(value, Number(given.domain)));
      let told = 0n;
      for (let at = 0n; at < signs; at++) {
        told |= parity(row & place) << at;
        row = (row << 1n) ^ (row >> (degree - 1n) ? modulus : 0n);
      }
      return ((word >> signs) << signs) | told;
    },
  });
}

function parity(value: bigint): bigint {
  let odd = 0n;
  for (; value; value &= value - 1n) odd ^= 1n;
  return odd;
}

/** The smallest odd polynomial of a degree that no polynomial of a lower one divides. */
function irreducible(degree: bigint): bigint {
  const length = (polynomial: bigint): number => (polynomial ? polynomial.toString(2).length : 0);
  const divides = (factor: bigint, polynomial: bigint): boolean => {
    for (let left = length(polynomial) - length(factor); left >= 0; left = length(polynomial) - length(factor))
      polynomial ^= factor << BigInt(left);
    return !polynomial;
  };
  const end = 2n << (degree / 2n);
  for (let each = (1n << degree) | 1n; ; each += 2n) {
    let factor = 2n;
    while (factor < end && !divides(factor, each)) factor++;
    if (factor >= end) return each;
  }
}

/** Subset selection: a multiple of the answer's place on a circle, and the end of a window that holds it. */
export function subset(given: Described): Mechanism {
  const domain = domainOf(given, 1n << 20n);
  const prime = primeFrom(domain);
  const whole = 1n << HALF;
  const window = [whole / prime, (((domain + 1n) / 2n) * whole) / prime] as const;
  const parameters = checked(given, { threshold: THRESHOLD, window });
  const multiples = prime > 2n ? prime - 1n : 1n;
  return single(given, {
    coin: new Coin(parameters.threshold, parameters.window, whole),
    encode: (value, rng) => {
      const t = rng.uint64() >> HALF;
      const a = ((t * multiples) >> HALF) + 1n;
      const place = (((a * BigInt(rank(value, Number(domain)))) % prime) << HALF) / prime;
      return (t << HALF) | ((place + rng.below(parameters.window)) & LOW);
    },
  });
}

/** Random matrix projection: a row, and its sign at the answer. */
export function rmp(given: Described): Mechanism {
  const { threshold } = checked(given, { threshold: THRESHOLD });
  domainOf(given);
  const salt = saltOf(given.digest);
  return single(given, {
    coin: new Coin(threshold, 1n, 2n),
    encode: (value, rng) => {
      const word = rng.uint64();
      const state = ((word >> HALF) << HALF) + BigInt(value) + salt;
      return ((word >> 1n) << 1n) | (splitmix64(state & ((1n << 64n) - 1n), 1n) & 1n);
    },
  });
}
