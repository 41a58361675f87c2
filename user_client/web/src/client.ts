/** A user's client in three calls: open a collection, submit, look at what was done. */
import { type Answer, recordOf } from "./asked.js";
import { hex, unhex } from "./bytes.js";
import { charge, check, type Consent, requireOpen, requirePinned } from "./consent.js";
import { PeosError } from "./errors.js";
import { decodeInvitation, type Invitation, party } from "./invitation.js";
import { later } from "./loading.js";
import { budgetOf } from "./logarithm.js";
import { Indexed, type Kept, ledgerOf, type Memory } from "./memory.js";
import type { Verified } from "./proofs.js";
import { type Randomness, system } from "./randomness.js";
import { describe, type Fetch, type Refusal, send, type Waiting } from "./sending.js";
import { prepare, readTicket, requireTicket } from "./submission.js";
import { type Summary, summaryOf } from "./words.js";

/** Whom she trusts to shuffle, and what she is ready to give away. */
export interface Options {
  /** The identities of shufflers, in hexadecimal, each with the address of its port for browsers: https://host:port. */
  readonly shufflers: Readonly<Record<string, string>>;
  readonly mostEpsLocal: number;
  readonly leastReports: number;
  readonly leastFakes?: number;
  /** What may be asked of a record: kinds of views, attributes, the finest table (docs/operations.md). All, if it is not said. */
  readonly views?: readonly string[];
  readonly attributes?: readonly string[];
  readonly mostCells?: number;
  /** Of ε_l, over all that she will ever answer on this device. */
  readonly budget: number;
  /** Whose memory and budget it is, where a device has several users. */
  readonly user?: string;
  readonly store?: string;
}

/** What tests put in place of the browser's. */
export interface Surroundings {
  readonly memory?: Memory;
  readonly fetch?: Fetch;
  readonly now?: () => number;
  readonly rng?: () => Randomness;
  readonly floor?: number;
}

export interface Result {
  readonly accepted: boolean;
  /** Whether a report was made before: that one was sent, whatever the answer is now. */
  readonly repeated: boolean;
  readonly refusals: readonly Refusal[];
}

export interface Submitting {
  /** Milliseconds until a shuffler that does not answer is given up. */
  readonly deadline?: number;
  readonly onWait?: Waiting;
  /** The seed of the user's own key, if the ticket was made for one. */
  readonly key?: Uint8Array;
}

const DEADLINE = 60_000;

export class Client {
  private constructor(
    private readonly options: Options,
    readonly memory: Memory,
    private readonly around: Surroundings,
  ) {}

  static async create(options: Options, around: Surroundings = {}): Promise<Client> {
    for (const address of Object.values(options.shufflers)) {
      const { protocol, hostname } = new URL(address);
      if (protocol !== "https:" && hostname !== "localhost" && hostname !== "127.0.0.1")
        throw new PeosError("config.address", `${address} is not the address of a port for browsers`, "https://host:port");
    }
    const memory = around.memory ?? (await Indexed.open(options.store ?? "answers"));
    return new Client(options, memory, around);
  }

  get user(): string {
    return this.options.user ?? "owner";
  }

  /**
   * The collection that may be answered, by what every shuffler of the invitation says; or why not. `catalogue` is the
   * file that came with the invitation, where one did.
   */
  async open(invitation: Uint8Array, catalogue: Uint8Array | null = null): Promise<Collection> {
    const { invited, pins, addresses, get } = await this.reached(invitation);
    const described = await Promise.all(
      invited.shufflers.map((card, at) => describe(get, at + 1, card, addresses[at]!, invited.collection)),
    );
    const closed = described.findIndex(({ hasClosed }) => hasClosed);
    const closedAt = closed < 0 ? "" : party(closed + 1, invited.shufflers[closed]!);
    const documents = described.map(({ document }) => document);
    const limits = { ...this.options, leastFakes: this.options.leastFakes ?? 0 };
    const now = this.around.now ?? ((): number => Date.now() / 1000);
    const consent = await check(invited, documents, pins, limits, now(), this.around.floor, catalogue);
    return new Collection(this, consent, addresses, get, now, this.around.rng ?? system, budgetOf(this.options.budget), closedAt);
  }

  private async reached(invitation: Uint8Array): Promise<{ invited: Invitation; pins: Set<string>; addresses: string[]; get: Fetch }> {
    const invited = await decodeInvitation(invitation);
    const known = new Map(
      Object.entries(this.options.shufflers).map(([identity, address]) => [identity.toLowerCase(), address.replace(/\/+$/, "")]),
    );
    const pins = new Set(known.keys());
    requirePinned(invited, pins);
    const addresses = invited.shufflers.map((card) => known.get(hex(card.identity))!);
    return { invited, pins, addresses, get: this.around.fetch ?? ((...args) => fetch(...args)) };
  }

  /**
   * Whether this device's report to a collection was counted, by what its shufflers show and signed; null if it sent none.
   * `root` is that of the frozen list as the analyzer published it, in hexadecimal, to be compared.
   */
  async verify(invitation: Uint8Array, root?: string): Promise<Verified | null> {
    const { invited, addresses, get } = await this.reached(invitation);
    const collection = hex(invited.collection);
    const kept = (await this.memory.all(this.user)).find((one) => one.collection === collection);
    return kept ? (await later.load()).ask(get, invited, addresses, kept, root ? unhex(root) : null) : null;
  }

  /** Whether every shuffler has this device's report to a collection, also when that is over. */
  async hasAnswered(invitation: Uint8Array): Promise<boolean> {
    const collection = hex((await decodeInvitation(invitation)).collection);
    return (await this.memory.all(this.user)).some((one) => one.collection === collection && !one.parts.length);
  }

  /** What was spent, in millionths of ε_l, of how many; and what for. */
  async ledger(): Promise<{ budget: number; spent: number; answers: { collection: string; question: string; cost: number }[] }> {
    const all = await this.memory.all(this.user);
    const answers = all.map(({ collection, question, cost }) => ({ collection, question, cost }));
    return { budget: budgetOf(this.options.budget), spent: ledgerOf(all, "").spent, answers };
  }
}

/** A collection that may be answered. */
export class Collection {
  readonly summary: Summary;

  constructor(
    private readonly client: Client,
    private readonly consent: Consent,
    private readonly addresses: readonly string[],
    private readonly get: Fetch,
    private readonly now: () => number,
    private readonly fresh: () => Randomness,
    private readonly budget: number,
    /** The first shuffler that takes no new answers any more; none if all say that they do. */
    readonly closedAt = "",
  ) {
    this.summary = summaryOf(consent.document, consent.asked);
  }

  /** Whether this device has answered: "no", "sending" (some shuffler lacks its part), or "yes". */
  async answered(): Promise<"no" | "sending" | "yes"> {
    const kept = await this.own();
    return kept ? (kept.parts.length ? "sending" : "yes") : "no";
  }

  /** The answer: a value, or a record as JSON has it or in words. A repeat sends what was made the first time, whatever it is now. */
  async submit(answer: Answer, ticket: string, options: Submitting = {}): Promise<Result> {
    const { document, asked } = this.consent;
    requireOpen(document, this.now());
    const own = await readTicket(ticket, options.key);
    await requireTicket(document, own);
    const record = typeof answer === "string" ? recordOf(asked, answer) : answer;
    const problem = asked.problem(record);
    if (problem) throw new PeosError("input.answers", problem, "nothing was sent");
    const { memory, user } = this.client;
    const collection = hex(document.digest);
    const before = await memory.all(user); // one look: between two of them another tab may answer
    const known = before.find((one) => one.collection === collection && one.ticket === hex(own.id));
    if (known) return this.send(known, true, options);
    const allow = (ledger: ReturnType<typeof ledgerOf>): number => charge(document, { ...ledger, budget: this.budget, closedAt: this.closedAt });
    const mechanism = hex(document.mechanism.digest);
    const part = document.study && { study: hex(document.study.id), round: document.study.round };
    const cost = allow(ledgerOf(before, mechanism, part?.study)); // before it is made, which takes a while
    const made = await prepare(document, asked, record, own, this.fresh());
    const kept: Kept = {
      user,
      collection,
      ticket: hex(own.id),
      mechanism,
      question: this.summary.question,
      ...part,
      closesAt: document.closesAt,
      cost,
      row: made.row,
      userKey: made.userKey,
      asking: made.asking,
      shufflers: this.consent.cards.length,
      parts: made.parts,
      receipts: {},
      refused: {},
    };
    const found = await memory.keep(kept, allow); // another tab may have been quicker: then its report is sent
    return this.send(found, found !== kept, options);
  }

  /** Send what an earlier visit made and could not send; null if there is nothing of the kind. */
  async resume(options: Submitting = {}): Promise<Result | null> {
    const kept = await this.own();
    return kept?.parts.length ? this.send(kept, true, options) : null;
  }

  private async own(): Promise<Kept | undefined> {
    const collection = hex(this.consent.document.digest);
    return (await this.client.memory.all(this.client.user)).find((one) => one.collection === collection);
  }

  private async send(kept: Kept, repeated: boolean, { deadline = DEADLINE, onWait = () => {} }: Submitting): Promise<Result> {
    if (!kept.parts.length) return { accepted: true, repeated, refusals: [] };
    requireOpen(this.consent.document, this.now());
    const { cards } = this.consent;
    const how = { deadline, onWait };
    const { refusals } = await send(this.get, cards, this.addresses, kept, this.client.memory, system(), how);
    return { accepted: !refusals.length, repeated, refusals };
  }
}
