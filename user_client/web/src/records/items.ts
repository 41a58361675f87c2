/** Views of a list of items: which of those asked about she has, how many, and which listed sets (peos.tasks.items.views). */
import type { Answer } from "../asked.js";
import { PeosError } from "../errors.js";
import { expected, requireLabels } from "../labels.js";
import { MAX_ENUMERABLE, ranged } from "../mechanisms/base.js";
import { counted, described, isList, labelsOf, type View, type ViewChoice } from "./views.js";

const MOST_ITEMS = 10_000;
const NUMBER = /^(?:0|[1-9][0-9]{0,17})$/;

/** Why a record is no list of items; "" if it is one. */
function problemOf(record: Answer): string {
  if (!isList(record)) return "the record is not a list of items";
  if (record.length > MOST_ITEMS) return `the list has ${counted(record.length)} items, and at most ${counted(MOST_ITEMS)} can be asked about`;
  const at = record.findIndex((item) => typeof item !== "string" && !Number.isInteger(item));
  return at < 0 ? "" : `item ${at + 1} of the list is neither a text nor a whole number`;
}

/** Items by name: 17 is the item that is called "17". */
function named(record: Answer): Set<string> {
  return new Set((record as readonly (string | number)[]).map((item) => (typeof item === "string" ? item : BigInt(item).toString())));
}

/** Ascending: which of the items asked about are in the record. */
function held(record: Answer, labels: readonly string[], items: number): number[] {
  const have = named(record);
  if (labels.length) return labels.flatMap((label, at) => (have.has(label) ? [at] : []));
  const numbers = [...have].filter((name) => NUMBER.test(name) && BigInt(name) < BigInt(items));
  return numbers.map(Number).sort((one, other) => one - other);
}

function asked(choice: ViewChoice, items: bigint, lines?: readonly string[]): { items: number; labels: readonly string[]; words: string } {
  const count = Number(ranged(items, 1n, MAX_ENUMERABLE, "the number of items"));
  if (!choice.catalogue) requireLabels(choice.labels, items);
  else if (choice.catalogue.count !== count)
    throw new PeosError("view.items", `the catalogue has ${choice.catalogue.count} lines for ${count} items`);
  const labels = lines ?? choice.labels;
  if (choice.catalogue) return { items: count, labels, words: `${counted(count)} items that the catalogue lists` };
  return { items: count, labels, words: labels.length ? `these items: ${expected(labels, count)}` : `items 0 to ${count - 1}` };
}

export function items(choice: ViewChoice, lines?: readonly string[]): View {
  const found = asked(choice, described(choice, ["items"], "either").items, lines);
  return {
    kind: "items",
    gives: "set",
    cells: found.items,
    words: `one item of the list, drawn by this device, of ${found.words}`,
    problem: problemOf,
    answer: (record) => held(record, found.labels, found.items),
  };
}

export function size(choice: ViewChoice, lines?: readonly string[]): View {
  const given = described(choice, ["items", "most", "sets"], "either");
  const found = asked(choice, given.items, lines);
  const most = Number(ranged(given.most, 1n, given.items, "the largest number of items asked about"));
  const sets = ranged(given.sets, 0n, 1n, "whether item sets are listed") ? found.labels.map(setOf) : null;
  return {
    kind: "size",
    gives: "value",
    cells: most + 1,
    words: sets
      ? `how many of ${counted(found.items)} listed item sets the list holds all of, at most ${most}`
      : `how many, at most ${most}, the list has of ${found.words}`,
    problem: problemOf,
    answer: (record) => Math.min(most, (sets ? matched(record, sets) : held(record, found.labels, found.items)).length),
  };
}

export function subsets(choice: ViewChoice, lines?: readonly string[]): View {
  described(choice, [], "either");
  const labels = labelsOf(choice, lines);
  const sets = labels.map(setOf);
  const listed = choice.catalogue ? choice.catalogue.count : labels.length;
  const which = labels.length ? `: ${expected(labels, listed)}` : "";
  return {
    kind: "subsets",
    gives: "set",
    cells: listed,
    words: `one of the item sets that the list holds all of, drawn by this device, of ${counted(listed)} listed${which}`,
    problem: problemOf,
    answer: (record) => matched(record, sets),
  };
}

/** Ascending: the item sets of which a record has all items. */
function matched(record: Answer, sets: readonly (readonly string[])[]): number[] {
  const have = named(record);
  return sets.flatMap((set, at) => (set.every((item) => have.has(item)) ? [at] : []));
}

/** The items of a set's label, which is a JSON list in the one order that an analyzer writes. */
function setOf(label: string): string[] {
  let found: unknown;
  try {
    found = JSON.parse(label);
  } catch {
    // told below
  }
  if (!isList(found) || !found.length || problemOf(found) || label !== labelOf(named(found)))
    throw new PeosError("view.item_set", `${JSON.stringify(label.slice(0, 80))} is no item set`);
  return [...named(found)];
}

function labelOf(set: Set<string>): string {
  const numbers = [...set].filter((name) => NUMBER.test(name)).sort((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1));
  const texts = [...set].filter((name) => !NUMBER.test(name)).sort(byCharacter);
  return `[${[...numbers, ...texts.map((name) => JSON.stringify(name))].join(", ")}]`;
}

/** By code point, as Python orders texts; the language's own order is by halves of pairs. */
function byCharacter(one: string, other: string): number {
  const [left, right] = [[...one], [...other]];
  const at = left.findIndex((character, place) => character !== right[place]);
  if (at < 0) return left.length - right.length;
  return right[at] === undefined ? 1 : left[at]!.codePointAt(0)! - right[at].codePointAt(0)!;
}
