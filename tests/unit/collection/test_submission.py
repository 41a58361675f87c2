"""What a shuffler asks of a part, condition by condition, and how the parts of one submission hang together."""

import hashlib
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peos.collection.document import MechanismChoice
from peos.collection.submission import Part, Verdict, bind, check_part, judge, plain_share, submission_digest
from peos.collection.ticket import admits, mint
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.errors import RemoteFault
from peos.ldp import SUE
from tests.keys import small_key
from tests.raising import raises
from tests.unit.collection.made import (
    COLLECTION,
    DOCUMENT,
    ENCRYPTION,
    ENROLMENT,
    PUBLIC,
    digest_of,
    id_of,
    parts,
    shares,
    ticket,
)

CIPHERTEXTS, WORDS, LAST = parts()
USER = ticket("a user").key
OTHER = Identity(b"\x0f" * 32)
SIZE = PUBLIC.ciphertext_bytes
KEY = small_key(512)
N = int.from_bytes(PUBLIC.encode()[3:], "big")
PRIME = int.from_bytes(KEY.encode()[3 : 3 + 32], "big")


def check(part: Part, me: int = 2) -> bytes:
    return check_part(part, DOCUMENT, COLLECTION, ENCRYPTION, me)


def holding(part: Part, share: bytes) -> Part:
    """The part with another share, and the hash that belongs to it."""
    hashes = list(part.hashes)
    hashes[part.shuffler - 1] = hashlib.sha256(part.salt + share).digest()
    return signed(replace(part, share=share, hashes=tuple(hashes)))


def signed(part: Part, by: Identity | None = None) -> Part:
    """The part with the user's signature under what it is now."""
    return replace(part, signature=(by or USER).sign("submission", part.digest))


def renamed(part: Part, id_: bytes, ticket: bytes | None = None) -> Part:
    return signed(replace(part, id=id_, ticket=ticket or mint(ENROLMENT, COLLECTION, id_, USER.public)))


LENGTH = "the share has the wrong length"
TICKET = "the ticket is not valid for this collection, id and user key"
UNSIGNED = "the submission is not signed by the ticket's user key"
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
        replace(WORDS, ticket=mint(ENROLMENT, digest_of("x"), WORDS.id, USER.public)),
        2,
        TICKET,
    ),
    (
        "a ticket by another key",
        replace(WORDS, ticket=mint(Identity(bytes(32)), COLLECTION, WORDS.id, USER.public)),
        2,
        TICKET,
    ),
    ("a user key of 31 bytes", replace(WORDS, user_key=bytes(31)), 2, "the part's user key has 31 bytes, not 32"),
    ("a signature of 63 bytes", replace(WORDS, signature=bytes(63)), 2, "the part's signature has 63 bytes, not 64"),
    ("another's key", signed(replace(WORDS, user_key=OTHER.public), OTHER), 2, TICKET),
    ("another's signature", signed(WORDS, OTHER), 2, UNSIGNED),
    ("no user's signature", replace(WORDS, signature=bytes(64)), 2, UNSIGNED),
    ("a signature under another label", replace(WORDS, signature=USER.sign("ticket", WORDS.digest)), 2, UNSIGNED),
    (
        "other hashes under her signature",
        replace(WORDS, hashes=(bytes(32), *WORDS.hashes[1:])),
        2,
        UNSIGNED,
    ),
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
    rows = [check(part, me) for me, part in enumerate(parts(), start=1)]
    assert len(set(rows)) == 1, "every shuffler computes the same row"
    submitted = submission_digest(COLLECTION, WORDS.id, WORDS.hashes)
    assert rows[0] == WORDS.id + hashlib.sha256(b"row" + WORDS.ticket + USER.public + submitted).digest()


@pytest.mark.parametrize(("part", "me", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_every_condition_on_a_part_has_its_sentence(part: Part, me: int, sentence: str) -> None:
    with pytest.raises(RemoteFault) as caught:
        check(part, me)
    assert sentence in str(caught.value)
    assert (caught.value.party, caught.value.step) == ("user", "submission")
    assert caught.value.hint, "the client's author reads what to do"
    assert not part.share or part.share.hex()[:16] not in str(caught.value)


def test_edges_of_the_ciphertexts_are_let_in() -> None:
    for number in (1, N - 1, N + 1, N * N - 1):
        check(holding(CIPHERTEXTS, number.to_bytes(SIZE, "big")), 1)


def test_every_ciphertext_of_a_report_of_several_words_is_looked_at() -> None:
    document = replace(DOCUMENT, choice=MechanismChoice.of(SUE(100, 3.0)))
    words, encryption = document.mechanism.words, document.encryption(floor=512)
    assert words > 2
    for bad in (None, *range(words)):
        rows = [bytes(SIZE) if at == bad else shares()[0] for at in range(words)]
        part = holding(CIPHERTEXTS, b"".join(rows))
        if bad is None:
            check_part(part, document, COLLECTION, encryption, 1)
        else:
            with raises("submit.ciphertext"):
                check_part(part, document, COLLECTION, encryption, 1)


def test_a_part_that_only_the_first_shuffler_can_check_reaches_the_others_as_any_word_does() -> None:
    check(holding(WORDS, bytes(8)), 2)
    check(holding(WORDS, b"\xff" * 8), 2)


def test_what_is_stored_under_a_ticket_decides() -> None:
    first, other = check(WORDS), check(parts(rng=Randomness(b"\x04" * 32))[1])
    assert first[:16] == other[:16]
    assert judge(None, first) is Verdict.STORE
    assert judge(first, first) is Verdict.KNOWN
    assert judge(first, other) is Verdict.CONFLICT, "another splitting under one ticket"
    assert judge(other, first) is Verdict.CONFLICT
    assert {verdict.value for verdict in Verdict} == {"store", "known", "conflict"}


def test_every_binding_draws_its_salts_anew_so_that_hashes_show_nothing(rng: Randomness) -> None:
    bound = [bind(COLLECTION, ticket("a user"), shares(), rng) for _ in range(50)]
    hashes = [hash_ for parts_ in bound for hash_ in parts_[0].hashes]
    salts = [part.salt for parts_ in bound for part in parts_]
    assert max(Counter(hashes).values()) == 1, "one share under two salts has two hashes"
    assert max(Counter(salts).values()) == 1
    assert {len(salt) for salt in salts} == {16}
    unsalted = {hashlib.sha256(share).digest() for share in shares()}
    assert not unsalted & set(hashes), "a party that guesses a share could test the guess"


def test_a_part_carries_one_share_and_one_salt_and_no_other() -> None:
    for own in parts():
        others = [part for part in parts() if part.shuffler != own.shuffler]
        carried = b"".join(
            (own.collection, own.id, own.ticket, own.user_key, own.signature, own.salt, *own.hashes, own.share)
        )
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


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_a_plaintext_share_is_little_endian_words(words: list[int]) -> None:
    assert plain_share(b"".join(word.to_bytes(8, "little") for word in words)).tolist() == words


def test_a_row_commits_to_ticket_key_and_digest() -> None:
    made = [
        WORDS.row,
        replace(WORDS, ticket=bytes(64)).row,
        replace(WORDS, user_key=OTHER.public).row,
        replace(WORDS, hashes=WORDS.hashes[::-1]).row,
        replace(WORDS, collection=digest_of("x")).row,
    ]
    assert len(set(made)) == len(made)
    assert replace(WORDS, signature=bytes(64)).row == WORDS.row, "one submission, however often it is signed"
    assert {len(row) for row in made} == {48}


def test_a_ticket_is_for_one_scope_one_id_and_one_key() -> None:
    other, id_, key = digest_of("another collection"), id_of("a user"), USER.public
    made = mint(ENROLMENT, COLLECTION, id_, key)
    assert admits(ENROLMENT.public, made, COLLECTION, id_, key)
    assert not admits(ENROLMENT.public, made, other, id_, key)
    assert not admits(ENROLMENT.public, made, COLLECTION, id_of("another user"), key)
    assert not admits(ENROLMENT.public, made, COLLECTION, id_, OTHER.public)
    assert not admits(ENROLMENT.public, made, COLLECTION[:31], COLLECTION[31:] + id_, key), "the border counts"
    assert not admits(Identity(bytes(32)).public, made, COLLECTION, id_, key)
    assert not admits(ENROLMENT.public, ENROLMENT.sign("document", COLLECTION, id_, key), COLLECTION, id_, key)
    assert mint(ENROLMENT, COLLECTION, id_, key) == made == ticket("a user").signature
    assert ticket("a user").key.secret.hex() not in repr(ticket("a user"))


def test_shares_are_as_long_as_the_mechanism_and_the_key_say() -> None:
    assert [ENCRYPTION.share_bytes(number) for number in (1, 2, 3)] == [SIZE, 8, 8]
