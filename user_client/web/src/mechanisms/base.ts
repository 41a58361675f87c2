/** What the client needs of a mechanism: to rebuild it from a document's integers, and to randomise one answer. */
import { ascii, type Bytes, sha256, toBig } from "../bytes.js";
import { PeosError } from "../errors.js";
import { logarithmUp } from "../logarithm.js";
import type { Randomness } from "../randomness.js";

export const WORD = 1n << 64n;
export const MAX_ENUMERABLE = 1n << 24n;
const MIN_EPSILON = 1e-6;
const MAX_EPSILON = 24;

export type Parameters = Readonly<Record<string, bigint>>;

/** Who asks what, and when: it salts the mechanism. */
export interface Question {
  readonly analyzer: Uint8Array;
  readonly question: string;
  readonly epoch: string;
  /** The digest of what is asked of a record, where that is not one value of a list. */
  readonly views?: Bytes;
}

export interface Mechanism {
  readonly name: string;
  readonly domain: number;
  readonly words: number;
  readonly digest: Bytes;
  /** ε_l, rounded up. */
  readonly epsilonLocal: number;
  /** γ: the chance that a report is a uniformly random pattern, for words only. */
  readonly gamma: number;
  /** μ of the theorem about shuffled reports, rounded down; 0 if none applies (docs/privacy.md §1). */
  readonly support: number;
  /** The same draws as the Python client makes for one user. */
  randomize(value: number, rng: Randomness): bigint[];
}

/** What a document says of a mechanism, checked by each in its own way. */
export interface Described {
  readonly name: string;
  readonly domain: bigint;
  readonly parameters: Parameters;
  readonly digest: Bytes;
}

export async function digestOf(
  name: string,
  domain: bigint,
  parameters: Parameters,
  question: Question,
): Promise<Bytes> {
  const fields = [ascii("peos mechanism 1"), question.analyzer, ascii(question.question), ascii(question.epoch)];
  fields.push(ascii(name), toBig(domain, 8));
  for (const key of Object.keys(parameters).sort()) fields.push(ascii(key), toBig(parameters[key]!, 8));
  if (question.views) fields.push(ascii("views"), question.views);
  return sha256(...fields.flatMap((field) => [toBig(BigInt(field.length), 4), field]));
}

/** The salt of the mechanisms that have one. */
export function saltOf(digest: Bytes): bigint {
  return new DataView(digest.buffer).getBigUint64(0, true);
}

export function ranged(value: bigint, least: bigint, most: bigint, what: string): bigint {
  if (value < least || value > most)
    throw new PeosError("mechanism.range", `${what} is a whole number from ${least} to ${most}, not ${value}`);
  return value;
}

/** Exactly the parameters of `ranges`, each within its range. */
export function checked<K extends string>(
  given: Described,
  ranges: Record<K, readonly [bigint, bigint]>,
): Record<K, bigint> {
  const names = Object.keys(ranges) as K[];
  if (Object.keys(given.parameters).sort().join() !== [...names].sort().join())
    throw new PeosError("mechanism.parameters", `${given.name} is described by ${names.join(" and ")}, and nothing else`);
  return Object.fromEntries(
    names.map((key) => [key, ranged(given.parameters[key]!, ranges[key][0], ranges[key][1], `the ${key} of ${given.name}`)]),
  ) as Record<K, bigint>;
}

export const THRESHOLD = [1n, WORD - 1n] as const;

/** T, and the chance μ = match/whole with which a uniform report supports the value that it supports least. */
export class Coin {
  readonly epsilon: number;
  readonly gamma: number;

  constructor(
    readonly threshold: bigint,
    match: bigint,
    whole: bigint,
  ) {
    const rest = WORD - threshold;
    this.epsilon = requireEpsilon(logarithmUp(rest * match + threshold * whole, rest * match));
    this.gamma = Number(rest) / Number(WORD);
  }

  tells(rng: Randomness): boolean {
    return rng.uint64() < this.threshold;
  }

  /** What is encoded, or uniform words. Both are drawn, so that the work done says nothing of the coin. */
  mixed(encoded: bigint[], rng: Randomness): bigint[] {
    const tells = this.tells(rng);
    const uniform = rng.words(encoded.length);
    return tells ? encoded : uniform;
  }
}

export function requireEpsilon(epsilon: number, id = "mechanism.threshold_epsilon", least = MIN_EPSILON / 2): number {
  if (epsilon < least || epsilon > MAX_EPSILON)
    throw new PeosError(id, `epsilon lies between ${MIN_EPSILON} and ${MAX_EPSILON}`);
  return epsilon;
}

/** k cells of the numbers of b bits: cell y has those from ⌈y·2^b/k⌉ to below ⌈(y + 1)·2^b/k⌉. */
export class Cells {
  constructor(
    readonly cells: bigint,
    readonly bits: bigint,
  ) {}

  /** Uniformly one of the numbers of a cell. */
  preimage(cell: bigint, rng: Randomness): bigint {
    const first = this.first(cell);
    return first + rng.below(this.first(cell + 1n) - first);
  }

  private first(cell: bigint): bigint {
    return ((cell << this.bits) + this.cells - 1n) / this.cells;
  }

  get least(): bigint {
    return (1n << this.bits) / this.cells;
  }
}
