/** What tests of vectors share: coins that were drawn before, and refusals by their ids. */
import assert from "node:assert/strict";
import { type Bytes, hex, unhex } from "../src/bytes.js";
import { PeosError } from "../src/errors.js";
import { Randomness } from "../src/randomness.js";

/** Coins all of which must be drawn again. */
export function given(coins: string): Randomness & { left(): number } {
  let rest: Bytes = unhex(coins);
  const rng = new Randomness((out) => {
    assert.ok(out.length <= rest.length, "more coins are drawn than the Python client drew");
    out.set(rest.subarray(0, out.length));
    rest = rest.slice(out.length);
  });
  return Object.assign(rng, { left: () => rest.length });
}

export function integers(parameters: Record<string, string>): Record<string, bigint> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, BigInt(value)]));
}

export function bitsOf(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return hex(new Uint8Array(view.buffer));
}

export async function idOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "";
  } catch (error) {
    if (error instanceof PeosError) return error.id;
    throw error;
  }
}
