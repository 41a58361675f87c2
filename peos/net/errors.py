"""One table: what an exception becomes on the wire, and what the caller makes of it there.

A caller learns what it must know to act, by the exception's own id and sentence where they are about what the caller
sent; of this party's own troubles it learns only that there are some. The details go to our log.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from peos.errors import (
    BadEncoding,
    Closed,
    Conflict,
    Full,
    LocalFault,
    NotYet,
    PeosError,
    ProtocolError,
    Refused,
    RemoteFault,
    Unknown,
    WrongInput,
    id_from,
)
from peos.net.tls import grpc

ERROR_KEY: Final = "peos-error"
ID_KEY: Final = "peos-error-id"
RETRY_KEY: Final = "peos-retry"
HINT_KEY: Final = "peos-hint-bin"
TEXT_LIMIT: Final = 500


class Row(NamedTuple):
    """A line of the table. An empty `text` stands for the exception's own sentence, with its own id and hint."""

    status: grpc.StatusCode
    text: str
    retry: bool
    hint: str
    there: type[PeosError]  # what the caller raises
    id: str = ""


_Code = grpc.StatusCode
_OURS: Final = "its operator finds the reason in its log"
_OURS_TEXT: Final = "had an internal error; its log has the details"
TABLE: Final[dict[type[PeosError], Row]] = {
    PeosError: Row(_Code.INTERNAL, _OURS_TEXT, False, _OURS, RemoteFault, "network.internal"),
    WrongInput: Row(
        _Code.INVALID_ARGUMENT, "cannot use what was sent", False, "run the same version", Refused, "network.unusable"
    ),
    Refused: Row(_Code.PERMISSION_DENIED, "", False, "", Refused),
    Unknown: Row(_Code.NOT_FOUND, "", False, "", Unknown),
    Closed: Row(_Code.FAILED_PRECONDITION, "", False, "", Closed),
    Conflict: Row(_Code.ALREADY_EXISTS, "", False, "", Conflict),
    NotYet: Row(_Code.UNAVAILABLE, "", True, "", NotYet),
    Full: Row(_Code.RESOURCE_EXHAUSTED, "", True, "", Full),
    ProtocolError: Row(_Code.ABORTED, "the collection cannot go on", False, _OURS, RemoteFault, "network.aborted"),
    LocalFault: Row(_Code.INTERNAL, _OURS_TEXT, False, _OURS, RemoteFault, "network.internal"),
    RemoteFault: Row(_Code.INVALID_ARGUMENT, "", False, "", Refused),
    BadEncoding: Row(_Code.INVALID_ARGUMENT, "", False, "run the same version everywhere", Refused),
}
_BY_NAME: Final = {type_.__name__: type_ for type_ in TABLE}


@dataclass(frozen=True)
class Public:
    """The fields of an error that a caller may see, also in an `Answer` that refuses a part."""

    status: grpc.StatusCode
    text: str
    hint: str
    retry: bool
    name: str
    id: str

    @property
    def metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """How it travels with the status."""
        retry, hint = str(int(self.retry)), self.hint.encode()
        return (ERROR_KEY, self.name), (ID_KEY, self.id), (RETRY_KEY, retry), (HINT_KEY, hint)


def to_status(error: BaseException) -> Public:
    """What a caller learns of `error`; of an exception that is not ours, nothing but that it happened."""
    type_ = next((known for known in type(error).__mro__ if known in TABLE), PeosError)
    row = TABLE[type_]
    if row.text or not isinstance(error, PeosError):
        return Public(row.status, row.text or _OURS_TEXT, row.hint, row.retry, type_.__name__, row.id)
    hint = _clean(error.hint) or row.hint
    return Public(row.status, _clean(str(error)), hint, row.retry, type_.__name__, error.id)


class _Reason(NamedTuple):
    """Why a call came to nothing before the other party could say so itself."""

    id: str
    found: str  # in grpc's details
    sentence: str
    hint: str
    retry: bool


_RUNS: Final = "check that it runs, its address, and the network between"
_TRANSPORT: Final = (
    _Reason(
        "network.certificate",
        "CERTIFICATE_VERIFY_FAILED",
        "showed another certificate than the pinned one, or one that has expired or is not valid yet by the clock here",
        "compare the clocks, and go no further before its operator says why: with new keys comes a new card",
        False,
    ),
    _Reason("network.no_answer", "Connection refused", "does not answer at its address", _RUNS, True),
    _Reason(
        "network.name",
        "DNS resolution failed",
        "has an address that cannot be found",
        "check the name in its address",
        True,
    ),
    _Reason(
        "network.closed",
        "Socket closed",
        "closed the connection",
        "it may be restarting; if it goes on, its operator has not listed this party's card",
        True,
    ),
    _Reason(
        "network.tls",
        "SSL",
        "does not speak TLS 1.3 here, or refused this party's certificate",
        "ask its operator",
        False,
    ),
)
_STATUS: Final = {
    _Code.UNAVAILABLE: _Reason("network.unreachable", "", "cannot be reached", _RUNS, True),
    _Code.DEADLINE_EXCEEDED: _Reason(
        "network.timeout", "", "did not answer in time", "the same call may be made again", True
    ),
    _Code.RESOURCE_EXHAUSTED: _Reason("network.busy", "", "has as much to do as it can take", "try again later", True),
    _Code.UNIMPLEMENTED: _Reason(
        "network.not_offered", "", "does not offer this call", "run the same version everywhere", False
    ),
    _Code.CANCELLED: _Reason("network.cancelled", "", "was not waited for", "", False),
}
_UNSAID: Final = _Reason("network.unsaid", "", "failed without saying why", _OURS, False)


def from_rpc_error(error: grpc.RpcError, party: str, step: str) -> PeosError:
    """The one sentence about a call that failed: which party, at which step, what to do. Its text is not trusted."""
    said = _said(error)
    if said is None:
        reason = _reason(error)
        if reason is _STATUS[_Code.RESOURCE_EXHAUSTED]:
            return Full(reason.id, reason.sentence, hint=reason.hint, where=f"{party}, {step}")
        return RemoteFault(reason.id, reason.sentence, party=party, step=step, hint=reason.hint)
    type_, id_, hint = said
    sentence = _clean(error.details() or "") or "gave no reason"
    there = TABLE[type_].there
    if issubclass(there, RemoteFault):
        return there(id_, sentence, party=party, step=step, hint=hint)
    return there(id_, sentence, hint=hint, where=f"{party}, {step}")


def is_retryable(error: Exception) -> bool:
    """Whether the same call may succeed later. Every call here may be repeated: the same bytes change nothing twice."""
    if isinstance(error, PeosError):
        return to_status(error).retry
    if not isinstance(error, grpc.RpcError):
        return False
    said = _said(error)
    return _reason(error).retry if said is None else TABLE[said[0]].retry


def _said(error: grpc.RpcError) -> tuple[type[PeosError], str, str] | None:
    """The line of the table that the other party named, its id and its hint; nothing if it never came to speak."""
    pairs: Iterable[tuple[str, str | bytes]] = error.trailing_metadata() or ()  # type: ignore[assignment]  # the stubs know one of its two forms
    metadata = dict(pairs)
    type_ = _BY_NAME.get(str(metadata.get(ERROR_KEY, "")))
    if type_ is None or TABLE[type_].status is not error.code():
        return None
    hint = metadata.get(HINT_KEY, b"")
    said = _clean(hint.decode(errors="replace") if isinstance(hint, bytes) else hint)
    return type_, id_from(str(metadata.get(ID_KEY, ""))), said


def _reason(error: grpc.RpcError) -> _Reason:
    details = error.details() or ""
    if error.code() is _Code.UNAVAILABLE:
        for reason in _TRANSPORT:
            if reason.found in details:
                return reason
    return _STATUS.get(error.code(), _UNSAID)


def _clean(text: str) -> str:
    """One printable line of bounded length: it may come from a stranger and end on a terminal."""
    return "".join(character if character.isprintable() else " " for character in text[:TEXT_LIMIT])
