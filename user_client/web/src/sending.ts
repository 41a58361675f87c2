/** The way to the shufflers: their documents, and each part to the one that it is for, until it has a final answer. */
import { type Bytes, equal, hex } from "./bytes.js";
import { PeosError } from "./errors.js";
import type { Card } from "./generated/peos/v1/services_pb.js";
import { party } from "./invitation.js";
import { plainText } from "./labels.js";
import type { Kept, Memory } from "./memory.js";
import type { Randomness } from "./randomness.js";
import { serialize } from "./strict.js";
import { AcknowledgementSchema } from "./generated/peos/v1/submission_pb.js";
import { decodeAnswer, holds, jitter, type Reply } from "./submission.js";
import { unhex } from "./bytes.js";

const TYPE = "application/x-protobuf";
const ANSWER_LIMIT = 2 << 20;
const CALL = 20_000; // milliseconds that one call may take
const [FIRST_PAUSE, LONGEST_PAUSE] = [200, 8_000];
const AGAIN = "run the same again later: what was acknowledged is kept, and the same bytes are sent";

export type Fetch = typeof fetch;
export type Waiting = (sentence: string) => void;

/** Why one shuffler did not take a part; number 0: why this client did not send it. */
export interface Refusal {
  readonly shuffler: number;
  readonly name: string;
  readonly id: string;
  readonly sentence: string;
  readonly hint: string;
}

/** What one shuffler says of a collection: its signed document, and whether it takes no new reports any more. */
export interface Described {
  readonly document: Bytes;
  readonly hasClosed: boolean;
}

export async function describe(get: Fetch, number: number, card: Card, address: string, collection: Bytes): Promise<Described> {
  let [status, body, hasClosed]: [number, Bytes, boolean] = [0, new Uint8Array(), false];
  try {
    [status, body, hasClosed] = await called(get, `${address}/v1/collections/${hex(collection)}`);
  } catch {
    throw unanswered(number, card);
  }
  if (status === 200) return { document: body, hasClosed };
  let refusal: PeosError | null = null;
  try {
    refusal = decodeAnswer(body).refusal;
  } catch {
    throw unanswered(number, card); // a proxy's page, say
  }
  const said = refusal!;
  throw new PeosError(said.id, `${party(number, card)}: ${plainText(said.message)}`, plainText(said.hint), said.retry);
}

export function unanswered(number: number, card: Card): PeosError {
  const hint = "check this device's connection and try again; the browser's console says if a certificate or this page's origin is the reason";
  return new PeosError("network.no_answer", `${party(number, card)}: does not answer at its address`, hint, true);
}

/** Send what is missing, to all at the same time; what became of it is noted as it comes. */
export async function send(
  get: Fetch,
  cards: readonly Card[],
  addresses: readonly string[],
  kept: Kept,
  memory: Memory,
  rng: Randomness,
  { deadline, onWait }: { deadline: number; onWait: Waiting },
): Promise<{ kept: Kept; refusals: Refusal[] }> {
  const refusals: Refusal[] = [];
  const lanes = cards.map(async (card, at) => {
    const number = at + 1;
    if (kept.receipts[number]) return;
    const { acknowledgement, refusal } = await answered(get, number, card, addresses[at]!, kept, rng, deadline, onWait);
    const fault = acknowledgement ? await faultOf(acknowledgement, kept, card) : null;
    const why = refusal ?? fault;
    if (why) refusals.push({ shuffler: number, name: plainText(card.name), id: why.id, sentence: plainText(why.message), hint: plainText(why.hint) });
    if (acknowledgement && !fault)
      await memory.note(kept, number, { receipt: serialize(AcknowledgementSchema, acknowledgement) });
    else if (refusal) await memory.note(kept, number, { refused: refusal.id });
  });
  const ended = await Promise.allSettled(lanes);
  for (const lane of ended) if (lane.status === "rejected") throw lane.reason;
  const now = await memory.find(kept.user, kept.collection, kept.ticket);
  return { kept: now ?? kept, refusals: refusals.sort((one, other) => one.shuffler - other.shuffler) };
}

async function answered(
  get: Fetch,
  number: number,
  card: Card,
  address: string,
  kept: Kept,
  rng: Randomness,
  deadline: number,
  onWait: Waiting,
): Promise<Reply> {
  const giveUp = Date.now() + deadline;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    let trouble = "does not answer at its address";
    try {
      const reply = decodeAnswer((await called(get, `${address}/v1/parts`, kept.parts[number - 1]!))[1]);
      if (!reply.refusal?.retry) return reply;
      trouble = plainText(reply.refusal.message);
    } catch (error) {
      if (error instanceof PeosError) trouble = "sent an answer that cannot be read";
    }
    const rest = jitter(pause, rng);
    if (Date.now() + rest >= giveUp)
      throw new PeosError("submit.time_over", `${party(number, card)}: did not take the part within the time limit: it ${trouble}`, AGAIN, true);
    onWait(`waiting for ${party(number, card)}: it ${trouble}`);
    await new Promise((resolve) => setTimeout(resolve, rest));
  }
}

/** What is wrong with an acknowledgement: it must be of this very submission, and signed by the shuffler. */
async function faultOf(found: NonNullable<Reply["acknowledgement"]>, kept: Kept, card: Card): Promise<PeosError | null> {
  const wrong = (sentence: string): PeosError =>
    new PeosError("submit.acknowledgement", sentence, "tell the shuffler's operator; this must not happen");
  if (!equal(found.row, kept.row)) return wrong("acknowledged another submission than the one it was sent");
  const signed = await holds(found.receipt!, card.identity as Bytes, unhex(kept.collection), kept.row, kept.userKey);
  return signed ? null : wrong("sent an acknowledgement that it has not signed");
}

export async function called(get: Fetch, address: string, body?: Bytes): Promise<[number, Bytes, boolean]> {
  const response = await get(address, {
    ...(body ? { method: "POST", body, headers: { "content-type": TYPE } } : {}),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(CALL),
  });
  const data = new Uint8Array(await response.arrayBuffer());
  if (data.length > ANSWER_LIMIT) throw new RangeError("too long");
  return [response.status, data, response.headers.has("peos-closed")];
}
