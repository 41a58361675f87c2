/** One item of a set, padded and drawn, then randomised over items and dummies. */
import { logarithmUp } from "../logarithm.js";
import { checked, type Described, digestOf, MAX_ENUMERABLE, type Question, ranged, THRESHOLD, WORD } from "../mechanisms/base.js";
import { grr, solh } from "../mechanisms/single.js";
import type { Randomness } from "../randomness.js";
import type { Keyed } from "./index.js";

const MOST_SLOTS = 10_000n;
const SLOTS = [1n, MOST_SLOTS] as const;

export async function sampledGrr(given: Described, question: Question): Promise<Keyed> {
  const { items, slots, cells, threshold } = sizes(given, checked(given, { threshold: THRESHOLD, slots: SLOTS }));
  // Relative to a uniform word a set's has density K = 2^64/⌊2^64/k⌋/ℓ at most.
  const match = slots * (WORD / cells);
  const epsilon = logarithmUp((WORD - threshold) * match + threshold * WORD, (WORD - threshold) * match);
  return padded(given, "grr", { threshold }, question, { items, slots, cells }, epsilon);
}

export async function sampledHash(given: Described, question: Question): Promise<Keyed> {
  const found = checked(given, { threshold: THRESHOLD, cells: [2n, 1n << 16n], slots: SLOTS });
  const { items, slots, cells, threshold } = sizes(given, found);
  return padded(given, "solh", { threshold, cells: found.cells }, question, { items, slots, cells });
}

interface Sizes {
  readonly items: bigint;
  readonly slots: bigint;
  readonly cells: bigint;
}

function sizes(given: Described, { slots, threshold }: { slots: bigint; threshold: bigint }): Sizes & { threshold: bigint } {
  const items = ranged(given.domain, 1n, MAX_ENUMERABLE - MOST_SLOTS, "the number of items");
  ranged(slots, 1n, items < MOST_SLOTS ? items : MOST_SLOTS, "the number of slots");
  return { items, slots, threshold, cells: items + slots };
}

async function padded(
  given: Described,
  name: "grr" | "solh",
  parameters: Described["parameters"],
  question: Question,
  { items, slots, cells }: Sizes,
  epsilon?: number,
): Promise<Keyed> {
  const digest = await digestOf(name, cells, parameters, question); // which salts the hash functions
  const inner = { grr, solh }[name]({ name, domain: cells, parameters, digest });
  const domain = Number(items);
  return {
    mechanism: { ...inner, name: given.name, domain, digest: given.digest, epsilonLocal: epsilon ?? inner.epsilonLocal, support: 0 },
    takes: [["set", domain]],
    randomize: ([held], rng: Randomness) => {
      const set = held as readonly number[];
      const drawn = Number(rng.below(BigInt(set.length) > slots ? BigInt(set.length) : slots));
      return inner.randomize(drawn < set.length ? set[drawn]! : domain + drawn - set.length, rng);
    },
  };
}
