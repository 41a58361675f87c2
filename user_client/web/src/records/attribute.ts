/** One attribute of a record: labels, or a range of whole or real numbers in parts (peos.tasks.schema). */
import { PeosError } from "../errors.js";
import { characters, isPrintable } from "../labels.js";

const MOST_CELLS = 1 << 16;
const FINEST = 1024; // parts of a real number's range that names none
const MOST_NAME = 64;
const MOST_LABEL = 200;
const MOST_NUMBER = 2 ** 53;
const SHOWN = 6;

export class Attribute {
  readonly size: number;
  private readonly places: ReadonlyMap<string, number>;

  private constructor(
    readonly name: string,
    private readonly labels: readonly string[],
    readonly first: number,
    readonly last: number,
    private readonly real: boolean,
    private readonly parts: number,
  ) {
    this.size = labels.length || parts || (real ? FINEST : last - first + 1);
    this.places = new Map(labels.map((label, at) => [label, at]));
  }

  /** The attribute that a document states, exactly as an analyzer writes it. */
  static fromText(text: string): Attribute {
    let made: Attribute | null = null;
    try {
      made = Attribute.of(JSON.parse(text) as Record<string, unknown>);
    } catch {
      // told below
    }
    if (!made?.isSound || made.text !== text)
      throw new PeosError("schema.text", "the document states an attribute in a way that no analyzer writes it");
    return made;
  }

  private static of(given: Record<string, unknown>): Attribute | null {
    const { name, labels, from, to, real, parts } = given;
    if (typeof name !== "string") return null;
    if (Array.isArray(labels)) return labels.every((label) => typeof label === "string") ? new Attribute(name, labels as string[], 0, 0, false, 0) : null;
    if (typeof from !== "number" || typeof to !== "number" || typeof real !== "boolean" || typeof parts !== "number") return null;
    return new Attribute(name, [], from, to, real, parts);
  }

  private get isSound(): boolean {
    if (!isName(this.name, MOST_NAME) || this.size < 2 || this.size > MOST_CELLS) return false;
    if (this.labels.length) return this.places.size === this.labels.length && this.labels.every((label) => isName(label, MOST_LABEL));
    const { first, last, real, parts } = this;
    const ends = [first, last].every((end) => Number.isFinite(end) && Math.abs(end) <= MOST_NUMBER && (real || Number.isInteger(end)));
    return ends && first < last && Number.isInteger(parts) && parts >= 0 && (real || parts <= last - first + 1);
  }

  /** Whether it is a range: that labels have none. */
  get isOrdered(): boolean {
    return !this.labels.length;
  }

  private get text(): string {
    if (this.labels.length) return `{"labels":${JSON.stringify(this.labels)},"name":${JSON.stringify(this.name)}}`;
    const [from, to] = [this.first, this.last].map(this.real ? asDouble : String);
    return `{"from":${from},"name":${JSON.stringify(this.name)},"parts":${this.parts},"real":${this.real},"to":${to}}`;
  }

  get words(): string {
    if (this.labels.length) {
      const more = this.size > SHOWN ? ` and ${this.size - SHOWN} more` : "";
      return `${this.name} (${this.labels.slice(0, SHOWN).join(", ")}${more})`;
    }
    return `${this.name} (${this.first} to ${this.last}${this.parts ? ` in ${this.parts} parts` : ""})`;
  }

  /** Why a value is none of it; "" if it is. A number beyond the bounds is one. */
  problem(value: unknown): string {
    if (this.labels.length)
      return typeof value === "string" && this.places.has(value) ? "" : `${this.name} is one of ${this.labels.slice(0, SHOWN).join(", ")}`;
    if (this.real) return Number.isFinite(value) ? "" : `${this.name} is a number`;
    return Number.isInteger(value) ? "" : `${this.name} is a whole number`;
  }

  /** The cell of a value that fits. */
  index(value: unknown): number {
    if (this.labels.length) return this.places.get(value as string)!;
    const given = Math.min(Math.max(value as number, this.first), this.last);
    const width = this.last - this.first + (this.real ? 0 : 1);
    return Math.min(Math.floor(((given - this.first) * this.size) / width), this.size - 1);
  }
}

function isName(text: string, most: number): boolean {
  return characters(text) >= 1 && characters(text) <= most && isPrintable(text) && text === text.trim();
}

/** A double as Python's JSON writes it: the same shortest digits, with an exponent only where it is far from 1. */
function asDouble(value: number): string {
  const exponent = Number(value.toExponential().split("e")[1]);
  if (exponent < -4) return value.toExponential().replace(/e-(\d)$/, "e-0$1");
  const sign = Object.is(value, -0) ? "-" : "";
  return `${sign}${value}${Number.isInteger(value) ? ".0" : ""}`;
}
