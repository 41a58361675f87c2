"""All r shufflers together, with everything they hold but without the decryption key, read no report.

Every stream is known to them, so all that counts is whether a word is an integer combination of the inputs that their
vectors show. It is in plain secret sharing (the thesis' second attempt), where share 1 is in the clear.
"""

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from tests.security.linear.elimination import vanishing
from tests.security.linear.forms import Integers, Sealed, Share
from tests.security.linear.recording import ANALYZER, record
from tests.security.linear.worlds import Worlds

ROWS = 3


def read(shufflers: int, rng: Randomness, *, sealed: bool) -> list[bool]:
    """Which of the users' words follow from all vectors that any shuffler ever holds."""
    world = Worlds(record(shufflers, rng), ROWS).base
    layout = world.layout
    shown: list[Integers] = [np.zeros((0, layout.width), np.int64)]
    for arrival in world.arrivals:
        if arrival.receiver == ANALYZER:
            continue
        if not isinstance(arrival.vector, Sealed):
            shown.append(arrival.vector)
        elif not sealed:
            shown.append(arrival.vector.words)
    inputs = [layout.columns(Share(who)) for who in range(1, shufflers + 1)]
    forms = np.concatenate([np.concatenate(shown)[:, columns] for columns in inputs], axis=1)
    words = np.tile(np.eye(ROWS, dtype=np.int64), shufflers)
    return [bool(np.any(vanishing(np.concatenate((forms, word[None])))[:, -1])) for word in words]


@pytest.mark.parametrize("shufflers", [3, 4, 5, 7])
def test_all_shufflers_together_read_no_report_while_share_1_is_encrypted(shufflers: int, rng: Randomness) -> None:
    assert not any(read(shufflers, rng, sealed=True))


@pytest.mark.parametrize("shufflers", [3, 4, 5, 7])
def test_they_read_every_report_of_plain_secret_sharing(shufflers: int, rng: Randomness) -> None:
    assert all(read(shufflers, rng, sealed=False))
