/** What is asked, in words: question, answers, what leaves the device, and the three ε for people who read none. */
import { utc } from "./consent.js";
import type { Asked } from "./asked.js";
import type { Document } from "./document.js";
import { expected, plainText } from "./labels.js";

const SLACK = 2 ** -40; // more than all roundings here together
const LEAST_PRODUCT = 27;
const MANY = 12;

/** What holds against one coalition: ε at δ, and in how many of 100 cases a guess between two answers is right. */
export interface Claim {
  readonly against: string;
  readonly epsilon: number;
  readonly delta: number;
  readonly rightOf100: number;
}

export interface Summary {
  readonly question: string;
  readonly analyzer: string;
  readonly answers: readonly string[]; // the labels; none where answers are numbers
  readonly domain: number;
  readonly expected: string;
  /** What is asked of a record, one line for each of the questions that are asked at once; none where a value is asked for. */
  readonly asked: readonly string[];
  readonly shufflers: readonly string[];
  readonly minimum: number;
  readonly fakes: number;
  readonly closes: string;
  readonly erased: string;
  readonly claims: readonly Claim[]; // from the weakest coalition to the strongest, which is everybody else
  readonly sentences: readonly string[];
}

export function summaryOf(document: Document, { views }: Asked): Summary {
  const names = document.shufflers.map((member) => plainText(member.name));
  const [analyzer, question] = [plainText(document.analyzer.name), plainText(document.question)];
  const claims = claimed(document);
  const { domain } = document.mechanism;
  const asked = views.map(({ words }) => plainText(words));
  const common = { question, analyzer, answers: document.labels, domain, expected: expected(document.labels, domain), asked };
  const times = { closes: utc(document.closesAt), erased: utc(document.eraseBy) };
  const chance = Math.floor(100 * document.mechanism.gamma * (1 - SLACK));
  const random = chance ? `at least ${chance} of 100 reports are pure chance` : "some reports are pure chance";
  const answers = document.labels.length > MANY ? `one of ${document.labels.length} answers` : common.expected;
  const wanted = asked.length > 1 ? `one of ${asked.length} things; which one, this device draws and keeps to itself` : asked[0]!;
  const sentences = [
    `${analyzer} asks: ${question} ${asked.length ? `You are asked for ${wanted}` : `The answer is ${answers}`}.`,
    ...(asked.length > 1 ? asked.map((one) => `It may be ${one}.`) : []),
    ...(document.study ? [`This is round ${document.study.round} of a study that asks each person once.`] : []),
    `Your answer does not leave this device as it is. It is changed at random first (${random}, and which, only this device knows), then split into ${names.length} parts, each useless without the others: one for ${listed(names)}.`,
    `They mix at least ${count(document.minimum)} people's reports${document.fakes ? `, with ${count(document.fakes)} made up` : ""}, or open none. Then ${analyzer} sees how often each answer was given, about, and not by whom.`,
    ...claims.map(inWords),
    `It closes at ${times.closes}, and everything is erased by ${times.erased}.`,
  ];
  return { ...common, ...times, shufflers: names, minimum: document.minimum, fakes: document.fakes, claims, sentences };
}

function inWords({ against, epsilon, delta, rightOf100 }: Claim): string {
  const but = delta ? `, but for ${delta.toPrecision(1)} of all cases` : "";
  return `Against ${against}: between any two answers of yours a guess is right in at most ${rightOf100} of 100 cases, where tossing a coin is right in 50 (ε = ${up(epsilon, 4)}${but}).`;
}

/**
 * By the theorem of docs/privacy.md §1, where it applies to the mechanism; else no more than ε_l is claimed. The planner's
 * exact accounting claims more: what is said here is never too good.
 */
function claimed(document: Document): Claim[] {
  const { mechanism, minimum, fakes, delta, shufflers } = document;
  const local = mechanism.epsilonLocal;
  const few = Math.ceil(shufflers.length / 2) - 1;
  const some = few === 1 ? `one of the ${shufflers.length} shufflers` : `up to ${few} of the ${shufflers.length} shufflers`;
  const claim = (against: string, hiding: number): Claim => {
    const epsilon = binomial(hiding * mechanism.support * (1 - SLACK), delta);
    return epsilon !== null && epsilon < local ? made(against, epsilon, delta) : made(against, local, 0);
  };
  return [
    claim(`the analyzer, alone or with ${some}`, (minimum - 1) * mechanism.gamma * (1 - SLACK) + fakes),
    claim(`the analyzer with all other users and ${some}`, fakes),
    made("everybody else together", local, 0),
  ];
}

function made(against: string, epsilon: number, delta: number): Claim {
  const right = Math.min(1, 1 / (1 + Math.exp(-epsilon)) + delta);
  return { against, epsilon, delta, rightOf100: Math.min(100, Math.ceil(1000 * right * (1 + SLACK)) / 10) };
}

/** ε of the binomial mechanism with noise of this mean, rounded up; null where the theorem does not apply. */
function binomial(mean: number, delta: number): number | null {
  if (mean <= 0) return null;
  const epsilon = Math.sqrt((14 * (Math.LN2 - Math.log(delta))) / mean) * (1 + SLACK);
  return epsilon > 1 || mean * epsilon < LEAST_PRODUCT * (1 + SLACK) ? null : epsilon;
}

function up(value: number, digits: number): string {
  return (Math.ceil(value * 10 ** digits) / 10 ** digits).toFixed(digits);
}

function count(value: number): string {
  return value.toLocaleString("en");
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
