"""What must hold before a user answers: the same document from every shuffler, by organisations and limits of hers.

Nothing that she could be linked by is sent before all of it holds: asking for a document shows a shuffler only which
collection is asked about.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from peos.collection.cards import Card, Invitation, check_shufflers_keys, party
from peos.collection.document import Document
from peos.collection.receipts import Acknowledged, Receipt
from peos.errors import BadEncoding, Refused, RemoteFault, WrongInput
from peos.protocols import Encryption
from peos.tasks.cell_views import require_allowed
from peos.tasks.views import View
from peos.wire.documents import SignedDocument, decode_signed_document

_STEP: Final = "document"


@dataclass(frozen=True)
class Limits:
    """The least protection with which a user answers."""

    most_eps_local: float
    least_reports: int
    least_fakes: int
    protocols: tuple[str, ...]
    views: tuple[str, ...] | None = None  # kinds of what may be asked of her record; None: all that are known
    attributes: tuple[str, ...] | None = None  # of her record, that may be asked for; None: all
    most_cells: int | None = None  # of a table of attributes


@dataclass(frozen=True)
class Consent:
    """A collection that passed every check, and how to reach its shufflers."""

    digest: bytes
    document: Document
    encryption: Encryption
    cards: tuple[Card, ...]
    catalogue: bytes | None = None  # the file that came with the invitation, where the document names one
    closed_at: str = ""  # the first shuffler that says that it takes no new answers

    @cached_property
    def views(self) -> tuple[View, ...]:
        """What is asked of her record, with the texts of the catalogue."""
        asked = self.document.asked
        if not any(choice.catalogue for choice in self.document.views):
            return asked
        if self.catalogue is None:
            raise WrongInput(
                "view.no_catalogue",
                "the collection asks by a catalogue, and there is none next to the invitation",
                hint="fetch the file that the analyzer gave out with the invitation, and name it by --catalogue",
            )
        return tuple(view.listing(self.catalogue) for view in asked)


def check(
    invitation: Invitation,
    documents: Sequence[bytes],
    pins: Collection[bytes],
    limits: Limits,
    now: float,
    catalogue: bytes | None = None,
    closed_at: str = "",
) -> Consent:
    """The collection that she may answer, by the document that each shuffler of the invitation gives; or why not.

    An analyzer's own document could name itself r times: hence the pins. Shufflers could give different users
    different documents: hence every shuffler is asked, and the bytes are compared (protocol.md §6.3). That it has
    `closed_at` a shuffler may be a lie: what she has not answered yet she does not answer, and may answer later.
    """
    require_pinned(invitation, pins)
    signed = _described(1, invitation.shufflers[0], documents[0], invitation.collection)
    for number, (card, data) in enumerate(zip(invitation.shufflers, documents, strict=True), start=1):
        if data != documents[0]:
            _described(number, card, data, invitation.collection)
            raise RemoteFault(
                "consent.signature",
                "sent a different signature of the document",
                party=party(number, card),
                step=_STEP,
                hint="nothing was sent; tell the organisations, whose documents must be the same",
            )
    document = signed.document
    _require_named(document, invitation)
    check_shufflers_keys(document, invitation.shufflers)
    _require_limits(document, limits)
    require_open(document, now)
    consent = Consent(signed.digest, document, document.encryption(), invitation.shufflers, catalogue, closed_at)
    _require_views(consent.views, limits)
    return consent


def require_open(document: Document, now: float) -> None:
    """Refuse a collection that has closed."""
    if now >= document.closes_at:
        raise Refused(
            "consent.closed",
            f"the collection closed {document.closing(now)}",
            hint="nothing was sent; wait for another invitation, or set the clock if it is wrong",
        )


def require_pinned(invitation: Invitation, pins: Collection[bytes]) -> None:
    """Refuse shufflers that she does not trust, or that are one and the same."""
    identities = [card.identity for card in invitation.shufflers]
    if len(set(identities)) < len(identities):
        raise Refused(
            "consent.same_organisation",
            "two shufflers of the invitation have the same identity: they are one organisation",
            hint="do not answer; ask the analyzer who shuffles",
        )
    for number, card in enumerate(invitation.shufflers, start=1):
        if card.identity not in pins:
            raise Refused(
                "consent.untrusted",
                f"{party(number, card)} of the invitation is not among the organisations that you trust to shuffle",
                hint=f"its identity is {card.identity.hex()}; add it to `shufflers` only if the organisation says so",
            )


def was_pinned(card: Card, acknowledged: Iterable[tuple[Acknowledged, Receipt]]) -> bool:
    """Whether she pinned this identity when she answered, by the receipts of hers that she kept, whatever she pins now.

    A receipt is kept only if it holds under a pinned identity, and it holds under no other: an organisation that has
    drawn new keys since is known by its earlier ones, and an identity that she never pinned has no receipt to show.
    """
    return any(receipt.holds(card.identity, about) for about, receipt in acknowledged)


def _described(number: int, card: Card, data: bytes, collection: bytes) -> SignedDocument:
    who = party(number, card)
    try:
        found = decode_signed_document(data)
    except BadEncoding as bad:
        raise RemoteFault(
            "consent.document", f"sent an invalid document: {bad}", party=who, step=_STEP, hint=bad.hint
        ) from None
    if found.digest != collection:
        raise RemoteFault(
            "consent.other_document",
            "describes another collection than the invitation",
            party=who,
            step=_STEP,
            hint="nothing was sent; fetch the invitation again, and if the error persists, tell the organisations",
        )
    return found


def _require_named(document: Document, invitation: Invitation) -> None:
    named = [member.identity for member in document.shufflers]
    if named != [card.identity for card in invitation.shufflers]:
        raise Refused(
            "consent.shufflers",
            "the invitation's shufflers are not those of the document, in their order",
            hint="nothing was sent; fetch the invitation again",
        )


def _require_limits(document: Document, limits: Limits) -> None:
    if document.protocol.name not in limits.protocols:
        said = f"its protocol is {document.protocol.name}, you answer by {' or '.join(limits.protocols)}"
        raise _beyond("consent.protocol", said, "protocols")
    epsilon = document.mechanism.epsilon_local
    if epsilon > limits.most_eps_local:
        raise _beyond(
            "consent.eps_local",
            f"its ε_l is {epsilon:.6g}, your limit is {limits.most_eps_local:.6g}",
            "most_eps_local",
        )
    if document.minimum < limits.least_reports:
        raise _beyond(
            "consent.reports",
            f"it may be shuffled with {document.minimum} reports, you ask for {limits.least_reports}",
            "least_reports",
        )
    if document.fakes < limits.least_fakes:
        raise _beyond(
            "consent.fakes", f"it has {document.fakes} fakes, you ask for {limits.least_fakes}", "least_fakes"
        )


def _require_views(views: Sequence[View], limits: Limits) -> None:
    others = {view.kind: None for view in views if limits.views is not None and view.kind not in limits.views}
    if others:
        asked = f"it asks for {' and '.join(others)}, you answer {' and '.join(limits.views or ())}"
        raise _beyond("consent.views", asked, "views")
    tables = [view for view in views if hasattr(view, "names")]
    require_allowed(tables, allowed=limits.attributes, most_cells=limits.most_cells)


def _beyond(id_: str, sentence: str, key: str) -> Refused:
    hint = f"nothing was sent; the limit is `{key}` of client.toml"
    return Refused(id_, f"the collection is beyond your limits: {sentence}", hint=hint)
