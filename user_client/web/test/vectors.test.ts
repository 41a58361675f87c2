/** The vectors of the Python client: given coins, the same words, parts, charges and refusals. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Bytes, equal, hex, unhex } from "../src/bytes.js";
import { charge, check } from "../src/consent.js";
import { asks, decodeSignedDocument } from "../src/document.js";
import { decodeInvitation } from "../src/invitation.js";
import { chargeOf } from "../src/logarithm.js";
import { fromParameters } from "../src/mechanisms/index.js";
import { publicKey } from "../src/schemes.js";
import { decodeProof, verified } from "../src/proofs.js";
import { decodeAnswer, holds, prepare, readTicket, requireTicket } from "../src/submission.js";
import { bitsOf, given, idOf, integers } from "./coins.js";

const vectors = JSON.parse(readFileSync("../../tests/vectors/web.json", "utf8"));

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
    const ticket = await readTicket(one.ticket);
    await requireTicket(document, ticket);
    const made = await prepare(document, await document.asked(null), one.value, ticket, rng);
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

test("proofs that a report was counted come to the same", async () => {
  assert.ok(vectors.proofs.length > 10);
  for (const one of vectors.proofs) {
    const proofs = new Map(Object.entries(one.proofs).map(([who, data]) => [Number(who), decodeProof(unhex(data as string))]));
    const found = await verified(unhex(one.collection), unhex(one.row), one.identities.map(unhex), proofs);
    assert.deepEqual(found, { counted: one.counted, findings: one.findings });
    for (const data of Object.values(one.proofs) as string[]) assert.notEqual(await idOf(() => decodeProof(unhex(data.slice(2)))), "");
  }
});

test("a round asks the same tickets, and one round of a study is answered", async () => {
  for (const { signed, ticket, asked } of vectors.places) {
    const document = await decodeSignedDocument(unhex(signed), vectors.floor);
    assert.equal(await asks(document, unhex(ticket) as Bytes), asked);
  }
  for (const { signed, ledger, id } of vectors.charges) {
    const document = await decodeSignedDocument(unhex(signed), vectors.floor);
    assert.equal(await idOf(() => charge(document, ledger)), id, JSON.stringify(ledger));
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
  const later = unhex("0802" + "1202ffff" + "c00207"); // of wire version 2, with another type and another field
  await assert.rejects(
    async () => decodeSignedDocument(later, 512),
    /a SignedDocument is of wire version 2, and this program speaks 1/,
  );
  await assert.rejects(async () => decodeSignedDocument(new Uint8Array(), 512), /there are 0 bytes/);
  assert.ok(equal(unhex("00ff"), Uint8Array.of(0, 255)));
});
