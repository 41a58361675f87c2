"""What must be in no log: the secrets of a run, and a search for any 16 bytes of them in whatever form.

A share of a user's report is shorter than 16 bytes and is looked for whole.
"""

import base64
import binascii
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from analyzer.workspace import Workspace
from peos.crypto.schemes.base import PrivateKey
from peos.localcluster import Party
from shuffler import config
from shuffler import keys as shuffler_keys

FRAGMENT: Final = 16
_HEX: Final = re.compile(rb"[0-9a-fA-F]{32,}")
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]{22,}")


def private_key(pem: bytes) -> bytes:
    """The secret number of a port's key, without the public one that is written next to it."""
    key = load_pem_private_key(pem, None)
    assert isinstance(key, EllipticCurvePrivateKey), "every port's key is on a curve"
    return key.private_numbers().private_value.to_bytes(32, "big")


def of_shuffler(shuffler: Party) -> dict[str, list[bytes]]:
    """Its identity and the keys of its ports."""
    settings = config.read(shuffler.config)
    own = shuffler_keys.load(settings)
    ports = [private_key(port.key) for port in (own.peers, own.users)]
    assert settings.passphrase_file is not None, "the cluster writes one"
    phrase = settings.passphrase_file.read_bytes()
    return {f"keys of {shuffler.name}": [own.identity.secret, phrase, bytes.fromhex(phrase.decode()), *ports]}


def of_analyzer(workspace: Workspace) -> dict[str, list[bytes]]:
    """Its passphrase, its keys, and of every collection the decryption key and the shares of the dummies."""
    keys = workspace.keys
    phrase = workspace.config.passphrase_file.read_bytes().strip()
    found = {
        "passphrase": [phrase, bytes.fromhex(phrase.decode())],
        "keys of the analyzer": [keys.identity.secret, keys.enrolment.secret, private_key(keys.certificate.key)],
    }
    for kept in workspace.store.all():
        private = workspace.private_key(kept)
        assert isinstance(private, PrivateKey), "the collection's protocol has a scheme"
        encoded, public = private.encode(), private.public.encode()
        found[f"decryption key of {kept.name}"] = [piece for piece in _pieces(encoded) if piece not in public]
        assert kept.parts is not None, "the dummies are in"
        parts = [part for one in workspace.open_parts(kept, kept.parts) for part in one]
        found[f"shares of the dummies of {kept.name}"] = [part.share for part in parts]
    return found


def of_users(client: Party, tickets: Path, shufflers: Iterable[Party]) -> dict[str, list[bytes]]:
    """The tickets' signatures, the seeds of the users' keys, and the shares, which only shufflers still have."""
    fields = [line.split(":") for line in tickets.read_text(encoding="ascii").split()]
    ids, shares = {bytes.fromhex(id_) for id_, *_ in fields}, list[bytes]()
    for path in (path for one in shufflers for path in (one.folder / "state" / "submissions").glob("*.sqlite")):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as kept:
            shares += [share for id_, share in kept.execute("SELECT id, share FROM submissions") if id_ in ids]
    return {
        f"tickets of {client.name}": [bytes.fromhex(signature) for _, signature, _ in fields],
        f"keys of {client.name}": [bytes.fromhex(seed) for _, _, seed in fields],
        f"shares of {client.name}": shares,
    }


def traces(text: bytes, secrets: Iterable[bytes]) -> list[bytes]:
    """The secrets that a text holds a fragment of: as it is, in hexadecimal or in base64; short ones whole."""
    fragments = {piece for written in _decoded(text) for piece in _pieces(written)}
    numbers = set(re.findall(rb"\d+", text))
    found = []
    for secret in secrets:
        if len(secret) >= FRAGMENT:
            shown = not fragments.isdisjoint(_pieces(secret))
        else:
            written_out = {b"%d" % int.from_bytes(secret, order) for order in ("little", "big")}
            shown = secret.hex().encode() in text or not numbers.isdisjoint(written_out)
        if shown:
            found.append(secret)
    return found


def _pieces(content: bytes) -> list[bytes]:
    return [content[at : at + FRAGMENT] for at in range(len(content) - FRAGMENT + 1)]


def _decoded(text: bytes) -> Iterator[bytes]:
    """The text, and whatever in it may be an encoding of bytes, at every alignment."""
    yield text
    for run in _HEX.findall(text):
        for start in (0, 1):
            yield binascii.unhexlify(run[start : start + (len(run) - start) // 2 * 2])
    for run in _BASE64.findall(text):
        plain = run.replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            yield base64.b64decode(plain[start : start + (len(plain) - start) // 4 * 4])
