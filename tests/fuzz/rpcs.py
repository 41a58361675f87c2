"""Calls that are nearly right, to every port of parties that run with a collection: they refuse, and go on.

The callers are a user, a shuffler whose certificate the fuzzer has, and the analyzer. Most calls come while the
collection is open; then it is shuffled, which has to give the result of the users alone, and the rest come after.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import analyzer.config
import analyzer.keys
import shuffler.config
import shuffler.keys
from peos.collection.prepare import prepare
from peos.collection.submission import Part
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.localcluster import LocalCluster, Party
from peos.net.client import channel
from peos.net.errors import ERROR_KEY
from peos.net.tls import grpc
from peos.v1 import collection_pb2 as pb
from peos.wire import methods, parties
from peos.wire.documents import decode_signed_document
from peos.wire.methods import DESCRIBE, PROPOSE, VECTOR_HEADER, Method
from peos.wire.strict import VERSION, serialize
from peos.wire.submissions import encode_part
from tests.e2e.town import Town, digest_of, told
from tests.fuzz.decoders import drawn
from tests.fuzz.mutator import Mutator
from tests.fuzz.running import Holding, growth, holding
from tests.unit.wire.strategies import CODECS
from user_client.input_files import read_ticket

NAME: Final = "fuzzed"
USERS: Final = 12
DOMAIN: Final = 16
_RNG: Final = Randomness(b"\x1f" * 32)
_AT_ONCE: Final = 24
_TIMEOUT: Final = 60.0
_OPEN: Final = 0.7  # of the calls, while the collection is open
_WARM: Final = 0.1
_NEW: Final = 25  # proposals of documents that the analyzer signs after they were changed: each may be accepted
_REFUSED: Final = "RST_STREAM with error code 7"  # REFUSED_STREAM: nothing was done, the same call may come again
_TRIES: Final = 3
_BROKEN_OFF: Final = "Internal error from Core"  # what grpc.aio says to a caller that writes on after the answer
_FAILED: Final = frozenset({grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED})


@dataclass
class Port:
    """A port of a party, as one caller sees it."""

    party: Party
    methods: tuple[Method, ...]
    channel: grpc.aio.Channel


@dataclass
class Calls:
    """One run of calls to a town."""

    town: Town
    rng: random.Random
    only: str
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: dict[tuple[str, str], str] = field(default_factory=dict)
    _mutators: dict[str, Mutator] = field(default_factory=dict)
    _ports: list[Port] = field(default_factory=list)
    _signed: list[bytes] = field(default_factory=list)  # proposals that the analyzer signed

    async def prepare(self) -> None:
        """Channels to every port, and what each call is to be given."""
        cluster = self.town.cluster
        cards = [parties.decode_card(party.card.read_bytes()) for party in cluster.shufflers if party.card]
        config = analyzer.config.read(self.town.analyzer.config)
        keys = analyzer.keys.load(config, _RNG)
        other = shuffler.keys.load(shuffler.config.read(cluster.shufflers[1].config)).peers
        first, card = cluster.shufflers[0], cards[0]
        self._ports = [
            Port(first, methods.USERS, channel(card.user_address, card.user_certificate)),
            Port(first, methods.PEERS, channel(card.peer_address, card.peer_certificate, other)),
            Port(first, methods.PEERS, channel(card.peer_address, card.peer_certificate, keys.certificate)),
            Port(
                self.town.analyzer, methods.ANALYST, channel(keys.card.peer_address, keys.card.peer_certificate, other)
            ),
        ]
        digest = bytes.fromhex(digest_of(self.town, NAME))
        describe: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._ports[0].channel.unary_unary(DESCRIBE.path)
        signed = await describe(DESCRIBE.encode(digest))
        signed_cards = (*config.signed_cards(), keys.signed_card)
        proposal = parties.encode_proposal(signed, signed_cards)
        seeds = {PROPOSE.path: (proposal,), **self._parts(signed, digest)}
        for method in (*methods.USERS, *methods.PEERS, *methods.ANALYST):
            known = seeds.get(method.path, ()) + _about(method, digest)
            self._mutators[method.path] = Mutator(random.Random(self.rng.random()), known)  # noqa: S311 - no secret
        headers = tuple(map(_moved(digest), drawn(CODECS["VectorHeader"].encodings)))
        self._mutators[VECTOR_HEADER] = Mutator(random.Random(self.rng.random()), headers)  # noqa: S311 - no secret
        self._sign(decode_signed_document(signed).encoded, signed_cards, keys.identity)

    def _parts(self, signed: bytes, digest: bytes) -> dict[str, tuple[bytes, ...]]:
        """What a user would send to the first shuffler; no other shuffler gets its share, so that it never counts."""
        line = self.town.tickets("more", 1, of=NAME).read_text().strip()
        ticket = read_ticket(line)
        document = decode_signed_document(signed).document
        words = document.mechanism.randomize(np.zeros(1, np.int64), _RNG)
        ((part, *_),) = prepare(digest, document.encryption().splitter(_RNG, 1), words, [ticket], _RNG)
        assert isinstance(part, Part)
        seeds = (encode_part(part),)
        return {methods.SUBMIT.path: seeds, methods.SUBMIT_MANY.path: seeds}

    def _sign(self, document: bytes, cards: tuple[bytes, ...], identity: Identity) -> None:
        """Documents that were changed before the analyzer signed them."""
        mutator = Mutator(random.Random(self.rng.random()), [document])  # noqa: S311 - no secret
        for _ in range(_NEW):
            changed = mutator.next()
            signature = identity.sign("document", changed)
            one = serialize(pb.SignedDocument(version=VERSION, document=changed, signature=signature))
            self._signed.append(parties.encode_proposal(one, cards))

    async def run(self, count: int) -> None:
        """So many calls, a few at a time."""
        free = asyncio.Semaphore(_AT_ONCE)
        choices = [(port, method) for port in self._ports for method in port.methods if self.only in method.path]

        async def one(port: Port, method: Method) -> None:
            try:
                await self._call(port, method)
            finally:
                free.release()

        async with asyncio.TaskGroup() as group:
            for number in range(count):
                await free.acquire()
                group.create_task(one(*choices[number % len(choices)]))

    async def _call(self, port: Port, method: Method) -> None:
        mutator = self._mutators[method.path]
        requests = [mutator.next() for _ in range(self.rng.choice((0, 1, 1, 2, 5)) if method.streams_in else 1)]
        if method is PROPOSE and self._signed and self.rng.random() < 0.1:
            requests = [self._signed.pop()]
        said = await self._answer(port, method, requests)
        if (method.path, said) not in self.outcomes and requests:
            mutator.keep(requests[0])
        self.outcomes[method.path, said] += 1

    async def _answer(self, port: Port, method: Method, requests: Sequence[bytes]) -> str:
        own: Any = port.channel  # whose stubs have a kind of call for each of the four, and no common one
        options: dict[str, Any] = {"timeout": _TIMEOUT, "metadata": self._metadata(method)}
        for left in reversed(range(_TRIES)):
            try:
                return await self._asked(own, method, requests, options)
            except grpc.RpcError as error:
                if not left or _REFUSED not in str(error.details()):
                    return self._judge(port, method, requests, error)
        raise AssertionError("the last try returns")

    async def _asked(self, own: Any, method: Method, requests: Sequence[bytes], options: dict[str, Any]) -> str:
        if method.streams_in and method.streams_out:
            said = [one async for one in own.stream_stream(method.path)(_each(requests), **options)]
            return f"{len(said)} answers"
        if method.streams_in:
            await own.stream_unary(method.path)(_each(requests), **options)
        elif method.streams_out:
            _ = [one async for one in own.unary_stream(method.path)(requests[0], **options)]
        else:
            await own.unary_unary(method.path)(requests[0], **options)
        return "answered"

    def _judge(self, port: Port, method: Method, requests: Sequence[bytes], error: Any) -> str:
        status, details = error.code(), str(error.details())
        if details == _BROKEN_OFF and method.streams_in:
            return "broken off"
        named = dict(error.trailing_metadata() or ()).get(ERROR_KEY)
        if status in _FAILED or named is None:
            at = (f"{port.party.name} {method.path}", f"{status.name}: {details}")
            self.findings.setdefault(at, " ".join(request.hex() for request in requests))
        return f"{status.name} {named}"

    def _metadata(self, method: Method) -> list[tuple[str, str | bytes]]:
        rng = self.rng
        found: list[tuple[str, str | bytes]] = []
        if method.streams_in and not method.streams_out:
            header = self._mutators[VECTOR_HEADER]
            found += [(VECTOR_HEADER, header.next()[:4096]) for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 2)))]
        if rng.random() < 0.1:
            found.append((rng.choice(("peos-error", "x-other", "grpc-tags-bin"[:9])), "A" * rng.choice((0, 1, 2000))))
        return found

    async def close(self) -> None:
        """Close the channels."""
        for port in self._ports:
            await port.channel.close()


async def _each(requests: Sequence[bytes]) -> AsyncIterator[bytes]:
    for request in requests:
        yield request


def _about(method: Method, digest: bytes) -> tuple[bytes, ...]:
    """Right requests of a call, as the unit tests of the wire draw them, about the town's collection."""
    for name, codec in CODECS.items():
        if codec.decode == method.decode:
            return tuple(map(_moved(digest), drawn(CODECS[name].encodings)))
    return tuple(drawn(CODECS["VectorChunk"].encodings))  # what is bytes in the table


def _moved(digest: bytes) -> Callable[[bytes], bytes]:
    """The first field of 32 bytes is the collection in all that name one."""

    def moved(encoded: bytes) -> bytes:
        at = encoded.find(b"\x20", 2) + 1
        return encoded[:at] + digest + encoded[at + len(digest) :] if at and len(encoded) >= at + 32 else encoded

    return moved


def over_the_wire(folder: Path, count: int, seed: int, only: str, tell: Callable[[str], None]) -> int:
    """The whole: 0 if every party refused and went on, and the result is the users'."""
    with LocalCluster(folder / "cluster") as cluster:
        cluster.init(most_eps_local=48.0)
        cluster.start()
        town = Town(cluster)
        town.open(
            NAME, [value % DOMAIN for value in range(USERS)], "--scheme", "jl", "--mechanism", "grr", domain=DOMAIN
        )
        wrong = asyncio.run(_played(town, count, seed, only, tell))
    for line in wrong:
        tell(line)
    return 1 if wrong else 0


async def _played(town: Town, count: int, seed: int, only: str, tell: Callable[[str], None]) -> list[str]:
    calls = Calls(town, random.Random(seed), only)  # noqa: S311 - which calls come is no secret
    await calls.prepare()
    watched = [town.cluster.shufflers[0], town.analyzer]
    clock = asyncio.get_running_loop().time
    begun = clock()
    await calls.run(int(count * _WARM))
    before = {party.name: _held(party) for party in watched}
    await calls.run(int(count * (_OPEN - _WARM)))
    while_open = {party.name: _held(party) for party in watched}
    await asyncio.to_thread(town.freeze, NAME)
    result = await asyncio.to_thread(town.result, NAME)
    shuffled = {party.name: _held(party) for party in watched}  # workers and connections came, and not by these calls
    await calls.run(count - int(count * _WARM) - int(count * (_OPEN - _WARM)))
    after = {party.name: _held(party) for party in watched}
    took = clock() - begun
    await calls.close()
    wrong = [f"FOUND at {where}: {what}\n  {data}" for (where, what), data in calls.findings.items()]
    counted = np.array(result["frequency"]) * USERS
    expected = np.bincount(np.arange(USERS) % DOMAIN, minlength=DOMAIN)
    if not result["ok"] or np.abs(counted - expected).max() > 0.01:
        wrong.append(f"a wrong histogram: {counted}")
    for party in town.cluster.parties:
        if party.process is None or party.process.poll() is not None:
            wrong.append(f"{party.name} has ended")
        failed = [line for line in told(party) if line["event"] == "a call failed"]
        wrong += [f"{party.name} says: {line}" for line in failed[:3]]
    for name in before:
        grown = growth(before[name], while_open[name]) + growth(shuffled[name], after[name])
        wrong += [f"{name}: {line}" for line in grown]
    _table(calls, took, before, after, tell)
    return wrong


def _held(party: Party) -> Holding:
    assert party.process is not None, "it runs"
    return holding(party.process.pid)


def _table(
    calls: Calls, took: float, before: dict[str, Holding], after: dict[str, Holding], tell: Callable[[str], None]
) -> None:
    tell(f"{'call':34} {'calls':>8} {'answered':>8} outcomes")
    for path in dict.fromkeys(path for path, _ in calls.outcomes):
        these = {said: count for (one, said), count in calls.outcomes.items() if one == path}
        answered = sum(count for said, count in these.items() if " " not in said or "answers" in said)
        refused = ", ".join(sorted(said for said in these if " " in said and "answers" not in said))
        tell(f"{path:34} {sum(these.values()):8,} {answered:8,} {refused}")
    tell(
        f"\n{calls.outcomes.total():,} calls, {len(calls.outcomes)} distinct outcomes,"
        f" {len(calls.findings)} findings, {took:.0f} s"
    )
    for name, held in before.items():
        then = after[name]
        tell(
            f"{name}: memory {held.memory >> 20} -> {then.memory >> 20} MiB,"
            f" descriptors {held.descriptors} -> {then.descriptors}, threads {held.threads} -> {then.threads}"
        )
