"""A collection that is over costs a shuffler nothing: it is counted what is decoded, opened, asked and run for it."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from peos.collection.cards import Card
from peos.collection.document import Document, digest
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.errors import Closed, NotYet, Unknown
from peos.ldp.base import Question
from peos.net.certificates import as_der, make_certificate
from peos.net.observer import Observer
from peos.net.tls import Trust
from peos.shuffle.messages import Notice, NoticeKind, SignedNotice
from peos.store.base import ShufflerStore
from peos.store.memory import MemoryStore
from peos.wire.documents import encode_document, sign_document
from peos.wire.parties import decode_proposal, encode_proposal, sign_card
from shuffler import config, keys
from shuffler import registry as registry_
from shuffler.registry import CollectionRegistry
from shuffler.store_thread import StoreThread
from tests.unit.collection.made import ANALYZER, DOCUMENT, ENCRYPTION
from tests.unit.shuffler_process.played import HERE, OBSERVER, run

RNG: Final = Randomness(b"\x05" * 32)
ENDED: Final = 1000
WEEK: Final = 604_800
CONFIG: Final = """
name = "north"
folder = "state"
[listen]
users = "127.0.0.1:1"
peers = "127.0.0.1:2"
[policy]
analyzers = ["analyzer.card"]
most_eps_local = 8.0
least_reports = 1
"""


class World:
    """A shuffler's registry on a store in memory, whose calls are counted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, observer: Observer = OBSERVER) -> None:
        (folder / "shuffler.toml").write_text(CONFIG)
        settings = config.read(folder / "shuffler.toml")
        self.keys = keys.make(settings)
        others = [Identity(bytes([number]) * 32) for number in (2, 3)]
        cards = [_card(f"shuffler {number}", one) for number, one in enumerate(others, start=2)]
        office = replace(_card("analyzer", ANALYZER), user_address="", user_certificate=b"")
        signed = [sign_card(card, one) for card, one in zip((*cards, office), (*others, ANALYZER), strict=True)]
        (folder / "analyzer.card").write_bytes(signed[-1])
        self.signed_cards = (self.keys.signed_card, *signed)
        self.others = others
        members = (self.keys.card.member, *(card.member for card in cards))
        self.document = replace(DOCUMENT, shufflers=members, analyzer=office.member)
        self.memory = MemoryStore(Randomness(b"\x01" * 32))
        self.counted: Counter[str] = Counter()
        self.trust = Trust()
        self.office = office
        for name in ("decode_signed_document", "channel"):
            self._count(monkeypatch, name)
        monkeypatch.setattr(
            Document, "encryption", lambda *_, **__: ENCRYPTION
        )  # below the floor for keys that come in
        self.stored = StoreThread(lambda: self.memory)
        self.registry = CollectionRegistry(
            config=settings,
            keys=self.keys,
            store=self._asked(),
            trust=self.trust,
            engine=Inline(RNG),
            observer=observer,
        )

    def _count(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        original = getattr(registry_, name)

        def counted(*given: Any, **named: Any) -> Any:
            self.counted[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(registry_, name, counted)

    def _asked(self) -> StoreThread:
        counted = self.counted

        class Asked(StoreThread):
            async def __call__(self, work: Callable[[ShufflerStore], Any]) -> Any:
                counted["store"] += 1
                return await super().__call__(work)

        self.stored.close()
        self.stored = Asked(lambda: self.memory)
        return self.stored

    def end(self, number: int, *, ago: int = -WEEK, state: State = State.ABORTED) -> bytes:
        """A collection that is over; `ago` is when everything of it had to be erased."""
        end = int(time.time()) - ago
        document = replace(
            self.document, question=f"Which of {number}?", closes_at=end - 20, shuffle_by=end - 10, erase_by=end
        )
        one, signed = digest(encode_document(document)), sign_document(document, ANALYZER)
        proposal = encode_proposal(signed, self.signed_cards)
        asked = Question(ANALYZER.public, document.question, document.epoch)
        self.memory.put_collection(one, signed, proposal, asked, State.OPEN)
        if state is not State.OPEN:
            self.memory.set_state(one, state, "the analyzer aborted the collection")
            self.memory.erase(one)
        return one

    def close(self) -> None:
        self.stored.close()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = World(tmp_path, monkeypatch)
    yield made
    made.close()


def _card(name: str, identity: Identity) -> Card:
    return Card(name, identity.public, "127.0.0.1:3", as_der(make_certificate(name, RNG).pem), "127.0.0.1:4", b"x")


def test_a_thousand_collections_that_are_over_cost_nothing(world: World) -> None:
    ended = [world.end(number, ago=-WEEK if number % 2 else WEEK) for number in range(ENDED)]

    async def test() -> None:
        before = len(asyncio.all_tasks())
        await world.registry.resume()
        forgetting = asyncio.ensure_future(world.registry.forget(lambda _: None))
        await asyncio.sleep(0.1)
        asked = world.counted["store"]
        await asyncio.sleep(0.3)
        assert len(asyncio.all_tasks()) == before + 1, "no task for any of them"
        assert (len(world.registry.live), world.counted["store"] - asked) == (0, 0), "the store is not asked at rest"
        assert world.counted["decode_signed_document"] == world.counted["channel"] == 0
        assert world.office.member.certificate in world.trust, "of those about which others may still ask"
        for one in ended[:50]:
            assert isinstance(world.registry.refusal(one), Closed)
            session = await world.registry.find(one)
            assert session.state is State.ABORTED
        assert world.counted["decode_signed_document"] == 50
        assert world.counted["channel"] == 0
        assert len(asyncio.all_tasks()) == before + 1
        forgetting.cancel()
        await world.registry.close()

    run(test())


def test_what_is_over_answers_those_who_ask_and_opens_a_channel_for_that_alone(world: World) -> None:
    one = world.end(0)

    async def test() -> None:
        await world.registry.resume()
        session = await world.registry.find(one)
        notice = Notice(NoticeKind.ASK, 2, 1)
        await session.hear(SignedNotice.sign(world.others[0], replace(HERE, collection=one), notice))
        await asyncio.sleep(0.05)
        assert world.counted["channel"] == 1, "to the one that asked"
        assert await world.registry.signed_bytes(one) == world.memory.collection(one).signed
        proposal = decode_proposal(world.memory.collection(one).roster)
        await world.registry.propose(proposal)  # once more, and nothing is begun by it
        assert not world.registry.live
        await world.registry.close()

    run(test())


def test_only_so_many_that_were_asked_for_stay_decoded(world: World) -> None:
    ended = [world.end(number) for number in range(3 * registry_.ASKED_FOR)]

    async def test() -> None:
        await world.registry.resume()
        found = [await world.registry.find(one) for one in ended]
        again = [await world.registry.find(one) for one in ended[-registry_.ASKED_FOR :]]
        assert again == found[-registry_.ASKED_FOR :]
        assert await world.registry.find(ended[0]) is not found[0]
        with pytest.raises(Unknown):
            await world.registry.find(bytes(32))
        asked = world.counted["store"]
        for _ in range(100):
            with pytest.raises(Unknown):
                await world.registry.signed_bytes(bytes(32))
        assert world.counted["store"] == asked, "an unknown name costs the store nothing"
        await world.registry.close()

    run(test())


def test_one_that_ends_while_it_runs_is_left_to_the_store_too(world: World) -> None:
    one = world.end(0, state=State.OPEN)
    from tests.unit.shuffler_process.test_session import ABORT

    async def test() -> None:
        await world.registry.resume()
        session = world.registry.live[one]
        assert world.counted["channel"] == 0, "no shuffler is called before the freeze"
        await session.order(replace(ABORT, collection=one))
        give_up = time.monotonic() + 60
        while world.registry.live:
            assert time.monotonic() < give_up
            await asyncio.sleep(0.01)
        assert [line["state"] for line in await world.registry.statuses(everything=False)] == ["aborted"]
        assert (await world.registry.find(one)).state is State.ABORTED
        await world.registry.close()

    run(test())


def test_nobody_is_let_in_for_what_is_over_once_its_time_has_passed(world: World) -> None:
    world.end(0, ago=-1)

    async def test() -> None:
        await world.registry.resume()
        forgotten: list[bytes] = []
        forgetting = asyncio.ensure_future(world.registry.forget(forgotten.append))
        assert world.office.member.certificate in world.trust
        give_up = time.monotonic() + 60
        while not forgotten:
            assert time.monotonic() < give_up
            await asyncio.sleep(0.02)
        assert world.office.member.certificate not in world.trust
        forgetting.cancel()
        await world.registry.close()

    run(test())


def test_all_that_ended_before_is_in_the_status_once_a_command_asks(world: World) -> None:
    for number in range(5):
        world.end(number)
    draft = world.end(9, state=State.OPEN)

    async def test() -> None:
        await world.registry.resume()
        lines = await world.registry.statuses(everything=False)
        assert [line["collection"] for line in lines] == [draft.hex()]
        assert lines[0]["document"]["question"], "what an operator is to accept"
        assert len(await world.registry.statuses(everything=True)) == 6
        asked = world.counted["store"]
        assert len(await world.registry.statuses(everything=False)) == 6
        assert world.counted["store"] == asked + 1, "what has ended is not looked up again"
        with pytest.raises(NotYet):
            await (await world.registry.find(draft)).hear(
                SignedNotice.sign(world.others[0], HERE, Notice(NoticeKind.ASK, 2, 1))
            )
        await world.registry.close()

    run(test())
