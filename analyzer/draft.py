"""From what an analyst asks to a collection in draft: planned, keyed, with its dummies, signed and kept."""

import json
import time
from dataclasses import asdict, dataclass
from typing import Any, Final

from analyzer.home import Home, pack_dummies, require_name
from analyzer.ledger import EVERYBODY, ledger_of
from analyzer.store import Kept
from analyzer.telling import Teller
from peos.collection.claims import claims_of
from peos.collection.document import (
    ID_BYTES,
    MIN_DUMMIES,
    Document,
    Dummy,
    MechanismChoice,
    digest,
)
from peos.errors import WrongInput
from peos.privacy import Plan, plan
from peos.privacy.composition import Release
from peos.privacy.guarantees import rounded_up
from peos.protocols import DEFAULT, ShuffleProtocol, protocol_named
from peos.wire.documents import encode_document, sign_document
from peos.wire.parties import decode_card, encode_proposal

_EXACT: Final = "exact"
_SALT_BYTES: Final = 32
_MOST_SECONDS: Final = 10 * 365 * 86_400


@dataclass(frozen=True)
class Request:
    """What is asked for. The same request again continues; another one under the same name is refused."""

    name: str
    question: str
    epoch: str
    domain: int
    users: int
    delta: float
    eps_server: float | None
    eps_users: float | None
    eps_local: float | None
    fakes: str
    mechanism: str
    d_prime: int | None
    minimum: int | None
    scheme: str
    closes_in: int
    shuffle_within: int
    erase_within: int
    population: str = EVERYBODY
    protocol: str = DEFAULT.name
    accounting: str = _EXACT

    def __post_init__(self) -> None:
        require_name(self.name)
        protocol_named(self.protocol)
        for what in ("closes_in", "shuffle_within", "erase_within"):
            if not 1 <= getattr(self, what) <= _MOST_SECONDS:
                raise WrongInput(
                    "input.seconds",
                    f"--{what.replace('_', '-')} is a number of seconds from 1 to {_MOST_SECONDS}",
                    hint="a day has 86400",
                )

    def encode(self) -> str:
        """As the store keeps it."""
        fields = asdict(self)
        if not self.population:
            del fields["population"]  # a request that names none is the one that it was before there were any
        if self.protocol == DEFAULT.name:
            del fields["protocol"]  # likewise
        if self.accounting == _EXACT:
            del fields["accounting"]
        return json.dumps(fields, sort_keys=True)


def draft(home: Home, request: Request, teller: Teller) -> Kept:
    """The collection of that name: as it is kept, or made now."""
    known = home.store.named(request.name)
    if known is not None:
        if known.request != request.encode():
            raise WrongInput(
                "collection.other_parameters",
                f"a collection {request.name} was created with other parameters",
                hint="choose another name, or give the same parameters to go on with it",
            )
        return known
    signed_cards = home.config.signed_cards()
    planned = _plan(request, len(signed_cards))
    if home.config.budget is not None:
        given = ledger_of(home, request.population, home.config.budget)
        least = max(0, _minimum(request) - 1)
        given.with_release(Release(request.name, planned.randomizer, least, planned.fakes, least))
    protocol = protocol_named(request.protocol)
    if protocol.weaker:
        teller.say(protocol.weaker)
    teller.say("drawing an encryption key")
    private, encryption = _encryption(home, protocol, request.scheme, signed_cards)
    words = planned.randomizer.words
    dummies = [
        Dummy(home.rng.bytes(_SALT_BYTES), home.rng.bytes(ID_BYTES), home.rng.uint64(words)) for _ in range(MIN_DUMMIES)
    ]
    document = _document(home, request, planned, encryption, dummies, signed_cards)
    signed = sign_document(document, home.keys.identity)
    label = request.name.encode()
    home.store.add(
        digest=digest(encode_document(document)),
        name=request.name,
        request=request.encode(),
        words="\n".join(_planned(document, request.users)),
        proposal=encode_proposal(signed, (*signed_cards, home.keys.signed_card)),
        key=home.keys.vault.seal("key", label, content=private),
        dummies=home.keys.vault.seal("dummies", label, content=pack_dummies(dummies)),
    )
    return home.kept(request.name)


def _plan(request: Request, shufflers: int) -> Plan:
    protocol = protocol_named(request.protocol)
    return plan(
        request.users,
        request.domain,
        request.delta,
        eps_server=request.eps_server,
        eps_users=request.eps_users,
        eps_local=request.eps_local,
        fakes=protocol.plans_with(request.fakes, shufflers),
        mechanism=request.mechanism,
        d_prime=request.d_prime,
        shufflers=shufflers,
        scheme=protocol.priced_as(request.scheme),
        accounting=request.accounting,
    )


def _planned(document: Document, users: int) -> tuple[str, ...]:
    """What is guaranteed if as many take part as are expected; and with the fewest allowed, which budgets count."""
    least = claims_of(document, document.minimum).server
    few = (
        f"This is for the {users:,} users who are expected. With no more than the minimum of {document.minimum:,} it "
        f"would be ε_c = {rounded_up(least.epsilon)}, and that is what a budget counts until there is a result."
    )
    return (*claims_of(document, users).in_words(), few)


def _minimum(request: Request) -> int:
    """The fewest users that are shuffled: so many are sure to hide each other, and no more."""
    return request.minimum if request.minimum is not None else max(1, request.users // 2)


def _encryption(
    home: Home, protocol: ShuffleProtocol, scheme: str, signed_cards: tuple[bytes, ...]
) -> tuple[bytes, dict[str, Any]]:
    """The analyzer's private key for this collection, and what the document says of encryption."""
    keys = protocol.shufflers_keys([(card.name, card.onion_key) for card in map(decode_card, signed_cards)])
    private = protocol.generate(scheme, home.rng, bits=home.floor)
    named, public = protocol.public_part(private)
    return private.encode(), {"scheme": named, "public_key": public, "protocol": protocol, "onion_keys": keys}


def _document(
    home: Home,
    request: Request,
    planned: Plan,
    encryption: dict[str, Any],
    dummies: list[Dummy],
    signed_cards: tuple[bytes, ...],
) -> Document:
    closes_at = int(time.time()) + request.closes_in
    shuffle_by = closes_at + request.shuffle_within
    return Document(
        question=request.question,
        epoch=request.epoch,
        choice=MechanismChoice.of(planned.randomizer),  # salted with analyzer, question and epoch by the document
        **encryption,
        shufflers=tuple(decode_card(card).member for card in signed_cards),
        analyzer=home.keys.card.member,
        fakes=encryption["protocol"].fakes_for(request.fakes, planned.fakes, len(signed_cards)),
        minimum=_minimum(request),
        delta=request.delta,
        enrolment_key=home.keys.enrolment.public,
        dummies=tuple(dummy.commitment for dummy in dummies),
        closes_at=closes_at,
        shuffle_by=shuffle_by,
        erase_by=shuffle_by + request.erase_within,
    )
