"""What the analyzer takes in from the last hiders: whose vectors, of what shape, and which of them are one output.

A last hider sends one attempt, for good (protocol.md §6.5), so whatever else comes from it is refused: no two outputs
of a collection may exist, and one put together from two attempts would be noise.
"""

from collections.abc import Iterable

from peos.collection.document import MAX_ROWS, Document
from peos.collection.submission import Verdict
from peos.errors import Conflict, Refused, RemoteFault
from peos.protocols import Encryption
from peos.shuffle.messages import Kind, Step, VectorHeader
from peos.shuffle.schedule import Schedule


def check_delivery(document: Document, collection: bytes, encryption: Encryption, header: VectorHeader) -> None:
    """Whether a vector with this header can be a part of the collection's output; its bytes are still to come."""
    place, schedule = header.header, document.schedule
    if place.context.collection != collection:
        raise _fault("delivery.collection", header, "delivers a vector of another collection")
    if place.sender not in schedule.last:
        raise _fault("delivery.sender", header, "is not one of the last hiders, who alone deliver")
    if place.step != Step(len(schedule.rounds), Kind.DELIVERY):
        raise _fault("delivery.step", header, "delivers at another step than the last")
    row_bytes = encryption.delivered_bytes(place.sender)
    least = document.minimum + document.fakes
    if header.row_bytes != row_bytes or not least <= header.rows < MAX_ROWS:
        raise _fault(
            "delivery.shape",
            header,
            f"delivers {header.rows} rows of {header.row_bytes} bytes, where there are at least {least} rows of "
            f"{row_bytes} bytes",
        )


def require_sender(document: Document, sender: int, certificate: bytes) -> None:
    """Refused unless the caller shows the certificate that the document names for shuffler `sender`."""
    if not 1 <= sender <= len(document.shufflers) or document.shufflers[sender - 1].certificate != certificate:
        raise Refused(
            "delivery.caller",
            f"the call does not come from shuffler {sender} of this collection",
            hint="shufflers call with the certificate that the document names",
        )


def judge_delivery(kept: Iterable[VectorHeader], new: VectorHeader) -> Verdict:
    """STORE what is new, KNOWN for the identical repeat; Conflict for anything else that its sender delivers.

    RemoteFault where the vectors of one attempt do not have one number of rows.
    """
    for known in kept:
        if known.header.sender == new.header.sender:
            if known == new:
                return Verdict.KNOWN
            what = "attempt" if known.header.context != new.header.context else "vector"
            raise Conflict(
                "delivery.another",
                f"shuffler {new.header.sender} has delivered another {what} before",
                hint="one output is taken, and never a second",
            )
        if known.header.context == new.header.context and known.rows != new.rows:
            raise _fault(
                "delivery.rows_differ",
                new,
                f"delivers {new.rows} rows, where shuffler {known.header.sender} delivered {known.rows}",
            )
    return Verdict.STORE


def output(schedule: Schedule, kept: Iterable[VectorHeader]) -> dict[int, VectorHeader] | None:
    """The vectors of one attempt and transcript from all last hiders, by sender; nothing before they are there."""
    found = {header.header.sender: header for header in kept if header.header.sender in schedule.last}
    if len(found) < len(schedule.last):
        return None
    same = {(header.header.context, header.transcript) for header in found.values()}
    return found if len(same) == 1 else None


def _fault(id_: str, header: VectorHeader, sentence: str) -> RemoteFault:
    return RemoteFault(id_, sentence, party=f"shuffler {header.header.sender}", step="delivery")
