/** Cells of hidden tables: which of a record's cells is told is part of the report. */
import { PeosError } from "../errors.js";
import { Cells, checked, Coin, type Described, MAX_ENUMERABLE, ranged, THRESHOLD, WORD } from "../mechanisms/base.js";
import type { Randomness } from "../randomness.js";
import type { Keyed } from "./index.js";

const MOST_TABLES = 1n << 13n;

export function groupedTables(given: Described): Keyed {
  const count = Object.keys(given.parameters).filter((key) => key.startsWith("cells_")).length;
  ranged(BigInt(count), 1n, MOST_TABLES, "the number of tables");
  const numbers = Array.from({ length: count }, (_, table) => table + 1);
  const ranges: Record<string, readonly [bigint, bigint]> = { threshold: THRESHOLD };
  for (const table of numbers) {
    ranges[`cells_${table}`] = [2n, MAX_ENUMERABLE];
    ranges[`weight_${table}`] = [1n, MAX_ENUMERABLE];
  }
  const found = checked(given, ranges);
  const tables = numbers.map((table) => ({ size: found[`cells_${table}`]!, weight: found[`weight_${table}`]! }));
  const sum = (of: (table: { size: bigint; weight: bigint }) => bigint): bigint => tables.reduce((all, one) => all + of(one), 0n);
  if (sum(({ size }) => size) !== given.domain)
    throw new PeosError("mechanism.cells", `its ${count} tables have other cells in all than its domain of ${given.domain}`);
  const slots = ranged(sum(({ size, weight }) => size * weight), 2n, MAX_ENUMERABLE, "the number of all tables' cells by weight");
  const own = sum(({ weight }) => weight);
  const cells = new Cells(slots, 64n);
  const coin = new Coin(found["threshold"]!, own * cells.least, WORD);
  const domain = Number(given.domain);
  const mechanism = { name: given.name, domain, words: 1, digest: given.digest, epsilonLocal: coin.epsilon, gamma: coin.gamma, support: 0 };
  return {
    mechanism: { ...mechanism, randomize: () => [] },
    takes: tables.map(({ size }) => ["cell", Number(size)] as const),
    // The same draws and the same work for every record.
    randomize: (held, rng: Randomness) => {
      let [place, first, at] = [rng.below(own), 0n, 0];
      for (; place >= tables[at]!.weight; at++) {
        place -= tables[at]!.weight;
        first += tables[at]!.size * tables[at]!.weight;
      }
      return coin.mixed([cells.preimage(first + BigInt(held[at] as number) * tables[at]!.weight + place, rng)], rng);
    },
  };
}
