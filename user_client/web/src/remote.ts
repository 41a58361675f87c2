/** The page's end of the worker: the client's calls as messages. */
import type { Answer } from "./asked.js";
import type { Options, Result } from "./client.js";
import { PeosError } from "./errors.js";
import type { Verified } from "./proofs.js";
import type { Ask, Reply } from "./worker.js";
import type { Summary } from "./words.js";

export interface Starting {
  readonly options: Options;
  /** "sha256-…" of the worker's script, which is not run if it is another (dist/integrity.json). */
  readonly integrity: string;
  /** The script for records and for `verify`, and what its hash is: fetched only where one of them is asked for. */
  readonly later?: { readonly script: string | URL; readonly integrity: string };
}

export interface RemoteClient {
  open(invitation: Uint8Array, catalogue?: Uint8Array): Promise<RemoteCollection>;
  verify(invitation: Uint8Array, root?: string): Promise<Verified | null>;
  hasAnswered(invitation: Uint8Array): Promise<boolean>;
  ledger(): Promise<{ budget: number; spent: number; answers: { collection: string; question: string; cost: number }[] }>;
  stop(): void;
}

export interface RemoteCollection {
  readonly summary: Summary;
  readonly closedAt: string;
  answered(): Promise<"no" | "sending" | "yes">;
  submit(answer: Answer, ticket: string, how?: How): Promise<Result>;
  resume(how?: How): Promise<Result | null>;
}

interface How {
  deadline?: number;
  onWait?: (sentence: string) => void;
}

/** Start the client in a worker of its own. A worker has no `integrity`, so its script is fetched with one. */
export async function start(script: string | URL, { options, integrity, later }: Starting): Promise<RemoteClient> {
  const response = await fetch(script, { integrity, credentials: "omit" });
  const address = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void; onWait?: How["onWait"] }>();
  let next = 0;
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    const asked = waiting.get(data.id);
    if (data.kind === "waiting") return asked?.onWait?.(data.sentence);
    waiting.delete(data.id);
    if (data.kind === "done") asked?.resolve(data.value);
    else asked?.reject(new PeosError(data.error.id, data.error.sentence, data.error.hint, data.error.retry));
  };
  const broken = (): void => {
    for (const { reject } of waiting.values()) reject(new PeosError("store.failed", "the client's worker has ended"));
    waiting.clear();
  };
  worker.onerror = broken;
  const ask = <T>(call: Ask["call"], args: unknown[], onWait?: How["onWait"]): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.set(next, { resolve: resolve as (value: unknown) => void, reject, onWait });
      worker.postMessage({ id: next++, call, args } satisfies Ask);
    });
  await ask("create", [options, later && { ...later, script: new URL(later.script, document.baseURI).href }]);
  URL.revokeObjectURL(address);
  return {
    async open(invitation, catalogue) {
      const { handle, ...told } = await ask<{ handle: number; summary: Summary; closedAt: string }>("open", [invitation, catalogue]);
      return {
        ...told,
        answered: () => ask("answered", [handle]),
        submit: (answer, ticket, how = {}) => ask("submit", [handle, answer, ticket, { deadline: how.deadline }], how.onWait),
        resume: (how = {}) => ask("resume", [handle, { deadline: how.deadline }], how.onWait),
      };
    },
    verify: (invitation, root) => ask("verify", [invitation, root]),
    hasAnswered: (invitation) => ask("hasAnswered", [invitation]),
    ledger: () => ask("ledger", []),
    stop: () => {
      worker.terminate();
      broken();
    },
  };
}
