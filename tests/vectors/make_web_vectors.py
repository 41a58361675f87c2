"""Makes the vectors of the client for browsers: `python -m tests.vectors.make_web_vectors` from the root.

What the Python client makes of given coins (words, parts), what it charges, and what it refuses, by id: the client for
browsers must come to the same (user_client/web/test). Numbers are text where JavaScript's would not hold them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from peos.client.answering import answer
from peos.client.consent import Consent, Limits, check
from peos.client.ledger import Ledger, charge, charge_of
from peos.collection.cards import Card
from peos.collection.document import Document, MechanismChoice, digest
from peos.collection.membership import MembershipProof, verified
from peos.collection.receipts import Acknowledged, receipts
from peos.collection.replies import Answer
from peos.collection.ticket import PLACES, StudyPart, Ticket, issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import scheme
from peos.errors import PeosError
from peos.ldp import GRR, OUE, RAPPOR, SUE, UE, HadamardResponse, LocalHash, RandomMatrixProjection, SubsetSelection
from peos.ldp import from_parameters as made_of
from peos.ldp.base import Mechanism, Question
from peos.wire.documents import decode_signed_document, encode_document, sign_document
from peos.wire.parties import decode_answer, decode_invitation, encode_answer, encode_invitation, sign_card
from peos.wire.submissions import encode_membership_proof
from tests.unit.collection.made import ANALYZER, DOCUMENT, ENROLMENT, SHUFFLERS, digest_of
from tests.unit.collection.test_membership import proofs

HERE: Final = Path(__file__).parent
FILE: Final = HERE / "web.json"
FLOOR: Final = 512  # bits of the keys here
ASKED: Final = (Question(), Question(b"\x0a" * 32, "größe?", "2025-W07"))
MECHANISMS: Final[tuple[Mechanism, ...]] = (
    *(GRR(domain, epsilon) for domain, epsilon in ((2, 1e-6), (3, 0.1), (1000, 4.0), (1 << 24, 24.0))),
    *(LocalHash(domain, epsilon, cells) for domain, epsilon, cells in ((2, 1.0, 2), (100, 3.0, 7), (4000, 9.0, 65536))),
    *(
        HadamardResponse(domain, epsilon, signs)
        for domain, epsilon, signs in ((2, 1.0, 1), (100, 2.0, 4), (3000, 5.0, 12))
    ),
    *(
        SubsetSelection(domain, epsilon, size)
        for domain, epsilon, size in ((2, 1.0, 1), (100, 2.0, 30), (5000, 1.0, 3))
    ),
    RandomMatrixProjection(2, 0.3),
    RandomMatrixProjection(700, 2.0),
    *(SUE(domain, epsilon, bits) for domain, epsilon, bits in ((2, 3.0, 2), (70, 4.0, 7), (33, 8.0, 16))),
    *(UE(domain, epsilon, field_bits=bits) for domain, epsilon, bits in ((2, 1.0, 1), (70, 2.0, 5), (33, 6.0, 16))),
    OUE(40, 3.0),
    RAPPOR(50, 4.0, bits=16, hashes=2, cohorts=4),
    RAPPOR(70, 9.0, bits=61, hashes=3, cohorts=1),
)
SCHEMES: Final = ("jl", "dgk", "paillier")
PETS: Final = ("nobody", "a dog", "a cat")
NOW: Final = 1_900_000_000
A_STUDY: Final = digest_of("a study")


class Recorded(Randomness):
    """A stream that remembers what was drawn."""

    def __init__(self, label: str) -> None:
        super().__init__(digest_of(label))
        self.drawn = b""

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Draw, and remember."""
        super().fill(out)
        self.drawn += out.tobytes()


def id_of(work: Callable[[], object]) -> str:
    """The refusal's; "" if there is none."""
    try:
        work()
    except PeosError as error:
        return error.id
    return ""


def text_of(parameters: Any) -> dict[str, str]:
    """Integers as text."""
    return {name: str(value) for name, value in parameters.items()}


def randomised() -> Iterator[dict[str, Any]]:
    """What each mechanism makes of values at both ends of its domain."""
    for number, plain in enumerate(MECHANISMS):
        asked = ASKED[number % 2]
        one = made_of(plain.name, plain.domain, plain.parameters, asked)
        reports = []
        for value, turn in ((0, 0), (one.domain - 1, 1), (one.domain // 2, 2), (0, 3)):
            coins = Recorded(f"{one.name} {number} {turn}")
            words = one.randomize(np.array([value]), coins)
            reports.append({"value": value, "coins": coins.drawn.hex(), "words": [str(word) for word in words[0]]})
        yield {
            "name": one.name,
            "domain": one.domain,
            "parameters": text_of(one.parameters),
            "question": [asked.analyzer.hex(), asked.question, asked.epoch],
            "digest": one.digest.hex(),
            "epsilon": one.epsilon_local.hex(),
            "epsilon_bits": np.float64(one.epsilon_local).tobytes()[::-1].hex(),
            "cost": charge_of(one.epsilon_local),
            "support": 0.0 if one.theorem_support is None else float(one.theorem_support),
            "reports": reports,
        }


def refused_mechanisms() -> Iterator[dict[str, Any]]:
    """Descriptions with one integer wrong, and which refusal each gets."""
    seen = set()
    for plain in MECHANISMS:
        given = dict(plain.parameters)
        wrong: list[tuple[int, dict[str, int]]] = [
            (1, given),
            ((1 << 24) + 1, given),
            (plain.domain, {**given, "more": 1}),
        ]
        wrong += [(plain.domain, {**given, name: value}) for name in given for value in (0, 2**64 - 1, 3)]
        for domain, parameters in wrong:
            try:
                made_of(plain.name, domain, parameters)
                id_ = ""
            except PeosError as error:
                id_ = error.id
            key = (plain.name, domain, *sorted(parameters.items()))
            if key not in seen:
                seen.add(key)
                yield {"name": plain.name, "domain": domain, "parameters": text_of(parameters), "id": id_}
    yield {"name": "unheard of", "domain": 8, "parameters": {}, "id": "mechanism.name"}
    yield {"name": "toString", "domain": 8, "parameters": {}, "id": "mechanism.name"}


def keys() -> Iterator[dict[str, Any]]:
    """Public keys, good and bad, with the refusal of the bad ones."""
    for name in SCHEMES:
        bad = json.loads((HERE / f"{name}_bad.json").read_text(encoding="utf-8"))["public"]
        good = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["keys"]
        for case in (*bad, *({"data": key["public"], "floor": FLOOR} for key in good)):
            floor = case.get("floor", FLOOR)
            try:
                scheme(name).public_key(bytes.fromhex(case["data"]), floor=floor)
                id_ = ""
            except PeosError as error:
                id_ = error.id
            yield {"scheme": name, "data": case["data"], "floor": floor, "id": id_}


def public_key(name: str) -> bytes:
    """A scheme's key of its own vectors: not every scheme makes the same key twice."""
    kept = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["keys"]
    return bytes.fromhex(next(key["public"] for key in kept if key["bits"] == FLOOR))


def document(**changes: Any) -> Document:
    """A collection that may be answered, or one with something changed."""
    base = replace(
        DOCUMENT,
        question="Who lives with you?",
        choice=MechanismChoice.of(GRR(3, 2.0)),
        labels=PETS,
        scheme="jl",
        public_key=public_key("jl"),
        minimum=1000,
        fakes=50,
        closes_at=NOW + 100,
        shuffle_by=NOW + 200,
        erase_by=NOW + 300,
    )
    return replace(base, **changes)


def invitation(collection: bytes, identities: Sequence[Identity] = SHUFFLERS, **changes: Any) -> bytes:
    """What users are given."""
    cards = []
    for number, one in enumerate(identities, start=1):
        card = Card(
            f"shuffler {number}", one.public, f"127.0.0.1:{number}", b"peer", f"127.0.0.1:{number + 10}", b"user"
        )
        cards.append(sign_card(replace(card, **changes), one))
    return encode_invitation(collection, tuple(cards))


def ticket_of(collection: bytes, name: str) -> Ticket:
    """A ticket with its key."""
    return issue(ENROLMENT, collection, digest_of(name)[:16], Identity(digest_of(f"key of {name}")))


def in_words(ticket: Ticket) -> str:
    """A ticket as `peos enrol` writes it."""
    return f"{ticket.id.hex()}:{ticket.signature.hex()}:{ticket.key.secret.hex()}"


def submissions() -> Iterator[dict[str, Any]]:
    """Whole submissions: of every scheme, of reports of one word and of many."""
    many = MechanismChoice.of(SUE(40, 4.0))
    for name in SCHEMES:
        public = public_key(name)
        for choice, labels in ((MechanismChoice.of(GRR(3, 2.0)), PETS), (many, ())):
            asked = document(scheme=name, public_key=public, choice=choice, labels=labels)
            encoded = encode_document(asked)
            collection = digest(encoded)
            consent = Consent(collection, asked, asked.encryption(floor=FLOOR), ())
            ticket, coins = ticket_of(collection, f"user {name}"), Recorded(f"coins {name} {choice.name}")
            made = answer(consent, 1, ticket, Ledger(100_000_000), coins)
            yield {
                "signed": sign_document(asked, ANALYZER).hex(),
                "ticket": in_words(ticket),
                "value": 1,
                "coins": coins.drawn.hex(),
                "parts": [part.hex() for part in made.encoded],
                "row": made.parts[0].row.hex(),
                "asking": made.asking.hex(),
                "cost": made.cost,
            }


@contextmanager
def small_keys() -> Iterator[None]:
    """Documents with the keys of tests are read meanwhile."""
    encryption = Document.encryption
    with (
        patch("peos.client.consent.decode_signed_document", partial(decode_signed_document, floor=FLOOR)),
        patch.object(Document, "encryption", lambda document, **_: encryption(document, floor=FLOOR)),
    ):
        yield


def consents() -> Iterator[dict[str, Any]]:
    """Invitations and documents that may be answered, and those that may not, with the refusal."""
    asked = document()
    signed = sign_document(asked, ANALYZER)
    collection = digest(encode_document(asked))
    invited = invitation(collection)
    other = sign_document(document(epoch="another"), ANALYZER)
    resigned = sign_document(asked, SHUFFLERS[0])
    pins = [one.public.hex() for one in SHUFFLERS]
    good: dict[str, Any] = {
        "invitation": invited.hex(),
        "documents": [signed.hex()] * 3,
        "pins": pins,
        "limits": {"mostEpsLocal": 2.0, "leastReports": 1000, "leastFakes": 50},
        "now": NOW,
    }

    def case(name: str, **changes: Any) -> dict[str, Any]:
        return {"name": name, **good, **changes}

    def about(name: str, **changes: Any) -> dict[str, Any]:
        changed = document(**changes)
        own = invitation(digest(encode_document(changed))).hex()
        return case(name, documents=[sign_document(changed, ANALYZER).hex()] * 3, invitation=own)

    swapped, limits = (SHUFFLERS[1], SHUFFLERS[0], SHUFFLERS[2]), good["limits"]
    cases = [
        case("it may be answered"),
        case("a shuffler describes another collection", documents=[signed.hex(), other.hex(), signed.hex()]),
        case("all describe another collection", documents=[other.hex()] * 3),
        case("a document that another party signed", documents=[resigned.hex()] * 3),
        case("a last byte is missing", documents=[signed[:-1].hex()] * 3),
        case("a byte more", documents=[signed.hex(), signed.hex(), (signed + b"\x00").hex()]),
        case("nothing", documents=["", "", ""]),
        case("a shuffler is not pinned", pins=pins[:2]),
        case("one organisation twice", invitation=invitation(collection, (SHUFFLERS[0], *SHUFFLERS[:2])).hex()),
        case("shufflers in another order", invitation=invitation(collection, swapped).hex()),
        case("a card without a port for users", invitation=invitation(collection, user_address="").hex()),
        case(
            "a card whose onion key is no point",
            invitation=invitation(collection, onion_key=b"\x02" + b"\xff" * 32).hex(),
        ),
        case("an invitation with a byte more", invitation=(invited + b"\x08").hex()),
        case("two cards", invitation=invitation(collection, SHUFFLERS[:2]).hex()),
        case("too much is told", limits={**limits, "mostEpsLocal": 1.999}),
        case("too few reports", limits={**limits, "leastReports": 1001}),
        case("too few fakes", limits={**limits, "leastFakes": 51}),
        case("it has closed", now=NOW + 100),
        case("the last second", now=NOW + 99),
        about("as many reports as there may be", minimum=2**31 - 1),
        about("answers that are numbers", labels=(), choice=MechanismChoice.of(GRR(4, 1.0))),
        about("more is told than allowed by a hair", choice=MechanismChoice.of(GRR(3, 2.0000001))),
    ]
    with small_keys():
        for one in cases:
            given = one["limits"]
            limit = Limits(given["mostEpsLocal"], given["leastReports"], given["leastFakes"], ("peos",))
            trusted = [bytes.fromhex(pin) for pin in one["pins"]]
            try:
                read = decode_invitation(bytes.fromhex(one["invitation"]))
                check(read, [bytes.fromhex(data) for data in one["documents"]], trusted, limit, one["now"])
                yield {**one, "id": ""}
            except PeosError as error:
                yield {**one, "id": error.id}


def answers() -> Iterator[dict[str, Any]]:
    """What a shuffler may answer: receipts of groups of several sizes, refusals, and what is neither."""
    collection, key = digest_of("a collection"), Identity(digest_of("a user's key"))
    row = digest_of("a ticket")[:16] + digest_of("a commitment")
    own = Acknowledged(collection, row, key.public)
    others = [
        Acknowledged(collection, digest_of(f"other {n}")[:16] + digest_of(f"row {n}"), key.public) for n in range(6)
    ]
    about = {"collection": collection.hex(), "row": row.hex(), "userKey": key.public.hex()}
    about["shuffler"] = SHUFFLERS[0].public.hex()
    for place, count in ((0, 1), (0, 2), (1, 2), (2, 3), (4, 5), (3, 7), (6, 7)):
        group = [*others[:place], own, *others[place : count - 1]]
        receipt = receipts(SHUFFLERS[0], group)[place]
        taken = encode_answer(Answer(collection, row[:16], row, receipt=receipt))
        wrong = {
            "it holds": (receipt, True),
            "another place": (replace(receipt, place=(place + 1) % max(count, 2)), False),
            "another signature": (replace(receipt, signature=bytes(64)), False),
            "another number": (replace(receipt, count=count + 1), False),
            "a node more": (replace(receipt, path=(*receipt.path, bytes(32))), False),
        }
        for name, (one, holds) in wrong.items():
            encoded = encode_answer(Answer(collection, row[:16], row, receipt=one))
            yield {"name": f"{name}, {place} of {count}", "data": encoded.hex(), **about, "id": "", "holds": holds}
    refusal = encode_answer(Answer(collection, row[:16], b"", "no", "wait", True, error_id="submit.full"))
    for name, data in (
        ("cut", taken[:-1]),
        ("a byte more", taken + b"\x00"),
        ("nothing", b""),
        ("no refusal", refusal[:-14]),
    ):
        try:
            decode_answer(data)
            id_ = ""
        except PeosError as error:
            id_ = error.id
        yield {"name": name, "data": data.hex(), **about, "id": id_, "holds": False}
    yield {
        "name": "a refusal",
        "data": refusal.hex(),
        **about,
        "id": "",
        "refusal": "submit.full",
        "retry": True,
        "holds": False,
    }


def shown() -> Iterator[dict[str, Any]]:
    """What shufflers show of a report: counted, left out by one, by all, not signed, and cut."""
    whole = sorted(digest_of(f"id {number}")[:16] + digest_of(f"row {number}") for number in range(7))
    collection, row, others = digest_of("a collection"), whole[3], whole[:3] + whole[4:]

    def of(three: list[bytes], last: list[bytes] | None = None, counted: list[bytes] | None = None) -> Any:
        return proofs({1: three, 2: three, 3: three if last is None else last}, counted, row, collection)

    good, other, alone, empty, ends = of(whole), of(whole, others), of([row]), of([]), of(others[2:])
    lists = good[2].lists
    unsigned = replace(lists, frozen=replace(lists.frozen, signature=bytes(64)))
    held = lists.announcements.held
    bare = replace(lists, announcements=replace(lists.announcements, held=held[:2]))
    cases: list[dict[int, MembershipProof]] = [
        good,
        other,
        alone,
        empty,
        ends,
        {},
        {2: good[2]},
        {1: good[1], 3: other[3]},
    ]
    cases += [of(whole, counted=others), {**good, 2: replace(good[2], lists=unsigned)}]
    cases += [{**good, 2: replace(good[2], lists=bare)}, {**good, 1: replace(good[1], own=())}]
    cases += [{**other, 3: replace(other[3], own=good[3].own)}, {**other, 3: replace(other[3], own=other[3].own[:1])}]
    for shows in cases:
        found = verified(collection, row, [one.public for one in SHUFFLERS], shows)
        yield {
            "collection": collection.hex(),
            "row": row.hex(),
            "identities": [one.public.hex() for one in SHUFFLERS],
            "proofs": {who: encode_membership_proof(proof).hex() for who, proof in shows.items()},
            "counted": found.counted,
            "findings": list(found.findings),
        }


def places() -> Iterator[dict[str, Any]]:
    """Tickets that two rounds ask."""
    for part in (StudyPart(A_STUDY, 1, 0, 1 << 63), StudyPart(A_STUDY, 2, 1 << 63, PLACES), None):
        signed = sign_document(document(study=part), ANALYZER).hex()
        for number in range(6):
            ticket = digest_of(f"ticket {number}")[:16]
            yield {"signed": signed, "ticket": ticket.hex(), "asked": part is None or part.asks(ticket)}


def charges() -> Iterator[dict[str, Any]]:
    """What was answered before, and what that means for one answer more."""
    asked = document(study=StudyPart(A_STUDY, 2, 0, PLACES))
    collection, other = digest(encode_document(asked)), digest_of("another")
    consent = Consent(collection, asked, asked.encryption(floor=FLOOR), ())
    cost = charge_of(asked.mechanism.epsilon_local)
    for budget, spent, answered, in_round in (
        (cost, 0, None, None),
        (cost, 1, None, None),
        (9 * cost, cost, None, 1),
        (9 * cost, cost, collection, 2),
        (9 * cost, cost, other, None),
        (cost, cost, other, 1),
    ):
        ledger = Ledger(
            budget,
            spent,
            None if answered is None else (answered, bytes(16)),
            in_study=None if in_round is None else (other, in_round),
        )
        shown = {"budget": budget, "spent": spent, "answered": answered and answered.hex(), "round": in_round}
        id_ = id_of(partial(charge, consent, ledger))
        yield {"signed": sign_document(asked, ANALYZER).hex(), "ledger": shown, "id": id_}


def in_lines(found: dict[str, Any]) -> str:
    """Cases as JSON, one a line."""
    lines = [
        f"{json.dumps(name)}: "
        + (f"[\n{','.join(chr(10) + json.dumps(case) for case in cases)}\n]" if isinstance(cases, list) else str(cases))
        for name, cases in found.items()
    ]
    return "{" + ",\n".join(lines) + "}\n"


def rendered() -> str:
    """The file's text."""
    return in_lines(
        {
            "format": 1,
            "floor": FLOOR,
            "mechanisms": list(randomised()),
            "refused_mechanisms": list(refused_mechanisms()),
            "keys": list(keys()),
            "submissions": list(submissions()),
            "consents": list(consents()),
            "answers": list(answers()),
            "proofs": list(shown()),
            "places": list(places()),
            "charges": list(charges()),
        }
    )


if __name__ == "__main__":
    FILE.write_text(rendered(), encoding="utf-8")
