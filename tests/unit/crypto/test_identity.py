"""Signatures over labelled fields: nothing reads in two ways, and nothing verifies that was not said."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.crypto.identity import PUBLIC_BYTES, SIGNATURE_BYTES, Identity, labelled, verifies
from peos.crypto.randomness import Randomness
from tests.raising import raises

many = settings(max_examples=300)
some = settings(max_examples=60)
# Few symbols, among them those of lengths and labels, so that two lists often nearly coincide.
fields = st.lists(st.binary(max_size=6) | st.text(alphabet="\0\1peos ", max_size=6).map(str.encode), max_size=4)
labels = st.text(alphabet="ab\0 1é", max_size=4)
ME = Identity(b"\x07" * 32)


@many
@given(labels, fields, labels, fields)
def test_different_labels_or_fields_give_different_bytes(
    one: str, left: list[bytes], other: str, right: list[bytes]
) -> None:
    assert (labelled(one, *left) == labelled(other, *right)) == ((one, left) == (other, right))


@many
@given(labels, fields, st.integers(0, 4), st.integers(0, 6))
def test_moving_the_border_between_fields_changes_the_bytes(label: str, given_: list[bytes], at: int, cut: int) -> None:
    whole = labelled(label, *given_)
    joined = b"".join(given_)
    assert whole != labelled(label, joined) or given_ == [joined]
    assert whole != labelled(label, *given_, b"")
    assert whole != labelled(label, b"", *given_)
    if at < len(given_) and cut < len(given_[at]):
        torn = [*given_[:at], given_[at][:cut], given_[at][cut:], *given_[at + 1 :]]
        assert whole != labelled(label, *torn)


@many
@given(labels, fields)
def test_labelled_bytes_can_be_read_back(label: str, given_: list[bytes]) -> None:
    data, read, at = labelled(label, *given_), [], 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        read.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    assert read == [b"peos1 " + label.encode(), *given_]


@some
@given(labels, fields, labels, fields, st.binary(min_size=32, max_size=32))
def test_a_signature_holds_for_its_label_its_fields_and_its_key_alone(
    label: str, given_: list[bytes], other: str, others: list[bytes], secret: bytes
) -> None:
    signature = ME.sign(label, *given_)
    assert len(signature) == SIGNATURE_BYTES
    assert verifies(ME.public, signature, label, *given_)
    assert verifies(ME.public, signature, other, *others) == ((label, given_) == (other, others))
    assert verifies(Identity(secret).public, signature, label, *given_) == (secret == ME.secret)
    assert not verifies(ME.public, signature, label, *given_, b"")
    assert not verifies(ME.public, signature, label + "x", *given_)


@some
@given(st.integers(0, 8 * SIGNATURE_BYTES - 1), st.integers(0, 8 * PUBLIC_BYTES - 1))
def test_a_signature_or_key_with_a_bit_changed_verifies_nothing(bit: int, key_bit: int) -> None:
    signature, public = bytearray(ME.sign("notice", b"x")), bytearray(ME.public)
    signature[bit // 8] ^= 1 << bit % 8
    public[key_bit // 8] ^= 1 << key_bit % 8
    assert not verifies(ME.public, bytes(signature), "notice", b"x")
    assert not verifies(bytes(public), ME.sign("notice", b"x"), "notice", b"x")


@many
@given(st.binary(max_size=70), st.binary(max_size=70))
def test_garbage_verifies_nothing_and_raises_nothing(key: bytes, signature: bytes) -> None:
    assert not verifies(key, signature, "notice", b"x")
    assert not verifies(ME.public, signature, "notice", b"x")
    assert not verifies(key, ME.sign("notice", b"x"), "notice", b"x")


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
ORDER_L = 2**252 + 27742317777372353535851937790883648493
ORDER_8 = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")


def encodings_of_small_order() -> list[bytes]:
    """Every encoding, the overlong ones too, of a point whose eightfold is the neutral one."""
    eighth = int.from_bytes(ORDER_8, "little")
    assert (D * eighth**4 + 2 * eighth**2 - 1) % P == 0, "not a point of order 8"
    heights = [y + over for y in (0, 1, P - 1, eighth, P - eighth) for over in (0, P) if y + over < 2**255]
    return [(y | sign << 255).to_bytes(32, "little") for y in heights for sign in (0, 1)]


def test_a_key_of_small_order_verifies_nothing_although_anyone_can_sign_under_it() -> None:
    candidates = encodings_of_small_order()
    assert len(set(candidates)) == 14
    neutral = bytes([1]) + bytes(31)
    for key in candidates:
        for first in candidates:
            forged = first + bytes(32)  # R of small order and S = 0: right whenever h·A = −R, one message in eight
            assert not any(verifies(key, forged, "ticket", bytes([n])) for n in range(8)), f"{key.hex()} verifies"
    assert not verifies(neutral, neutral + bytes(32), "ticket", b"any")


def test_a_signature_has_no_second_form() -> None:
    signature = ME.sign("ticket", b"x")
    high = int.from_bytes(signature[32:], "little") + ORDER_L
    assert high < 2**256
    assert not verifies(ME.public, signature[:32] + high.to_bytes(32, "little"), "ticket", b"x")
    assert ME.sign("ticket", b"x") == signature, "signing draws nothing, so a retry sends identical bytes"


def test_the_secret_shows_nowhere() -> None:
    for shown in (repr(ME), str(ME), f"{ME}", f"{[ME]}"):
        assert ME.secret.hex() not in shown
        assert repr(ME.secret) not in shown
        assert ME.public.hex()[:8] in shown


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_secret_of_another_length_is_refused_and_not_shown(length: int) -> None:
    secret = b"\xab" * length
    with raises("key.signing_length", "32", str(length)) as caught:
        Identity(secret)
    assert "ab" * 4 not in str(caught.value)


def test_fresh_identities_differ_and_follow_from_their_randomness(rng: Randomness) -> None:
    made = [Identity.generate(rng) for _ in range(8)]
    assert len({identity.public for identity in made}) == 8
    assert Identity.generate(Randomness(b"\x01" * 32)) == Identity.generate(Randomness(b"\x01" * 32))


def test_keys_and_signatures_are_those_of_rfc_8032() -> None:
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert Identity(secret).public == public
