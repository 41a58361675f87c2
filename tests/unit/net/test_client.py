"""Calls that are repeated: which, how often, and with what pauses."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from peos.collection.freeze import FrozenDigest
from peos.crypto.randomness import Randomness
from peos.errors import Closed, Full, NotYet, PeosError, Refused, RemoteFault
from peos.net import calls
from peos.net.client import channel
from peos.net.guard import Context
from peos.net.retry import Retry, is_refused, retrying_blocking
from peos.net.tls import grpc
from peos.wire.methods import GET_FROZEN_DIGEST
from tests.raising import raises
from tests.unit.net.ports import DIGEST, RNG, SERVER, listening, run

QUICK = Retry(attempts=4, base=0.001, ceiling=0.002)


def test_pauses_grow_up_to_the_ceiling_and_are_spread_over_the_whole_of_it(rng: Randomness) -> None:
    backoff = Retry(base=0.1, ceiling=3.0)
    n = 2000
    for failures, most in ((1, 0.1), (2, 0.2), (5, 1.6), (6, 3.0), (60, 3.0), (6000, 3.0)):
        drawn = [backoff.pause(failures, rng) for _ in range(n)]
        assert min(drawn) >= 0
        assert max(drawn) <= most
        # A quarter of the range is missed by all of n draws with probability 4 · 0.75^n, far below alpha = 1e-6.
        assert {min(int(4 * pause / most), 3) for pause in drawn} == {0, 1, 2, 3}, (failures, n)


class Flaky:
    """Answers after it has failed a number of times."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.left, self.error, self.calls = failures, error, 0

    async def __call__(self, request: bytes, _: Context) -> FrozenDigest:
        """Fail, or answer."""
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return FrozenDigest(request, request, bytes(64))


def asked_of(flaky: Flaky, waited: list[tuple[str, float]]) -> Awaitable[FrozenDigest]:
    async def whole() -> FrozenDigest:
        async with listening(behaviour=flaky) as running:
            opened = channel(f"127.0.0.1:{running.port}", SERVER.pem)
            caller = calls.Caller(
                *(opened, "shuffler 2", RNG), policy=QUICK, waiting=lambda why, pause: waited.append((str(why), pause))
            )
            try:
                answer: FrozenDigest = await caller.ask(GET_FROZEN_DIGEST, DIGEST, step="freeze")
            finally:
                await caller.close()
            return answer

    return whole()


@pytest.mark.parametrize("error", [NotYet("test.notyet", "its list is not closed yet"), Full("test.full", "no room")])
def test_what_may_succeed_later_is_tried_again_and_each_wait_has_its_reason(error: PeosError) -> None:
    waited: list[tuple[str, float]] = []
    flaky = Flaky(3, error)
    assert run(asked_of(flaky, waited)) == FrozenDigest(DIGEST, DIGEST, bytes(64))
    assert flaky.calls == 4
    assert [why for why, _ in waited] == [f"shuffler 2, freeze: {error}"] * 3
    assert all(0 <= pause <= QUICK.ceiling for _, pause in waited)


def test_after_the_last_attempt_the_sentence_is_raised() -> None:
    flaky = Flaky(9, NotYet("test.notyet", "its list is not closed yet"))
    with raises("test.notyet", "shuffler 2, freeze", kind=NotYet):
        run(asked_of(flaky, []))
    assert flaky.calls == 4


@pytest.mark.parametrize("error", [Closed("test.closed", "it is closed"), KeyError("x")])
def test_what_cannot_succeed_is_not_tried_again(error: Exception) -> None:
    flaky, waited = Flaky(1, error), list[tuple[str, float]]()
    with pytest.raises((Closed, RemoteFault)):
        run(asked_of(flaky, waited))
    assert (flaky.calls, waited) == (1, [])


class _Down(grpc.RpcError):
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "Connection refused"

    def trailing_metadata(self) -> tuple[()]:  # a call that never got through has none
        return ()


def test_a_blocking_call_is_repeated_alike() -> None:
    slept: list[float] = []
    left = [_Down(), _Down()]

    def once() -> str:
        if left:
            raise left.pop()
        return "answer"

    def asked(call: Callable[[], str]) -> str:
        return retrying_blocking(call, QUICK, rng=RNG, sleep=slept.append)

    assert (asked(once), len(slept)) == ("answer", 2)
    left = [_Down() for _ in range(9)]
    with pytest.raises(_Down):
        asked(once)
    assert len(left) == 9 - 4


def test_a_party_that_is_not_there_is_named_with_what_to_do() -> None:
    async def whole() -> RemoteFault:
        async with listening() as running:
            address = f"127.0.0.1:{running.port}"
        caller = calls.Caller(channel(address, SERVER.pem), "shuffler 2", RNG, policy=QUICK)
        with pytest.raises(RemoteFault) as caught:
            await caller.ask(GET_FROZEN_DIGEST, DIGEST, step="freeze")
        await caller.close()
        return caught.value

    fault = run(whole())
    assert (fault.id, fault.party, fault.step) == ("network.no_answer", "shuffler 2", "freeze")
    assert fault.hint


def test_a_call_that_takes_too_long_ends_at_its_deadline() -> None:
    async def slow(request: bytes, _: Context) -> FrozenDigest:
        await asyncio.sleep(30)
        return FrozenDigest(request, request, bytes(64))

    async def whole() -> None:
        async with listening(behaviour=slow) as running:
            opened = channel(f"127.0.0.1:{running.port}", SERVER.pem)
            caller = calls.Caller(opened, "shuffler 2", RNG, policy=Retry(attempts=1))
            with raises("network.timeout", "shuffler 2, freeze"):
                await caller.ask(GET_FROZEN_DIGEST, DIGEST, step="freeze", timeout=0.1)
            await caller.close()

    run(whole())


def test_what_is_final_is_not_tried_again_and_what_is_late_is_the_last(rng: Randomness) -> None:
    policy = Retry(seconds=5.0, final=is_refused)
    now = time.monotonic()
    for error in (NotYet("test.notyet", "later"), Full("test.full", "no room"), RemoteFault("test.gone", "gone")):
        assert policy.after(error, 1, now, rng) is not None
        assert policy.after(error, 1, now - 6.0, rng) is None, "too late for another"
        assert Retry(final=is_refused).after(error, 10**6, now - 10**6, rng) is not None, "without an end it has none"
    for final in (Closed("test.closed", "over"), Refused("test.no", "no"), KeyError("x"), OSError()):
        assert policy.after(final, 1, now, rng) is None
