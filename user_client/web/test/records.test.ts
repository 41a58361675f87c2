/** Views, the mechanisms of tasks, and rounds of studies: from records and coins to the words of the Python client. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { recordOf } from "../src/asked.js";
import { hex, unhex } from "../src/bytes.js";
import { check } from "../src/consent.js";
import { decodeSignedDocument } from "../src/document.js";
import { decodeInvitation } from "../src/invitation.js";
import * as all from "../src/later.js";
import { later } from "../src/loading.js";
import { chargeOf } from "../src/logarithm.js";
import { type Given, type Key, linesOf, type ViewChoice, viewOf } from "../src/records/views.js";
import { prepare, readTicket, requireTicket } from "../src/submission.js";
import { summaryOf } from "../src/words.js";
import { bitsOf, given, idOf, integers } from "./coins.js";

later.load = () => Promise.resolve(all);
const vectors = JSON.parse(readFileSync("../../tests/vectors/web_records.json", "utf8"));

interface Told {
  kind: string;
  parameters: Record<string, string>;
  labels: string[];
  catalogue: { sha256: string; count: number } | null;
}

function choiceOf({ kind, parameters, labels, catalogue }: Told): ViewChoice {
  const listed = catalogue ? { sha256: unhex(catalogue.sha256), count: catalogue.count } : undefined;
  return { kind, parameters: integers(parameters), labels, catalogue: listed };
}

function inJson(one: Given): unknown {
  return typeof one === "object" && "parent" in one ? [String(one.parent), String(one.ext), one.fits] : one;
}

function fromJson(one: number | number[] | [string, string, boolean], gives: string): Given {
  if (gives !== "key") return one as number | number[];
  const [parent, ext, fits] = one as [string, string, boolean];
  return { parent: BigInt(parent), ext: BigInt(ext), fits } satisfies Key;
}

test("views make of records what they make for the Python client", async () => {
  for (const one of vectors.views) {
    const choice = choiceOf(one.choice);
    const lines = choice.catalogue ? await linesOf(choice.catalogue, unhex(one.catalogue)) : undefined;
    const view = viewOf(choice, lines);
    assert.equal(view.gives, one.gives);
    assert.equal(view.cells, one.cells);
    for (const { record, fits, coins, answer } of one.records) {
      const about = `${one.choice.kind} ${JSON.stringify(record)}`;
      assert.equal(view.problem(record) === "", fits, about);
      if (!fits) continue;
      const rng = given(coins);
      assert.deepEqual(inJson(await view.answer(record, rng)), answer, about);
      assert.equal(rng.left(), 0, about);
    }
  }
});

test("descriptions of views that the Python client refuses are refused alike", async () => {
  for (const { choice, id } of vectors.refused_views) assert.equal(await idOf(() => viewOf(choiceOf(choice))), id, JSON.stringify(choice));
});

test("catalogues are taken and refused alike", async () => {
  for (const { catalogue, content, id } of vectors.catalogues)
    assert.equal(await idOf(() => linesOf({ sha256: unhex(catalogue.sha256), count: catalogue.count }, unhex(content))), id, content);
});

test("given coins make the words, ε and charge of the mechanisms of tasks", async () => {
  for (const one of vectors.mechanisms) {
    const [analyzer, question, epoch, views] = one.question;
    const asked = { analyzer: unhex(analyzer), question, epoch, ...(views ? { views: unhex(views) } : {}) };
    const made = await all.keyed(one.name, BigInt(one.domain), integers(one.parameters), asked);
    assert.equal(hex(made.mechanism.digest), one.digest);
    assert.equal(bitsOf(made.mechanism.epsilonLocal), one.epsilon_bits, one.name);
    assert.equal(chargeOf(made.mechanism.epsilonLocal), one.cost);
    assert.equal(made.mechanism.support, one.support);
    for (const { held, coins, words } of one.reports) {
      const rng = given(coins);
      const [gives] = made.takes[0]!;
      const found = made.randomize(held.map((each: never) => fromJson(each, gives)), rng);
      assert.deepEqual(found.map(String), words, one.name);
      assert.equal(rng.left(), 0, `${one.name} leaves coins`);
    }
  }
});

test("descriptions of these mechanisms that the Python client refuses are refused alike", async () => {
  const asked = { analyzer: new Uint8Array(), question: "", epoch: "" };
  for (const one of vectors.refused_mechanisms)
    assert.equal(await idOf(() => all.keyed(one.name, BigInt(one.domain), integers(one.parameters), asked)), one.id, JSON.stringify(one));
});

test("given coins make the parts of whole submissions, by views and in rounds", async () => {
  for (const one of vectors.submissions) {
    const document = await decodeSignedDocument(unhex(one.signed), vectors.floor);
    const asked = await document.asked(one.catalogue === null ? null : unhex(one.catalogue));
    const ticket = await readTicket(one.ticket);
    await requireTicket(document, ticket);
    const rng = given(one.coins);
    const record = typeof one.record === "string" ? recordOf(asked, one.record) : one.record;
    const made = await prepare(document, asked, record, ticket, rng);
    assert.deepEqual(made.parts.map(hex), one.parts);
    assert.equal(hex(made.asking), one.asking);
    assert.equal(rng.left(), 0);
    assert.ok(summaryOf(document, asked).sentences.every((sentence) => !sentence.includes("undefined")));
  }
});

test("documents by views are taken and refused alike, also by what their user allows", async () => {
  for (const one of vectors.consents) {
    const id = await idOf(async () => {
      const invitation = await decodeInvitation(unhex(one.invitation));
      const catalogue = one.catalogue === null ? null : unhex(one.catalogue);
      const documents = [one.signed, one.signed, one.signed].map(unhex);
      await check(invitation, documents, new Set(one.pins), one.limits, one.now, vectors.floor, catalogue);
    });
    assert.equal(id, one.id, one.name);
  }
});
