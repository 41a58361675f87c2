"""Certificates for ports that browsers reach on this machine, for trying a page: an authority signs them once.

Its key is gone when this returns, and it may sign for this machine alone: a browser that trusts it accepts no others.
"""

import datetime
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from peos.crypto.randomness import Randomness
from peos.net.certificates import DAYS, Certificate, draw_key, key_usage, private_pem

_HERE: Final = "localhost"


def web_certificates(names: Sequence[str], rng: Randomness) -> tuple[bytes, list[Certificate]]:
    """The authority's certificate, PEM; and for each port its chain and its key, valid for localhost."""
    key = draw_key(rng)
    issuer = _named("a local peos cluster")
    # Of addresses none is permitted: a browser's library that knows no limits on addresses fails where it meets one.
    addresses: list[x509.GeneralName] = [x509.IPAddress(ip_network(every)) for every in ("0.0.0.0/0", "::/0")]
    limits = x509.NameConstraints(permitted_subtrees=[x509.DNSName(_HERE)], excluded_subtrees=addresses)
    authority = (
        _builder(issuer, issuer, key, key, rng, ca=True)
        .add_extension(limits, critical=True)
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
    )
    made = []
    for name in names:
        own = draw_key(rng)
        leaf = (
            _builder(_named(name), issuer, own, key, rng, ca=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(_HERE)]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(key, SHA256())
        )
        made.append(Certificate(leaf.public_bytes(Encoding.PEM) + authority, private_pem(own)))
    return authority, made


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    rng: Randomness,
    *,
    ca: bool,
) -> x509.CertificateBuilder:
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    public, signed_by = key.public_key(), signer.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(rng.bits(158) + 1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        .add_extension(key_usage(signs_certificates=ca), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signed_by), critical=False)
    )
