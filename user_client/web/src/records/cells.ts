/** Views of a record of attributes: which cell of a table it is in (peos.tasks.cell_views, peos.tasks.measure_views). */
import type { Answer } from "../asked.js";
import { PeosError } from "../errors.js";
import { MAX_ENUMERABLE, type Parameters, ranged } from "../mechanisms/base.js";
import type { Randomness } from "../randomness.js";
import { Attribute } from "./attribute.js";
import { counted, described, isList, type View, type ViewChoice } from "./views.js";

const MOST_AXES = 64;
const MOST_CELLS = 1n << 16n;
const MOST_POINTS = 1024n;
const MOST_PACKED = 64n;
const SHARE_BITS = 52n; // of a share that a coin is drawn with

type Held = Readonly<Record<string, unknown>>;

/** An attribute in pieces of `width` of its cells; the last piece may be smaller. */
class Axis {
  readonly pieces: number;

  constructor(
    readonly attribute: Attribute,
    private readonly width: number,
  ) {
    this.pieces = Math.ceil(attribute.size / width);
  }

  get words(): string {
    return `${this.attribute.words}${this.width > 1 ? ` in ${this.pieces} parts` : ""}`;
  }

  piece(record: Held): number {
    return Math.floor(this.attribute.index(record[this.attribute.name]) / this.width);
  }
}

function axesOf(texts: readonly string[], widths: readonly bigint[], most = MOST_AXES): Axis[] {
  ranged(BigInt(texts.length), 1n, BigInt(most), "the number of attributes of a view");
  for (const width of widths) ranged(width, 1n, MOST_CELLS, "the width of a view's cells");
  const axes = texts.map((text, at) => new Axis(Attribute.fromText(text), Number(widths[at] ?? 1n)));
  if (new Set(axes.map((axis) => axis.attribute.name)).size < axes.length)
    throw new PeosError("view.attributes", "a view names each attribute once");
  return axes;
}

function cellsOf(shape: readonly number[]): number {
  return Number(ranged(shape.reduce((all, one) => all * BigInt(one), 1n), 2n, MAX_ENUMERABLE, "the number of cells of a view"));
}

/** The number of a cell, the last axis counting fastest. */
function raveled(pieces: readonly number[], shape: readonly number[]): number {
  return pieces.reduce((at, piece, axis) => at * shape[axis]! + piece, 0);
}

function isHeld(record: unknown): record is Held {
  return typeof record === "object" && record !== null && !isList(record);
}

function problemOf(axes: readonly Axis[], record: unknown): string {
  if (!isHeld(record)) return "the record is not an object with attributes";
  for (const { attribute } of axes) {
    if (!Object.hasOwn(record, attribute.name)) return `the record has no ${attribute.name}`;
    const problem = attribute.problem(record[attribute.name]);
    if (problem) return problem;
  }
  return "";
}

function named(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `width_${at + 1}`);
}

function widthsOf(parameters: Parameters, count: number): bigint[] {
  return named(count).map((name) => parameters[name]!);
}

function table(choice: ViewChoice, isCut: boolean, most = MOST_AXES): View {
  const count = choice.labels.length;
  described(choice, isCut ? named(count) : [], "labels");
  const axes = axesOf(choice.labels, isCut ? widthsOf(choice.parameters, count) : [], most);
  const shape = axes.map((axis) => axis.pieces);
  const cells = cellsOf(shape);
  return {
    kind: choice.kind,
    gives: "cell",
    cells,
    names: axes.map((axis) => axis.attribute.name),
    words: `${axes.map((axis) => axis.words).join(" with ")}: which of ${counted(cells)} cells`,
    problem: (record) => problemOf(axes, record),
    answer: (record) => raveled(axes.map((axis) => axis.piece(record as Held)), shape),
  };
}

export function attributes(choice: ViewChoice): View {
  return table(choice, false);
}

export function level(choice: ViewChoice): View {
  return table(choice, true, 1);
}

export function grid(choice: ViewChoice): View {
  return table(choice, true);
}

/** The point that a value is rounded to by chance, the nearer the likelier; beyond the bounds it is the end. */
function roundedTo(value: number, low: number, high: number, points: number, rng: Randomness): number {
  const scaled = (Math.min(Math.max(value, low), high) - low) * ((points - 1) / (high - low));
  const below = Math.min(Math.floor(scaled), points - 2);
  const share = BigInt(Math.floor((scaled - below) * 2 ** Number(SHARE_BITS)));
  return below + (rng.uint64() >> (64n - SHARE_BITS) < share ? 1 : 0);
}

function pointsOf(parameters: Parameters): number {
  return Number(ranged(parameters["points"]!, 2n, MOST_POINTS, "the number of points of a measure"));
}

export function rounded(choice: ViewChoice): View {
  const others = Math.max(0, choice.labels.length - 1);
  described(choice, [...named(others), "points"], "some");
  const points = pointsOf(choice.parameters);
  const axes = axesOf(choice.labels, widthsOf(choice.parameters, others));
  const [own, measure] = [axes.slice(0, -1), axes.at(-1)!.attribute];
  if (!measure.isOrdered) throw new PeosError("view.measure", "a measure is a number between bounds");
  const shape = [...own.map((axis) => axis.pieces), points];
  const cells = cellsOf(shape);
  const together = own.map((axis) => `${axis.words} with `).join("");
  return {
    kind: choice.kind,
    gives: "cell",
    cells,
    names: axes.map((axis) => axis.attribute.name),
    words: `${together}${measure.words} rounded at random to one of ${points}: which of ${counted(cells)} cells`,
    problem: (record) => problemOf(axes, record),
    answer: (record, rng) => {
      const value = (record as Held)[measure.name] as number;
      return raveled([...own.map((axis) => axis.piece(record as Held)), roundedTo(value, measure.first, measure.last, points, rng)], shape);
    },
  };
}

export function packed(choice: ViewChoice): View {
  const [held = "", ...texts] = choice.labels;
  described(choice, [...named(texts.length), "own", "most", "points"], "some");
  const points = pointsOf(choice.parameters);
  const most = Number(ranged(choice.parameters["most"]!, 1n, MOST_PACKED, "the most records of a user that count"));
  const own = Number(ranged(choice.parameters["own"]!, 0n, BigInt(texts.length), "the number of attributes of the user"));
  const axes = axesOf(texts, widthsOf(choice.parameters, texts.length));
  const [ofUser, ofOne] = [axes.slice(0, own), axes.slice(own)];
  const shape = [...axes.map((axis) => axis.pieces), points];
  const cells = cellsOf(shape);
  const listOf = (record: Answer): readonly Held[] => (record as Held)[held] as readonly Held[];
  return {
    kind: choice.kind,
    gives: "cell",
    cells,
    names: axes.map((axis) => axis.attribute.name),
    words:
      `${axes.map((axis) => axis.words).join(" with ")}, of one of the ${held} drawn at random, and how many there are, up to ${most}, ` +
      `rounded at random to one of ${points}: which of ${counted(cells)} cells`,
    problem: (record) => {
      if (!isHeld(record)) return "the record is not an object with attributes";
      const list = Object.hasOwn(record, held) ? record[held] : undefined;
      if (!isList(list)) return `the record has no list ${held}`;
      const faults = [...(ofUser.length ? [problemOf(ofUser, record)] : []), ...(ofOne.length ? list.map((one) => problemOf(ofOne, one)) : [])];
      return faults.find(Boolean) ?? "";
    },
    // The same draws where there is no record: any cell.
    answer: (record, rng) => {
      const list = listOf(record);
      const drawn = Number(rng.below(BigInt(Math.max(1, list.length))));
      const pieces = ofUser.map((axis) => axis.piece(record as Held));
      for (const axis of ofOne) {
        const anything = Number(rng.below(BigInt(axis.pieces)));
        pieces.push(list.length ? axis.piece(list[drawn]!) : anything);
      }
      return raveled([...pieces, roundedTo(Math.min(list.length, most), 0, most, points, rng)], shape);
    },
  };
}
