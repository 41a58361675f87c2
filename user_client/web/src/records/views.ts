/** What a client makes of her record before anything is randomised (peos.tasks.views); a line for each kind. */
import { type Answer, type Look, numberOf } from "../asked.js";
import { ascii, type Bytes, equal, joined, sha256, toBig } from "../bytes.js";
import { PeosError } from "../errors.js";
import { expected, requireLabels } from "../labels.js";
import { MAX_ENUMERABLE, type Parameters, ranged } from "../mechanisms/base.js";
import type { Randomness } from "../randomness.js";
import { attributes, grid, level, packed, rounded } from "./cells.js";
import { items, size, subsets } from "./items.js";
import { channel, pair, prefix, segment } from "./texts.js";

const MOST_VIEWS = 64;
const MOST_LABELS = 4096;
const MOST_LABEL_BYTES = 1 << 16;
const MOST_LISTED = 1 << 20;

export interface Catalogue {
  readonly sha256: Uint8Array;
  readonly count: number;
}

/** A view as a document holds it. */
export interface ViewChoice {
  readonly kind: string;
  readonly parameters: Parameters;
  readonly labels: readonly string[];
  readonly catalogue?: Catalogue | undefined;
}

/** A part of a text and what is before it, as hash functions take them; where nothing `fits`, anything is sent. */
export interface Key {
  readonly parent: bigint;
  readonly ext: bigint;
  readonly fits: boolean;
}

/** Of "value" and "cell" a number, of "key" a key, of "set" ascending numbers. */
export type Given = number | Key | readonly number[];

export interface View extends Look {
  readonly gives: "value" | "key" | "set" | "cell";
  problem(record: Answer): string;
  answer(record: Answer, rng: Randomness): Given | Promise<Given>;
}

/** `lines` are the catalogue's, once it is there. */
export type ViewMaker = (choice: ViewChoice, lines?: readonly string[]) => View;

const VIEWS: Readonly<Record<string, ViewMaker>> = {
  value,
  candidates,
  prefix,
  segment,
  pair,
  channel,
  items,
  size,
  subsets,
  attributes,
  level,
  grid,
  rounded,
  packed,
};

export function viewOf(choice: ViewChoice, lines?: readonly string[]): View {
  const make = Object.hasOwn(VIEWS, choice.kind) ? VIEWS[choice.kind] : undefined;
  if (!make) throw new PeosError("view.kind", `this client has no view ${JSON.stringify(choice.kind.slice(0, 40))}`, "use a client of this version");
  if (choice.catalogue) {
    if (choice.catalogue.sha256.length !== 32) throw new PeosError("view.catalogue_digest", "a catalogue is named by the 32 bytes of its SHA-256");
    ranged(BigInt(choice.catalogue.count), 1n, BigInt(MOST_LISTED), "the number of lines of a catalogue");
  }
  return make(choice, lines);
}

/** Exactly these parameters, and labels or a catalogue only where the kind has such. */
export function described<K extends string>(choice: ViewChoice, names: readonly K[], listed: "" | "labels" | "some" | "either" = ""): Record<K, bigint> {
  const given = Object.keys(choice.parameters).sort().join();
  const extra = (choice.catalogue && listed !== "either") || (choice.labels.length && !listed);
  if (given !== [...names].sort().join() || extra || (listed === "some" && !choice.labels.length))
    throw new PeosError("view.parameters", `a view of kind ${choice.kind} is described by ${names.join(" and ")}, by each and nothing else`);
  return choice.parameters as Record<K, bigint>;
}

export function isText(record: Answer): record is string {
  return typeof record === "string" && !/\p{Cs}/u.test(record); // half a surrogate pair is in none
}

export function isList(record: Answer): record is readonly unknown[] {
  return Array.isArray(record);
}

/** A number with its thousands set apart. */
export function counted(number: number): string {
  return number.toLocaleString("en");
}

/** The labels of a document, or of a catalogue, or none if that is not there yet. */
export function labelsOf(choice: ViewChoice, lines?: readonly string[]): readonly string[] {
  if (choice.catalogue) return lines ?? [];
  requireLabels(choice.labels, BigInt(choice.labels.length || 1));
  if (!choice.labels.length) throw new PeosError("view.labels", `a view of kind ${choice.kind} needs labels, or a catalogue of them`);
  return choice.labels;
}

function value(choice: ViewChoice): View {
  const cells = Number(ranged(described(choice, ["cells"], "labels").cells, 1n, MAX_ENUMERABLE, "the number of values"));
  const { labels } = choice;
  requireLabels(labels, BigInt(cells));
  const words = expected(labels, cells);
  return {
    kind: "value",
    gives: "value",
    cells,
    words,
    problem: (record) => (numberOf(record, labels, cells) === null ? `the value is not ${words}` : ""),
    answer: (record) => numberOf(record, labels, cells)!,
  };
}

function candidates(choice: ViewChoice, lines?: readonly string[]): View {
  described(choice, [], "either");
  const labels = labelsOf(choice, lines);
  const listed = choice.catalogue ? choice.catalogue.count : labels.length;
  const place = new Map(labels.map((label, at) => [label, at]));
  return {
    kind: "candidates",
    gives: "value",
    cells: listed + 1,
    words: labels.length ? `whether the text is ${expected(labels, listed)}, or another` : `which of ${counted(listed)} listed texts it is, or that it is another`,
    problem: (record) => (isText(record) ? "" : "the record is not a text"),
    answer: (record) => place.get(record as string) ?? listed,
  };
}

/** What every user can be asked to fetch from every shuffler. */
export function requireSize(choices: readonly ViewChoice[]): void {
  const labels = choices.flatMap((choice) => choice.labels);
  const bytes = labels.reduce((sum, label) => sum + ascii(label).length, 0);
  if (choices.length > MOST_VIEWS || labels.length > MOST_LABELS || bytes > MOST_LABEL_BYTES)
    throw new PeosError("view.too_many", "a document asks for too much of a record, or lists too many labels");
}

/** What stands for the views in a mechanism's digest. */
export async function digestOfViews(choices: readonly ViewChoice[]): Promise<Bytes> {
  const framed = (parts: readonly Uint8Array[]): Bytes => joined(...parts.flatMap((part) => [toBig(BigInt(part.length), 4), part]));
  const encoded = choices.map(({ kind, parameters, labels, catalogue }) => {
    const names = Object.keys(parameters).sort();
    const listed = catalogue ? joined(toBig(BigInt(catalogue.count), 8), catalogue.sha256) : new Uint8Array();
    const integers = names.flatMap((name) => [ascii(name), toBig(parameters[name]!, 8)]);
    return framed([ascii(kind), toBig(BigInt(names.length), 8), ...integers, listed, ...labels.map(ascii)]);
  });
  return sha256(ascii("peos views 1"), framed(encoded));
}

/** The texts of a catalogue's file, if it is the one that the document names. */
export async function linesOf(catalogue: Catalogue, content: Bytes): Promise<string[]> {
  const wrong = (id: string, sentence: string): PeosError => new PeosError(id, sentence, "fetch the catalogue that came with the invitation");
  const other = wrong("view.other_catalogue", "the catalogue is another file than the document's");
  if (!equal(await sha256(content), catalogue.sha256)) throw other;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw wrong("view.catalogue_text", "the catalogue is not UTF-8 text");
  }
  const lines = content.length ? text.replace(/\n$/, "").split("\n") : [];
  const found = lines.map((line, at) => {
    let made: unknown;
    try {
      made = JSON.parse(line);
    } catch {
      // told below
    }
    if (!isText(made)) throw wrong("view.catalogue_line", `line ${at + 1} of the catalogue is not a JSON text`);
    return made;
  });
  if (found.length !== catalogue.count) throw other;
  return found;
}
