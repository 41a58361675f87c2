"""What signing acknowledgements costs a shuffler: processor time of a submission's way through one process.

    python -m benchmarks.intake

Parts with shares in the clear are checked, kept in SQLite and acknowledged in groups, as intake does it, without a
network. Processor time, the least of several runs, so that other work on the machine matters little.
"""

import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Final

from peos.collection.document import Document, MechanismChoice, Member, digest
from peos.collection.lifecycle import State
from peos.collection.receipts import Acknowledged, Acknowledgement, receipts
from peos.collection.submission import bind, check_part
from peos.collection.ticket import issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import system
from peos.crypto.schemes import scheme
from peos.ldp import GRR
from peos.ldp.base import Question
from peos.store.base import Submission
from peos.store.sqlite import SqliteStore
from peos.wire.documents import encode_document
from peos.wire.submissions import decode_part, encode_acknowledgement, encode_part

SUBMISSIONS: Final = 1024
GROUPS: Final = (128, 16, 1)  # committed and signed together
RUNS: Final = 5
ME: Final = 2


def measured(group: int) -> dict[str, float]:
    """Microseconds of each step for one submission, with so many in a group."""
    rng = system()
    identities = [Identity.generate(rng) for _ in range(4)]
    enrolment, signing = Identity.generate(rng), identities[ME - 1]
    *shufflers, analyzer = [Member(f"party {n}", one.public, bytes([n]) * 32) for n, one in enumerate(identities)]
    public = scheme("jl").generate(rng, bits=512).public
    document = Document(
        question="intake",
        epoch="",
        choice=MechanismChoice.of(GRR(64, 4.0)),
        scheme="jl",
        public_key=public.encode(),
        shufflers=tuple(shufflers),
        analyzer=analyzer,
        fakes=0,
        minimum=1,
        delta=1e-6,
        enrolment_key=enrolment.public,
        dummies=tuple(rng.bytes(32) for _ in range(32)),
        closes_at=1,
        shuffle_by=2,
        erase_by=3,
    )
    collection, encryption = digest(encode_document(document)), document.encryption()
    shares = rng.bytes(384), rng.bytes(8), rng.bytes(8)
    tickets = [issue(enrolment, collection, rng.bytes(16), Identity.generate(rng)) for _ in range(SUBMISSIONS)]
    encoded = [encode_part(bind(collection, ticket, shares, rng)[ME - 1]) for ticket in tickets]
    spent: defaultdict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "store", rng)
        store.put_collection(collection, b"signed", b"roster", Question(analyzer.identity, "intake", ""), State.OPEN)
        for first in range(0, SUBMISSIONS, group):
            times = [time.process_time()]
            parts = [decode_part(data) for data in encoded[first : first + group]]
            rows = [check_part(part, document, collection, encryption, ME) for part in parts]
            times.append(time.process_time())
            store.submit_many([Submission(collection, row, p.share) for row, p in zip(rows, parts, strict=True)])
            times.append(time.process_time())
            asked = [Acknowledged(collection, row, part.user_key) for row, part in zip(rows, parts, strict=True)]
            for row, receipt in zip(rows, receipts(signing, asked), strict=True):
                encode_acknowledgement(Acknowledgement(collection, row, receipt))
            times.append(time.process_time())
            for number, step in enumerate(("checked", "kept", "acknowledged")):
                spent[step] += 1e6 * (times[number + 1] - times[number]) / SUBMISSIONS
        store.close()
    return spent


def main() -> None:
    """A line for each size of a group."""
    for group in GROUPS:
        runs = [measured(group) for _ in range(RUNS)]
        least = {step: min(run[step] for run in runs) for step in runs[0]}
        times = sum(least.values()) / (least["checked"] + least["kept"])
        told = ", ".join(f"{step} {value:.0f} µs" for step, value in least.items())
        print(f"{group:4} together: {told}; {times:.2f} times as much as without an acknowledgement")


if __name__ == "__main__":
    main()
