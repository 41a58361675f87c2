/** Every mechanism that a document can name, a line for each; whatever is not here is refused in a sentence. */
import { PeosError } from "../errors.js";
import { type Described, digestOf, type Mechanism, type Parameters, type Question } from "./base.js";
import { grr, hadamard, rmp, solh, subset } from "./single.js";
import { rappor, sue, ue } from "./unary.js";

const MECHANISMS: Readonly<Record<string, (given: Described) => Mechanism>> = {
  grr,
  solh,
  sue,
  hadamard,
  subset,
  ue,
  rmp,
  rappor,
};

export async function fromParameters(
  name: string,
  domain: bigint,
  parameters: Parameters,
  question: Question,
): Promise<Mechanism> {
  const make = Object.hasOwn(MECHANISMS, name) ? MECHANISMS[name] : undefined;
  if (!make) throw new PeosError("mechanism.name", `this client has no mechanism ${JSON.stringify(name.slice(0, 40))}`);
  return make({ name, domain, parameters, digest: await digestOf(name, domain, parameters, question) });
}
