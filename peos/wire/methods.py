"""Every remote call with its codec: one table for servers and clients.

gRPC is given bytes and these functions, never the generated parsers: what comes in goes through the strict codec.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from peos.wire import consoles, freezes, inspections, parties, shuffles, submissions

VECTOR_HEADER: Final = "vector-header-bin"  # the metadata of a call that carries a vector's chunks
CLOSED_HEADER: Final = "peos-closed"  # next to a document: no new report is taken in; unsigned, it binds neither side


def _raw(data: bytes) -> bytes:
    return data


@dataclass(frozen=True)
class Method:
    """One call: encode and decode of request and response, and which of the two are streams.

    Where a side is decoded by the caller (documents, whose key takes time; chunks, which belong to a reader), it is
    bytes here.
    """

    service: str
    name: str
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    encode_response: Callable[[Any], bytes]
    decode_response: Callable[[bytes], Any]
    streams_in: bool = False
    streams_out: bool = False

    @property
    def path(self) -> str:
        """The path of the call on the wire."""
        return f"/peos.v1.{self.service}/{self.name}"


_ASK = (parties.encode_inquiry, parties.decode_inquiry)
_DONE = (parties.encode_reply, parties.decode_reply)
_BYTES = (_raw, _raw)
_PART = (submissions.encode_part, submissions.decode_part)
_ANSWER = (parties.encode_answer, parties.decode_answer)

DESCRIBE: Final = Method("Users", "Describe", *_ASK, *_BYTES)  # answers with a SignedDocument's bytes
SUBMIT: Final = Method("Users", "Submit", *_PART, *_ANSWER)
SUBMIT_MANY: Final = Method("Users", "SubmitMany", *_PART, *_ANSWER, streams_in=True, streams_out=True)
PROVE: Final = Method(
    "Users",
    "Prove",
    submissions.encode_membership_request,
    submissions.decode_membership_request,
    submissions.encode_membership_proof,
    submissions.decode_membership_proof,
)

PROPOSE: Final = Method("Peers", "Propose", _raw, parties.decode_proposal, *_DONE)
CLOSE: Final = Method("Peers", "Close", _raw, parties.decode_order, *_DONE)
STATUS: Final = Method("Peers", "Status", *_ASK, parties.encode_status, parties.decode_status)
GET_ANNOUNCEMENTS: Final = Method(
    "Peers", "GetAnnouncements", *_ASK, freezes.encode_announcements, freezes.decode_announcements
)
GET_LIST: Final = Method("Peers", "GetList", *_ASK, freezes.encode_stretch, freezes.decode_stretch, streams_out=True)
GET_FROZEN_DIGEST: Final = Method(
    "Peers", "GetFrozenDigest", *_ASK, freezes.encode_frozen_digest, freezes.decode_frozen_digest
)
GET_FROZEN_LISTS: Final = Method(
    "Peers", "GetFrozenLists", *_ASK, submissions.encode_frozen_lists, submissions.decode_frozen_lists
)
SAY: Final = Method("Peers", "Say", shuffles.encode_statement, shuffles.decode_statement, *_DONE)
CARRY: Final = Method("Peers", "Carry", *_BYTES, *_DONE, streams_in=True)
TELL: Final = Method("Peers", "Tell", shuffles.encode_notice, shuffles.decode_notice, *_DONE)

DELIVER: Final = Method("Analyst", "Deliver", *_BYTES, *_DONE, streams_in=True)
GET_RECEIPT: Final = Method("Analyst", "GetReceipt", *_ASK, shuffles.encode_receipt, shuffles.decode_receipt)
GET_UNSENT: Final = Method(
    "Analyst", "GetUnsentDummies", *_ASK, inspections.encode_unsent, inspections.decode_unsent, streams_out=True
)
GET_DUMMIES: Final = Method(
    "Analyst", "GetDummies", *_ASK, inspections.encode_revealed, inspections.decode_revealed, streams_out=True
)

_OF_CONSOLE = (
    consoles.encode_console_question,
    consoles.decode_console_question,
    consoles.encode_console_piece,
    consoles.decode_console_piece,
)


def _of_console(name: str) -> Method:
    return Method("Console", name, *_OF_CONSOLE, streams_out=True)


CONSOLE_OVERVIEW: Final = _of_console("Overview")
CONSOLE_COLLECTION: Final = _of_console("Collection")
CONSOLE_STUDY: Final = _of_console("Study")
CONSOLE_BUDGETS: Final = _of_console("Budgets")
CONSOLE_RESULT: Final = _of_console("Result")
CONSOLE_STATEMENT: Final = _of_console("Statement")
CONSOLE_INVITATION: Final = _of_console("Invitation")
CONSOLE_PLAN: Final = _of_console("Plan")
CONSOLE_CREATE: Final = _of_console("Create")

USERS: Final = (DESCRIBE, SUBMIT, SUBMIT_MANY, PROVE)
PEERS: Final = (
    PROPOSE,
    CLOSE,
    STATUS,
    GET_ANNOUNCEMENTS,
    GET_LIST,
    GET_FROZEN_DIGEST,
    GET_FROZEN_LISTS,
    SAY,
    CARRY,
    TELL,
)
ANALYST: Final = (DELIVER, GET_RECEIPT, GET_UNSENT, GET_DUMMIES)
