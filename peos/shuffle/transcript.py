"""The transcript of an attempt: what all shufflers were sent of every round, in one digest.

The last hiders sign it with their final vectors, and the analyzer combines only vectors of one transcript: parts of
two different shuffles never meet.
"""

import hashlib
from collections.abc import Mapping

from peos.crypto.kdf import Context
from peos.shuffle.messages import Kind, Step
from peos.shuffle.schedule import Schedule

Said = tuple[Step, int]  # what, and by whom


def expected(schedule: Schedule) -> frozenset[Said]:
    """Every confirmation and root of a whole attempt."""
    hiding = [(number, hider) for number, hiders in enumerate(schedule.rounds, start=1) for hider in hiders]
    said = [(Step(number, kind), hider) for number, hider in hiding for kind in (Kind.CONFIRM, Kind.ROOT)]
    said += [(Step(handed.round, Kind.CIPHER_ROOT), holder) for holder, handed in schedule.passes]
    return frozenset(said)


def digest(context: Context, said: Mapping[Said, bytes]) -> bytes:
    """SHA-256 over all that was said, ordered by step and sender."""
    hasher = hashlib.sha256(b"transcript" + context.collection + context.frozen + context.attempt.to_bytes(4, "big"))
    for (step, sender), body in sorted(said.items()):
        hasher.update(step.round.to_bytes(2, "big") + bytes([step.kind, sender]) + body)
    return hasher.digest()
