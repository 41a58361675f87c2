/** What must hold before a user answers (peos.client.consent), and what it costs her (peos.client.ledger). */
import { type Bytes, equal, hex } from "./bytes.js";
import type { Asked } from "./asked.js";
import { decodeSignedDocument, type Document } from "./document.js";
import { PeosError } from "./errors.js";
import type { Card } from "./generated/peos/v1/services_pb.js";
import { type Invitation, party } from "./invitation.js";
import { chargeOf, shown } from "./logarithm.js";

/** The least protection with which a user answers. */
export interface Limits {
  readonly mostEpsLocal: number;
  readonly leastReports: number;
  readonly leastFakes: number;
  /** Kinds of views that may be made of her record; without the word all that this client knows. */
  readonly views?: readonly string[];
  /** Attributes that may be asked for; without the word all. */
  readonly attributes?: readonly string[];
  /** Of a table of attributes. */
  readonly mostCells?: number;
}

export interface Consent {
  readonly document: Document;
  readonly asked: Asked;
  readonly cards: readonly Card[];
}

const PROTOCOLS = ["peos"]; // of those that need no leave: the sequential shuffle protects less

export async function check(
  invitation: Invitation,
  documents: readonly Uint8Array[],
  pins: ReadonlySet<string>,
  limits: Limits,
  now: number,
  floor?: number,
  catalogue: Uint8Array | null = null,
): Promise<Consent> {
  requirePinned(invitation, pins);
  const cards = invitation.shufflers;
  const document = await described(1, cards[0]!, documents[0]!, invitation.collection, floor);
  for (const [at, card] of cards.entries()) {
    if (equal(documents[at]!, documents[0]!)) continue;
    await described(at + 1, card, documents[at]!, invitation.collection, floor);
    throw new PeosError(
      "consent.signature",
      `${party(at + 1, card)}: sent a different signature of the document`,
      "nothing was sent; tell the organisations, whose documents must be the same",
    );
  }
  const named = document.shufflers.map((member) => hex(member.identity)).join();
  if (named !== cards.map((card) => hex(card.identity)).join())
    throw new PeosError(
      "consent.shufflers",
      "the invitation's shufflers are not those of the document, in their order",
      "nothing was sent; fetch the invitation again",
    );
  requireLimits(document, limits);
  requireOpen(document, now);
  const asked = await document.asked(catalogue);
  requireViews(asked, limits);
  return { document, asked, cards };
}

export function requirePinned(invitation: Invitation, pins: ReadonlySet<string>): void {
  const identities = invitation.shufflers.map((card) => hex(card.identity));
  if (new Set(identities).size < identities.length)
    throw new PeosError(
      "consent.same_organisation",
      "two shufflers of the invitation have the same identity: they are one organisation",
      "do not answer; ask the analyzer who shuffles",
    );
  for (const [at, identity] of identities.entries())
    if (!pins.has(identity))
      throw new PeosError(
        "consent.untrusted",
        `${party(at + 1, invitation.shufflers[at]!)} of the invitation is not among the organisations that are trusted`,
        `its identity is ${identity}`,
      );
}

export function requireOpen(document: Document, now: number): void {
  if (now >= document.closesAt)
    throw new PeosError(
      "consent.closed",
      `the collection closed at ${utc(document.closesAt)}, and the clock here says ${utc(now)}`,
      "nothing was sent; wait for another invitation, or set the clock if it is wrong",
    );
}

export function utc(seconds: number): string {
  return `${new Date(Math.min(seconds, 253_402_300_799) * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

async function described(number: number, card: Card, data: Uint8Array, collection: Bytes, floor?: number): Promise<Document> {
  let document: Document;
  try {
    document = await decodeSignedDocument(data, floor);
  } catch (error) {
    if (!(error instanceof PeosError)) throw error;
    throw new PeosError("consent.document", `${party(number, card)}: sent an invalid document: ${error.message}`, error.hint);
  }
  if (!equal(document.digest, collection))
    throw new PeosError(
      "consent.other_document",
      `${party(number, card)}: describes another collection than the invitation`,
      "nothing was sent; fetch the invitation again, and if the error persists, tell the organisations",
    );
  return document;
}

function requireLimits(document: Document, limits: Limits): void {
  const beyond = (id: string, sentence: string): never => {
    throw new PeosError(id, `the collection is beyond your limits: ${sentence}`, "nothing was sent");
  };
  if (!PROTOCOLS.includes(document.protocol))
    beyond("consent.protocol", `its protocol is ${document.protocol}, this client answers by ${PROTOCOLS.join(" or ")}`);
  const epsilon = document.mechanism.epsilonLocal;
  if (epsilon > limits.mostEpsLocal)
    beyond("consent.eps_local", `its ε_l is ${epsilon.toPrecision(6)}, your limit is ${limits.mostEpsLocal}`);
  if (document.minimum < limits.leastReports)
    beyond("consent.reports", `it may be shuffled with ${document.minimum} reports, you ask for ${limits.leastReports}`);
  if (document.fakes < limits.leastFakes)
    beyond("consent.fakes", `it has ${document.fakes} fakes, you ask for ${limits.leastFakes}`);
}

function requireViews({ views }: Asked, limits: Limits): void {
  const nothing = "nothing was sent";
  const kinds = views.length ? views.map(({ kind }) => kind) : ["value"];
  const others = kinds.filter((kind) => limits.views && !limits.views.includes(kind));
  if (others.length) {
    const sentence = `it asks for ${[...new Set(others)].join(" and ")}, you answer ${limits.views!.join(" and ")}`;
    throw new PeosError("consent.views", `the collection is beyond your limits: ${sentence}`, nothing);
  }
  const tables = views.filter((view) => view.names);
  const more = tables.flatMap((view) => view.names!).filter((name) => limits.attributes && !limits.attributes.includes(name));
  if (more.length)
    throw new PeosError("client.attributes", `the collection asks for ${[...new Set(more)].join(", ")}, which is not allowed`, nothing);
  const finest = Math.max(0, ...tables.map(({ cells }) => cells));
  if (finest > (limits.mostCells ?? Infinity))
    throw new PeosError("client.cells", `the collection asks which of ${finest} cells a record is in, and ${limits.mostCells} are allowed`, nothing);
}

/** What a user has answered and spent, as far as it decides about one question; in millionths of ε_l. */
export interface Ledger {
  readonly budget: number;
  readonly spent: number;
  readonly answered: string | null; // the collection of the answer to this question
  readonly round: number | null; // of this study, that was answered
  readonly closedAt?: string; // a shuffler that takes no new answers any more
}

/** What a first answer costs; refused if the question was answered before, or the budget is spent. */
export function charge(document: Document, ledger: Ledger): number {
  const cost = chargeOf(document.mechanism.epsilonLocal);
  if (ledger.answered === hex(document.digest))
    throw new PeosError(
      "consent.answered",
      "this collection was answered already",
      "one answer per person: a second one would make the first less private",
    );
  if (ledger.answered !== null)
    throw new PeosError(
      "consent.answered_question",
      `this question was answered already, in collection ${ledger.answered.slice(0, 8)}…`,
      "nothing was sent; the analyzer may ask anew under another epoch",
    );
  if (ledger.round !== null)
    throw new PeosError(
      "consent.other_round",
      `round ${ledger.round} of this study was answered already`,
      "one round a study: a second answer would make the first less private",
    );
  if (ledger.closedAt)
    throw new PeosError(
      "consent.closed",
      `the collection takes no new answers any more: it has closed at ${ledger.closedAt}`,
      "nothing was sent, and nothing is spent; wait for another invitation",
    );
  if (ledger.spent + cost > ledger.budget)
    throw new PeosError(
      "consent.budget",
      `this answer costs ε_l = ${shown(cost)}, and of the budget of ${shown(ledger.budget)} ${shown(ledger.spent)} is spent`,
      "nothing was sent",
    );
  return cost;
}
