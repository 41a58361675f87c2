/** Whether a user's report was counted, by what its shufflers show and signed (peos.collection.membership). */
import { create } from "@bufbuild/protobuf";
import { ascii, type Bytes, DIGEST_BYTES, equal, hex, sha256, toBig, unhex } from "./bytes.js";
import { MAX_SHUFFLERS } from "./document.js";
import { SIGNATURE_BYTES, verifies } from "./ed25519.js";
import { PeosError } from "./errors.js";
import { type Announcement, type Announcements, AnnouncementsSchema, type FrozenDigest, FrozenDigestSchema } from "./generated/peos/v1/freeze_pb.js";
import type { Card } from "./generated/peos/v1/services_pb.js";
import { AcknowledgementSchema, type FrozenLists, FrozenListsSchema, MembershipProofSchema, MembershipRequestSchema, type ShownRow } from "./generated/peos/v1/submission_pb.js";
import { type Invitation, party } from "./invitation.js";
import { plainText } from "./labels.js";
import type { Kept } from "./memory.js";
import { called, type Fetch, unanswered } from "./sending.js";
import { exactly, parse, serialize, VERSION, within } from "./strict.js";
import { decodeAnswer, NODE_BYTES, ROW_BYTES, top } from "./submission.js";

const MAX_ROWS = 2 ** 31;
const MOST_SHOWN = 2;
const MAX_PATH = 31;

export interface Proof {
  readonly announcements: Announcements;
  readonly frozen: FrozenDigest;
  readonly lists: FrozenLists;
  readonly own: readonly ShownRow[];
  readonly counted: readonly ShownRow[];
}

/** Whether the report was counted (null: proved neither way), and what speaks against whom. */
export interface Verified {
  readonly counted: boolean | null;
  readonly findings: readonly string[];
}

export function decodeProof(data: Uint8Array): Proof {
  const message = parse(MembershipProofSchema, data);
  const lists = parse(FrozenListsSchema, message.lists);
  const announcements = parse(AnnouncementsSchema, lists.announcements);
  exactly(announcements.collection, DIGEST_BYTES, "the announcements' collection");
  within(announcements.held.length, 1, 2 * MAX_SHUFFLERS, "the number of announcements");
  for (const one of announcements.held) {
    within(one.shuffler, 1, MAX_SHUFFLERS, "an announcement's shuffler");
    within(one.count, 0, MAX_ROWS, "an announcement's count");
    exactly(one.root, DIGEST_BYTES, "an announcement's root");
    exactly(one.signature, SIGNATURE_BYTES, "an announcement's signature");
  }
  const order = announcements.held.map(({ shuffler, count, root }) => `${hex(toBig(BigInt(shuffler), 4))}${hex(toBig(BigInt(count), 8))}${hex(root)}`);
  if (order.some((one, at) => at && order[at - 1]! >= one))
    throw new PeosError("freeze.announcements", "announcements are not sorted by distinct lists");
  const frozen = parse(FrozenDigestSchema, lists.frozen);
  exactly(frozen.collection, DIGEST_BYTES, "a frozen digest's collection");
  exactly(frozen.digest, DIGEST_BYTES, "a frozen digest");
  exactly(frozen.signature, SIGNATURE_BYTES, "a frozen digest's signature");
  within(lists.count, 0, MAX_ROWS, "a frozen list's count");
  exactly(lists.root, DIGEST_BYTES, "a frozen list's root");
  for (const { place, row, path } of [...message.own, ...message.counted]) {
    within(place, 0, MAX_ROWS - 1, "a shown row's place");
    exactly(row, ROW_BYTES, "a shown row");
    if (path.length % NODE_BYTES) throw new PeosError("membership.path", "a shown row's path is not made of nodes");
    within(path.length / NODE_BYTES, 0, MAX_PATH, "the length of a shown row's path");
  }
  within(Math.max(message.own.length, message.counted.length), 0, MOST_SHOWN, "the number of rows shown");
  return { announcements, frozen, lists, own: message.own, counted: message.counted };
}

type Standing = "in" | "absent" | "unproved";

/** Whether a row is in the list of `count` rows under `root`, by the rows that its shuffler shows. */
async function standing(root: Uint8Array, count: number, row: Bytes, shown: readonly ShownRow[]): Promise<Standing> {
  for (const one of shown) {
    const found = await top(await sha256(Uint8Array.of(0), one.row), one.place, count, one.path);
    if (!found || !equal(found, root)) return "unproved";
  }
  const [first, second] = shown;
  const [own, here] = [hex(row), (one: ShownRow): string => hex(one.row)];
  if (!first) return count === 0 && equal(root, await sha256(Uint8Array.of(1))) ? "absent" : "unproved";
  if (!second) {
    if (here(first) === own) return "in";
    return (first.place === 0 && own < here(first)) || (first.place === count - 1 && here(first) < own) ? "absent" : "unproved";
  }
  return second.place === first.place + 1 && here(first) < own && own < here(second) ? "absent" : "unproved";
}

function announced(one: Announcement, identity: Bytes, collection: Bytes): Promise<boolean> {
  return verifies(identity, one.signature, "list", collection, toBig(BigInt(one.count), 8), one.root);
}

async function isSigned({ announcements, frozen, lists }: Proof, number: number, collection: Bytes, identities: readonly Bytes[]): Promise<boolean> {
  const { held } = announcements;
  if (!equal(announcements.collection, collection) || !equal(frozen.collection, collection)) return false;
  if (held.map(({ shuffler }) => shuffler).join() !== identities.map((_, at) => at + 1).join()) return false;
  const all = await Promise.all(held.map((one) => announced(one, identities[one.shuffler - 1]!, collection)));
  const digest = await sha256(ascii("frozen"), collection, toBig(BigInt(lists.count), 8), lists.root);
  return all.every(Boolean) && equal(digest, frozen.digest) && verifies(identities[number - 1]!, frozen.signature, "frozen", collection, frozen.digest);
}

/** What the proofs of shufflers that hold receipts come to, by number from 1. */
export async function verified(collection: Bytes, row: Bytes, identities: readonly Bytes[], proofs: ReadonlyMap<number, Proof>): Promise<Verified> {
  const lists = new Map<number, string>();
  const frozen = new Map<string, number[]>(); // who signed which frozen digest
  const counted = new Set<Standing>();
  const [owns, findings] = [new Set<number>(), [] as string[]];
  for (const [number, proof] of [...proofs].sort(([one], [other]) => one - other)) {
    if (!(await isSigned(proof, number, collection, identities))) {
      findings.push(`shuffler ${number} shows lists that are not signed as they must be`);
      continue;
    }
    for (const { shuffler, count, root } of proof.announcements.held) {
      const list = `${count} ${hex(root)}`;
      if ((lists.get(shuffler) ?? list) !== list) findings.push(`shuffler ${shuffler} signed two different lists`);
      else lists.set(shuffler, list);
    }
    const digest = hex(proof.frozen.digest);
    frozen.set(digest, [...(frozen.get(digest) ?? []), number]);
    const list = proof.announcements.held[number - 1]!;
    const own = await standing(list.root, list.count, row, proof.own);
    const common = await standing(proof.lists.root, proof.lists.count, row, proof.counted);
    owns.add(number);
    if (own === "unproved" || common === "unproved") {
      findings.push(`shuffler ${number} does not prove what it says of the row`);
      continue;
    }
    counted.add(common);
    if (own === "absent") findings.push(`shuffler ${number} acknowledged the report and left it out of the list that it signed`);
  }
  if (frozen.size > 1) {
    const signed = [...frozen.values()].map((whose) => whose.map((who) => `shuffler ${who}`).join(", ")).join("; ");
    findings.push(`shufflers signed different frozen lists: ${signed}`);
  }
  const only = counted.size === 1 && frozen.size === 1 ? [...counted][0] : null;
  if (only === "absent" && owns.size === identities.length && !findings.length)
    findings.push("every shuffler's own list has the report, but the frozen list, which all signed, has not");
  return { counted: only === "in" ? true : only === "absent" ? false : null, findings: [...new Set(findings)] };
}

/** Ask every shuffler that acknowledged a report what became of it; one that does not answer is named. */
export async function ask(get: Fetch, invitation: Invitation, addresses: readonly string[], kept: Kept, root: Bytes | null): Promise<Verified> {
  const cards = invitation.shufflers;
  const [proofs, troubles] = [new Map<number, Proof>(), [] as string[]];
  for (const [at, card] of cards.entries()) {
    const receipt = kept.receipts[at + 1];
    if (!receipt) troubles.push(`${party(at + 1, card)} never acknowledged it: send it again while the collection is open`);
    else
      try {
        proofs.set(at + 1, await shown(get, at + 1, card, addresses[at]!, kept, receipt));
      } catch (error) {
        if (!(error instanceof PeosError)) throw error;
        troubles.push(`${error.message}: ask its operator`);
      }
  }
  const found = await verified(invitation.collection, kept.row, cards.map((card) => card.identity as Bytes), proofs);
  const named = found.findings.map((sentence) => {
    const told = cards.reduce((said, card, at) => said.replace(`shuffler ${at + 1} `, `${party(at + 1, card)} `), sentence);
    return `${told}: ask its operator, and show what it signed`;
  });
  if (root && [...proofs.values()].some((proof) => !equal(proof.lists.root, root)))
    troubles.push("the published result is of another list than the shufflers signed: ask the analyzer");
  return { counted: found.counted, findings: [...named, ...troubles] };
}

async function shown(get: Fetch, number: number, card: Card, address: string, kept: Kept, acknowledged: Bytes): Promise<Proof> {
  const receipt = parse(AcknowledgementSchema, acknowledged).receipt!;
  const { row, userKey, asking } = kept;
  const request = create(MembershipRequestSchema, { version: VERSION, collection: unhex(kept.collection), row, userKey, receipt, signature: asking });
  let [status, body]: [number, Bytes] = [0, new Uint8Array()];
  try {
    [status, body] = await called(get, `${address}/v1/proofs`, serialize(MembershipRequestSchema, request));
    if (status === 200) return decodeProof(body);
    const { refusal } = decodeAnswer(body);
    throw new PeosError(refusal!.id, `${party(number, card)}: ${plainText(refusal!.message)}`, plainText(refusal!.hint), refusal!.retry);
  } catch (error) {
    if (error instanceof PeosError && status) throw error;
    throw unanswered(number, card);
  }
}
