/** Bytes, and numbers in them. */

export type Bytes = Uint8Array<ArrayBuffer>;

export const DIGEST_BYTES = 32;

export function hex(data: Uint8Array): string {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function unhex(text: string): Bytes {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new RangeError("not hexadecimal");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function joined(...parts: Uint8Array[]): Bytes {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

export function ascii(text: string): Bytes {
  return new TextEncoder().encode(text) as Bytes;
}

/** The number that bytes are, the most significant first. */
export function fromBig(data: Uint8Array): bigint {
  return data.length ? BigInt(`0x${hex(data)}`) : 0n;
}

export function fromLittle(data: Uint8Array): bigint {
  return fromBig(data.slice().reverse());
}

export function toBig(value: bigint, width: number): Bytes {
  return unhex(value.toString(16).padStart(2 * width, "0"));
}

export function toLittle(value: bigint, width: number): Bytes {
  return toBig(value, width).reverse();
}

export async function sha256(...parts: Uint8Array[]): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)));
}

/** A label and its fields as one byte string, each with its length in front: no two lists collide. */
export function labelled(label: string, ...fields: Uint8Array[]): Bytes {
  return joined(...[ascii(`peos1 ${label}`), ...fields].flatMap((field) => [toBig(BigInt(field.length), 4), field]));
}
