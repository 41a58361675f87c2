/** Views of a text: a part of its bits, with what is before it or where it belongs (peos.tasks.text_views). */
import type { Answer } from "../asked.js";
import { ascii, type Bytes, fromBig, fromLittle, sha256, toBig } from "../bytes.js";
import { PeosError } from "../errors.js";
import { splitmix64 } from "../mechanisms/hashing.js";
import { ranged } from "../mechanisms/base.js";
import { described, isText, type Key, type View, type ViewChoice } from "./views.js";

const WORD = 64;
const MOST_BITS = 8n * 64n;
const EXT_BITS = 20n;
const MOST_CHANNELS = 1n << 20n;

/** A text cut to so many bits, or filled up with zero bytes. */
class Text {
  private readonly row: Bytes;

  constructor(
    readonly fits: boolean,
    given: string,
    private readonly bits: number,
  ) {
    this.row = new Uint8Array(Math.ceil(bits / 8));
    this.row.set(ascii(given).subarray(0, this.row.length));
  }

  /** The bits from `first` to before `last` as a number. */
  part(first: number, last: number): bigint {
    return (fromBig(this.row) >> BigInt(8 * this.row.length - last)) & ((1n << BigInt(last - first)) - 1n);
  }

  /** What hash functions take of the first `count` bits. */
  async parent(count: number): Promise<bigint> {
    if (count <= WORD) return this.part(0, count);
    const head = this.row.slice(0, Math.ceil(count / 8));
    if (count % 8) head[head.length - 1]! &= 0x100 - (1 << (8 - (count % 8)));
    return fromLittle((await sha256(toBig(BigInt(count), 2), head)).subarray(0, 8));
  }

  whole(): Promise<bigint> {
    return this.parent(this.bits);
  }
}

function view(choice: ViewChoice, bits: bigint, words: string, key: (text: Text) => Promise<Omit<Key, "fits">>): View {
  return {
    kind: choice.kind,
    gives: "key",
    cells: 0,
    words,
    problem: (record) => (isText(record) ? "" : "the record is not a text"),
    answer: async (record: Answer) => {
      const text = new Text(isText(record), isText(record) ? record : "", Number(bits));
      return { ...(await key(text)), fits: text.fits };
    },
  };
}

function segmentOf(first: bigint, last: bigint, bits: bigint): [number, number] {
  ranged(bits, 1n, MOST_BITS, "the bits of a text");
  if (!(first < last && last <= bits && last - first <= EXT_BITS))
    throw new PeosError("view.segment", `bits ${first + 1n} to ${last} cannot be asked of texts of ${bits} bits`);
  return [Number(first), Number(last)];
}

function bytes(bits: bigint): string {
  return `a text of at most ${(bits + 7n) / 8n} bytes`;
}

export function prefix(choice: ViewChoice): View {
  const { first: from, last: to, bits } = described(choice, ["first", "last", "bits"]);
  const [first, last] = segmentOf(from, to, bits);
  const [number, unit] = last % 8 ? [last, "bit"] : [last / 8, "byte"];
  const words = `the first ${number === 1 ? unit : `${number} ${unit}s`} of ${bytes(bits)}`;
  return view(choice, bits, words, async (text) => ({ parent: await text.parent(first), ext: text.part(first, last) }));
}

export function segment(choice: ViewChoice): View {
  const { first: from, last: to, bits } = described(choice, ["first", "last", "bits"]);
  const [first, last] = segmentOf(from, to, bits);
  return view(choice, bits, `bits ${first + 1} to ${last} of ${bytes(bits)}`, async (text) => ({ parent: 0n, ext: text.part(first, last) }));
}

export function pair(choice: ViewChoice): View {
  const found = described(choice, ["first", "last", "other_first", "other_last", "bits"]);
  const [first, last] = segmentOf(found.first, found.last, found.bits);
  const [otherFirst, otherLast] = segmentOf(found.other_first, found.other_last, found.bits);
  const words = `bits ${first + 1} to ${last} and ${otherFirst + 1} to ${otherLast} of ${bytes(found.bits)}`;
  return view(choice, found.bits, words, async (text) => ({ parent: text.part(first, last), ext: text.part(otherFirst, otherLast) }));
}

export function channel(choice: ViewChoice): View {
  const { first: from, last: to, bits, channels } = described(choice, ["first", "last", "bits", "channels"]);
  const [first, last] = segmentOf(from, to, bits);
  ranged(channels, 1n, MOST_CHANNELS, "the number of channels");
  const words = `bits ${first + 1} to ${last} of ${bytes(bits)}, and which of ${channels} classes the text is in`;
  return view(choice, bits, words, async (text) => ({
    parent: ((splitmix64(await text.whole(), 1n) >> 32n) * channels) >> 32n,
    ext: text.part(first, last),
  }));
}
