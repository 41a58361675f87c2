"""Organisations as others know them: a card with keys and addresses, signed by its own identity.

A card's addresses and certificates are worth as much as the identity that signed it: users pin identities, documents
name them together with the fingerprint of the peer certificate.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from peos.collection.document import Document, Member
from peos.errors import RemoteFault

_TEXT: Final = 300  # characters


@dataclass(frozen=True)
class Card:
    """How to reach and to recognise one organisation. Certificates are DER; an analyzer has no user port."""

    name: str
    identity: bytes
    peer_address: str
    peer_certificate: bytes
    user_address: str = ""
    user_certificate: bytes = b""
    onion_key: bytes = b""  # a shuffler's

    @property
    def is_shuffler(self) -> bool:
        """Whether users submit to it; an analyzer has no port for them."""
        return bool(self.user_address and self.user_certificate)

    @property
    def member(self) -> Member:
        """The organisation as a document names it."""
        return Member(self.name, self.identity, hashlib.sha256(self.peer_certificate).digest())


@dataclass(frozen=True)
class Invitation:
    """What a user is given: the collection's digest, and the shufflers' cards in their order."""

    collection: bytes
    shufflers: tuple[Card, ...]


def party(number: int, card: Card) -> str:
    """How sentences name a shuffler."""
    return f"shuffler {number} ({plain_text(card.name)})" if number else f"shuffler {plain_text(card.name)}"


def plain_text(text: str) -> str:
    """What another party says, fit for a terminal: one line, printable, not long."""
    line = " ".join(text.split())
    return "".join(character if character.isprintable() else "?" for character in line)[:_TEXT]


def check_roster(document: Document, cards: tuple[Card, ...]) -> None:
    """The cards must be the document's organisations: its shufflers in order, then its analyzer."""
    named = (*document.shufflers, document.analyzer)
    if len(cards) != len(named):
        raise RemoteFault(
            "proposal.cards",
            f"{len(cards)} cards came for {len(named)} organisations",
            party="analyzer",
            step="proposal",
        )
    for card, member in zip(cards, named, strict=True):
        if card.member != member:
            raise RemoteFault(
                "proposal.card", f"the card of {member.name} is not the one that the document names", party="analyzer"
            )
    check_shufflers_keys(document, cards[:-1])


def check_shufflers_keys(document: Document, cards: tuple[Card, ...]) -> None:
    """Where the document has a key in each shuffler's place, it must be the one on its card."""
    for number, card in enumerate(cards, start=1):
        if not document.protocol.is_own_key(document, number, card.onion_key):
            raise RemoteFault(
                "proposal.onion_key",
                f"the document's onion key of {card.name} is not the one of its card",
                party="analyzer",
                hint="its operator may have generated new keys; the analyzer needs the current card",
            )
