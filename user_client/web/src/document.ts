/** The collection document: read, every range checked, its mechanism and key made (peos.wire.documents). */
import { ascii, type Bytes, fromLittle, hex, sha256 } from "./bytes.js";
import { PUBLIC_BYTES, SIGNATURE_BYTES, verifies } from "./ed25519.js";
import { PeosError } from "./errors.js";
import { DocumentSchema, SignedDocumentSchema, type Member, type Parameter, type StudyPart } from "./generated/peos/v1/collection_pb.js";
import { type Asked, oneValue } from "./asked.js";
import { characters, requireLabels } from "./labels.js";
import { later } from "./loading.js";
import type { Mechanism, Parameters } from "./mechanisms/base.js";
import { fromParameters } from "./mechanisms/index.js";
import { isPoint } from "./points.js";
import { type PublicKey, publicKey } from "./schemes.js";
import { exactly, MESSAGE_LIMIT, parse } from "./strict.js";

export const ID_BYTES = 16;
export const MIN_SHUFFLERS = 3;
export const MAX_SHUFFLERS = 9;
export const TEXT_LIMIT = 1024;
export const DEFAULT_PROTOCOL = "peos";
const MIN_DUMMIES = 32;
const MAX_ROWS = 2 ** 31;
const LAST_TIME = 1n << 40n;
const ONION = "onion";
const PROTOCOLS = [DEFAULT_PROTOCOL, "ss"];
const PLACES = 1n << 64n;
const MAX_SHARE_BYTES = MESSAGE_LIMIT - 1024;

export interface Document {
  readonly digest: Bytes;
  readonly question: string;
  readonly epoch: string;
  readonly labels: readonly string[];
  readonly mechanism: Mechanism;
  readonly protocol: string;
  readonly scheme: string;
  readonly publicKey: Bytes;
  readonly shufflers: readonly Member[];
  readonly analyzer: Member;
  readonly fakes: number;
  readonly minimum: number;
  readonly delta: number;
  readonly enrolmentKey: Bytes;
  readonly closesAt: number;
  readonly eraseBy: number;
  /** Which round of which study it is, if it is one. */
  readonly study: Study | null;
  /** What is asked of a record, with the texts of the catalogue, if the document names one. */
  asked(catalogue: Uint8Array | null): Promise<Asked>;
  /** The analyzer's key, every condition on it checked: that takes some tenths of a second. */
  key(): PublicKey;
}

/** A round asks the tickets whose place is from `first` to before `end`. */
export interface Study {
  readonly id: Bytes;
  readonly round: number;
  readonly first: bigint;
  readonly end: bigint;
}

/** Whether this document asks the user of a ticket: of a study each round asks others. */
export async function asks({ study }: Document, ticket: Bytes): Promise<boolean> {
  if (!study) return true;
  const place = fromLittle((await sha256(ascii("place"), study.id, ticket)).subarray(0, 8));
  return study.first <= place && place < study.end;
}

export async function decodeSignedDocument(data: Uint8Array, floor?: number): Promise<Document> {
  const signed = parse(SignedDocumentSchema, data);
  exactly(signed.signature, SIGNATURE_BYTES, "a document's signature");
  const document = await decodeDocument(signed.document as Bytes, floor);
  if (!(await verifies(document.analyzer.identity, signed.signature, "document", signed.document)))
    throw new PeosError("document.signature", "the document is not signed by the analyzer that it names");
  return document;
}

async function decodeDocument(data: Bytes, floor?: number): Promise<Document> {
  const message = parse(DocumentSchema, data);
  const given = message.mechanism;
  const parameters = integers(given?.parameters ?? [], "a mechanism");
  if (message.protocol === DEFAULT_PROTOCOL)
    throw new PeosError("document.protocol_named", `a document does not name the protocol ${DEFAULT_PROTOCOL}`);
  const members = [...message.shufflers, ...(message.analyzer ? [message.analyzer] : [])];
  for (const member of members) exactly(member.identity, PUBLIC_BYTES, "a member's identity");
  try {
    const study = message.study ? studyOf(message.study) : null;
    const protocol = message.protocol || DEFAULT_PROTOCOL;
    require_(PROTOCOLS.includes(protocol), "input.protocol", "there is no such protocol");
    require_(message.analyzer !== undefined, "document.party", "an analyzer is missing");
    for (const member of members) {
      requireText(member.name, "a member's name", 1);
      require_(member.certificate.length === 32, "document.party", "a member's certificate is 32 bytes");
    }
    const count = message.shufflers.length;
    require_(count >= MIN_SHUFFLERS && count <= MAX_SHUFFLERS, "shuffle.shufflers", `${count} shufflers cannot shuffle`);
    for (const field of ["identity", "certificate"] as const) {
      const distinct = new Set(members.map((member) => hex(member[field])));
      require_(distinct.size === members.length, "document.same_party", `two organisations have the same ${field}`);
    }
    const onions = message.scheme === ONION;
    const fit = protocol === DEFAULT_PROTOCOL ? !onions && !message.onionKeys.length : onions && message.onionKeys.length === count;
    require_(fit, "document.onions", "the sequential shuffle, and it alone, has onions and an onion key of each shuffler");
    if (onions) requirePoints([...message.onionKeys, message.publicKey]);
    requireText(message.question, "a question", 1);
    requireText(message.epoch, "an epoch", 0);
    if (!message.views.length) requireLabels(message.labels, given?.domain ?? 0n);
    require_(!message.views.length || !message.labels.length, "document.labels", "labels are of the values of a list, and it asks by views");
    require_(message.delta > 0 && message.delta < 1, "document.delta", "delta lies strictly between 0 and 1");
    require_(message.fakes < MAX_ROWS && message.minimum >= 1 && message.minimum < MAX_ROWS, "document.rows", "so many rows cannot be shuffled");
    const dummies = new Set(message.dummies.map(hex));
    require_(dummies.size >= MIN_DUMMIES && dummies.size === message.dummies.length, "document.dummies", "there are too few distinct dummies");
    require_(message.dummies.every((one) => one.length === 32), "document.dummy", "a dummy's commitment is 32 bytes");
    require_(message.enrolmentKey.length === PUBLIC_BYTES, "document.enrolment_key", "the enrolment key is 32 bytes");
    const [closes, shuffle, erase] = [message.closesAt, message.shuffleBy, message.eraseBy];
    require_(0n < closes && closes < shuffle && shuffle < erase && erase < LAST_TIME, "document.times", "the times are not in order");
    const asked = { analyzer: message.analyzer!.identity, question: message.question, epoch: message.epoch };
    const { name = "", domain = 0n } = given ?? {};
    const choices = message.views.map((view) => ({ ...view, parameters: integers(view.parameters, "a view") }));
    const recorded = choices.length ? await (await later.load()).recorded(choices, { name, domain, parameters }, asked) : null;
    const mechanism = recorded?.mechanism ?? (await fromParameters(name, domain, parameters, asked));
    let made: PublicKey | undefined;
    const key = (): PublicKey => (made ??= publicKey(message.scheme, message.publicKey, floor));
    if (protocol === DEFAULT_PROTOCOL)
      require_(mechanism.words * key().ciphertextBytes <= MAX_SHARE_BYTES, "document.row_too_long", "a report does not fit into a part");
    return {
      digest: await sha256(data),
      question: message.question,
      epoch: message.epoch,
      labels: message.labels,
      mechanism,
      protocol,
      scheme: message.scheme,
      publicKey: message.publicKey as Bytes,
      shufflers: message.shufflers,
      analyzer: message.analyzer!,
      fakes: message.fakes,
      minimum: message.minimum,
      delta: message.delta,
      enrolmentKey: message.enrolmentKey as Bytes,
      closesAt: Number(closes),
      eraseBy: Number(erase),
      study,
      asked: async (catalogue) => recorded?.asked(catalogue) ?? oneValue(mechanism, message.labels),
      key,
    };
  } catch (error) {
    if (!(error instanceof PeosError) || error.id.startsWith("key.")) throw error;
    throw new PeosError("document.unusable", `the document cannot be used: ${error.message}`, error.hint);
  }
}

/** Parameters by name, of which there is one order. */
function integers(given: readonly Parameter[], what: string): Parameters {
  const names = given.map(({ name }) => name);
  if (names.join("\n") !== [...new Set(names)].sort().join("\n"))
    throw new PeosError("document.parameters", `${what}'s parameters are not sorted by distinct names`);
  return Object.fromEntries(given.map(({ name, value }) => [name, value]));
}

function studyOf({ id, round, first, end }: StudyPart): Study {
  require_(id.length === 32, "study.id", "a study's id has 32 bytes");
  const found = { id: id as Bytes, round, first, end: end || PLACES };
  require_(first < found.end && round >= 1 && round < 2 ** 31, "study.window", "a round has a number from 1 on, and asks a stretch of places");
  return found;
}

function requirePoints(points: readonly Uint8Array[]): void {
  require_(new Set(points.map(hex)).size === points.length, "key.same_onion_key", "two parties have the same onion key");
  require_(points.every(isPoint), "key.onion_public", "an onion key is not a compressed point of P-256");
}

function require_(holds: boolean, id: string, sentence: string): void {
  if (!holds) throw new PeosError(id, sentence);
}

function requireText(text: string, what: string, least: number): void {
  const length = characters(text);
  require_(length >= least && length <= TEXT_LIMIT, "document.text_length", `${what} has between ${least} and ${TEXT_LIMIT} characters`);
}
