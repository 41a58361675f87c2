"""Whatever a user sends to a shuffler that runs: she hears it in one sentence, and no other user's report is touched.

Every part goes over the real connection. What is no submission is refused and counted; what is one in form, and holds a
plaintext no user's client would make, spoils her own report only (security.md, "malformed submissions").
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
from gmpy2 import jacobi, mpz

from peos.collection.replies import Answer
from peos.collection.submission import Part, bind
from peos.collection.ticket import issue
from peos.crypto.identity import Identity
from peos.crypto.schemes import scheme
from peos.crypto.schemes.paillier import PaillierPrivateKey, PaillierPublicKey
from peos.crypto.schemes.word_keys import WordPublicKey
from peos.net.client import blocking_channel
from peos.net.tls import grpc
from peos.wire.methods import STATUS, SUBMIT, SUBMIT_MANY
from peos.wire.submissions import encode_part
from tests.integration.played import ENROLMENT, RNG, Played, PlayedTown, key, played

pytestmark = pytest.mark.full  # a town of its own

DELIVERED: Final = ("delivered", "published")
SIZE: Final = 8  # bytes of a plaintext share: one word


def public() -> PaillierPublicKey:
    """The collection's key."""
    found = key().public
    assert isinstance(found, PaillierPublicKey)
    return found


TICKET: Final = "the ticket is not valid for this collection, id and user key"
ANOTHER: Final = Identity(b"\x0d" * 32)


def ciphertext(value: mpz | int) -> bytes:
    """A number where a ciphertext belongs."""
    return int(value).to_bytes(public().ciphertext_bytes, "big")


def of_plaintext(message: int) -> bytes:
    """An honest encryption of any plaintext at all."""
    n, square = public().modulus, public().square
    zero = int.from_bytes(public().zero_source(RNG).zeros(1)[0].tobytes(), "big")
    return ciphertext((1 + message * n) * zero % square)


def parts(play: Played, first: bytes, *others: bytes) -> tuple[Part, ...]:
    """A user's parts with these shares: bound and with a ticket as they must be."""
    id_ = RNG.bytes(16)
    plain = others or (RNG.bytes(SIZE), RNG.bytes(SIZE))
    return bind(play.digest, issue(ENROLMENT, play.digest, id_, Identity.generate(RNG)), (first, *plain), RNG)


def stream(town: PlayedTown, number: int, messages: Iterable[bytes]) -> tuple[list[Answer], grpc.RpcError | None]:
    """Send bytes as they are, in one stream; the answers, and how the stream ended if it broke off."""
    card = town.cards[number - 1]
    answers: list[Answer] = []
    with blocking_channel(card.user_address, card.user_certificate) as channel:
        call: Any = channel.stream_stream(SUBMIT_MANY.path)
        try:
            answers += [SUBMIT_MANY.decode_response(one) for one in call(iter(messages), timeout=120)]
        except grpc.RpcError as error:
            return answers, error
    return answers, None


def bad_shares() -> dict[str, tuple[bytes, str]]:
    """First shares that are none, with what is said of them."""
    n, square, private = public().modulus, public().square, key()
    assert isinstance(private, PaillierPrivateKey)
    no_ciphertext = "the encrypted share is not a ciphertext of this key"
    return {
        "zero": (ciphertext(0), no_ciphertext),
        "N": (ciphertext(n), no_ciphertext),
        "a multiple of N": (ciphertext(7 * n), no_ciphertext),
        "not invertible": (ciphertext(5 * private.p), no_ciphertext),
        "N squared": (ciphertext(square), no_ciphertext),
        "out of range": (b"\xff" * public().ciphertext_bytes, no_ciphertext),
        "too short": (of_plaintext(1)[1:], "the share has the wrong length"),
        "too long": (of_plaintext(1) + b"\x00", "the share has the wrong length"),
        "two of them": (2 * of_plaintext(1), "the share has the wrong length"),
    }


def bad_parts(play: Played) -> dict[str, tuple[int, Part, str]]:
    """Parts that do not fit, by the shuffler that gets them."""
    good = parts(play, of_plaintext(3))
    id_ = RNG.bytes(16)
    return {
        "short plaintext share": (2, parts(play, of_plaintext(3), b"\x00" * 7, b"\x00" * 8)[1], "the wrong length"),
        "long plaintext share": (3, parts(play, of_plaintext(3), b"\x00" * 8, b"\x00" * 9)[2], "the wrong length"),
        "share that is not the hash's": (2, replace(good[1], share=RNG.bytes(SIZE)), "does not match its hash"),
        "other salt": (1, replace(good[0], salt=RNG.bytes(16)), "does not match its hash"),
        "another shuffler's": (1, good[1], "the part is not the one for this shuffler"),
        "four hashes": (1, replace(good[0], hashes=(*good[0].hashes, bytes(32))), "one hash for each shuffler"),
        "no ticket": (1, replace(good[0], ticket=b"\x00" * 64), TICKET),
        "a ticket for another id": (1, replace(good[0], id=id_), TICKET),
        "a ticket for another key": (1, replace(good[0], user_key=ANOTHER.public), TICKET),
        "no signature": (1, replace(good[0], signature=b"\x00" * 64), "not signed by the ticket's user key"),
        "another collection": (1, replace(good[0], collection=b"\x07" * 32), "knows no such collection"),
    }


def test_what_is_no_submission_is_refused_in_one_sentence_and_counted(town: PlayedTown) -> None:
    async def test() -> None:
        async with played(town, "malformed", listening=False) as play:
            shares = {what: (1, parts(play, share)[0], words) for what, (share, words) in bad_shares().items()}
            cases = shares | bad_parts(play)
            for number in (1, 2, 3):
                here = [(what, part, words) for what, (to, part, words) in cases.items() if to == number]
                good = parts(play, of_plaintext(4))[number - 1]
                messages = [encode_part(part) for _, part, _ in here] + [encode_part(good)]
                answers, broken = await asyncio.to_thread(stream, town, number, messages)
                assert broken is None, broken
                assert len(answers) == len(here) + 1
                for answer, (what, _, words) in zip(answers, here, strict=False):
                    assert words in answer.refusal, (what, answer)
                    assert "\n" not in answer.refusal, what
                    assert not answer.row, what
                    assert not answer.retry, f"{what}: the same again is refused again"
                    assert answer.hint, what
                last = answers[-1]
                assert last.row == good.row, "the stream goes on"
            await asyncio.sleep(1.2)  # refusals are noted once a second
            held = await play.status()
            assert [one.reports for one in held] == [1, 1, 1], "what was refused is not kept"
            said = " ".join(held[0].refused)
            assert "the encrypted share is not a ciphertext of this key" in said
            assert "the share has the wrong length" in said
            await play.order(abort=True)

    asyncio.run(test())


@pytest.mark.parametrize("name", ["dgk", "jl"])
def test_an_element_of_the_wrong_jacobi_symbol_is_no_ciphertext_of_a_word_scheme(town: PlayedTown, name: str) -> None:
    """It would keep its symbol through every pass, so its sender could be followed."""
    words = scheme(name).generate(RNG).public
    assert isinstance(words, WordPublicKey)
    n = words.modulus
    marked = next(value for value in map(mpz, range(2, 10**6)) if jacobi(value, n) == -1)

    async def test() -> None:
        changes = {"scheme": name, "public_key": words.encode()}
        async with played(town, f"symbols of {name}", listening=False, **changes) as play:
            bad = [int(value % n).to_bytes(words.ciphertext_bytes, "big") for value in (marked, marked**3)]
            good = words.encrypt(RNG.uint64(1), words.zero_source(RNG).zeros(1))[0].tobytes()
            messages = [encode_part(parts(play, share)[0]) for share in (*bad, good)]
            answers, broken = await asyncio.to_thread(stream, town, 1, messages)
            assert broken is None, broken
            assert [answer.error_id for answer in answers] == ["submit.ciphertext", "submit.ciphertext", ""]
            await play.order(abort=True)

    asyncio.run(test())


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (lambda _: b"", "INVALID_ARGUMENT", "there are 0 bytes"),
        (lambda sent: sent + b"\x00", "INVALID_ARGUMENT", "these bytes are not a Part"),
        (lambda sent: sent + b"\xfa\x3f\x01x", "INVALID_ARGUMENT", "something left over"),
        (lambda sent: sent[:-1], "INVALID_ARGUMENT", "these bytes are not a Part"),
        (lambda sent: sent[:40], "INVALID_ARGUMENT", "these bytes are not a Part"),
        (lambda _: bytes(5 << 20), "RESOURCE_EXHAUSTED", ""),
    ],
    ids=["nothing", "a byte more", "a field more", "a byte less", "cut off", "five megabytes"],
)
def test_bytes_that_are_no_part_end_her_stream_and_nobody_elses(
    town: PlayedTown, spoil: Any, code: str, words: str
) -> None:
    async def test() -> None:
        async with played(town, f"bytes {code} {words} {len(spoil(b'x' * 99))}", listening=False) as play:
            good = encode_part(parts(play, of_plaintext(4))[0])
            answers, broken = await asyncio.to_thread(stream, town, 1, [good, spoil(good)])
            assert broken is not None
            assert broken.code().name == code
            assert words in (broken.details() or "")
            assert "Traceback" not in (broken.details() or "")
            assert all(answer.row for answer in answers), "what came before is kept"
            other, broken = await asyncio.to_thread(stream, town, 1, [encode_part(parts(play, of_plaintext(5))[0])])
            assert broken is None
            assert other[0].row
            await play.order(abort=True)

    asyncio.run(test())


def test_bytes_for_another_call_are_answered_too(town: PlayedTown) -> None:
    card = town.cards[0]
    with blocking_channel(card.user_address, card.user_certificate) as channel:
        for path, code in ((SUBMIT.path, "INVALID_ARGUMENT"), (STATUS.path, "UNIMPLEMENTED")):
            call: Any = channel.unary_unary(path)
            with pytest.raises(grpc.RpcError) as caught:
                call(b"\xff" * 100, timeout=60)
            assert caught.value.code().name == code


def test_a_plaintext_that_no_client_makes_spoils_her_own_report_and_no_other(town: PlayedTown) -> None:
    n = int(public().modulus)
    huge = [n - 1, n - 2**64, 2 ** (n.bit_length() - 2), 2**1000 + 1, 2**64]

    async def test() -> None:
        async with played(town, "huge plaintexts") as play:
            for message in huge:
                mine = parts(play, of_plaintext(message))
                for number, part in enumerate(mine, start=1):
                    answers, broken = await asyncio.to_thread(stream, town, number, [encode_part(part)])
                    assert broken is None
                    assert answers[0].row, answers
            await play.submit(40)
            await play.order()
            await play.until(lambda all_: all(one.state in DELIVERED for one in all_), "the output")
            came_out = sorted(play.expected)
            found = play.reports()
            wrong = {word: int(np.sum(found == word)) for word in came_out if np.sum(found == word) != 1}
            assert not wrong, f"{len(wrong)} of the {len(came_out)} others' reports did not come out exactly once"
            assert len(found) == len(came_out) + len(huge) + play.document.fakes

    asyncio.run(test())


def test_the_shufflers_have_gone_on_and_their_logs_hold_no_traceback(town: PlayedTown) -> None:
    for party in town.shufflers:
        assert party.process is not None
        assert party.process.poll() is None
        log = party.log.read_text(encoding="utf-8")
        assert "Traceback" not in log
        assert '"level": "error"' not in log, [line for line in log.splitlines() if '"level": "error"' in line][:2]
