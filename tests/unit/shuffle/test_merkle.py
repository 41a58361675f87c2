"""Single rows under a root: what is proved, and what is not."""

import hashlib

import numpy as np
import pytest

from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import Randomness
from peos.shuffle.merkle import Proof, prove, proves, root

SALT = StreamKey(b"\x07" * 32)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 31, 100])
def test_every_row_is_proved_at_its_place_and_nowhere_else(rng: Randomness, count: int) -> None:
    rows = rng.uint64((count, 2)).view(np.uint8)
    top = root(rows, SALT)
    for place, proof in enumerate(prove(rows, SALT, range(count))):
        row = rows[place].tobytes()
        assert [at for at in range(count) if proves(proof, top, row, at, count)] == [place]
        other = bytes([row[0] ^ 1]) + row[1:]
        assert not proves(proof, top, other, place, count)
        assert not proves(Proof(bytes(16), proof.beside), top, row, place, count)
        assert not proves(Proof(proof.salt, (*proof.beside, bytes(32))), top, row, place, count)
        assert not proves(Proof(proof.salt, proof.beside[:-1]), top, row, place, count) or not proof.beside
        assert not proves(proof, top, row, place, 2 * count + 2), "a proof is for so many rows"


def test_a_node_is_no_row(rng: Randomness) -> None:
    """Without the byte in front of them, two leaves side by side would pass for a row."""
    rows = rng.uint64((4, 8)).view(np.uint8)
    first, second = (
        hashlib.sha256(b"\x00" + proof.salt + row.tobytes()).digest()
        for proof, row in zip(prove(rows, SALT, [0, 1]), rows, strict=False)
    )
    beside = prove(rows, SALT, [0])[0].beside
    node = first + second
    assert not proves(Proof(node[:16], beside[1:]), root(rows, SALT), node[16:], 0, 2)


def test_the_salts_of_other_rows_are_not_in_a_proof(rng: Randomness) -> None:
    rows = rng.uint64((16, 1)).view(np.uint8)
    salts = SALT.stream().bytes(16 * 16)
    (proof,) = prove(rows, SALT, [5])
    shown = proof.salt + b"".join(proof.beside)
    assert [place for place in range(16) if salts[16 * place : 16 * place + 16] in shown] == [5]
