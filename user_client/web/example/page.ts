/** An example page: it asks one question, says what leaves the device, and sends the answer. Everything is in config.json. */
import { PeosError, start, type Options, type RemoteClient, type RemoteCollection } from "../src/index.js";

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
  const { answers, asked, domain } = collection.summary;
  if (asked.length) {
    const input = Object.assign(document.createElement("textarea"), { name: "answer", required: true, rows: 3 });
    input.setAttribute("aria-label", "Your record: a text, or what is asked for as JSON");
    by("answers").append(input);
  } else if (!answers.length) {
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

/** Let the user ask what became of the answer that was given here. */
function offerProof(client: RemoteClient, invitation: Uint8Array): void {
  by("verify").hidden = false;
  by("verify").onclick = () => {
    say("Asking the shufflers what they signed …");
    client.verify(invitation).then((found) => {
      if (!found) say("Nothing was sent from this device.", "error");
      else if (found.counted) say("Your report was counted: the lists that the shufflers signed have it.", "done");
      else say(`It is not proved that your report was counted. ${found.findings.join("; ")}`, "error");
    }, fail);
  };
}

async function main(): Promise<void> {
  const file = async (name: string): Promise<Uint8Array> => new Uint8Array(await (await fetch(name)).arrayBuffer());
  const config = (await (await fetch("config.json")).json()) as Options & { readonly catalogue?: string };
  const [invitation, catalogue] = await Promise.all([file("invitation"), config.catalogue ? file(config.catalogue) : undefined]);
  const hash = (name: string): string => document.querySelector<HTMLMetaElement>(`meta[name="${name}-integrity"]`)!.content;
  const later = { script: new URL("../later.js", import.meta.url), integrity: hash("later") };
  const client = await start(new URL("../worker.js", import.meta.url), { options: config, integrity: hash("worker"), later });
  let collection: RemoteCollection;
  try {
    collection = await client.open(invitation, catalogue);
  } catch (error) {
    if (/^(consent|submit)\.(closed|erased)$/.test((error as Partial<PeosError>).id ?? "")) {
      offerProof(client, invitation);
      if (await client.hasAnswered(invitation)) return say("This device has answered.", "done");
    }
    return fail(error);
  }
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
    by("form").hidden = (await collection.answered()) !== "no"; // what was refused before it was made may be corrected
  };
  const standing = await collection.answered();
  if (standing === "yes") {
    offerProof(client, invitation);
    return say("This device has answered.", "done");
  }
  if (standing === "sending") return ended(collection.resume({ onWait }));
  if (collection.closedAt) return say(`This question takes no more answers: it has closed at ${collection.closedAt}.`, "error");
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
