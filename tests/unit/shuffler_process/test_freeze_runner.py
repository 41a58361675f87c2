"""The freeze as one shuffler sees it: lists only after all announcements agree, breaches told from silence."""

from typing import Any

import pytest

from peos.collection.freeze import Announcement, Announcements, Stretch, sign_frozen
from peos.errors import BadEncoding, Closed, NotYet, PeosError, RemoteFault
from peos.store.base import Frozen as Kept
from peos.wire.freezes import encode_announcements, stretches
from peos.wire.methods import GET_ANNOUNCEMENTS, GET_FROZEN_DIGEST, GET_LIST, Method
from shuffler import freeze_runner as freezing_
from shuffler.freeze_runner import FreezeRunner, Frozen
from shuffler.store_thread import StoreThread
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, SHUFFLERS, row
from tests.unit.shuffler_process.played import ME, Other, announced, memory, rows, run
from tests.unit.store.made import FROZEN

IDENTITIES = tuple(one.public for one in SHUFFLERS)


def begun(own: list[bytes]) -> FreezeRunner:
    """This shuffler's freeze."""
    return FreezeRunner(ME, IDENTITIES, COLLECTION, own, SHUFFLERS[ME - 1])


def others(first: list[bytes], second: list[bytes], own: list[bytes]) -> dict[int, Other]:
    """The two others with their lists, which have heard of all three."""
    held = announced({1: first, 2: second, ME: own})
    lists = {1: first, 2: second}
    answers: dict[int, dict[Method, Any]] = {
        who: {GET_ANNOUNCEMENTS: held, GET_LIST: list(stretches(COLLECTION, tuple(listed)))}
        for who, listed in lists.items()
    }
    return {who: Other(f"shuffler {who}", given) for who, given in answers.items()}


def confirm(who: Other, number: int, digest: bytes) -> None:
    """Let it sign a frozen digest."""
    who.answers[GET_FROZEN_DIGEST] = sign_frozen(SHUFFLERS[number - 1], COLLECTION, digest)


def test_what_all_three_hold_is_frozen_and_signed_by_all() -> None:
    async def test() -> None:
        here = begun(rows(6))
        parties = others(rows(5), rows(6), rows(6))
        assert await here.collect(parties) == tuple(rows(5))
        with pytest.raises(NotYet):
            await here.agree(parties)
        digest = (await here.signed()).digest
        for number, who in parties.items():
            confirm(who, number, digest)
        assert await here.agree(parties) == digest
        await here.collect(parties)
        assert [who.asked.count(GET_LIST) for who in parties.values()] == [1, 1], "a list that fits is asked for once"

    run(test())


def test_the_list_is_shown_only_once_all_hold_the_same_announcements() -> None:
    async def test() -> None:
        here = begun(rows())
        parties = others(rows(), rows(), rows())
        whole = parties[2].answers[GET_ANNOUNCEMENTS]
        parties[2].answers[GET_ANNOUNCEMENTS] = announced({2: rows()})  # it has not asked the others yet
        with raises("freeze.not_held", "shuffler 2, freeze, announcements"):
            await here.collect(parties)
        assert (await here.announcements()) == announced()
        with raises("freeze.too_early"):
            [stretch async for stretch in here.stretches()]
        assert GET_LIST not in parties[1].asked, "no list is asked for before all have compared"
        with pytest.raises(NotYet):
            await here.signed()
        parties[2].answers[GET_ANNOUNCEMENTS] = whole
        await here.collect(parties)
        assert [one async for stretch in here.stretches() for one in stretch.rows] == rows()

    run(test())


async def again(here: FreezeRunner, parties: dict[int, Other], times: int, error: type[PeosError]) -> None:
    """Try so often, and fail each time."""
    for _ in range(times):
        with pytest.raises(error):
            await here.collect(parties)


def test_another_list_than_announced_is_hopeless_once_it_persists(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        here, parties = begun(rows()), others(rows(), rows(), rows())
        parties[1].answers[GET_LIST] = list(stretches(COLLECTION, (*rows()[:5], b"\xff" * 48)))
        await again(here, parties, 5, RemoteFault)
        assert not here.is_hopeless, "too soon: it might be a restart"
        monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.0)
        assert here.is_hopeless
        assert not here.evidence

    run(test())


def test_two_signed_lists_are_the_end_at_once_and_are_shown_to_all_that_ask() -> None:
    async def test() -> None:
        here, parties = begun(rows()), others(rows(), rows(), rows())
        parties[1].answers[GET_ANNOUNCEMENTS] = announced({1: rows(4), 2: rows(), ME: rows()})
        with raises("freeze.two_lists", "shuffler 1, freeze"):
            await here.collect(parties)
        assert here.is_hopeless
        assert GET_LIST not in parties[1].asked + parties[2].asked
        shown = [one for one in (await here.announcements()).held if one.shuffler == 1]
        assert {one.count for one in shown} == {4, 6}
        assert all(one.verifies(IDENTITIES[0], COLLECTION) for one in shown)

    run(test())


@pytest.mark.parametrize("where", [GET_LIST, GET_FROZEN_DIGEST], ids=["at the lists", "at the digests"])
def test_the_proof_is_asked_for_where_another_has_ended_the_collection(where: Method) -> None:
    """Shuffler 2 has seen two lists of shuffler 1 and ended; here all looked well until then."""

    async def test() -> None:
        here, parties = begun(rows()), others(rows(), rows(), rows())
        held = parties[2].answers[GET_ANNOUNCEMENTS].held
        other = Announcement.sign(SHUFFLERS[0], 1, COLLECTION, rows(4))
        proof = Announcements(COLLECTION, (other, *held))
        ended = Closed("test.closed", "shuffler 2, freeze: the collection is aborted here")
        asked = iter([Announcements(COLLECTION, held), proof, proof])
        parties[2].answers[GET_ANNOUNCEMENTS] = lambda _: next(asked)
        parties[2].answers[where] = ended
        if where is GET_FROZEN_DIGEST:
            await here.collect(parties)
            with pytest.raises(NotYet):  # of shuffler 1, which is asked first
                await here.agree(parties)
            confirm(parties[1], 1, (await here.signed()).digest)
        with raises("freeze.two_lists", "shuffler 1, freeze"):
            await (here.collect(parties) if where is GET_LIST else here.agree(parties))
        assert here.is_hopeless

    run(test())


def test_where_another_has_ended_the_collection_without_a_proof_that_is_the_end() -> None:
    async def test() -> None:
        here, parties = begun(rows()), others(rows(), rows(), rows())
        parties[2].answers[GET_LIST] = Closed("test.closed", "shuffler 2, freeze: the collection is aborted here")
        with pytest.raises(Closed):
            await here.collect(parties)
        assert not here.is_hopeless, "no shuffler is named"

    run(test())


@pytest.mark.parametrize(
    "error",
    [RemoteFault("test.remotefault", "cannot be reached", party="shuffler 1"), NotYet("test.notyet", "not closed yet")],
)
def test_silence_is_never_a_breach(monkeypatch: pytest.MonkeyPatch, error: PeosError) -> None:
    monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.0)

    async def test() -> None:
        here = begun(rows())
        parties = others(rows(), rows(), rows())
        parties[1].answers[GET_ANNOUNCEMENTS] = error
        await again(here, parties, 5, type(error))
        assert not here.is_hopeless

    run(test())


def test_who_keeps_to_the_freeze_again_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.0)

    async def test() -> None:
        here, parties = begun(rows()), others(rows(), rows(), rows())
        good = parties[1].answers[GET_LIST]
        parties[1].answers[GET_LIST] = [Stretch(COLLECTION, 6, 0, tuple(rows()[:5]))]
        await again(here, parties, 3, BadEncoding)
        assert here.is_hopeless, "a list that ends too early, three times"
        parties[1].answers[GET_LIST] = good
        assert len(await here.collect(parties)) == 6
        assert not here.is_hopeless

    run(test())


def test_a_list_of_another_length_at_each_stretch_is_refused() -> None:
    async def test() -> None:
        parties = others(rows(), rows(), rows())
        own = tuple(rows())
        parties[1].answers[GET_LIST] = [Stretch(COLLECTION, 6, 0, own[:3]), Stretch(COLLECTION, 9, 3, own[3:])]
        with raises("freeze.list_gap"):
            await begun(rows()).collect(parties)

    run(test())


def test_another_frozen_digest_is_a_breach() -> None:
    async def test() -> None:
        here, parties = begun(rows()), others(rows(), rows(), rows())
        await here.collect(parties)
        confirm(parties[1], 1, bytes(32))
        with raises("freeze.digest", "shuffler 1, freeze"):
            await here.agree(parties)

    run(test())


def test_what_was_frozen_is_shown_from_the_store_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing_, "STRETCH", 4)

    async def test() -> None:
        kept = memory()
        store = StoreThread(lambda: kept)
        frozen = kept.collection(COLLECTION).frozen
        assert frozen == Kept(FROZEN, 6, encode_announcements(announced()))
        here = Frozen(COLLECTION, store, SHUFFLERS[ME - 1], frozen)
        shown = [stretch async for stretch in here.stretches()]
        assert [(stretch.first, stretch.total, len(stretch.rows)) for stretch in shown] == [(0, 6, 4), (4, 6, 2)]
        assert [one for stretch in shown for one in stretch.rows] == rows()
        assert await here.announcements() == announced()
        assert (await here.signed()).digest == FROZEN
        kept.erase(COLLECTION)
        with raises("freeze.list_erased"):
            [stretch async for stretch in here.stretches()]
        assert await here.announcements() == announced(), "signatures stay when the rows are gone"
        store.close()

    run(test())


def test_own_list_with_an_id_twice_is_this_shufflers_own_fault() -> None:
    with raises("freeze.rows"):
        begun(sorted([row("a"), row("a", 1)]))
