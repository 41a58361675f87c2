"""The freeze as one shuffler sees it: lists only after announcements, breaches told from silence."""

from typing import Any

import pytest

from peos.collection.freeze import Announcement, Stretch, list_hash
from peos.collection.submission import Triple
from peos.errors import BadEncoding, NotYet, PeosError, RemoteFault
from peos.wire.freezes import stretches
from peos.wire.methods import GET_ANNOUNCEMENT, GET_FROZEN_DIGEST, GET_LIST, Method
from shuffler import freezing as freezing_
from shuffler.freezing import Freezing, Frozen, signed
from shuffler.storing import Stored
from tests.unit.collection.made import COLLECTION, SHUFFLERS, triple
from tests.unit.shuffler_process.played import ME, Other, memory, run, triples
from tests.unit.store.made import FROZEN

IDENTITIES = tuple(one.public for one in SHUFFLERS)


def begun(own: list[Triple]) -> Freezing:
    """This shuffler's freeze."""
    return Freezing(ME, IDENTITIES, COLLECTION, own, SHUFFLERS[ME - 1])


def other(number: int, own: list[Triple]) -> Other:
    """Another shuffler with its list, which confirms whatever this one would."""
    answers: dict[Method, Any] = {
        GET_ANNOUNCEMENT: Announcement(COLLECTION, list_hash(own)),
        GET_LIST: list(stretches(COLLECTION, tuple(own))),
    }
    return Other(f"shuffler {number}", answers)


def confirm(who: Other, number: int, digest: bytes) -> None:
    """Let it sign a frozen digest."""
    who.answers[GET_FROZEN_DIGEST] = signed(SHUFFLERS[number - 1], COLLECTION, digest)


def test_what_all_three_hold_is_frozen_and_signed_by_all() -> None:
    async def test() -> None:
        here = begun(triples(6))
        others = {1: other(1, triples(5)), 2: other(2, triples(6))}
        counted = await here.collect(others)
        assert counted == tuple(triples(5))
        digest = here._freeze.digest
        for number, who in others.items():
            confirm(who, number, digest)
        assert await here.agree(others) == digest
        assert (await here.signed()).digest == digest

    run(test())


def test_the_list_is_shown_only_once_all_have_announced() -> None:
    async def test() -> None:
        here = begun(triples())
        first, second = other(1, triples()), Other("shuffler 2", {})
        with pytest.raises(NotYet):
            await here.collect({1: first, 2: second})
        assert (await here.announcement()).hash == list_hash(triples())
        with pytest.raises(NotYet, match="all shufflers have announced"):
            [stretch async for stretch in here.stretches()]
        assert GET_LIST not in first.asked, "no list is asked for before all have announced"
        with pytest.raises(NotYet):
            await here.signed()

    run(test())


async def again(here: Freezing, others: dict[int, Other], times: int, error: type[PeosError]) -> None:
    """Try so often, and fail each time."""
    for _ in range(times):
        with pytest.raises(error):
            await here.collect(others)


def test_another_list_than_announced_is_hopeless_once_it_persists(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        here, liar = begun(triples()), other(1, triples(5))
        liar.answers[GET_ANNOUNCEMENT] = Announcement(COLLECTION, bytes(32))
        await again(here, {1: liar, 2: other(2, triples())}, 5, RemoteFault)
        assert not here.is_hopeless, "too soon: it might be a restart"
        monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.0)
        assert here.is_hopeless

    run(test())


def test_who_announces_another_list_after_all_have_shown_theirs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.0)

    async def test() -> None:
        here = begun(triples())
        others = {1: other(1, triples()), 2: other(2, triples())}
        await here.collect(others)
        others[1].answers |= other(1, triples(3)).answers
        await again(here, others, 3, RemoteFault)
        assert here.is_hopeless

    run(test())


@pytest.mark.parametrize("error", [RemoteFault("cannot be reached", party="shuffler 1"), NotYet("not closed yet")])
def test_silence_is_never_a_breach(monkeypatch: pytest.MonkeyPatch, error: PeosError) -> None:
    monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.0)

    async def test() -> None:
        here = begun(triples())
        await again(here, {1: Other("shuffler 1", {GET_ANNOUNCEMENT: error}), 2: other(2, triples())}, 5, type(error))
        assert not here.is_hopeless

    run(test())


def test_who_keeps_to_the_freeze_again_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.0)

    async def test() -> None:
        here, late = begun(triples()), other(1, triples())
        good = late.answers[GET_LIST]
        late.answers[GET_LIST] = [Stretch(COLLECTION, 6, 0, tuple(triples(5)))]
        await again(here, {1: late, 2: other(2, triples())}, 3, BadEncoding)
        assert here.is_hopeless, "a list that ends too early, three times"
        late.answers[GET_LIST] = good
        assert len(await here.collect({1: late, 2: other(2, triples())})) == 6
        assert not here.is_hopeless

    run(test())


def test_a_list_of_another_length_at_each_stretch_is_refused() -> None:
    async def test() -> None:
        bad = other(1, triples())
        own = tuple(triples())
        bad.answers[GET_LIST] = [Stretch(COLLECTION, 6, 0, own[:3]), Stretch(COLLECTION, 9, 3, own[3:])]
        with pytest.raises(BadEncoding, match="with a gap"):
            await begun(triples()).collect({1: bad, 2: other(2, triples())})

    run(test())


def test_another_frozen_digest_is_a_breach() -> None:
    async def test() -> None:
        here, others = begun(triples()), {1: other(1, triples()), 2: other(2, triples())}
        await here.collect(others)
        confirm(others[1], 1, bytes(32))
        with pytest.raises(RemoteFault, match="shuffler 1, freeze: froze another list"):
            await here.agree(others)

    run(test())


def test_what_was_frozen_is_shown_from_the_store_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing_, "STRETCH", 4)

    async def test() -> None:
        store = Stored(memory)
        here = Frozen(COLLECTION, store, signed(SHUFFLERS[ME - 1], COLLECTION, FROZEN))
        shown = [stretch async for stretch in here.stretches()]
        assert [(stretch.first, stretch.total, len(stretch.triples)) for stretch in shown] == [(0, 6, 4), (4, 6, 2)]
        assert [one for stretch in shown for one in stretch.triples] == triples()
        assert (await here.announcement()).hash == list_hash(triples())
        assert (await here.signed()).digest == FROZEN
        store.close()

    run(test())


def test_own_list_with_an_id_twice_is_this_shufflers_own_fault() -> None:
    with pytest.raises(PeosError, match="an id twice"):
        begun([triple("a"), triple("a", 1)])
