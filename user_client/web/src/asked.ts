/** What is asked of a user's record, and what her device makes of it before anything is encrypted. */
import { expected, valueOf } from "./labels.js";
import type { Mechanism } from "./mechanisms/base.js";
import type { Randomness } from "./randomness.js";

/** What a user holds, as JSON has it. */
export type Answer = unknown;

/** One question to a record, as far as a user's limits look at it. */
export interface Look {
  readonly kind: string;
  readonly words: string;
  readonly cells: number;
  /** Of a table of attributes, which ones. */
  readonly names?: readonly string[];
}

export interface Asked {
  readonly views: readonly Look[]; // none where one value of a list is asked for
  /** Why a record is not of the shape that is asked for; "" if it is. */
  problem(record: Answer): string;
  /** The words of a report; the draws of the Python client, from the same coins. */
  randomize(record: Answer, rng: Randomness): Promise<bigint[]>;
}

/** One value of a list. */
export function oneValue(mechanism: Mechanism, labels: readonly string[]): Asked {
  const { domain } = mechanism;
  const number = (record: Answer): number | null => numberOf(record, labels, domain);
  return {
    views: [],
    problem: (record) => (number(record) === null ? `the value is not ${expected(labels, domain)}` : ""),
    randomize: async (record, rng) => mechanism.randomize(number(record)!, rng),
  };
}

/** The value that a record stands for: words of a user, or a number. */
export function numberOf(record: Answer, labels: readonly string[], domain: number): number | null {
  if (typeof record === "string") return valueOf(record, labels, domain);
  return typeof record === "number" && Number.isInteger(record) && record >= 0 && record < domain ? record : null;
}

/** The record that a user's words stand for: the text that they are, or if that does not fit a list or an object. */
export function recordOf(asked: Asked, words: string): Answer {
  if (!asked.problem(words)) return words;
  try {
    const found: unknown = JSON.parse(words);
    if (typeof found === "object" && found !== null) return found;
  } catch {
    // words that do not fit: the caller says why
  }
  return words;
}
