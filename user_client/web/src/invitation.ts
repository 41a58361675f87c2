/** What a user is given: the collection's digest, and the shufflers' signed cards (peos.wire.parties). */
import { type Bytes, DIGEST_BYTES } from "./bytes.js";
import { MAX_SHUFFLERS, MIN_SHUFFLERS, TEXT_LIMIT } from "./document.js";
import { PUBLIC_BYTES, SIGNATURE_BYTES, verifies } from "./ed25519.js";
import { PeosError } from "./errors.js";
import { type Card, CardSchema, InvitationSchema, SignedCardSchema } from "./generated/peos/v1/services_pb.js";
import { characters, plainText } from "./labels.js";
import { isPoint } from "./points.js";
import { exactly, parse, within } from "./strict.js";

const CERTIFICATE_LIMIT = 4096;

export interface Invitation {
  readonly collection: Bytes;
  readonly shufflers: readonly Card[];
}

/** How sentences name a shuffler. */
export function party(number: number, card: { name: string }): string {
  return `shuffler ${number} (${plainText(card.name)})`;
}

export async function decodeInvitation(data: Uint8Array): Promise<Invitation> {
  const message = parse(InvitationSchema, data);
  within(message.cards.length, MIN_SHUFFLERS, MAX_SHUFFLERS, "the number of an invitation's cards");
  const shufflers = await Promise.all(message.cards.map(decodeCard));
  if (shufflers.some((card) => !card.userAddress || !card.userCertificate.length))
    throw new PeosError("card.no_user_port", "an invitation names a shuffler without a port for users");
  return { collection: exactly(message.collection, DIGEST_BYTES, "an invitation's collection"), shufflers };
}

async function decodeCard(data: Uint8Array): Promise<Card> {
  const signed = parse(SignedCardSchema, data);
  const card = parse(CardSchema, signed.card);
  exactly(card.identity, PUBLIC_BYTES, "a card's identity");
  exactly(signed.signature, SIGNATURE_BYTES, "a card's signature");
  if (!(await verifies(card.identity, signed.signature, "card", signed.card)))
    throw new PeosError("card.signature", "a card is not signed by its own identity");
  within(characters(card.name), 1, TEXT_LIMIT, "the length of a card's name");
  for (const address of [card.peerAddress, card.userAddress])
    within(characters(address), 0, TEXT_LIMIT, "the length of a card's address");
  within(card.peerCertificate.length, 1, CERTIFICATE_LIMIT, "the length of a peer certificate");
  within(card.userCertificate.length, 0, CERTIFICATE_LIMIT, "the length of a user certificate");
  if (card.onionKey.length && !isPoint(card.onionKey))
    throw new PeosError("key.onion_public", "an onion key is not a compressed point of P-256");
  return card;
}
