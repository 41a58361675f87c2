"""A certificate for this host that is its own authority: for tests of ports that browsers trust."""

import base64
import datetime
import hashlib
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from peos.crypto.randomness import system
from peos.localcluster import HOST
from peos.net.certificates import draw_key, private_pem


def certificate(folder: Path) -> str:
    """It and its key, in two files; the hash of its key as a browser's flag names it."""
    key, now = draw_key(system()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, folder.name)])
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST)), x509.DNSName("localhost")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(here, critical=False)
        .sign(key, SHA256())
    )
    (folder / "web.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "web.key").write_bytes(private_pem(key))
    spki = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(spki).digest()).decode()
