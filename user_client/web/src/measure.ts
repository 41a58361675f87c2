/** How long the parts of an answer take here, in milliseconds: the median of several. */
import { SigningKey } from "./ed25519.js";
import { modulo } from "./arithmetic.js";
import { type Bytes, sha256, toLittle, unhex } from "./bytes.js";
import { system } from "./randomness.js";
import { publicKey } from "./schemes.js";

export async function measure(keys: Readonly<Record<string, string>>, times: number): Promise<Record<string, Record<string, number>>> {
  const rng = system();
  const found: Record<string, Record<string, number>> = {};
  for (const [scheme, data] of Object.entries(keys)) {
    const begun = performance.now();
    const key = publicKey(scheme, unhex(data));
    const checked = performance.now() - begun;
    const taken: number[] = [];
    for (let turn = 0; turn < times; turn++) {
      const start = performance.now();
      const [zero] = key.zeros(1, rng);
      const [one, other, word] = [rng.uint64(), rng.uint64(), rng.uint64()];
      const shares: Bytes[] = [key.encrypt(modulo(word - one - other, 1n << 64n), zero!), toLittle(one, 8), toLittle(other, 8)];
      const hashes = await Promise.all(shares.map((share) => sha256(rng.bytes(16), share)));
      const signer = await SigningKey.of(rng.bytes(32));
      await signer.sign("submission", ...hashes);
      taken.push(performance.now() - start);
    }
    taken.sort((a, b) => a - b);
    const [least, median, most] = [taken[0]!, taken[Math.floor(times / 2)]!, taken[times - 1]!];
    found[scheme] = { checked, least, median, most };
  }
  return found;
}
