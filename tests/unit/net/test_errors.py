"""The table of errors: complete, silent about secrets, and the same sentence at both ends."""

import inspect

import pytest

import peos.errors
from peos.collection.freeze import FrozenDigest
from peos.errors import (
    UNNAMED,
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
)
from peos.net.errors import TABLE, TEXT_LIMIT, from_rpc_error, is_retryable, to_status
from peos.net.guard import Context
from peos.net.tls import grpc
from peos.wire.methods import GET_FROZEN_DIGEST
from tests.errors_table import IDS
from tests.raising import raises
from tests.unit.net.ports import asked, caller, listening, run

QUOTED = "0123456789abcdef secret"
OURS = (PeosError, WrongInput, ProtocolError, LocalFault)  # troubles of the party that answers


def raised(error: Exception) -> PeosError:
    """What a caller raises when the other party's behaviour raised `error`."""

    async def behaviour(_: bytes, __: Context) -> FrozenDigest:
        raise error

    async def whole() -> PeosError:
        async with listening(behaviour=behaviour) as running:
            with pytest.raises(PeosError) as caught:
                await asked(running)
            return caught.value

    return run(whole())


def test_every_error_of_ours_has_its_line() -> None:
    ours = {found for _, found in inspect.getmembers(peos.errors, inspect.isclass) if issubclass(found, PeosError)}
    assert set(TABLE) == ours
    assert len({type_.__name__ for type_ in TABLE}) == len(TABLE)


def test_every_line_is_fit_to_be_shown() -> None:
    for type_, row in TABLE.items():
        assert row.status is not grpc.StatusCode.OK
        assert issubclass(row.there, PeosError)
        assert bool(row.text) == (type_ in OURS), "of this party's own troubles nothing is sent but a fixed text"
        assert row.retry == (type_ in (NotYet, Full))


@pytest.mark.parametrize("type_", list(TABLE))
def test_an_error_arrives_as_the_table_says(type_: type[PeosError]) -> None:
    seen = raised(type_("test.planted", f"the reason, {QUOTED}", hint="what to do"))
    row = TABLE[type_]
    assert type(seen) is row.there
    assert seen.id == (row.id if type_ in OURS else "test.planted")
    assert str(seen).startswith("shuffler 1, freeze: ")
    assert (QUOTED in str(seen)) == (type_ not in OURS)
    assert seen.hint == (row.hint if type_ in OURS else "what to do")
    assert is_retryable(seen) == row.retry


@pytest.mark.parametrize("id_", ["", "no id", "Submit.closed", "submit." + "x" * 99, "a.b.c"])
def test_an_id_that_is_none_is_not_passed_on(id_: str) -> None:
    assert raised(Refused(id_, "no")).id == UNNAMED


def test_an_error_that_is_not_ours_says_nothing_of_itself() -> None:
    for error in (KeyError(QUOTED), RuntimeError(QUOTED), AssertionError(QUOTED), ValueError(QUOTED.encode())):
        seen = raised(error)
        assert type(seen) is RemoteFault
        assert "secret" not in str(seen) + seen.hint
        assert to_status(error).status is grpc.StatusCode.INTERNAL


def test_a_subclass_that_the_table_does_not_know_goes_by_its_parent() -> None:
    class Late(Closed):
        """Closed, and late."""

    assert to_status(Late("test.late", "too late")).name == "Closed"
    assert to_status(Late("test.late", "too late")).text == "too late"


def test_a_fault_of_a_party_keeps_party_and_step() -> None:
    seen = raised(LocalFault("test.localfault", "lost its state"))
    assert isinstance(seen, RemoteFault)
    assert (seen.party, seen.step) == ("shuffler 1", "freeze")


def test_text_from_another_party_cannot_write_over_a_terminal_or_go_on_for_ever() -> None:
    seen = raised(Refused("test.refused", "no\x1b[2J\nnew line\r" + "x" * 3 * TEXT_LIMIT, hint="\x07bell\u202e"))
    assert str(seen).isprintable()
    assert seen.hint.isprintable()
    assert len(str(seen)) < 2 * TEXT_LIMIT


def test_a_bad_encoding_is_answered_with_its_reason() -> None:
    async def whole() -> None:
        async with listening() as running, caller(running) as made:
            with raises("encoding.length", "shuffler 1, freeze", "an inquiry's collection", "5", "32", kind=Refused):
                await made.ask(GET_FROZEN_DIGEST, b"short", step="freeze")

    run(whole())


class _Failed(grpc.RpcError):
    def __init__(self, code: grpc.StatusCode, details: str, metadata: tuple[tuple[str, str | bytes], ...] = ()) -> None:
        self._code, self._details, self._metadata = code, details, metadata

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[tuple[str, str | bytes], ...]:  # type: ignore[override]  # the other form
        return self._metadata


@pytest.mark.parametrize(
    ("code", "details", "id_", "retry"),
    [
        ("UNAVAILABLE", "...: Connection refused", "network.no_answer", True),
        ("UNAVAILABLE", "DNS resolution failed for x", "network.name", True),
        ("UNAVAILABLE", "CERTIFICATE_VERIFY_FAILED: self signed", "network.certificate", False),
        ("UNAVAILABLE", "Socket closed", "network.closed", True),
        ("UNAVAILABLE", "SSL_ERROR_SSL: no shared cipher", "network.tls", False),
        ("UNAVAILABLE", "no route", "network.unreachable", True),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", "network.timeout", True),
        ("RESOURCE_EXHAUSTED", "Concurrent RPC limit exceeded!", "network.busy", True),
        ("UNIMPLEMENTED", "Method not found!", "network.not_offered", False),
        ("CANCELLED", "Locally cancelled", "network.cancelled", False),
        ("UNKNOWN", QUOTED, "network.unsaid", False),
        ("PERMISSION_DENIED", QUOTED, "network.unsaid", False),
    ],
)
def test_a_call_that_never_got_through_has_its_id(code: str, details: str, id_: str, retry: bool) -> None:
    error = _Failed(grpc.StatusCode[code], details)
    seen = from_rpc_error(error, "shuffler 2", "hand-over 1")
    assert str(seen).startswith("shuffler 2, hand-over 1: ")
    assert seen.id == id_
    assert isinstance(seen, IDS[id_])
    assert "secret" not in str(seen)
    assert is_retryable(error) == retry


def test_the_name_of_an_error_counts_only_with_its_status() -> None:
    full = to_status(Full("test.full", "no room"))
    forged = _Failed(grpc.StatusCode.INTERNAL, "no room", full.metadata)
    assert not is_retryable(forged)
    assert "failed without saying why" in str(from_rpc_error(forged, "shuffler 2", "submission"))
    assert is_retryable(_Failed(full.status, "no room", full.metadata))
    unheard_of = _Failed(grpc.StatusCode.INTERNAL, "?", (("peos-error", "Strange"),))
    assert isinstance(from_rpc_error(unheard_of, "shuffler 2", "submission"), RemoteFault)


def test_what_is_refused_for_good_is_not_tried_again() -> None:
    for error in (
        Closed("test.closed", "it is closed"),
        Conflict("test.conflict", "another one"),
        Unknown("test.unknown", "none"),
        BadEncoding("test.badencoding", "left over"),
    ):
        assert not is_retryable(error)
    assert not is_retryable(KeyError("x"))
