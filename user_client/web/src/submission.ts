/** One report, split and bound together (peos.collection.submission), and its receipts (peos.collection.receipts). */
import { create } from "@bufbuild/protobuf";
import { ascii, type Bytes, equal, fromBig, joined, sha256, toBig, toLittle, unhex } from "./bytes.js";
import type { Answer, Asked } from "./asked.js";
import { asks, ID_BYTES, type Document } from "./document.js";
import { PUBLIC_BYTES, SEED_BYTES, SIGNATURE_BYTES, SigningKey, verifies } from "./ed25519.js";
import { PeosError } from "./errors.js";
import { type Acknowledgement, AcknowledgementSchema, PartSchema, type SubmissionReceipt } from "./generated/peos/v1/submission_pb.js";
import { AnswerSchema } from "./generated/peos/v1/services_pb.js";
import type { Randomness } from "./randomness.js";
import { exactly, parse, serialize, VERSION, within } from "./strict.js";

const WORD_MASK = (1n << 64n) - 1n;
const SALT_BYTES = 16;
export const ROW_BYTES = 48;
export const NODE_BYTES = 32;
const MAX_PATH = 31;
const MAX_GROUP = 4096;
const TEXT_LIMIT = 1024;
const ERROR_ID = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/;
const TICKET = /^([0-9a-f]{32}):([0-9a-f]{128})(?::([0-9a-f]{64}))?$/;

/** The right to submit once, with the key that it names. */
export interface Ticket {
  readonly id: Bytes;
  readonly signature: Bytes;
  readonly key: SigningKey;
}

/** A ticket as `peos enrol` writes it; `seed` is the user's own key, if the ticket was made for one. */
export async function readTicket(text: string, seed?: Uint8Array): Promise<Ticket> {
  const found = TICKET.exec(text.trim().toLowerCase());
  if (!found) throw new PeosError("ticket.unreadable", "the ticket cannot be read", "copy it whole");
  if ((found[3] !== undefined) === (seed !== undefined))
    throw new PeosError("ticket.key", "the ticket has a key of its own, or its user has it: exactly one of them");
  const secret = seed ?? unhex(found[3]!);
  exactly(secret, SEED_BYTES, "a ticket's key");
  return { id: unhex(found[1]!), signature: unhex(found[2]!), key: await SigningKey.of(secret) };
}

/** A submission as it was made, once: to be kept before any of it is sent. */
export interface Submission {
  readonly id: Bytes;
  readonly row: Bytes;
  readonly userKey: Bytes;
  readonly parts: readonly Bytes[];
  /** The signature with which its user may ask whether it was counted. */
  readonly asking: Bytes;
}

/** Whether the ticket is of this collection or its study, and for the round that it asks. */
export async function requireTicket(document: Document, ticket: Ticket): Promise<void> {
  const scope = document.study?.id ?? document.digest;
  if (!(await verifies(document.enrolmentKey, ticket.signature, "ticket", scope, ticket.id, ticket.key.key)))
    throw new PeosError("input.answers", "the ticket is not valid for this collection and key", "nothing was sent");
  if (!(await asks(document, ticket.id)))
    throw new PeosError(
      "ticket.other_round",
      "this round asks others; your ticket is not for it",
      "nothing was sent; wait for the invitation of another round of the study",
    );
}

export async function prepare(document: Document, asked: Asked, record: Answer, ticket: Ticket, rng: Randomness): Promise<Submission> {
  const { digest } = document;
  const userKey = ticket.key.key;
  const shares = split(document, await asked.randomize(record, rng), rng);
  const salts = shares.map(() => rng.bytes(SALT_BYTES));
  const hashes = await Promise.all(shares.map((share, at) => sha256(salts[at]!, share)));
  const submission = await sha256(digest, ticket.id, ...hashes);
  const signature = await ticket.key.sign("submission", submission);
  const row = joined(ticket.id, await sha256(ascii("row"), ticket.signature, userKey, submission));
  const parts = shares.map((share, at) =>
    serialize(
      PartSchema,
      create(PartSchema, {
        version: VERSION,
        collection: digest,
        shuffler: at + 1,
        id: ticket.id,
        ticket: ticket.signature,
        salt: salts[at]!,
        hashes,
        share,
        userKey,
        signature,
      }),
    ),
  );
  return { id: ticket.id, row, userKey, parts, asking: await ticket.key.sign("membership", digest, row) };
}

/** Additive shares over Z_{2^64}, the first encrypted. */
function split(document: Document, words: bigint[], rng: Randomness): Bytes[] {
  const others = document.shufflers.slice(1).map(() => rng.words(words.length));
  const key = document.key();
  const zeros = key.zeros(words.length, rng);
  const first = words.map((word, at) => others.reduce((rest, share) => rest - share[at]!, word) & WORD_MASK);
  return [
    joined(...first.map((word, at) => key.encrypt(word, zeros[at]!))),
    ...others.map((share) => joined(...share.map((word) => toLittle(word, 8)))),
  ];
}

/** What a shuffler answered to a part. */
export interface Reply {
  readonly acknowledgement: Acknowledgement | null;
  readonly refusal: PeosError | null;
}

export function decodeAnswer(data: Uint8Array): Reply & { id: Bytes } {
  const message = parse(AnswerSchema, data);
  const id = exactly(message.id, ID_BYTES, "an answer's id");
  if (message.acknowledgement.length > 0 === message.refusal.length > 0)
    throw new PeosError("submit.answer_form", "an answer is an acknowledgement or a refusal");
  for (const text of [message.refusal, message.hint]) within([...text].length, 0, TEXT_LIMIT, "the length of a refusal");
  if (message.refusal) {
    if (!ERROR_ID.test(message.error)) throw new PeosError("submit.answer_unnamed", "a refusal does not name its id");
    return { id, acknowledgement: null, refusal: new PeosError(message.error, message.refusal, message.hint, message.retry) };
  }
  if (message.hint || message.retry || message.error)
    throw new PeosError("submit.answer_mixed", "an acknowledgement comes with a hint or asks for another try");
  const acknowledgement = decodeAcknowledgement(message.acknowledgement);
  if (!equal(acknowledgement.row.subarray(0, ID_BYTES), id))
    throw new PeosError("submit.answer_part", "an answer acknowledges another part");
  return { id, acknowledgement, refusal: null };
}

export function decodeAcknowledgement(data: Uint8Array): Acknowledgement {
  const message = parse(AcknowledgementSchema, data);
  exactly(message.collection, 32, "an acknowledgement's collection");
  exactly(message.row, ROW_BYTES, "an acknowledgement's row");
  const receipt = message.receipt;
  within(receipt?.place ?? 0, 0, MAX_GROUP - 1, "a receipt's place");
  within(receipt?.count ?? 0, 1, MAX_GROUP, "a receipt's count");
  const nodes = (receipt?.path.length ?? 0) / NODE_BYTES;
  if (!Number.isInteger(nodes)) throw new PeosError("membership.path", "a receipt's path is not made of nodes");
  within(nodes, 0, MAX_PATH, "the length of a receipt's path");
  exactly(receipt!.signature, SIGNATURE_BYTES, "a receipt's signature");
  return message;
}

/** Whether the shuffler with this identity signed that this submission is durable with it. */
export async function holds(receipt: SubmissionReceipt, identity: Bytes, collection: Bytes, row: Bytes, userKey: Bytes): Promise<boolean> {
  exactly(identity, PUBLIC_BYTES, "an identity");
  const node = await top(await sha256(Uint8Array.of(0), collection, row, userKey), receipt.place, receipt.count, receipt.path);
  return node !== null && verifies(identity, receipt.signature, "receipt", toBig(BigInt(receipt.count), 4), node);
}

/** The root that a path leads to from a leaf at its place among `count` (peos.crypto.tree); null if it does not fit them. */
export async function top(node: Bytes, place: number, count: number, path: Uint8Array): Promise<Bytes | null> {
  if (place >= count) return null;
  let at = 0;
  for (; count > 1; place >>>= 1, count = (count + 1) >>> 1) {
    if ((place ^ 1) >>> 0 >= count) continue;
    const other = path.subarray(at, at + NODE_BYTES);
    if (other.length < NODE_BYTES) return null;
    at += NODE_BYTES;
    node = await sha256(Uint8Array.of(1), ...(place & 1 ? [other, node] : [node, other]));
  }
  return at === path.length ? node : null;
}

/** A uniform fraction of a pause, in milliseconds. */
export function jitter(most: number, rng: Randomness): number {
  return most / 2 + Number(fromBig(rng.bytes(4)) % BigInt(Math.max(1, Math.floor(most / 2))));
}
