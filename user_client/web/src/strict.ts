/** Messages from strangers: one encoding for one meaning, nothing left over (peos.wire.strict). */
import { fromBinary, toBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type Bytes, equal } from "./bytes.js";
import { PeosError } from "./errors.js";

export const VERSION = 1;
export const MESSAGE_LIMIT = 2 << 20;

export function parse<Desc extends DescMessage>(
  kind: Desc,
  data: Uint8Array,
  { versioned = true } = {},
): MessageShape<Desc> {
  const name = /^[AEIOU]/.test(kind.name) ? `an ${kind.name}` : `a ${kind.name}`;
  if (data.length > MESSAGE_LIMIT) throw new PeosError("encoding.too_long", `${name} of ${data.length} bytes is too long`);
  if (versioned && data.length === 0)
    throw new PeosError("encoding.empty", `where ${name} should be, there are 0 bytes`, "it was cut off: get it again");
  let message: MessageShape<Desc>;
  try {
    message = fromBinary(kind, data, { readUnknownFields: false });
  } catch {
    throw new PeosError("encoding.unreadable", `these bytes are not ${name}`);
  }
  const found = versioned ? (message as { version?: number }).version! : VERSION;
  if (found > VERSION) // first: what a later version added is neither understood nor wrong
    throw new PeosError(
      "encoding.version",
      `${name} is of wire version ${found}, and this program speaks ${VERSION}`,
      "use a client of the shufflers' version",
    );
  if (!equal(serialize(kind, message), data))
    throw new PeosError("encoding.not_canonical", `${name} has something left over or is not in its one encoding`);
  if (found !== VERSION)
    throw new PeosError("encoding.version", `${name} names no wire version, and this program speaks ${VERSION}`);
  return message;
}

export function serialize<Desc extends DescMessage>(kind: Desc, message: MessageShape<Desc>): Bytes {
  return toBinary(kind, message, { writeUnknownFields: false }) as Bytes;
}

export function exactly(data: Uint8Array, length: number, what: string): Bytes {
  if (data.length !== length)
    throw new PeosError("encoding.length", `${what} has ${data.length} bytes, not ${length}`);
  return data as Bytes;
}

export function within(number: number, low: number, high: number, what: string): number {
  if (number < low || number > high)
    throw new PeosError("encoding.range", `${what} is ${number}, outside ${low} … ${high}`);
  return number;
}
