/**
 * Ed25519 (RFC 8032): by WebCrypto where the browser has it, and else by what stands here. A key of small order is refused
 * in both, since anyone can sign under it.
 */
import { power, modulo } from "./arithmetic.js";
import { type Bytes, equal, fromLittle, joined, labelled, toLittle, unhex } from "./bytes.js";

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = modulo(-121665n * power(121666n, P - 2n, P), P);
const ROOT = power(2n, (P - 1n) / 4n, P); // of −1
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL = new Set([0n, 1n, P - 1n, ORDER_8, P - ORDER_8]);

export const PUBLIC_BYTES = 32;
export const SIGNATURE_BYTES = 64;
export const SEED_BYTES = 32;

type Point = [bigint, bigint, bigint, bigint]; // X, Y, Z, T
const ZERO: Point = [0n, 1n, 1n, 0n];

function added([x1, y1, z1, t1]: Point, [x2, y2, z2, t2]: Point): Point {
  const a = modulo((y1 - x1) * (y2 - x2), P);
  const b = modulo((y1 + x1) * (y2 + x2), P);
  const c = modulo(2n * t1 * D * t2, P);
  const d = modulo(2n * z1 * z2, P);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [modulo(e * f, P), modulo(g * h, P), modulo(f * g, P), modulo(e * h, P)];
}

function times(scalar: bigint, point: Point): Point {
  let result = ZERO;
  for (const bit of scalar.toString(2)) {
    result = added(result, result);
    if (bit === "1") result = added(result, point);
  }
  return result;
}

function encoded([x, y, z]: Point): Bytes {
  const inverse = power(z, P - 2n, P);
  return toLittle(modulo(y * inverse, P) | ((modulo(x * inverse, P) & 1n) << 255n), 32);
}

function decoded(data: Uint8Array): Point | null {
  const packed = fromLittle(data);
  const y = packed & ((1n << 255n) - 1n);
  if (y >= P) return null;
  const [u, v] = [modulo(y * y - 1n, P), modulo(D * y * y + 1n, P)];
  let x = modulo(u * power(v, 3n, P) * power(u * power(v, 7n, P), (P - 5n) / 8n, P), P);
  if (modulo(v * x * x, P) === modulo(-u, P)) x = modulo(x * ROOT, P);
  if (modulo(v * x * x, P) !== u) return null;
  const odd = packed >> 255n;
  if (!x && odd) return null;
  if ((x & 1n) !== odd) x = P - x;
  return [x, y, 1n, modulo(x * y, P)];
}

const BASE = decoded(toLittle(modulo(4n * power(5n, P - 2n, P), P), 32))!;

async function sha512(...parts: Uint8Array[]): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-512", joined(...parts)));
}

/** What a browser without Ed25519 runs; tests compare it with WebCrypto's. */
export const own = {
  async verify(key: Uint8Array, signature: Uint8Array, message: Uint8Array): Promise<boolean> {
    const [r, s] = [signature.subarray(0, 32), fromLittle(signature.subarray(32))];
    const point = decoded(key);
    if (!point || s >= ORDER) return false;
    const h = fromLittle(await sha512(r, key, message)) % ORDER;
    const [x, y, z, t] = point;
    return equal(encoded(added(times(s, BASE), times(h, [modulo(-x, P), y, z, modulo(-t, P)]))), r);
  },
  async expand(seed: Uint8Array): Promise<{ scalar: bigint; prefix: Bytes; key: Bytes }> {
    const hashed = await sha512(seed);
    const scalar = (fromLittle(hashed.subarray(0, 32)) & ((1n << 254n) - 8n)) | (1n << 254n);
    return { scalar, prefix: hashed.slice(32), key: encoded(times(scalar, BASE)) };
  },
  async sign(seed: Uint8Array, message: Uint8Array): Promise<Bytes> {
    const { scalar, prefix, key } = await own.expand(seed);
    const r = fromLittle(await sha512(prefix, message)) % ORDER;
    const commitment = encoded(times(r, BASE));
    const h = fromLittle(await sha512(commitment, key, message)) % ORDER;
    return joined(commitment, toLittle((r + h * scalar) % ORDER, 32));
  },
};

/** Whether `key` signed the label and the fields. */
export async function verifies(
  key: Uint8Array,
  signature: Uint8Array,
  label: string,
  ...fields: Uint8Array[]
): Promise<boolean> {
  if (key.length !== PUBLIC_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  if (SMALL.has((fromLittle(key) & ((1n << 255n) - 1n)) % P)) return false;
  const message = labelled(label, ...fields);
  let known: CryptoKey;
  try {
    known = await crypto.subtle.importKey("raw", key.slice(), "Ed25519", false, ["verify"]);
  } catch {
    return own.verify(key, signature, message);
  }
  return crypto.subtle.verify("Ed25519", known, signature.slice(), message);
}

const PKCS8 = unhex("302e020100300506032b657004220420"); // before the seed of a private key

/** A user's key: what her ticket names, and what signs her submission. */
export class SigningKey {
  private constructor(
    readonly key: Bytes,
    private readonly by: (message: Bytes) => Promise<Bytes>,
  ) {}

  static async of(seed: Uint8Array): Promise<SigningKey> {
    let secret: CryptoKey;
    try {
      secret = await crypto.subtle.importKey("pkcs8", joined(PKCS8, seed), "Ed25519", true, ["sign"]);
    } catch {
      const kept = seed.slice();
      return new SigningKey((await own.expand(kept)).key, (message) => own.sign(kept, message));
    }
    const { x } = await crypto.subtle.exportKey("jwk", secret);
    const key = Uint8Array.from(atob(x!.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    return new SigningKey(key, async (message) => new Uint8Array(await crypto.subtle.sign("Ed25519", secret, message)));
  }

  sign(label: string, ...fields: Uint8Array[]): Promise<Bytes> {
    return this.by(labelled(label, ...fields));
  }
}
