"""From what an analyst asks to a collection in draft: planned, keyed, with its dummies, signed and kept."""

import json
import time
from dataclasses import asdict, dataclass
from typing import Final

from analyzer.home import Home, pack_dummies, require_name
from analyzer.ledger import EVERYBODY, ledger_of
from analyzer.store import Kept
from analyzer.telling import Teller
from peos.collection.document import ID_BYTES, MIN_DUMMIES, Document, Dummy, MechanismChoice, digest
from peos.crypto.schemes import scheme
from peos.errors import WrongInput
from peos.privacy import Plan, plan
from peos.privacy.composition import Release
from peos.wire.documents import encode_document, sign_document
from peos.wire.parties import decode_card, encode_proposal

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

    def __post_init__(self) -> None:
        require_name(self.name)
        for what in ("closes_in", "shuffle_within", "erase_within"):
            if not 1 <= getattr(self, what) <= _MOST_SECONDS:
                raise WrongInput(
                    f"--{what.replace('_', '-')} is a number of seconds from 1 to {_MOST_SECONDS}",
                    hint="a day has 86400",
                )

    def encode(self) -> str:
        """As the store keeps it."""
        fields = asdict(self)
        if not self.population:
            del fields["population"]  # a request that names none is the one that it was before there were any
        return json.dumps(fields, sort_keys=True)


def draft(home: Home, request: Request, teller: Teller) -> Kept:
    """The collection of that name: as it is kept, or made now."""
    known = home.store.named(request.name)
    if known is not None:
        if known.request != request.encode():
            raise WrongInput(
                f"a collection {request.name} was created with other parameters",
                hint="choose another name, or give the same parameters to go on with it",
            )
        return known
    signed_cards = home.config.signed_cards()
    planned = _plan(request, len(signed_cards))
    if home.config.budget is not None:
        given = ledger_of(home, request.population, home.config.budget)
        given.with_release(Release(request.name, planned.randomizer, request.users - 1, planned.fakes))
    teller.say("drawing an encryption key")
    private = scheme(request.scheme).generate(home.rng, bits=home.floor)
    words = planned.randomizer.words
    dummies = [
        Dummy(home.rng.bytes(_SALT_BYTES), home.rng.bytes(ID_BYTES), home.rng.uint64(words)) for _ in range(MIN_DUMMIES)
    ]
    document = _document(home, request, planned, private.public.encode(), dummies, signed_cards)
    signed = sign_document(document, home.keys.identity)
    label = request.name.encode()
    home.store.add(
        digest=digest(encode_document(document)),
        name=request.name,
        request=request.encode(),
        words="\n".join(planned.guarantees.in_words()),
        proposal=encode_proposal(signed, (*signed_cards, home.keys.signed_card)),
        key=home.keys.vault.seal("key", label, content=private.encode()),
        dummies=home.keys.vault.seal("dummies", label, content=pack_dummies(dummies)),
    )
    return home.kept(request.name)


def _plan(request: Request, shufflers: int) -> Plan:
    return plan(
        request.users,
        request.domain,
        request.delta,
        eps_server=request.eps_server,
        eps_users=request.eps_users,
        eps_local=request.eps_local,
        fakes=request.fakes,
        mechanism=request.mechanism,
        d_prime=request.d_prime,
        shufflers=shufflers,
        scheme=request.scheme,
    )


def _document(
    home: Home,
    request: Request,
    planned: Plan,
    public_key: bytes,
    dummies: list[Dummy],
    signed_cards: tuple[bytes, ...],
) -> Document:
    closes_at = int(time.time()) + request.closes_in
    shuffle_by = closes_at + request.shuffle_within
    return Document(
        question=request.question,
        epoch=request.epoch,
        choice=MechanismChoice.of(planned.randomizer),  # salted with analyzer, question and epoch by the document
        scheme=request.scheme,
        public_key=public_key,
        shufflers=tuple(decode_card(card).member for card in signed_cards),
        analyzer=home.keys.card.member,
        fakes=planned.fakes,
        minimum=request.minimum if request.minimum is not None else max(1, request.users // 2),
        delta=request.delta,
        enrolment_key=home.keys.enrolment.public,
        dummies=tuple(dummy.commitment for dummy in dummies),
        closes_at=closes_at,
        shuffle_by=shuffle_by,
        erase_by=shuffle_by + request.erase_within,
    )
