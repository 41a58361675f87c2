/** The answers by name (peos.collection.labels). */
import { ascii } from "./bytes.js";
import { PeosError } from "./errors.js";

const LABEL_LIMIT = 200; // characters
const LABELS_LIMIT = 1 << 16; // bytes of all
const SHOWN = 12;
const PRINTABLE = /^(?:[^\p{C}\p{Z}]| )*$/u;
const NUMBER = /^[0-9]{1,18}$/;

export function isPrintable(text: string): boolean {
  return PRINTABLE.test(text);
}

export function characters(text: string): number {
  return [...text].length;
}

/** What another party says, fit for a line: printable, not long. */
export function plainText(text: string): string {
  const line = [...text.trim().replace(/\s+/gu, " ")];
  return line.map((one) => (PRINTABLE.test(one) ? one : "?")).slice(0, 300).join("");
}

export function requireLabels(labels: readonly string[], domain: bigint): void {
  if (!labels.length) return;
  const wrong = (sentence: string): never => {
    throw new PeosError("document.labels", sentence);
  };
  if (BigInt(labels.length) !== domain) wrong(`there are ${labels.length} labels for ${domain} values`);
  for (const label of labels) {
    const length = characters(label);
    if (length < 1 || length > LABEL_LIMIT || !PRINTABLE.test(label) || label !== label.trim())
      wrong(`${JSON.stringify(plainText(label))} cannot be a label`);
  }
  if (new Set(labels).size < labels.length) wrong("two values have one label");
  if (labels.reduce((sum, label) => sum + ascii(label).length, 0) > LABELS_LIMIT)
    wrong(`the labels have more than ${LABELS_LIMIT} bytes together`);
}

/** The value that words stand for: a label, or its number; where a label is a number, numbers are labels alone. */
export function valueOf(text: string, labels: readonly string[], domain: number): number | null {
  const words = text.trim();
  const at = labels.indexOf(words);
  if (at >= 0) return at;
  if (labels.some((label) => NUMBER.test(label)) || !NUMBER.test(words)) return null;
  const value = BigInt(words);
  return value < BigInt(domain) ? Number(value) : null;
}

export function expected(labels: readonly string[], domain: number): string {
  if (!labels.length) return `a whole number from 0 to ${domain - 1}`;
  const more = labels.length > SHOWN ? ` and ${labels.length - SHOWN} more` : "";
  return `one of ${labels.slice(0, SHOWN).join(", ")}${more}`;
}
