"""Certificates of ports: self-signed, P-256, trusted because exactly this one is pinned (docs/decisions/0002).

Host names play no part: every certificate is for `peos.party`, and channels expect that name wherever they connect. A
certificate cannot sign others, so pinning one admits one. Functions take PEM or DER; documents name the fingerprint.
"""

import datetime
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from peos.crypto.randomness import Randomness
from peos.errors import WrongInput

TARGET_NAME: Final = "peos.party"
DAYS: Final = 825
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
_NAME_LIMIT: Final = 64  # X.509's own for a common name
_PEM: Final = b"-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True)
class Certificate:
    """A port's certificate and its private key, both PEM."""

    pem: bytes
    key: bytes = field(repr=False)


def make_certificate(
    name: str, rng: Randomness, *, days: int = DAYS, now: datetime.datetime | None = None
) -> Certificate:
    """A fresh certificate, valid from an hour before `now` (clocks differ) for `days`."""
    if not 1 <= len(name) <= _NAME_LIMIT:
        raise WrongInput("certificate.name", f"a certificate's name has 1 to {_NAME_LIMIT} characters, not {len(name)}")
    key = draw_key(rng)
    start = (now or datetime.datetime.now(datetime.UTC)) - datetime.timedelta(hours=1)
    shown = _shown(key.public_key())  # see `read_certificate`
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, name), x509.NameAttribute(NameOID.SERIAL_NUMBER, shown)]
    )
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(rng.bits(158) + 1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=days, hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(TARGET_NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .sign(key, SHA256())
    )
    return Certificate(made.public_bytes(Encoding.PEM), private_pem(key))


def draw_key(rng: Randomness) -> ec.EllipticCurvePrivateKey:
    """A fresh private key of a certificate."""
    return ec.derive_private_key(rng.integer_below(_ORDER - 1) + 1, ec.SECP256R1())


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """It as a file has it."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """What a certificate's key is for: to sign handshakes, or other certificates."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


@lru_cache(maxsize=1024)
def read_certificate(data: bytes) -> x509.Certificate:
    """Exactly one certificate, on P-256, for the name that all have, by the key that its subject names; or WrongInput.

    TLS looks certificates up by subject. As the subject holds the key and the key has signed it, no party can make one
    that hides another party's: neither with that party's subject and a key of its own, nor with both and other dates.
    """
    try:
        if _PEM not in data:
            certificate = x509.load_der_x509_certificate(data)
        else:
            certificate, *more = x509.load_pem_x509_certificates(data)
            if more:
                raise WrongInput(
                    "certificate.several", "one certificate is pinned at a time, and this file has several", hint=_MAKE
                )
        key = certificate.public_key()
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        # The library reads these when they are asked for, and may fail as late as that.
        _ = certificate.subject, certificate.not_valid_before_utc, certificate.not_valid_after_utc
    except x509.ExtensionNotFound:
        raise WrongInput(
            "certificate.extension", "the certificate lacks an extension that every party's has", hint=_MAKE
        ) from None
    except WrongInput:
        raise
    except Exception:  # for a stranger's bytes the library raises ValueError, TypeError and kinds of its own
        raise WrongInput("certificate.unreadable", "this is not a certificate", hint=_MAKE) from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise WrongInput("certificate.curve", "a port's certificate is on the curve P-256", hint=_MAKE)
    if names.get_values_for_type(x509.DNSName) != [TARGET_NAME] or is_authority:
        raise WrongInput(
            "certificate.purpose", f"a port's certificate is for {TARGET_NAME} and cannot sign others", hint=_MAKE
        )
    named = [one.value for one in certificate.subject.get_attributes_for_oid(NameOID.SERIAL_NUMBER)]
    if named != [_shown(key)]:
        raise WrongInput(
            "certificate.subject",
            "the subject of a port's certificate names its key, and this one names another",
            hint=_MAKE,
        )
    try:
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, InvalidSignature):
        raise WrongInput(
            "certificate.signature", "a port's certificate is signed by its own key, and this one is not", hint=_MAKE
        ) from None
    return certificate


def _shown(key: ec.EllipticCurvePublicKey) -> str:
    """A key as a subject names it: its x coordinate, 64 digits, which a subject has room for."""
    return key.public_bytes(Encoding.X962, PublicFormat.CompressedPoint).hex()[2:]


def require_pair(own: Certificate) -> None:
    """WrongInput unless the key is the certificate's: it would show as a handshake that fails for no reason."""
    try:
        key = load_pem_private_key(own.key, None)
    except Exception:  # whatever is wrong with a file that others may have written
        raise WrongInput(
            "certificate.key_unreadable", "the private key of a port's certificate cannot be read", hint=_RESTORE
        ) from None
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if key.public_key().public_bytes(*form) != read_certificate(own.pem).public_key().public_bytes(*form):
        raise WrongInput("certificate.pair", "the private key does not belong to the certificate", hint=_RESTORE)


def require_current(own: Certificate, port: str, *, hint: str) -> None:
    """WrongInput unless the certificate is valid by this machine's clock: callers would fail without a reason."""
    if is_expired(own.pem):
        raise WrongInput(
            "certificate.own_expired", f"the certificate of the port for {port} is {validity(own.pem)}", hint=hint
        )


def require_valid(data: bytes, what: str) -> None:
    """WrongInput unless another party's certificate is valid by this machine's clock.

    One that is not valid yet was made before it was handed on: it is a clock that is wrong, and most likely this one.
    """
    if not is_expired(data):
        return
    is_early = datetime.datetime.now(datetime.UTC) < read_certificate(data).not_valid_before_utc
    why = "is not valid yet, so a clock is wrong" if is_early else "has expired"
    raise WrongInput("certificate.expired", f"{what} {why}: it is {validity(data)}")


def validity(data: bytes) -> str:
    """From when to when, and what the clock here says."""
    found = read_certificate(data)
    times = found.not_valid_before_utc, found.not_valid_after_utc, datetime.datetime.now(datetime.UTC)
    first, last, now = (one.strftime("%Y-%m-%d %H:%M UTC") for one in times)
    return f"valid from {first} to {last}, and the clock here says {now}"


_RESTORE: Final = "restore both from a backup"
_MAKE: Final = "make one with `peos shuffler init` or `peos analyzer init`"


def expiry(pem: bytes) -> float:
    """When the first certificate of a file expires, a port's or one that browsers trust; in seconds since 1970."""
    return x509.load_pem_x509_certificates(pem)[0].not_valid_after_utc.timestamp()


def as_pem(data: bytes) -> bytes:
    """The certificate as files and TLS want it."""
    return read_certificate(data).public_bytes(Encoding.PEM)


def as_der(data: bytes) -> bytes:
    """The certificate as cards carry it."""
    return read_certificate(data).public_bytes(Encoding.DER)


def fingerprint(data: bytes) -> bytes:
    """SHA-256 of the DER: what a collection document names."""
    return read_certificate(data).fingerprint(SHA256())


def is_expired(data: bytes, now: datetime.datetime | None = None) -> bool:
    """Whether it is over, or not yet valid."""
    certificate = read_certificate(data)
    here = now or datetime.datetime.now(datetime.UTC)
    return not certificate.not_valid_before_utc <= here <= certificate.not_valid_after_utc
