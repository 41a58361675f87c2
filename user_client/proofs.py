"""Asking whether reports were counted, and whom to ask if not: every shuffler shows the row in the lists it signed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peos.collection.cards import Card, Invitation, party
from peos.collection.membership import MembershipProof, MembershipRequest, verified
from peos.errors import PeosError
from peos.net.submit import prove
from user_client.store import Submitted


@dataclass(frozen=True)
class Checked:
    """The check of one report: whether it was counted (None: unproved), and the findings."""

    row: bytes
    counted: bool | None
    findings: tuple[str, ...]


def check(invitation: Invitation, submitted: Sequence[Submitted], root: bytes | None) -> list[Checked]:
    """Ask each shuffler that acknowledged; one that does not answer is named."""
    proofs: dict[bytes, dict[int, MembershipProof]] = {one.row: {} for one in submitted}
    troubles: dict[int, str] = {}
    for number, card in enumerate(invitation.shufflers, start=1):
        known = [one for one in submitted if number in one.receipts]
        try:
            shown = prove(number, card, [_request(invitation.collection, one, number) for one in known])
        except PeosError as error:
            troubles[number] = f"{error}: ask its operator"
            continue
        for one, proof in zip(known, shown, strict=True):
            proofs[one.row][number] = proof
    return [_checked(invitation, one, proofs[one.row], troubles, root) for one in submitted]


def _request(collection: bytes, one: Submitted, number: int) -> MembershipRequest:
    return MembershipRequest(collection, one.row, one.user_key, one.receipts[number], one.asking)


def _checked(
    invitation: Invitation,
    one: Submitted,
    proofs: Mapping[int, MembershipProof],
    troubles: Mapping[int, str],
    root: bytes | None,
) -> Checked:
    cards = invitation.shufflers
    found = verified(invitation.collection, one.row, [card.identity for card in cards], proofs)
    told = [_named(sentence, cards) for sentence in found.findings]
    told += [troubles[number] for number in sorted(troubles) if number in one.receipts]
    told += [
        f"{party(number, card)} never acknowledged it: send it again while the collection is open"
        for number, card in enumerate(cards, start=1)
        if number not in one.receipts
    ]
    if root is not None and any(proof.lists.root != root for proof in proofs.values()):
        told.append("the published result is of another list than the shufflers signed: ask the analyzer")
    return Checked(one.row, found.counted, tuple(told))


def _named(sentence: str, cards: Sequence[Card]) -> str:
    for number, card in enumerate(cards, start=1):
        sentence = sentence.replace(f"shuffler {number} ", f"{party(number, card)} ", 1)
    return f"{sentence}: ask its operator, and show what it signed"
