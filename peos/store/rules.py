"""What every store refuses, whatever it is built on."""

from collections.abc import Iterable, Iterator
from typing import Final

from peos.collection.lifecycle import OVER, State, advance
from peos.collection.ticket import ID_BYTES
from peos.errors import Closed, LocalFault, NotYet, Refused, Unknown, WrongInput
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.streaming import Rows
from peos.store.base import Collection

KEEPS_VECTOR: Final = (Phase.STORED, Phase.SENDING)
UNDERWAY: Final = (State.FROZEN, State.SHUFFLING)
ANSWERED: Final = (State.DELIVERED, State.PUBLISHED)
BEGUN: Final = (Phase.SENDING, Phase.DONE, Phase.ABORTED)  # some of the output may have left
UNFINISHED: Final = (State.OPEN, State.CLOSED, State.FROZEN, State.SHUFFLING)
SEED_BYTES: Final = 32


def unknown(digest: bytes) -> Unknown:
    """There is no such collection."""
    return Unknown(
        "collection.unknown",
        f"there is no collection {digest.hex()[:16]}… here",
        hint="ask the analyzer for the invitation",
    )


def closed(state: State, *, lost: bool, erased: bool) -> Closed | None:
    """Why nothing new is taken in; None where it is."""
    if erased:
        return Closed(
            "submit.erased", "the collection takes no more submissions: it was erased", hint="wait for the next one"
        )
    if state is State.DRAFT:
        return Closed(
            "submit.not_open", "the collection is not open yet", hint="wait until every shuffler has accepted it"
        )
    if lost:
        return Closed(
            "submit.restored", "the collection takes no more submissions here: this store was restored from a backup"
        )
    if state is not State.OPEN:
        return Closed(
            "submit.closed", f"the collection takes no more submissions: it is {state}", hint="wait for the next one"
        )
    return None


def answered_before(other: bytes) -> Refused:
    """The same question would be answered twice."""
    return Refused(
        "collection.answered",
        f"this question and epoch are answered by collection {other.hex()[:16]}… already",
        hint="a second output of the same users could give one of them away; ask for another epoch",
    )


def require_first_state(state: State) -> None:
    """A collection begins as a draft, or open."""
    if state not in (State.DRAFT, State.OPEN):
        raise LocalFault("store.first_state", f"a collection does not begin as {state}")


def is_finished(state: State, *, erased: bool) -> bool:
    """Whether nothing is left to do for a collection but to forget its rows."""
    return state in OVER and erased


def is_answered(here: Collection) -> bool:
    """Whether there is an output of this collection, or may be: where that is unknown, there is."""
    return here.state in ANSWERED or here.delivery_state.phase in BEGUN or here.lost


def asked_by(analyzer: bytes, came: Iterable[Collection]) -> list[str]:
    """The questions of an analyzer's collections that have an output, or may still have one."""
    mine = (here for here in came if here.question.analyzer == analyzer)
    return [here.question.question for here in mine if here.state is not State.ABORTED or is_answered(here)]


def next_state(here: Collection, there: State) -> State | None:
    """`there`, if a collection may go on to it, or None if it is there already; FROZEN comes with what was frozen."""
    if there is State.FROZEN:
        raise LocalFault("store.frozen_state", "a collection becomes frozen together with what was frozen")
    if here.lost and there is not State.ABORTED:
        raise restored()
    return None if there is here.state else advance("shuffler", here.state, there)


def restored() -> LocalFault:
    """Whatever was signed for this collection after the backup is forgotten here."""
    return LocalFault(
        "collection.restored",
        "this collection was restored from a backup, and nothing may be signed for it any more",
        hint="abort it; where it is unknown whether delivery happened, it happened",
    )


def require_freezable(here: Collection, frozen: bytes, asking: Iterable[Collection]) -> bool:
    """One question is frozen once at a time, and answered once; False if exactly this is frozen already."""
    if here.lost:
        raise restored()
    if here.state is State.FROZEN and here.frozen is not None and here.frozen.digest == frozen:
        return False
    advance("shuffler", here.state, State.FROZEN)
    for other in asking:
        if other.digest != here.digest and (is_answered(other) or other.state in UNDERWAY):
            raise answered_before(other.digest)
    return True


def require_standing(here: Collection, new: DeliveryState, vector: Rows | None, *, has_vector: bool) -> None:
    """A delivery state that can follow, with a vector if and only if it needs one."""
    old = here.delivery_state
    if here.lost:
        raise restored()
    if new.attempt < old.attempt or new.left < old.left:
        raise LocalFault("store.attempt", "attempts are never entered or left again")
    if vector is not None and (len(vector.shape) != 2 or vector.dtype != "uint8"):
        raise LocalFault("store.vector_type", "a final vector is rows of bytes")
    if vector is not None and (new.phase not in KEEPS_VECTOR or here.erased):
        raise LocalFault("store.vector_state", "no final vector is kept in this delivery state, or after the erasure")
    same = (old.attempt, old.transcript) == (new.attempt, new.transcript)
    if new.phase in KEEPS_VECTOR and vector is None and not (has_vector and same):
        raise LocalFault("store.vector_missing", f"a shuffler that is {new.phase} has the final vector of that attempt")


def require_same_vector(*, same: bool) -> None:
    """Of one delivery state there is one final vector: some of it may have left already."""
    if not same:
        raise LocalFault(
            "store.vector_differs",
            "another final vector is kept for this delivery state",
            hint="it stays; nothing was changed",
        )


def delivery_state_fields(digest: bytes, delivery_state: DeliveryState) -> dict[str, str | int]:
    """A delivery state as the audit log holds it."""
    return {
        "collection": digest.hex(),
        "place": delivery_state.phase.value,
        "attempt": delivery_state.attempt,
        "left": delivery_state.left,
        "transcript": delivery_state.transcript.hex(),
    }


def uncounted(own: Iterator[bytes], counted: Iterable[bytes]) -> tuple[list[bytes], int]:
    """The ids kept here that do not count, and how many do; rows are sorted, and all that counts is kept here."""
    left_out: list[bytes] = []
    count = 0
    for row in counted:
        here = next(own, None)
        while here is not None and here[:ID_BYTES] < row[:ID_BYTES]:
            left_out.append(here[:ID_BYTES])
            here = next(own, None)
        if here != row:
            raise LocalFault("store.frozen_missing", "what was frozen is not kept here, or not in order")
        count += 1
    left_out.extend(row[:ID_BYTES] for row in own)
    return left_out, count


def require_frozen(here: Collection) -> None:
    """What was frozen, its shares and the fakes exist from the freeze to the erasure."""
    if here.lost:
        raise restored()
    if here.erased or here.frozen is None:
        raise LocalFault(
            "store.shares_state", "shares and the seed of the fakes are there from the freeze to the erasure"
        )


def require_listed(here: Collection) -> None:
    """Rows are shown to users once they are frozen."""
    if here.frozen is None:
        if here.state is State.ABORTED:
            raise Closed(
                "collection.aborted_early",
                f"the collection was aborted before its reports were frozen: {here.reason or 'without a reason'}",
            )
        raise NotYet(
            "collection.not_frozen", "the collection is not frozen yet", hint="ask again when its result is published"
        )


def rows_are_gone() -> Closed:
    """What is kept for users is kept until the document's `erase_by`."""
    return Closed("collection.lists_erased", "the lists of this collection are erased: nothing can be shown any more")


def require_reasons(reasons: Iterable[str]) -> None:
    """Reasons are short and few: they end in every status."""
    if any(not 0 < len(reason) <= 200 for reason in reasons):
        raise WrongInput("store.reason_length", "a reason for refusing has 1 to 200 characters")
