"""What a shuffler asks of a part, condition by condition, and how the parts of one submission hang together."""

import hashlib
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.collection import submission
from peos.collection.document import MechanismChoice
from peos.collection.submission import Part, Triple, Verdict, bind, check_part, judge, plain_share, submission_digest
from peos.collection.ticket import admits, mint
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.errors import RemoteFault
from peos.ldp import SUE
from tests.keys import small_key
from tests.unit.collection.made import COLLECTION, DOCUMENT, ENROLMENT, PUBLIC, digest_of, id_of, parts, shares

CIPHERTEXTS, WORDS, LAST = parts()
SIZE = PUBLIC.ciphertext_bytes
KEY = small_key(512)
N = int.from_bytes(PUBLIC.encode()[3:], "big")
PRIME = int.from_bytes(KEY.encode()[3 : 3 + 32], "big")


def check(part: Part, me: int = 2) -> Triple:
    return check_part(part, DOCUMENT, COLLECTION, PUBLIC, me)


def holding(part: Part, share: bytes) -> Part:
    """The part with another share, and the hash that belongs to it."""
    hashes = list(part.hashes)
    hashes[part.shuffler - 1] = hashlib.sha256(part.salt + share).digest()
    return replace(part, share=share, hashes=tuple(hashes))


def renamed(part: Part, id_: bytes, ticket: bytes | None = None) -> Part:
    return replace(part, id=id_, ticket=ticket or mint(ENROLMENT, COLLECTION, id_))


LENGTH = "the share has the wrong length"
TICKET = "the ticket is not valid for this collection and id"
NOT_ONE = "the encrypted share is not a ciphertext of this key"
BAD: list[tuple[str, Part, int, str]] = [
    ("another collection", replace(WORDS, collection=digest_of("x")), 2, "belongs to another collection"),
    ("another shuffler's part", LAST, 2, "the part is not the one for this shuffler"),
    ("the ciphertexts' part", CIPHERTEXTS, 3, "the part is not the one for this shuffler"),
    ("a hash too few", replace(WORDS, hashes=WORDS.hashes[:2]), 2, "one hash for each shuffler"),
    ("a hash too many", replace(WORDS, hashes=(*WORDS.hashes, bytes(32))), 2, "one hash for each shuffler"),
    ("a short hash", replace(WORDS, hashes=(bytes(31), *WORDS.hashes[1:])), 2, "hash has 31 bytes, not 32"),
    ("a hash as long as the ticket", replace(WORDS, hashes=(bytes(64), *WORDS.hashes[1:])), 2, "hash has 64 bytes"),
    ("a short id", renamed(WORDS, bytes(15)), 2, "the part's id has 15 bytes, not 16"),
    ("an id as long as a ticket", renamed(WORDS, bytes(64)), 2, "the part's id has 64 bytes, not 16"),
    ("an id as long as a hash", renamed(WORDS, bytes(32)), 2, "the part's id has 32 bytes, not 16"),
    ("a ticket as long as an id", replace(WORDS, ticket=bytes(16)), 2, "the part's ticket has 16 bytes, not 64"),
    ("a long ticket", replace(WORDS, ticket=WORDS.ticket + b"\0"), 2, "the part's ticket has 65 bytes, not 64"),
    ("no ticket", replace(WORDS, ticket=b""), 2, "the part's ticket has 0 bytes, not 64"),
    ("a salt as long as a ticket", replace(WORDS, salt=bytes(64)), 2, "the part's salt has 64 bytes, not 16"),
    ("no salt", replace(WORDS, salt=b""), 2, "the part's salt has 0 bytes, not 16"),
    ("no share", holding(WORDS, b""), 2, LENGTH),
    ("a short share", holding(WORDS, bytes(7)), 2, LENGTH),
    ("two words for one", holding(WORDS, bytes(16)), 2, LENGTH),
    ("a word for a ciphertext", holding(CIPHERTEXTS, bytes(8)), 1, LENGTH),
    ("a ciphertext for a word", holding(WORDS, CIPHERTEXTS.share), 2, LENGTH),
    ("two ciphertexts for one", holding(CIPHERTEXTS, CIPHERTEXTS.share * 2), 1, LENGTH),
    ("a share that does not match", replace(WORDS, share=bytes(8)), 2, "does not match its hash"),
    ("another part's salt", replace(WORDS, salt=LAST.salt), 2, "does not match its hash"),
    ("its hash in another place", replace(WORDS, hashes=WORDS.hashes[::-1][1:] + WORDS.hashes[:1]), 2, "its hash"),
    ("no signature at all", replace(WORDS, ticket=bytes(64)), 2, TICKET),
    ("the ticket of another id", replace(WORDS, id=id_of("another")), 2, TICKET),
    (
        "a ticket for another collection",
        replace(WORDS, ticket=mint(ENROLMENT, digest_of("x"), WORDS.id)),
        2,
        TICKET,
    ),
    ("a ticket by somebody else", replace(WORDS, ticket=mint(Identity(bytes(32)), COLLECTION, WORDS.id)), 2, TICKET),
    *[
        (f"{what} for a ciphertext", holding(CIPHERTEXTS, number.to_bytes(SIZE, "big")), 1, NOT_ONE)
        for what, number in {
            "0": 0,
            "N": N,
            "N²": N * N,
            "N² + 1": N * N + 1,
            "N² − N": N * N - N,
            "a multiple of p": 12345 * PRIME,
            "all ones": 2 ** (8 * SIZE) - 1,
        }.items()
    ],
]


def test_the_parts_of_an_honest_user_are_taken_by_their_shufflers() -> None:
    assert N % PRIME == 0
    triples = [check(part, me) for me, part in enumerate(parts(), start=1)]
    assert len(set(triples)) == 1, "every shuffler computes the same submission digest"
    assert triples[0] == Triple(WORDS.id, WORDS.ticket, submission_digest(COLLECTION, WORDS.id, WORDS.hashes))


@pytest.mark.parametrize(("part", "me", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_every_condition_on_a_part_has_its_sentence(part: Part, me: int, sentence: str) -> None:
    with pytest.raises(RemoteFault) as caught:
        check(part, me)
    assert sentence in str(caught.value)
    assert (caught.value.party, caught.value.step) == ("user", "submission")
    assert caught.value.hint, "whoever wrote the client is told what to do"
    assert not part.share or part.share.hex()[:16] not in str(caught.value)


def test_edges_of_the_ciphertexts_are_let_in() -> None:
    for number in (1, N - 1, N + 1, N * N - 1):
        check(holding(CIPHERTEXTS, number.to_bytes(SIZE, "big")), 1)


def test_every_ciphertext_of_a_report_of_several_words_is_looked_at() -> None:
    document = replace(DOCUMENT, choice=MechanismChoice.of(SUE(100, 3.0)))
    words = document.mechanism.words
    assert words > 2
    for bad in (None, *range(words)):
        rows = [bytes(SIZE) if at == bad else shares()[0] for at in range(words)]
        part = holding(CIPHERTEXTS, b"".join(rows))
        if bad is None:
            check_part(part, document, COLLECTION, PUBLIC, 1)
        else:
            with pytest.raises(RemoteFault, match=NOT_ONE):
                check_part(part, document, COLLECTION, PUBLIC, 1)


def test_a_part_that_only_the_first_shuffler_can_check_reaches_the_others_as_any_word_does() -> None:
    check(holding(WORDS, bytes(8)), 2)
    check(holding(WORDS, b"\xff" * 8), 2)


def test_what_is_stored_under_a_ticket_decides() -> None:
    first, other = check(WORDS), check(parts(rng=Randomness(b"\x04" * 32))[1])
    assert first.ticket == other.ticket
    assert judge(None, first) is Verdict.STORE
    assert judge(first, first) is Verdict.KNOWN
    assert judge(first, replace(first)) is Verdict.KNOWN
    assert judge(first, other) is Verdict.CONFLICT, "another splitting under one ticket"
    assert judge(other, first) is Verdict.CONFLICT
    assert judge(first, replace(first, id=id_of("another"))) is Verdict.CONFLICT
    assert {verdict.value for verdict in Verdict} == {"store", "known", "conflict"}


def test_every_binding_draws_its_salts_anew_so_that_hashes_show_nothing(rng: Randomness) -> None:
    bound = [bind(COLLECTION, id_of("a user"), bytes(64), shares(), rng) for _ in range(50)]
    hashes = [hash_ for parts_ in bound for hash_ in parts_[0].hashes]
    salts = [part.salt for parts_ in bound for part in parts_]
    assert max(Counter(hashes).values()) == 1, "one share under two salts has two hashes"
    assert max(Counter(salts).values()) == 1
    assert {len(salt) for salt in salts} == {16}
    unsalted = {hashlib.sha256(share).digest() for share in shares()}
    assert not unsalted & set(hashes), "whoever guesses a share could test the guess"


def test_a_part_carries_one_share_and_one_salt_and_no_other() -> None:
    for own in parts():
        others = [part for part in parts() if part.shuffler != own.shuffler]
        carried = b"".join((own.collection, own.id, own.ticket, own.salt, *own.hashes, own.share))
        assert all(other.share not in carried and other.salt not in carried for other in others)
        assert own.hashes[own.shuffler - 1] == hashlib.sha256(own.salt + own.share).digest()
        assert repr(own) == f"Part(of {own.id.hex()[:8]}… for shuffler {own.shuffler})"


def test_the_submission_digest_changes_with_each_of_its_fields() -> None:
    hashes = WORDS.hashes
    made = [
        submission_digest(COLLECTION, WORDS.id, hashes),
        submission_digest(digest_of("x"), WORDS.id, hashes),
        submission_digest(COLLECTION, id_of("x"), hashes),
        submission_digest(COLLECTION, WORDS.id, hashes[::-1]),
        *(submission_digest(COLLECTION, WORDS.id, (*hashes[:at], bytes(32), *hashes[at + 1 :])) for at in range(3)),
    ]
    assert len(set(made)) == len(made)
    assert made[0] == hashlib.sha256(COLLECTION + WORDS.id + b"".join(hashes)).digest()


@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_a_plaintext_share_is_little_endian_words(words: list[int]) -> None:
    assert plain_share(b"".join(word.to_bytes(8, "little") for word in words)).tolist() == words


def test_a_ticket_is_for_one_collection_and_one_id() -> None:
    other, id_ = digest_of("another collection"), id_of("a user")
    ticket = mint(ENROLMENT, COLLECTION, id_)
    assert admits(ENROLMENT.public, ticket, COLLECTION, id_)
    assert not admits(ENROLMENT.public, ticket, other, id_)
    assert not admits(ENROLMENT.public, ticket, COLLECTION, id_of("another user"))
    assert not admits(ENROLMENT.public, ticket, COLLECTION[:31], COLLECTION[31:] + id_), "the border counts"
    assert not admits(Identity(bytes(32)).public, ticket, COLLECTION, id_)
    assert not admits(ENROLMENT.public, ENROLMENT.sign("document", COLLECTION, id_), COLLECTION, id_)
    assert mint(ENROLMENT, COLLECTION, id_) == ticket, "one id has one ticket from an honest enrolment"


def test_shares_are_as_long_as_the_mechanism_and_the_key_say() -> None:
    assert [submission.share_bytes(DOCUMENT, PUBLIC, number) for number in (1, 2, 3)] == [SIZE, 8, 8]
