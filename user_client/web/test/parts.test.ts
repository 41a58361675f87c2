/** The parts of the client by themselves: signatures without WebCrypto, draws, labels, memory. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { bitLength, gcd, inverse, jacobi, power, root } from "../src/arithmetic.js";
import { ascii, fromLittle, labelled, toBig, toLittle, unhex } from "../src/bytes.js";
import { own, SigningKey, verifies } from "../src/ed25519.js";
import { PeosError } from "../src/errors.js";
import { valueOf } from "../src/labels.js";
import { budgetOf, chargeOf, logarithmUp, shown } from "../src/logarithm.js";
import { Forgetful, type Kept } from "../src/memory.js";
import { Randomness, system } from "../src/randomness.js";

const PETS = ["nobody", "a dog", "a cat"];

test("signatures made here are WebCrypto's, and each verifies the other's", async () => {
  for (let turn = 0; turn < 8; turn++) {
    const [seed, message] = [system().bytes(32), system().bytes(turn * 40)];
    const key = await SigningKey.of(seed);
    const labelledMessage = labelled("test", message);
    assert.deepEqual((await own.expand(seed)).key, key.key);
    const signature = await own.sign(seed, labelledMessage);
    assert.deepEqual(await key.sign("test", message), signature);
    assert.ok(await verifies(key.key, signature, "test", message));
    assert.ok(await own.verify(key.key, signature, labelledMessage));
    for (const at of [0, 31, 32, 63]) {
      const changed = signature.slice();
      changed[at]! ^= 1;
      assert.ok(!(await own.verify(key.key, changed, labelledMessage)));
      assert.ok(!(await verifies(key.key, changed, "test", message)));
    }
    assert.ok(!(await verifies(key.key, signature, "other", message)));
  }
});

test("a signature with a larger s, and one under a key of small order, do not verify", async () => {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const seed = system().bytes(32);
  const { key } = await SigningKey.of(seed);
  const signature = await own.sign(seed, ascii("m"));
  signature.set(toLittle(fromLittle(signature.subarray(32)) + order, 32), 32);
  assert.ok(!(await own.verify(key, signature, ascii("m"))));
  const identity = toLittle(1n, 32); // under it R = identity, s = 0 would verify for any message
  assert.ok(await own.verify(identity, new Uint8Array([...identity, ...new Uint8Array(32)]), ascii("m")));
  assert.ok(!(await verifies(identity, new Uint8Array([...identity, ...new Uint8Array(32)]), "m")));
});

test("a vector of RFC 8032 verifies", async () => {
  const key = unhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
  const signature = unhex(
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  );
  assert.ok(await own.verify(key, signature, unhex("af82")));
});

test("words below a bound are drawn by rejection", () => {
  const draws = [2n ** 64n - 1n, 2n ** 64n - 2n, 7n];
  const rng = new Randomness((out) => out.set(toLittle(draws.shift()!, 8)));
  assert.equal(rng.below(3n), (2n ** 64n - 2n) % 3n); // 2^64 = 1 mod 3: the last word is drawn again
  assert.deepEqual(draws, [7n]);
});

test("all randomness is the browser's, and there is no other source in the code", () => {
  const folders = ["src", "src/mechanisms"];
  const sources = folders.flatMap((folder) => readdirSync(folder).filter((one) => one.endsWith(".ts")).map((one) => `${folder}/${one}`));
  assert.ok(sources.length > 20);
  const naming = (word: string): string[] => sources.filter((one) => readFileSync(one, "utf8").includes(word));
  assert.deepEqual(naming("getRandomValues"), ["src/randomness.ts"]);
  assert.deepEqual(naming("Math.random"), []);
});

test("arithmetic", () => {
  assert.equal(power(3n, 1000n, 1009n), 3n ** 1000n % 1009n);
  assert.equal(power(5n, 0n, 7n), 1n);
  assert.equal((inverse(17n, 3120n) * 17n) % 3120n, 1n);
  assert.equal(gcd(48n, 36n), 12n);
  assert.deepEqual([1n, 2n, 3n, 4n, 5n, 15n].map((a) => jacobi(a, 15n)), [1, 1, 0, 1, 0, 0]);
  assert.deepEqual([0n, 1n, 255n, 256n].map(bitLength), [0, 1, 8, 9]);
  for (const value of [1n, 26n, 27n, 28n, 10n ** 60n]) {
    const found = root(value, 3);
    assert.ok(found ** 3n <= value && (found + 1n) ** 3n > value);
  }
});

test("logarithms are rounded up, charges up, budgets down", () => {
  assert.ok(logarithmUp(3n, 1n) >= Math.log(3));
  assert.ok(logarithmUp(3n, 1n) - Math.log(3) < 1e-15);
  assert.equal(chargeOf(0.1 + 0.2), 300_001);
  assert.equal(budgetOf(0.1 + 0.2), 300_000);
  assert.equal(shown(1_250_000), "1.25");
  assert.equal(shown(3_000_000), "3");
});

test("words stand for values as for the Python client", () => {
  const cases: [string, readonly string[], number | null][] = [
    ["a dog", PETS, 1],
    [" a cat\n", PETS, 2],
    ["2", PETS, 2],
    ["3", PETS, null],
    ["A dog", PETS, null],
    ["-1", PETS, null],
    ["2", ["1", "2", "3 or more"], 1],
    ["0", ["1", "2", "3 or more"], null],
  ];
  for (const [words, labels, value] of cases) assert.equal(valueOf(words, labels, labels.length), value, words);
  assert.equal(valueOf("17", [], 18), 17);
  assert.equal(valueOf("18", [], 18), null);
});

test("memory keeps the first of two, and forgets parts once all have acknowledged", async () => {
  const memory = new Forgetful();
  const one: Kept = {
    user: "owner", collection: "c", ticket: "t", mechanism: "m", question: "?", closesAt: 1, cost: 5, row: toBig(1n, 48),
    userKey: toBig(2n, 32), asking: toBig(3n, 64), shufflers: 3, parts: [toBig(1n, 1), toBig(2n, 1), toBig(3n, 1)], receipts: {}, refused: {},
  };
  assert.equal(await memory.keep(one, () => {}), one);
  assert.equal(await memory.keep({ ...one, cost: 7 }, () => assert.fail("it is known")), one);
  const refuse = (): never => {
    throw new PeosError("consent.answered", "no");
  };
  await assert.rejects(memory.keep({ ...one, ticket: "u" }, refuse), { id: "consent.answered" });
  assert.equal((await memory.all("owner")).length, 1);
  assert.equal((await memory.all("another")).length, 0);
  for (const number of [1, 2]) assert.equal((await memory.note(one, number, { receipt: toBig(9n, 1) })).parts.length, 3);
  assert.equal((await memory.note(one, 3, { receipt: toBig(9n, 1) })).parts.length, 0);
});
