"""Secrets at rest: AES-256-GCM under a key that lies, under a passphrase, in a file of its party's.

The passphrase is stretched once a start (scrypt); all that comes later is sealed under a random key. What is sealed
carries a label that is authenticated, so that nothing can be put in another's place.
"""

import struct
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from peos.crypto.identity import labelled
from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.errors import LocalFault, WrongInput

_MAGIC: Final = b"peos keys 1\n"
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
COST: Final = 17  # log2 of scrypt's n: 128 MB and a third of a second for each guess
# A file says its own cost, so that it still opens when COST has grown. Who could lower it there would have to know the
# passphrase: the key that it is sealed under is stretched at that cost, and its head is authenticated.
_COSTS: Final = range(10, 21)  # at most a gigabyte, whatever a damaged file says
BLOCK: Final = 8
SEAL_BYTES: Final = _NONCE_BYTES + 16
"""By which what is sealed is longer."""
_HEAD: Final = struct.Struct(f">{len(_MAGIC)}sB{_SALT_BYTES}s")


class Vault:
    """Seals and opens under one key."""

    def __init__(self, secret: bytes, rng: Randomness) -> None:
        self._aead = AESGCM(secret)
        self._rng = rng

    def __repr__(self) -> str:
        return "Vault(...)"

    def seal(self, label: str, *fields: bytes, content: bytes | memoryview) -> bytes:
        """`content` under a fresh nonce, bound to the label and the fields."""
        nonce = self._rng.bytes(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, content, labelled(label, *fields))

    def open(self, label: str, *fields: bytes, sealed: bytes) -> bytes:
        """What was sealed under this very label and these fields."""
        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._aead.decrypt(nonce, body, labelled(label, *fields))
        except (InvalidTag, ValueError):
            raise LocalFault(
                "key.sealed_damaged", f"the sealed {label} is damaged", hint="restore the folder that it lies in"
            ) from None


def lock(passphrase: bytes, content: bytes, rng: Randomness) -> bytes:
    """`content` under a passphrase."""
    head = _HEAD.pack(_MAGIC, COST, rng.bytes(_SALT_BYTES))
    return head + Vault(_stretched(passphrase, head), rng).seal("keys", head, content=content)


def is_locked(data: bytes) -> bool:
    """Whether these bytes lie under a passphrase."""
    return data.startswith(_MAGIC)


def unlock(passphrase: bytes, data: bytes, rng: Randomness) -> bytes:
    """The content; a wrong passphrase and a damaged file look alike, as they must."""
    head = data[: _HEAD.size]
    try:
        if len(head) < _HEAD.size or not head.startswith(_MAGIC) or head[len(_MAGIC)] not in _COSTS:
            raise LocalFault("key.file", "not a file of keys")
        return Vault(_stretched(passphrase, head), rng).open("keys", head, sealed=data[_HEAD.size :])
    except LocalFault:
        raise WrongInput(
            "key.passphrase",
            "the passphrase does not open the keys",
            hint="look at passphrase_file; if it is right, the file of the keys is damaged: restore it",
        ) from None


def _stretched(passphrase: bytes, head: bytes) -> bytes:
    _, cost, salt = _HEAD.unpack(head)
    return Scrypt(salt=salt, length=KEY_BYTES, n=1 << cost, r=BLOCK, p=1).derive(passphrase)
