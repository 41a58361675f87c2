/** Documents that ask for a record: their views, and the mechanism that answers them (peos.tasks, peos.registry.KEYED). */
import type { Asked } from "../asked.js";
import type { Bytes } from "../bytes.js";
import { PeosError } from "../errors.js";
import { type Described, digestOf, type Mechanism, type Question } from "../mechanisms/base.js";
import { fromParameters } from "../mechanisms/index.js";
import type { Randomness } from "../randomness.js";
import { groupedHash } from "./grouped.js";
import { sampledGrr, sampledHash } from "./sampled.js";
import { groupedTables } from "./tables.js";
import { digestOfViews, type Given, linesOf, requireSize, type View, type ViewChoice, viewOf } from "./views.js";

export type { ViewChoice } from "./views.js";

/** A mechanism, what it asks of views, and its report of what they gave. */
export interface Keyed {
  readonly mechanism: Mechanism;
  readonly takes: readonly (readonly [View["gives"], number])[];
  randomize(given: readonly Given[], rng: Randomness): bigint[];
}

export type KeyedMaker = (given: Described, question: Question) => Keyed | Promise<Keyed>;

const KEYED: Readonly<Record<string, KeyedMaker>> = {
  grouped_hash: groupedHash,
  grouped_tables: groupedTables,
  sampled_grr: sampledGrr,
  sampled_hash: sampledHash,
};

/** What a document with views asks, without the texts of a catalogue; `asked` with them. */
export interface Recorded {
  readonly mechanism: Mechanism;
  asked(catalogue: Uint8Array | null): Promise<Asked>;
}

export async function keyed(name: string, domain: bigint, parameters: Described["parameters"], question: Question): Promise<Keyed> {
  if (Object.hasOwn(KEYED, name)) {
    const digest = await digestOf(name, domain, parameters, question);
    return KEYED[name]!({ name, domain, parameters, digest }, question);
  }
  const mechanism = await fromParameters(name, domain, parameters, question);
  const randomize = ([value]: readonly Given[], rng: Randomness): bigint[] => mechanism.randomize(value as number, rng);
  return { mechanism, takes: [["value", mechanism.domain]], randomize };
}

export async function recorded(
  choices: readonly ViewChoice[],
  mechanism: { name: string; domain: bigint; parameters: Described["parameters"] },
  question: Question,
): Promise<Recorded> {
  requireSize(choices);
  const views = choices.map((choice) => viewOf(choice));
  const asked: Question = { ...question, views: await digestOfViews(choices) };
  const made = await keyed(mechanism.name, mechanism.domain, mechanism.parameters, asked);
  const shown = (given: readonly (readonly [string, number])[]): string => given.map((one) => one.join()).join(" ");
  if (shown(views.map((view) => [view.gives, view.cells])) !== shown(made.takes))
    throw new PeosError("mechanism.views", `what it asks of a record does not fit ${mechanism.name}`);
  return { mechanism: made.mechanism, asked: async (catalogue) => asking(made, await listed(choices, views, catalogue)) };
}

/** The views with the texts of the catalogue, where they have one. */
async function listed(choices: readonly ViewChoice[], views: readonly View[], content: Uint8Array | null): Promise<View[]> {
  if (!choices.some((choice) => choice.catalogue)) return [...views];
  if (!content)
    throw new PeosError(
      "view.no_catalogue",
      "the collection asks by a catalogue, and there is none next to the invitation",
      "fetch the file that the analyzer gave out with the invitation",
    );
  const data = content as Bytes;
  return Promise.all(choices.map(async (choice) => viewOf(choice, choice.catalogue ? await linesOf(choice.catalogue, data) : undefined)));
}

function asking(made: Keyed, views: readonly View[]): Asked {
  return {
    views,
    problem: (record) => views.map((view) => view.problem(record)).find(Boolean) ?? "",
    randomize: async (record, rng) => {
      const given: Given[] = [];
      for (const view of views) given.push(await view.answer(record, rng)); // one after another: each draws its coins
      return made.randomize(given, rng);
    },
  };
}
