/** An example page: it asks one question, says what leaves the device, and sends the answer. Everything is in config.json. */
import { PeosError, start, type Options, type RemoteCollection } from "../src/index.js";

const by = (id: string): HTMLElement => document.getElementById(id)!;

function say(sentence: string, kind = ""): void {
  by("state").textContent = sentence;
  by("state").dataset["kind"] = kind;
}

function fail(error: unknown): void {
  const { message, hint = "", id = "" } = error as Partial<PeosError> & Error;
  by("state").dataset["id"] = id;
  say(`${message}${hint && ` (${hint})`}`, "error");
}

function choices(collection: RemoteCollection): void {
  const { answers, domain } = collection.summary;
  if (!answers.length) {
    const input = Object.assign(document.createElement("input"), { type: "number", min: "0", max: `${domain - 1}`, name: "answer", required: true });
    input.setAttribute("aria-label", "Your answer");
    by("answers").append(input);
  }
  for (const answer of answers) {
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "answer", value: answer, required: true });
    const label = document.createElement("label");
    label.append(input, ` ${answer}`);
    by("answers").append(label);
  }
}

async function main(): Promise<void> {
  const [config, invitation] = await Promise.all([
    fetch("config.json").then((found) => found.json() as Promise<Options>),
    fetch("invitation").then(async (found) => new Uint8Array(await found.arrayBuffer())),
  ]);
  const integrity = document.querySelector<HTMLMetaElement>('meta[name="worker-integrity"]')!.content;
  const client = await start(new URL("../worker.js", import.meta.url), { options: config, integrity });
  const collection = await client.open(invitation);
  by("question").textContent = collection.summary.question;
  by("sentences").replaceChildren(
    ...collection.summary.sentences.map((sentence) => Object.assign(document.createElement("li"), { textContent: sentence })),
  );
  choices(collection);
  const spent = async (): Promise<void> => {
    const { spent, budget } = await client.ledger();
    by("budget").textContent = `This device has spent ${spent / 1e6} of its budget of ${budget / 1e6} (ε).`;
  };
  await spent();
  const onWait = (sentence: string): void => say(`${sentence} …`);
  const ended = async (work: Promise<{ accepted: boolean; repeated: boolean; refusals: readonly { name: string; sentence: string; id: string }[] } | null>): Promise<void> => {
    try {
      const result = await work;
      if (result?.accepted) say(result.repeated ? "Sent: the answer of your first visit." : "Sent. Thank you.", "done");
      else if (result) {
        by("state").dataset["id"] = result.refusals[0]!.id;
        say(result.refusals.map(({ name, sentence }) => `${name}: ${sentence}`).join("; "), "error");
      }
    } catch (error) {
      fail(error);
    }
    await spent();
  };
  const standing = await collection.answered();
  if (standing === "yes") return say("This device has answered.", "done");
  if (standing === "sending") return ended(collection.resume({ onWait }));
  say("");
  by("form").hidden = false;
  by("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    by("form").hidden = true;
    say("Sending …");
    void ended(collection.submit(String(given.get("answer")), String(given.get("ticket")), { onWait }));
  });
}

main().catch(fail);
