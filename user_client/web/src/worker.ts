/** The worker's end: everything that takes time or knows an answer happens here. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
import { Client, type Collection, type Options, type Submitting } from "./client.js";
import { PeosError } from "./errors.js";
import { later } from "./loading.js";

export interface Ask {
  readonly id: number;
  readonly call: "create" | "open" | "verify" | "answered" | "submit" | "resume" | "hasAnswered" | "ledger";
  readonly args: readonly unknown[];
}

export type Reply =
  | { id: number; kind: "done"; value: unknown }
  | { id: number; kind: "waiting"; sentence: string }
  | { id: number; kind: "failed"; error: { id: string; sentence: string; hint: string; retry: boolean } };

// For the other script, which would otherwise bring a copy (build.mjs).
Object.assign(globalThis, { peosRuntime: { create, fromBinary, toBinary, fileDesc, messageDesc } });

const here = globalThis as unknown as { onmessage: (event: MessageEvent<Ask>) => void; postMessage(reply: Reply): void };
const collections: Collection[] = [];
let client: Client;

/** A worker's imports have no `integrity`, so the script is fetched with one, as the worker's own was. */
async function fetched(script: string, integrity: string): ReturnType<typeof later.load> {
  const response = await fetch(script, { integrity, credentials: "omit" });
  const address = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "text/javascript" }));
  return import(address) as ReturnType<typeof later.load>;
}

async function answer({ id, call, args }: Ask): Promise<unknown> {
  const how = (given: unknown): Submitting => ({
    ...Object.fromEntries(Object.entries(given as object).filter(([, value]) => value !== undefined)),
    onWait: (sentence) => here.postMessage({ id, kind: "waiting", sentence }),
  });
  if (call === "create") {
    const more = args[1] as { script: string; integrity: string } | undefined;
    if (more) later.load = () => fetched(more.script, more.integrity);
    client = await Client.create(args[0] as Options);
    return null;
  }
  if (call === "open") {
    const opened = await client.open(args[0] as Uint8Array, args[1] as Uint8Array | undefined);
    return { handle: collections.push(opened) - 1, summary: opened.summary, closedAt: opened.closedAt };
  }
  if (call === "hasAnswered") return client.hasAnswered(args[0] as Uint8Array);
  if (call === "ledger") return client.ledger();
  if (call === "verify") return client.verify(args[0] as Uint8Array, args[1] as string | undefined);
  const collection = collections[args[0] as number]!;
  if (call === "answered") return collection.answered();
  if (call === "resume") return collection.resume(how(args[1]));
  return collection.submit(args[1], args[2] as string, how(args[3]));
}

here.onmessage = ({ data }) => {
  answer(data).then(
    (value) => here.postMessage({ id: data.id, kind: "done", value }),
    (error: unknown) => {
      const known = error instanceof PeosError ? error : new PeosError("submit.broke_off", String(error));
      const { id, message, hint, retry } = known;
      here.postMessage({ id: data.id, kind: "failed", error: { id, sentence: message, hint, retry } });
    },
  );
};
