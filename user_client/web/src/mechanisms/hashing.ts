/** SplitMix64, the permutation π by it, and the family of local hashing (docs/protocol.md §2). */
import { modulo } from "../arithmetic.js";

const MASK = (1n << 64n) - 1n;
const GOLDEN = 0x9e3779b97f4a7c15n;

/** The `output`-th word of the generator from a state. */
export function splitmix64(state: bigint, output: bigint): bigint {
  let z = (state + output * GOLDEN) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

/** The high and the low half of SplitMix64's first word from x < 2^32, without big numbers: π looks at every x. */
function halves(x: number): [number, number] {
  let low = (x + 0x7f4a7c15) >>> 0;
  let high = (0x9e3779b9 + (low < x ? 1 : 0)) >>> 0;
  [high, low] = product(high ^ (high >>> 30), low ^ ((low >>> 30) | (high << 2)), 0xbf58476d, 0x1ce4e5b9);
  [high, low] = product(high ^ (high >>> 27), low ^ ((low >>> 27) | (high << 5)), 0x94d049bb, 0x133111eb);
  return [(high ^ (high >>> 31)) >>> 0, (low ^ ((low >>> 31) | (high << 1))) >>> 0];
}

/** The low 64 bits of a product, all four being halves. */
function product(high: number, low: number, byHigh: number, byLow: number): [number, number] {
  const [a, b, c, d] = [(low >>> 16) & 0xffff, low & 0xffff, byLow >>> 16, byLow & 0xffff];
  const [bottom, one, other] = [b * d, a * d, b * c];
  const middle = (one & 0xffff) + (other & 0xffff) + (bottom >>> 16);
  const above = a * c + (one >>> 16) + (other >>> 16) + (middle >>> 16);
  const crossed = (Math.imul(high, byLow) + Math.imul(low, byHigh)) | 0;
  return [(above + crossed) >>> 0, ((middle << 16) | (bottom & 0xffff)) >>> 0];
}

/** π of one value: its rank by SplitMix64 among 0 … domain − 1. */
export function rank(value: number, domain: number): number {
  const [high, low] = halves(value);
  let smaller = 0;
  for (let x = 0; x < domain; x++) {
    const [h, l] = halves(x);
    if (h < high || (h === high && l < low)) smaller++;
  }
  return smaller;
}

/** The smallest prime that is at least `number`, which is at least 2. */
export function primeFrom(number: bigint): bigint {
  for (let n = Number(number); ; n++) {
    let factor = 2;
    while (factor * factor <= n && n % factor) factor++;
    if (factor * factor > n) return BigInt(n);
  }
}

/** H_seed(value), of which `place` is π. */
export function hashed(seed: bigint, place: bigint, cells: bigint, prime: bigint, salt: bigint): bigint {
  const state = (seed + salt) & MASK;
  const a = (splitmix64(state, 1n) % (prime - 1n)) + 1n;
  const b = splitmix64(state, 2n) % prime;
  return modulo(a * place + b, prime) % cells;
}
