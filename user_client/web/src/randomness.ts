/** Random words, from the browser's own source alone; the same draws from the same bytes as peos.crypto.randomness. */
import { type Bytes, fromLittle } from "./bytes.js";

const WORD = 1n << 64n;
const AT_ONCE = 1 << 16; // bytes that getRandomValues gives in one call

export class Randomness {
  constructor(private readonly fill: (out: Bytes) => void) {}

  bytes(count: number): Bytes {
    const out = new Uint8Array(count);
    this.fill(out);
    return out;
  }

  uint64(): bigint {
    return fromLittle(this.bytes(8));
  }

  words(count: number): bigint[] {
    const drawn = this.bytes(8 * count);
    return Array.from({ length: count }, (_, at) => fromLittle(drawn.subarray(8 * at, 8 * at + 8)));
  }

  /** A uniform word below `bound`: by rejection, never by a biased remainder. */
  below(bound: bigint): bigint {
    const surplus = (WORD - bound) % bound;
    for (;;) {
      const drawn = this.uint64();
      if (drawn <= WORD - 1n - surplus) return drawn % bound;
    }
  }

  /** A uniform integer of at most `count` bits. */
  bits(count: number): bigint {
    const whole = Math.ceil(count / 8);
    return fromLittle(this.bytes(whole)) >> BigInt(8 * whole - count);
  }

  integerBelow(bound: bigint): bigint {
    const width = (bound - 1n).toString(2).length;
    for (;;) {
      const drawn = bound > 1n ? this.bits(width) : 0n;
      if (drawn < bound) return drawn;
    }
  }
}

/** Secret randomness: `crypto.getRandomValues`, and nothing else. */
export function system(): Randomness {
  return new Randomness((out) => {
    for (let at = 0; at < out.length; at += AT_ONCE) crypto.getRandomValues(out.subarray(at, at + AT_ONCE));
  });
}
