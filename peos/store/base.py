"""The contract of a shuffler's store; its docstrings are what every implementation is tested against.

**Durable** means that a call which returned has survived a crash of the process, and of the machine where its disk
keeps its word about fsync. Nothing is half done: each call is one transaction.

**A call that raised may have changed what it was to change**: what comes behind the commit can fail too. So every
change may be repeated: one that is there already (the same state, frozen digest, delivery state with the same vector)
is a success that changes nothing, and what was left undone behind the commit is done by then. A caller that does not
repeat a change calls `settle` before it relies on what is stored.

A store has one writer. All calls, and the iterators that it returns, belong to the thread that opened it: give it an
executor of one thread. What a call returns whole (bytes, records, a final vector) may go to any thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import rows_of
from peos.collection.lifecycle import State
from peos.collection.submission import Verdict
from peos.crypto.randomness import Randomness
from peos.errors import LocalFault, Refused
from peos.ldp.base import Question
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.streaming import Rows

Judged = Verdict | Refused
"""What became of one submission: STORE (durable now) and KNOWN are acknowledged; CONFLICT and a refusal are not."""

Vector = NDArray[np.uint8]
"""A final vector as its rows' bytes: `peos.shuffle.vectors.as_rows`."""

Plain = str | int | float
"""What the audit log may hold of a field."""

_DAMAGED: Final = "check the disk; the other shufflers have nothing to put in its place, so abort the collection"


@dataclass(frozen=True, repr=False)
class Submission:
    """One part to be kept: whose collection, its row (id ‖ commitment), and the share itself."""

    collection: bytes
    row: bytes
    share: bytes

    def __repr__(self) -> str:
        return f"Submission({self.row.hex()[:8]}…)"


@dataclass(frozen=True)
class Frozen:
    """What was agreed to count."""

    digest: bytes
    count: int
    announcements: bytes = field(repr=False)  # of all shufflers' lists, as they were compared


@dataclass(frozen=True, repr=False)
class Lists:
    """The rows of one collection that was frozen: those kept here, and those of them that count, both sorted."""

    own: Sequence[bytes]
    counted: Sequence[bytes]


@dataclass(frozen=True)
class Collection:
    """What a store knows of one collection."""

    digest: bytes
    signed: bytes = field(repr=False)  # the signed document as it came
    roster: bytes = field(repr=False)  # how to reach everybody in it
    question: Question
    state: State
    reason: str  # of the last change of state
    count: int  # submissions kept; after an erasure, how many there were
    frozen: Frozen | None
    delivery_state: DeliveryState
    erased: bool
    lost: bool  # restored from a backup past its opening: nothing may be signed for it any more


@dataclass(frozen=True)
class Finished:
    """A collection that is over and erased: nothing is left to do for it but to forget its rows."""

    digest: bytes
    signed: bytes = field(repr=False)
    roster: bytes = field(repr=False)
    has_rows: bool  # kept for users who may ask


@dataclass(frozen=True)
class AuditEntry:
    """One line of the audit log; `hash` covers the line and the hash before it."""

    number: int  # from 1
    time: float
    event: str
    fields: Mapping[str, Plain]
    hash: bytes


class ShufflerStore(ABC):
    """Everything durable of one shuffler."""

    # The store itself.

    @property
    @abstractmethod
    def identity(self) -> bytes:
        """16 random bytes, drawn when the store was made."""

    @property
    @abstractmethod
    def generation(self) -> int:
        """Grows with every opening and with every change but submissions; an older one is a restored backup."""

    @abstractmethod
    def close(self) -> None:
        """Close the store; what was acknowledged stays."""

    @abstractmethod
    def settle(self) -> None:
        """Do what a call that raised left undone behind its commit: what is stored may be relied on afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Collections.

    @abstractmethod
    def put_collection(
        self, digest: bytes, signed: bytes, roster: bytes, question: Question, state: State = State.DRAFT
    ) -> None:
        """Keep a new collection as DRAFT or OPEN. The same again changes nothing; another roster is a Conflict.

        Refused if this question (analyzer, question, epoch) was delivered before under another digest.
        """

    @abstractmethod
    def collections(self) -> list[Collection]:
        """All of them, in the order in which they came."""

    @abstractmethod
    def unfinished(self) -> list[Collection]:
        """Those of them that are not over, or not wholly erased."""

    @abstractmethod
    def finished(self) -> list[Finished]:
        """All others: published or aborted, and erased."""

    @abstractmethod
    def collection(self, digest: bytes) -> Collection:
        """One of them; Unknown if there is none."""

    @abstractmethod
    def set_state(self, digest: bytes, state: State, reason: str = "") -> None:
        """Move on, as `peos.collection.lifecycle.advance` allows from what is stored; LocalFault otherwise.

        The state that it has already changes nothing, nor its reason. FROZEN is set by `put_frozen` alone.
        A lost collection can only become ABORTED.
        """

    @abstractmethod
    def delivered_before(self, question: Question) -> bytes | None:
        """The collection that answered this question: its delivery happened, began, or cannot be ruled out.

        DELIVERED, PUBLISHED, a delivery state of SENDING, DONE or ABORTED, and whatever was lost past its opening.
        """

    @abstractmethod
    def asked_since(self, analyzer: bytes, moment: float) -> list[str]:
        """The question of each collection of an analyzer that came since then, but for those aborted without output."""

    @abstractmethod
    def note_refused(self, digest: bytes, reasons: Mapping[str, int]) -> None:
        """Count refused submissions by reason; gather some before calling. CONFLICTs are counted by the store."""

    @abstractmethod
    def refused(self, digest: bytes) -> dict[str, int]:
        """How many submissions were refused, by reason."""

    # Submissions.

    def submit(self, digest: bytes, row: bytes, share: bytes) -> Verdict:
        """Keep one checked submission (`check_part` gave its row), durably; see `submit_many`.

        Raises Unknown or Closed.
        """
        (judged,) = self.submit_many([Submission(digest, row, share)])
        if isinstance(judged, Refused):
            raise judged
        return judged

    @abstractmethod
    def submit_many(self, submissions: Sequence[Submission]) -> list[Judged]:
        """Keep what is new of these, a collection's in one transaction, each judged after those before it.

        Durable on return.

        At most one submission an id, and so one a ticket, which names its id: the identical row again is KNOWN, even
        after closing (its acknowledgement may have been lost), another is a CONFLICT. Where a submission cannot be
        taken its place in the answer holds an Unknown or Closed, and the others are taken all the same.
        """

    @abstractmethod
    def count(self, digest: bytes) -> int:
        """How many submissions are kept, or were before they were erased."""

    @abstractmethod
    def rows(self, digest: bytes) -> Iterator[bytes]:
        """The rows of the submissions kept, sorted, a few thousand in memory at a time."""

    # The freeze.

    @abstractmethod
    def put_frozen(self, digest: bytes, frozen: bytes, announcements: bytes, rows: Iterable[bytes]) -> None:
        """What all shufflers signed, and CLOSED → FROZEN with it; every row must be kept here (LocalFault).

        The same digest again, as long as it is FROZEN, changes nothing; another is a LocalFault.
        Refused while another collection of the same question is frozen or shuffling, or once one was delivered.
        """

    @abstractmethod
    def frozen_rows(self, digest: bytes) -> Iterator[bytes]:
        """The rows that count, in their order (by id)."""

    @abstractmethod
    def shares(self, digest: bytes) -> Iterator[bytes]:
        """The shares that count, in the order of the rows, a few thousand in memory at a time."""

    def fill_shares(self, digest: bytes, out: Rows) -> None:
        """Write the shares that count into the first rows of `out`, whose rows are as long as a share."""
        length, width = out.shape
        shares, row = self.shares(digest), 0
        while block := list(islice(shares, max(1, min(length, rows_of(width))))):
            end = row + len(block)
            if end > length or any(len(share) != width for share in block):
                raise LocalFault(
                    "store.shares_shape",
                    "the stored shares do not fit the shape that the collection has",
                    hint=_DAMAGED,
                )
            out[row:end] = np.frombuffer(b"".join(block), np.uint8).reshape(len(block), width)
            row = end
        frozen = self.collection(digest).frozen
        if frozen is None or row != frozen.count:
            raise LocalFault("store.shares_missing", "fewer shares are stored than were frozen", hint=_DAMAGED)

    @abstractmethod
    def fake_seed(self, digest: bytes, rng: Randomness) -> bytes:
        """The 32-byte secret behind this shuffler's shares of the fakes, drawn once a collection, durable on return.

        LocalFault unless the collection is frozen, and forever once it was erased: fakes are never redrawn, because two
        outputs with different fakes would let the analyzer intersect them (protocol.md §4).
        """

    # Delivery.

    @abstractmethod
    def put_delivery_state(self, digest: bytes, delivery_state: DeliveryState, vector: Rows | None = None) -> None:
        """Make a delivery state durable, together with the final vector if one is given (the effect `Persist`).

        A vector stays for as long as the delivery state is STORED or SENDING. Attempts never fall (LocalFault). The
        delivery state that it has already changes nothing; with another vector it is a LocalFault.
        """

    @abstractmethod
    def delivery_state(self, digest: bytes) -> DeliveryState:
        """Where this shuffler stands; FREE and nothing else before the first `put_delivery_state`."""

    @abstractmethod
    def final_vector(self, digest: bytes) -> Vector:
        """The vector stored with the delivery state, read-only, checked against the hash it was stored under.

        Not to be used once another delivery state was put: it is overwritten then.
        LocalFault if there is none or it is damaged.
        """

    @abstractmethod
    def erase(self, digest: bytes) -> None:
        """Forget shares, vectors and the seed of the fakes; idempotent, completed when the store next opens.

        NotYet while another process reads, so that something is still there: to be repeated.
        The document, both states, counts and the fact of the erasure stay, and `lists` of what was frozen. Nothing is
        taken in afterwards.
        """

    # What users may still ask.

    @abstractmethod
    def lists(self, digest: bytes) -> Lists:
        """The rows from the freeze on, erased or not, until `forget_rows`; NotYet before, Closed after that."""

    @abstractmethod
    def forget_rows(self, digest: bytes) -> None:
        """Overwrite the rows of a collection that was erased; idempotent."""

    # The audit log.

    @abstractmethod
    def audit(self, event: str, fields: Mapping[str, Plain]) -> None:
        """Append to the audit log; changes of a collection append by themselves."""

    @abstractmethod
    def audit_entries(self) -> Iterator[AuditEntry]:
        """The log from its beginning."""

    @abstractmethod
    def verify_audit(self) -> int:
        """How many entries there are, if all hashes hold and none is missing; LocalFault names the first that fails."""
