"""From what an analyst asks to a collection in draft: planned, keyed, with its dummies, signed and kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from analyzer.ledger import require_affordable
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace, pack_dummies
from peos.cli.progress import Progress
from peos.collection.document import Document, Dummy, MechanismChoice, digest
from peos.collection.dummies import Spread, require_sure
from peos.collection.ticket import StudyPart, draw_id
from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.privacy.composition import Release
from peos.privacy.guarantees import rounded_up
from peos.protocols import ShuffleProtocol, protocol_named
from peos.spec import CollectionSpec, Terms
from peos.tasks.views import ViewChoice
from peos.wire.documents import encode_document, sign_document
from peos.wire.parties import decode_card, encode_proposal

if TYPE_CHECKING:
    from peos.privacy import Plan

_SALT_BYTES: Final = 32


@dataclass(frozen=True)
class Contents:
    """What is asked, and how it is randomised: of a spec as it is planned, or of a round as its task has it."""

    mechanism: Mechanism
    fakes: int
    labels: tuple[str, ...] = ()
    views: tuple[ViewChoice, ...] = ()
    study: StudyPart | None = None
    study_name: str | None = None


def draft(workspace: Workspace, spec: CollectionSpec, progress: Progress) -> CollectionRow:
    """The collection of that name: as it is kept, or made now."""

    return drafted(workspace, spec, progress, lambda shufflers: _contents(spec, spec.plan(shufflers)))


def preview(workspace: Workspace, spec: CollectionSpec) -> "Plan":
    """What a collection of that spec would be, or why it would be refused; nothing is kept of it."""
    _as_kept(workspace, spec)
    found = spec.plan(len(workspace.config.signed_cards()))
    _require_affordable(workspace, spec, _contents(spec, found))
    return found


def _contents(spec: CollectionSpec, found: "Plan") -> Contents:
    return Contents(found.randomizer, found.fakes, labels=spec.labels)


def drafted(workspace: Workspace, spec: Terms, progress: Progress, planned: Callable[[int], Contents]) -> CollectionRow:
    """The same of whatever is asked, which is planned for so many shufflers."""
    known = _as_kept(workspace, spec)
    if known is not None:
        return known
    signed_cards = workspace.config.signed_cards()
    asked = planned(len(signed_cards))
    require_sure(spec.users, spec.least)
    _require_affordable(workspace, spec, asked)
    protocol = protocol_named(spec.protocol)
    if protocol.weaker:
        progress.say(protocol.weaker)
    progress.say("drawing an encryption key")
    private, encryption = _encryption(workspace, protocol, protocol.scheme(spec.scheme), signed_cards)
    words = asked.mechanism.words
    dummies = [
        Dummy(workspace.rng.bytes(_SALT_BYTES), draw_id(workspace.rng, asked.study), workspace.rng.uint64(words))
        for _ in range(Spread(spec.users, spec.least).dummies)
    ]
    document = _document(workspace, spec, asked, encryption, dummies, signed_cards)
    signed = sign_document(document, workspace.keys.identity)
    label = spec.name.encode()
    workspace.store.add(
        digest=digest(encode_document(document)),
        name=spec.name,
        request=spec.encode(),
        words="\n".join(_planned(document, spec.users)),
        proposal=encode_proposal(signed, (*signed_cards, workspace.keys.signed_card)),
        key=workspace.keys.vault.seal("key", label, content=private),
        dummies=workspace.keys.vault.seal("dummies", label, content=pack_dummies(dummies)),
        study=asked.study_name,
    )
    return workspace.kept(spec.name)


def _as_kept(workspace: Workspace, spec: Terms) -> CollectionRow | None:
    """The collection of that name, which must be the one that is asked for; nothing if there is none."""
    known = workspace.store.named(spec.name)
    if known is not None and known.request != spec.encode():
        raise WrongInput(
            "collection.other_parameters",
            f"a collection {spec.name} was created with other parameters",
            hint="choose another name, or give the same parameters to go on with it",
        )
    return known


def _require_affordable(workspace: Workspace, spec: Terms, asked: Contents) -> None:
    if workspace.config.budget is not None:
        least = max(0, spec.least - 1)
        release = Release(spec.name, asked.mechanism, least, asked.fakes, least)
        named = asked.study_name or spec.name
        require_affordable(workspace, spec.population, named, [release], workspace.config.budget)


def _planned(document: Document, users: int) -> tuple[str, ...]:
    """Guarantees for the expected number of users; and for the minimum, which budgets count."""
    least = document.claims(document.minimum).server
    few = (
        f"This is for the {users:,} users who are expected. With no more than the minimum of {document.minimum:,} it "
        f"would be ε_c = {rounded_up(least.epsilon)}, and that is what a budget counts until there is a result. "
        f"With {Spread(users, document.minimum).full:,} users it is full, and closes by itself."
    )
    return (*document.claims(users).in_words(), few)


def _encryption(
    workspace: Workspace, protocol: ShuffleProtocol, scheme: str, signed_cards: tuple[bytes, ...]
) -> tuple[bytes, dict[str, Any]]:
    """The analyzer's private key for this collection, and what the document says of encryption."""
    keys = protocol.shufflers_keys([(card.name, card.onion_key) for card in map(decode_card, signed_cards)])
    private = protocol.generate(scheme, workspace.rng, bits=workspace.floor)
    named, public = protocol.public_part(private)
    return private.encode(), {"scheme": named, "public_key": public, "protocol": protocol, "onion_keys": keys}


def _document(
    workspace: Workspace,
    spec: Terms,
    asked: Contents,
    encryption: dict[str, Any],
    dummies: list[Dummy],
    signed_cards: tuple[bytes, ...],
) -> Document:
    closes_at = int(time.time()) + spec.closes_in
    shuffle_by = closes_at + spec.shuffle_within
    return Document(
        question=spec.question,
        epoch=spec.epoch,
        labels=asked.labels,
        views=asked.views,
        study=asked.study,
        choice=MechanismChoice.of(asked.mechanism),  # salted with analyzer, question and epoch by the document
        **encryption,
        shufflers=tuple(decode_card(card).member for card in signed_cards),
        analyzer=workspace.keys.card.member,
        fakes=encryption["protocol"].fakes_for(spec.fakes, asked.fakes, len(signed_cards)),
        minimum=spec.least,
        delta=spec.delta,
        enrolment_key=workspace.keys.enrolment.public,
        dummies=tuple(dummy.commitment for dummy in dummies),
        closes_at=closes_at,
        shuffle_by=shuffle_by,
        erase_by=shuffle_by + spec.erase_within,
    )
