"""Certificates of ports: what is made, what is read, what is refused."""

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID

from peos.crypto.randomness import Randomness
from peos.net.certificates import (
    as_der,
    as_pem,
    fingerprint,
    is_expired,
    make_certificate,
    read_certificate,
)
from tests.raising import raises
from tests.unit.net.ports import EXPIRED, PEER, SERVER, STRANGER

NOON = datetime.datetime(2031, 5, 1, 12, tzinfo=datetime.UTC)


def test_a_certificate_is_on_p256_for_the_fixed_name_and_cannot_sign_others() -> None:
    made = read_certificate(SERVER.pem)
    key = made.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    san = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert san.get_values_for_type(x509.DNSName) == ["peos.party"]
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not made.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    private = load_pem_private_key(SERVER.key, None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert private.public_key() == key


def test_keys_subjects_and_serial_numbers_differ_for_one_name() -> None:
    one, other = read_certificate(PEER.pem), read_certificate(STRANGER.pem)
    assert one.subject.get_attributes_for_oid(NameOID.COMMON_NAME) == other.subject.get_attributes_for_oid(
        NameOID.COMMON_NAME
    )
    assert one.serial_number != other.serial_number
    assert one.subject != other.subject
    assert one.public_key() != other.public_key()


def test_the_private_key_comes_from_the_randomness_that_was_given() -> None:
    first, again, other = (make_certificate("x", Randomness(bytes([n]) * 32), now=NOON).key for n in (1, 1, 2))
    assert first == again
    assert first != other


def test_pem_and_der_have_one_fingerprint() -> None:
    der = as_der(SERVER.pem)
    assert as_pem(der) == as_pem(SERVER.pem)
    assert (
        fingerprint(der) == fingerprint(SERVER.pem) == x509.load_pem_x509_certificate(SERVER.pem).fingerprint(SHA256())
    )
    assert fingerprint(PEER.pem) != fingerprint(STRANGER.pem)


def test_a_certificate_is_valid_from_an_hour_before_for_its_days() -> None:
    made = make_certificate("x", Randomness(bytes(32)), days=10, now=NOON).pem
    assert read_certificate(made).not_valid_after_utc == NOON + datetime.timedelta(days=10)
    hour, second = datetime.timedelta(hours=1), datetime.timedelta(seconds=1)
    times = [
        NOON - hour - second,
        NOON - hour,
        NOON,
        read_certificate(made).not_valid_after_utc,
        read_certificate(made).not_valid_after_utc + second,
    ]
    assert [is_expired(made, moment) for moment in times] == [True, False, False, False, True]
    assert (is_expired(EXPIRED.pem), is_expired(PEER.pem)) == (True, False)


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_name_has_a_length(name: str) -> None:
    with raises("certificate.name", "64"):
        make_certificate(name, Randomness(bytes(32)))


def test_no_key_shows_in_a_repr() -> None:
    assert "PRIVATE" not in repr(SERVER)
    assert "key" not in repr(SERVER)


# 5·G of P-256 (from a table of multiples): what the subject of a certificate under the private key 5 says.
FIVE = "51590b7a515140d2d784c85608668fdfef8c82fd1f5be52421554a0dc3d033ed"


def signed(
    key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey,
    *,
    name: str,
    ca: bool,
    named: tuple[str, ...] = (FIVE,),
) -> bytes:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "x"),
            *(x509.NameAttribute(NameOID.SERIAL_NUMBER, one) for one in named),
        ]
    )
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 5, NOON, NOON + datetime.timedelta(days=1))
    if name:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    hash_ = None if isinstance(key, ed25519.Ed25519PrivateKey) else SHA256()
    return builder.sign(key, hash_).public_bytes(Encoding.PEM)


P256 = ec.derive_private_key(5, ec.SECP256R1())


@pytest.mark.parametrize(
    ("data", "mistake"),
    [
        (b"", ("certificate.unreadable",)),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ("certificate.unreadable",)),
        (SERVER.key, ("certificate.unreadable",)),
        (as_der(SERVER.pem)[:-1], ("certificate.unreadable",)),
        (as_der(SERVER.pem) + b"\0", ("certificate.unreadable",)),
        (SERVER.pem + PEER.pem, ("certificate.several",)),
        (signed(ec.derive_private_key(5, ec.SECP384R1()), name="peos.party", ca=False), ("certificate.curve",)),
        (
            signed(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)), name="peos.party", ca=False),
            ("certificate.curve",),
        ),
        (signed(P256, name="example.org", ca=False), ("certificate.purpose", "peos.party")),
        (signed(P256, name="peos.party", ca=True), ("certificate.purpose",)),
        (signed(P256, name="", ca=False), ("certificate.extension",)),
        (signed(P256, name="peos.party", ca=False, named=()), ("certificate.subject",)),
        (signed(P256, name="peos.party", ca=False, named=(FIVE.upper(),)), ("certificate.subject",)),
        (signed(P256, name="peos.party", ca=False, named=("0" * 64,)), ("certificate.subject",)),
        (signed(P256, name="peos.party", ca=False, named=(FIVE, "0" * 64)), ("certificate.subject",)),
    ],
)
def test_what_is_no_certificate_of_a_port_is_refused_for_its_reason(data: bytes, mistake: tuple[str, ...]) -> None:
    with raises(*mistake):
        read_certificate(data)


def test_the_twin_of_a_good_certificate_is_taken() -> None:
    assert fingerprint(signed(P256, name="peos.party", ca=False))
