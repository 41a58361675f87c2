/**
 * What this device remembers: each report as it was made, once, and what it cost. The look and the entry are one
 * transaction, so that of two tabs one makes the report and the other sends the same.
 */
import type { Bytes } from "./bytes.js";
import type { Ledger } from "./consent.js";
import { PeosError } from "./errors.js";

/** A submission as it is kept; without its parts once all shufflers have it. */
export interface Kept {
  readonly user: string;
  readonly collection: string;
  readonly ticket: string;
  readonly mechanism: string;
  readonly question: string;
  /** The study and the round of it, where the collection is one. */
  readonly study?: string;
  readonly round?: number;
  readonly closesAt: number;
  readonly cost: number;
  readonly row: Bytes;
  readonly userKey: Bytes;
  readonly asking: Bytes;
  readonly shufflers: number;
  readonly parts: readonly Bytes[];
  readonly receipts: Readonly<Record<number, Bytes>>; // acknowledgements, by shuffler
  readonly refused: Readonly<Record<number, string>>; // ids of final refusals
}

export interface Memory {
  find(user: string, collection: string, ticket: string): Promise<Kept | undefined>;
  all(user: string): Promise<Kept[]>;
  /** What is kept under the ticket already; or `made`, kept now if `allow` lets it pass. Durable before it resolves. */
  keep(made: Kept, allow: (ledger: Omit<Ledger, "budget">) => void): Promise<Kept>;
  /** A shuffler's final answer; what all have acknowledged is forgotten but for what it takes to ask about it. */
  note(kept: Kept, shuffler: number, answer: { receipt: Bytes } | { refused: string }): Promise<Kept>;
}

export function ledgerOf(entries: readonly Kept[], mechanism: string, study?: string): Omit<Ledger, "budget"> {
  const spent = entries.reduce((sum, one) => sum + one.cost, 0);
  const inStudy = study === undefined ? undefined : entries.find((one) => one.study === study);
  return { spent, answered: entries.find((one) => one.mechanism === mechanism)?.collection ?? null, round: inStudy?.round ?? null };
}

export function noted(kept: Kept, shuffler: number, answer: { receipt: Bytes } | { refused: string }): Kept {
  if ("refused" in answer) return { ...kept, refused: { ...kept.refused, [shuffler]: answer.refused } };
  const receipts = { ...kept.receipts, [shuffler]: answer.receipt };
  const parts = Object.keys(receipts).length === kept.shufflers ? [] : kept.parts;
  return { ...kept, receipts, parts };
}

/** Memory that ends with the page: for tests and measurements. */
export class Forgetful implements Memory {
  private readonly kept = new Map<string, Kept>();

  async find(user: string, collection: string, ticket: string): Promise<Kept | undefined> {
    return this.kept.get([user, collection, ticket].join());
  }

  async all(user: string): Promise<Kept[]> {
    return [...this.kept.values()].filter((one) => one.user === user);
  }

  async keep(made: Kept, allow: (ledger: Omit<Ledger, "budget">) => void): Promise<Kept> {
    const known = await this.find(made.user, made.collection, made.ticket);
    if (known) return known;
    allow(ledgerOf(await this.all(made.user), made.mechanism, made.study));
    this.kept.set([made.user, made.collection, made.ticket].join(), made);
    return made;
  }

  async note(kept: Kept, shuffler: number, answer: { receipt: Bytes } | { refused: string }): Promise<Kept> {
    const key = [kept.user, kept.collection, kept.ticket].join();
    const now = noted(this.kept.get(key) ?? kept, shuffler, answer);
    this.kept.set(key, now);
    return now;
  }
}

const STORE = "submissions";
const VERSION = 1;

/** Memory in the browser's own database. */
export class Indexed implements Memory {
  private constructor(private readonly base: IDBDatabase) {}

  static async open(name: string): Promise<Indexed> {
    if (!("indexedDB" in globalThis)) throw unusable("this browser has none");
    const opening = indexedDB.open(`peos-client ${name}`, VERSION);
    opening.onupgradeneeded = () => {
      const store = opening.result.createObjectStore(STORE, { keyPath: ["user", "collection", "ticket"] });
      store.createIndex("user", "user");
    };
    const base = await settled(opening);
    base.onversionchange = () => base.close();
    await navigator.storage?.persist?.().catch(() => false); // a browser may still wipe it: docs/browser.md
    return new Indexed(base);
  }

  async find(user: string, collection: string, ticket: string): Promise<Kept | undefined> {
    return settled(this.base.transaction(STORE).objectStore(STORE).get([user, collection, ticket]));
  }

  async all(user: string): Promise<Kept[]> {
    return settled(this.base.transaction(STORE).objectStore(STORE).index("user").getAll(user));
  }

  keep(made: Kept, allow: (ledger: Omit<Ledger, "budget">) => void): Promise<Kept> {
    return this.changed((store, done) => {
      const own = store.index("user").getAll(made.user);
      own.onsuccess = () =>
        done(() => {
          const known = (own.result as Kept[]).find((one) => one.collection === made.collection && one.ticket === made.ticket);
          if (known) return known;
          allow(ledgerOf(own.result, made.mechanism, made.study));
          store.add(made);
          return made;
        });
    });
  }

  note(kept: Kept, shuffler: number, answer: { receipt: Bytes } | { refused: string }): Promise<Kept> {
    return this.changed((store, done) => {
      const found = store.get([kept.user, kept.collection, kept.ticket]);
      found.onsuccess = () =>
        done(() => {
          const now = noted((found.result as Kept | undefined) ?? kept, shuffler, answer);
          store.put(now);
          return now;
        });
    });
  }

  /** One transaction that is on the disk when this resolves; `done` ends it with what it came to, or undoes it. */
  private changed(
    work: (store: IDBObjectStore, done: (end: () => Kept) => void) => void,
  ): Promise<Kept> {
    return new Promise((resolve, reject) => {
      const transaction = this.base.transaction(STORE, "readwrite", { durability: "strict" });
      let [result, refusal]: [Kept | undefined, unknown] = [undefined, undefined];
      transaction.oncomplete = () => resolve(result!);
      transaction.onabort = () => reject(refusal ?? unusable(String(transaction.error?.name)));
      work(transaction.objectStore(STORE), (end) => {
        try {
          result = end();
        } catch (error) {
          refusal = error;
          transaction.abort();
        }
      });
    });
  }
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(unusable(String(request.error?.name)));
  });
}

function unusable(why: string): PeosError {
  const hint = "nothing was sent; a private window may have no storage, and a full disk no room";
  return new PeosError("store.failed", `the browser's storage cannot be used (${why}), so nothing can be remembered`, hint);
}
