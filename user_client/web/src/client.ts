/** A user's client in three calls: open a collection, submit, look at what was done. */
import { hex } from "./bytes.js";
import { charge, check, type Consent, requireOpen, requirePinned } from "./consent.js";
import { PeosError } from "./errors.js";
import { decodeInvitation } from "./invitation.js";
import { valueOf } from "./labels.js";
import { budgetOf } from "./logarithm.js";
import { Indexed, type Kept, ledgerOf, type Memory } from "./memory.js";
import { type Randomness, system } from "./randomness.js";
import { describe, type Fetch, type Refusal, send, type Waiting } from "./sending.js";
import { prepare, readTicket } from "./submission.js";
import { type Summary, summaryOf } from "./words.js";

/** Whom she trusts to shuffle, and what she is ready to give away. */
export interface Options {
  /** The identities of shufflers, in hexadecimal, each with the address of its port for browsers: https://host:port. */
  readonly shufflers: Readonly<Record<string, string>>;
  readonly mostEpsLocal: number;
  readonly leastReports: number;
  readonly leastFakes?: number;
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

  /** The collection that may be answered, by what every shuffler of the invitation says; or why not. */
  async open(invitation: Uint8Array): Promise<Collection> {
    const invited = await decodeInvitation(invitation);
    const known = new Map(
      Object.entries(this.options.shufflers).map(([identity, address]) => [identity.toLowerCase(), address.replace(/\/+$/, "")]),
    );
    const pins = new Set(known.keys());
    requirePinned(invited, pins);
    const addresses = invited.shufflers.map((card) => known.get(hex(card.identity))!);
    const get: Fetch = this.around.fetch ?? ((...args) => fetch(...args));
    const documents = await Promise.all(
      invited.shufflers.map((card, at) => describe(get, at + 1, card, addresses[at]!, invited.collection)),
    );
    const limits = { ...this.options, leastFakes: this.options.leastFakes ?? 0 };
    const now = this.around.now ?? ((): number => Date.now() / 1000);
    const consent = await check(invited, documents, pins, limits, now(), this.around.floor);
    return new Collection(this, consent, addresses, get, now, this.around.rng ?? system, budgetOf(this.options.budget));
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
  ) {
    this.summary = summaryOf(consent.document);
  }

  /** Whether this device has answered: "no", "sending" (some shuffler lacks its part), or "yes". */
  async answered(): Promise<"no" | "sending" | "yes"> {
    const kept = await this.own();
    return kept ? (kept.parts.length ? "sending" : "yes") : "no";
  }

  /** The answer. A repeat sends what was made the first time, whatever `answer` says now. */
  async submit(answer: number | string, ticket: string, options: Submitting = {}): Promise<Result> {
    const { document } = this.consent;
    const { domain } = document.mechanism;
    requireOpen(document, this.now());
    const value = typeof answer === "string" ? valueOf(answer, document.labels, domain) : answer;
    if (value === null || !Number.isInteger(value) || value < 0 || value >= domain)
      throw new PeosError("input.answers", `the value is not ${this.summary.expected}`, "nothing was sent");
    const { memory, user } = this.client;
    const own = await readTicket(ticket, options.key);
    const collection = hex(document.digest);
    const before = await memory.all(user); // one look: between two of them another tab may answer
    const known = before.find((one) => one.collection === collection && one.ticket === hex(own.id));
    if (known) return this.send(known, true, options);
    const allow = (ledger: ReturnType<typeof ledgerOf>): number => charge(document, { ...ledger, budget: this.budget });
    const mechanism = hex(document.mechanism.digest);
    const cost = allow(ledgerOf(before, mechanism)); // before it is made, which takes a while
    const made = await prepare(document, value, own, this.fresh());
    const kept: Kept = {
      user,
      collection,
      ticket: hex(own.id),
      mechanism,
      question: this.summary.question,
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
