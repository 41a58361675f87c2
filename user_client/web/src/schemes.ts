/** The encryption schemes (docs/protocol.md §5), as a user needs them: a public key read and checked, words encrypted. */
import { gcd, jacobi, power } from "./arithmetic.js";
import { type Bytes, fromBig, toBig } from "./bytes.js";
import { PeosError } from "./errors.js";
import { requireModulus } from "./moduli.js";
import type { Randomness } from "./randomness.js";

const FLOOR = 3072; // bits of a modulus
const LEAST_BITS = 256;
const MOST_BITS = 16384;
const WORD = 1n << 64n;
const DGK_EXPONENT = 640; // bits

export interface PublicKey {
  readonly ciphertextBytes: number;
  /** Encryptions of zero, as many as words: each from a draw of its own, before any word is looked at. */
  zeros(count: number, rng: Randomness): bigint[];
  encrypt(word: bigint, zero: bigint): Bytes;
}

/** The schemes that documents can name. `floor` is lower in tests only. */
export function publicKey(scheme: string, data: Uint8Array, floor = FLOOR): PublicKey {
  const read = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined;
  if (!read) throw new PeosError("input.scheme", `the encryption scheme ${JSON.stringify(scheme.slice(0, 40))} cannot be used`);
  return read(new KeyReader(data, floor));
}

/** u8 version ‖ u16 bits ‖ integers as wide as the modulus. */
class KeyReader {
  private at = 0;

  constructor(
    private readonly data: Uint8Array,
    private readonly floor: number,
  ) {}

  header(): number {
    const version = this.take(1)[0]!;
    if (version !== 1) throw new PeosError("key.version", `the public key has version ${version}, where only 1 is known`);
    const bits = Number(fromBig(this.take(2)));
    if (bits % 64 || bits < LEAST_BITS || bits > MOST_BITS)
      throw new PeosError("key.unfit", `a modulus has between ${LEAST_BITS} and ${MOST_BITS} bits, in whole words, not ${bits}`);
    if (bits < this.floor)
      throw new PeosError("key.too_short", `the modulus has ${bits} bits, under the floor of ${this.floor}`);
    return bits;
  }

  integer(bits: number): bigint {
    return fromBig(this.take(bits / 8));
  }

  end(): void {
    if (this.at < this.data.length) throw new PeosError("key.leftover", "bytes are left over after the public key");
  }

  private take(count: number): Uint8Array {
    const part = this.data.subarray(this.at, this.at + count);
    if (part.length < count) throw new PeosError("key.truncated", "the public key ends too early");
    this.at += count;
    return part;
  }
}

function requireElement(name: string, element: bigint, modulus: bigint): void {
  if (element <= 1n || element >= modulus)
    throw new PeosError("key.element", `${name} does not lie strictly between 1 and the modulus`);
  if (jacobi(element, modulus) !== 1)
    throw new PeosError("key.element_symbol", `the Jacobi symbol of ${name} is not +1`);
}

/** A uniform unit. `draw` gives a number of the modulus' length. */
function unit(modulus: bigint, draw: () => bigint): bigint {
  for (;;) {
    const drawn = draw();
    if (drawn < modulus && gcd(drawn, modulus) === 1n) return drawn;
  }
}

function several<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

/** c = y^m · x^(2^64) mod N. */
function joyeLibert(reader: KeyReader): PublicKey {
  const bits = reader.header();
  const [n, y] = [reader.integer(bits), reader.integer(bits)];
  reader.end();
  requireModulus(n, bits);
  if (n % 4n !== 3n) throw new PeosError("key.modulus_form", "the modulus is not 3 mod 4");
  requireElement("y", y, n);
  const width = bits / 8;
  return {
    ciphertextBytes: width,
    zeros: (count, rng) => several(count, () => power(unit(n, () => fromBig(rng.bytes(width))), WORD, n)),
    encrypt: (word, zero) => toBig((power(y, word, n) * zero) % n, width),
  };
}

/** c = g^m · h^r mod N. */
function dgk(reader: KeyReader): PublicKey {
  const bits = reader.header();
  const [n, g, h] = [reader.integer(bits), reader.integer(bits), reader.integer(bits)];
  reader.end();
  requireModulus(n, bits);
  if (n % WORD !== 1n) throw new PeosError("key.modulus_form", "the modulus is not 1 mod 2^64");
  requireElement("g", g, n);
  requireElement("h", h, n);
  return {
    ciphertextBytes: bits / 8,
    zeros: (count, rng) => several(count, () => power(h, rng.bits(DGK_EXPONENT), n)),
    encrypt: (word, zero) => toBig((power(g, word, n) * zero) % n, bits / 8),
  };
}

/** c = (1 + mN) · x^N mod N². */
function paillier(reader: KeyReader): PublicKey {
  const bits = reader.header();
  const n = reader.integer(bits);
  reader.end();
  requireModulus(n, bits);
  const square = n * n;
  return {
    ciphertextBytes: bits / 4,
    zeros: (count, rng) => several(count, () => power(unit(n, () => rng.integerBelow(n)), n, square)),
    encrypt: (word, zero) => toBig((zero + n * ((word * zero) % n)) % square, bits / 4),
  };
}

const SCHEMES: Readonly<Record<string, (reader: KeyReader) => PublicKey>> = { jl: joyeLibert, dgk, paillier };
