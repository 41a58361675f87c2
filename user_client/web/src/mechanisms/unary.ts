/** The mechanisms whose report is fields of a few bits, as many as values or as bits of a filter. */
import { logarithmUp } from "../logarithm.js";
import type { Randomness } from "../randomness.js";
import { PeosError } from "../errors.js";
import { checked, Coin, type Described, MAX_ENUMERABLE, type Mechanism, ranged, requireEpsilon, THRESHOLD } from "./base.js";
import { splitmix64 } from "./hashing.js";

const MOST_BITS = 16n;

/** Words as one number, the first the lowest, so that a field is a few of its bits. */
class Fields {
  private whole: bigint;

  constructor(
    private readonly words: number,
    private readonly bits: bigint,
    rng: Randomness,
  ) {
    this.whole = rng.words(words).reduceRight((found, word) => (found << 64n) | word, 0n);
  }

  put(position: bigint, field: bigint): void {
    const [at, mask] = [position * this.bits, (1n << this.bits) - 1n];
    this.whole = (this.whole & ~(mask << at)) | (field << at);
  }

  above(fields: bigint, bits: bigint): bigint {
    return (this.whole >> (fields * this.bits)) & ((1n << bits) - 1n);
  }

  list(): bigint[] {
    return Array.from({ length: this.words }, (_, at) => (this.whole >> BigInt(64 * at)) & ((1n << 64n) - 1n));
  }
}

/** A field of a bit that is set: below τ with probability 1 − τ/2^b, and uniform on either side. Both are drawn. */
function drawn(tau: bigint, bits: bigint, rng: Randomness): bigint {
  const ones = rng.uint64() >> (64n - bits) >= tau;
  const below = rng.below(tau);
  const above = tau + rng.below((1n << bits) - tau);
  return ones ? below : above;
}

function half(tau: bigint, bits: bigint): bigint {
  return ranged(tau, 1n, (1n << (bits - 1n)) - 1n, `the tau of fields of ${bits} bits`);
}

function wordsFor(bits: bigint): number {
  return Number((bits + 63n) / 64n);
}

const SUE = { tau: [1n, (1n << (MOST_BITS - 1n)) - 1n], field_bits: [2n, MOST_BITS] } as const;

export function sue(given: Described): Mechanism {
  const { tau, field_bits: bits } = checked(given, SUE);
  half(tau, bits);
  const domain = ranged(given.domain, 2n, MAX_ENUMERABLE, "the domain of SUE");
  const words = wordsFor(domain * bits);
  const rest = (1n << bits) - tau;
  return {
    name: given.name,
    domain: Number(domain),
    words,
    digest: given.digest,
    epsilonLocal: logarithmUp(rest * rest, tau * tau),
    gamma: Number(tau) / Number(rest),
    support: 0,
    randomize: (value, rng) => {
      const fields = new Fields(words, bits, rng);
      fields.put(BigInt(value), drawn(tau, bits, rng));
      return fields.list();
    },
  };
}

export function ue(given: Described): Mechanism {
  const most = (1n << MOST_BITS) - 1n;
  const found = checked(given, { threshold: THRESHOLD, tau: [1n, most], field_bits: [1n, MOST_BITS] });
  const { tau, field_bits: bits } = found;
  ranged(tau, 1n, (1n << bits) - 1n, `the tau of fields of ${bits} bits`);
  const domain = ranged(given.domain, 2n, MAX_ENUMERABLE, "the domain of unary encoding");
  const words = wordsFor(domain * bits);
  const coin = new Coin(found.threshold, tau, 1n << bits);
  return {
    name: given.name,
    domain: Number(domain),
    words,
    digest: given.digest,
    epsilonLocal: coin.epsilon,
    gamma: coin.gamma,
    support: 0,
    randomize: (value, rng) => {
      const fields = new Fields(words, bits, rng);
      const told = rng.below(tau);
      const tells = coin.tells(rng);
      const blanket = rng.uint64() >> (64n - bits);
      fields.put(BigInt(value), tells ? told : blanket);
      return fields.list();
    },
  };
}

export function rappor(given: Described): Mechanism {
  const found = checked(given, { ...SUE, bits: [2n, 1n << 16n], hashes: [1n, 16n], cohorts: [1n, 1n << 10n] });
  const { tau, field_bits: bits, bits: size, hashes, cohorts } = found;
  const domain = ranged(given.domain, 2n, 1n << 20n, "the domain of RAPPOR");
  if (cohorts & (cohorts - 1n))
    throw new PeosError("mechanism.range", `the number of cohorts is a power of two, not ${cohorts}`);
  half(tau, bits);
  const cohortBits = BigInt(cohorts.toString(2).length - 1);
  const words = wordsFor(size * bits + cohortBits);
  const rest = (1n << bits) - tau;
  const powers = 2n * hashes;
  return {
    name: given.name,
    domain: Number(domain),
    words,
    digest: given.digest,
    epsilonLocal: requireEpsilon(logarithmUp(rest ** powers, tau ** powers), "mechanism.epsilon", 1e-6),
    gamma: (Number(tau) / Number(rest)) ** Number(hashes),
    support: 0,
    randomize: (value, rng) => {
      const fields = new Fields(words, bits, rng);
      const cohort = fields.above(size, cohortBits);
      for (let number = 0n; number < hashes; number++) {
        const field = drawn(tau, bits, rng);
        const hash = splitmix64((cohort << 32n) + BigInt(value), number + 1n) >> 32n;
        fields.put((hash * size) >> 32n, field);
      }
      return fields.list();
    },
  };
}
