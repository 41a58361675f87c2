/** The vectors of the Python client: given coins, the same words, parts, charges and refusals. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Bytes, equal, hex, unhex } from "../src/bytes.js";
import { check } from "../src/consent.js";
import { decodeSignedDocument } from "../src/document.js";
import { PeosError } from "../src/errors.js";
import { decodeInvitation } from "../src/invitation.js";
import { chargeOf } from "../src/logarithm.js";
import { digestOf } from "../src/mechanisms/base.js";
import { GroupedHash } from "../src/mechanisms/grouped.js";
import { fromParameters } from "../src/mechanisms/index.js";
import { Randomness } from "../src/randomness.js";
import { publicKey } from "../src/schemes.js";
import { decodeAnswer, holds, prepare, readTicket } from "../src/submission.js";

const vectors = JSON.parse(readFileSync("../../tests/vectors/web.json", "utf8"));

/** Coins that were drawn before, all of which must be drawn again. */
export function given(coins: string): Randomness & { left(): number } {
  let rest: Bytes = unhex(coins);
  const rng = new Randomness((out) => {
    assert.ok(out.length <= rest.length, "more coins are drawn than the Python client drew");
    out.set(rest.subarray(0, out.length));
    rest = rest.slice(out.length);
  });
  return Object.assign(rng, { left: () => rest.length });
}

function integers(parameters: Record<string, string>): Record<string, bigint> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, BigInt(value)]));
}

function bitsOf(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return hex(new Uint8Array(view.buffer));
}

async function idOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "";
  } catch (error) {
    if (error instanceof PeosError) return error.id;
    throw error;
  }
}

test("given coins make the words, ε and charge of the Python client", async () => {
  for (const one of vectors.mechanisms) {
    const [analyzer, question, epoch] = one.question;
    const asked = { analyzer: unhex(analyzer), question, epoch };
    const made = await fromParameters(one.name, BigInt(one.domain), integers(one.parameters), asked);
    assert.equal(hex(made.digest), one.digest);
    assert.equal(bitsOf(made.epsilonLocal), one.epsilon_bits, one.name);
    assert.equal(chargeOf(made.epsilonLocal), one.cost);
    assert.equal(made.support, one.support);
    for (const { value, coins, words } of one.reports) {
      const rng = given(coins);
      assert.deepEqual(made.randomize(value, rng).map(String), words, `${one.name} ${value}`);
      assert.equal(rng.left(), 0, `${one.name} leaves coins`);
    }
  }
});

test("descriptions that the Python client refuses are refused alike", async () => {
  const asked = { analyzer: new Uint8Array(), question: "", epoch: "" };
  for (const one of vectors.refused_mechanisms) {
    const id = await idOf(() => fromParameters(one.name, BigInt(one.domain), integers(one.parameters), asked));
    assert.equal(id, one.id, JSON.stringify(one));
  }
});

test("keys in hidden groups are hashed alike", async () => {
  for (const one of vectors.grouped) {
    const parameters = integers(one.parameters);
    const made = new GroupedHash({ name: "grouped_hash", domain: BigInt(one.domain), parameters, digest: unhex(one.digest) });
    assert.equal(bitsOf(made.epsilonLocal), one.epsilon_bits);
    for (const { keys, fits, coins, word } of one.reports) {
      const rng = given(coins);
      const record = keys.map(([parent, ext]: [string, string]) => ({ parent: BigInt(parent), ext: BigInt(ext), fits }));
      assert.deepEqual(made.randomize(record, rng).map(String), [word]);
      assert.equal(rng.left(), 0);
    }
  }
  const digest = await digestOf("grouped_hash", 1n, {}, { analyzer: new Uint8Array(), question: "", epoch: "" });
  assert.equal(digest.length, 32);
});

test("public keys are taken and refused alike", async () => {
  for (const one of vectors.keys) {
    const id = await idOf(() => publicKey(one.scheme, unhex(one.data), one.floor));
    assert.equal(id, one.id, `${one.scheme} ${one.data.slice(0, 40)}`);
  }
});

test("given coins make the parts of the Python client", async () => {
  for (const one of vectors.submissions) {
    const document = await decodeSignedDocument(unhex(one.signed), vectors.floor);
    const rng = given(one.coins);
    const made = await prepare(document, one.value, await readTicket(one.ticket), rng);
    assert.deepEqual(made.parts.map(hex), one.parts);
    assert.equal(hex(made.row), one.row);
    assert.equal(hex(made.asking), one.asking);
    assert.equal(rng.left(), 0);
  }
});

test("invitations and documents are taken and refused alike", async () => {
  for (const one of vectors.consents) {
    const id = await idOf(async () => {
      const invitation = await decodeInvitation(unhex(one.invitation));
      await check(invitation, one.documents.map(unhex), new Set(one.pins), one.limits, one.now, vectors.floor);
    });
    assert.equal(id, one.id, one.name);
  }
});

test("what this client cannot answer yet is refused in a sentence", async () => {
  assert.equal(vectors.beyond.length, 2);
  for (const signed of vectors.beyond)
    await assert.rejects(decodeSignedDocument(unhex(signed), vectors.floor), { id: "document.unusable", message: /, and this client answers / });
});

test("answers are read, and receipts hold, alike", async () => {
  for (const one of vectors.answers) {
    let reply: ReturnType<typeof decodeAnswer> | undefined;
    assert.equal(await idOf(() => (reply = decodeAnswer(unhex(one.data)))), one.id, one.name);
    assert.equal(reply?.refusal?.id, one.refusal, one.name);
    if (one.retry) assert.equal(reply?.refusal?.retry, true);
    const receipt = reply?.acknowledgement?.receipt;
    const about = [one.shuffler, one.collection, one.row, one.userKey].map(unhex) as [Bytes, Bytes, Bytes, Bytes];
    assert.equal(receipt ? await holds(receipt, ...about) : false, one.holds, one.name);
  }
});

test("messages of the wire are decoded as strictly as by the Python client", async () => {
  const read: Record<string, (data: Uint8Array) => unknown> = {
    acknowledgement: async (data) => (await import("../src/submission.js")).decodeAcknowledgement(data),
    signed_document: (data) => decodeSignedDocument(data, 512),
  };
  for (const [file, decode] of Object.entries(read)) {
    const cases = JSON.parse(readFileSync(`../../tests/vectors/wire/${file}.json`, "utf8"));
    for (const { name, messages } of cases.good)
      for (const data of messages) assert.equal(await idOf(() => decode(unhex(data))), "", `${file}: ${name}`);
    for (const { name, messages } of cases.bad)
      for (const data of messages) assert.notEqual(await idOf(() => decode(unhex(data))), "", `${file}: ${name}`);
  }
  assert.ok(equal(unhex("00ff"), Uint8Array.of(0, 255)));
});
