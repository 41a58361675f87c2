"""Everything that reads what another party or a person wrote, with right inputs to begin from.

Messages come from the list that the unit tests of the wire have (tests/unit/wire/strategies.py), so that a message is
fuzzed as soon as it is there; `unread` says which reader nothing here reaches.
"""

import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import analyzer.config
import peos.wire
import shuffler.config
import user_client.config
from peos.collection.cards import Card
from peos.collection.document import Dummy
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionKeys, OnionPrivateKey, read_point
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import SCHEMES
from peos.crypto.schemes import scheme as scheme_named
from peos.crypto.schemes.base import PrivateKey, PublicKey
from peos.crypto.sealing import Receiver, Shared, seal
from peos.errors import BadEncoding, LocalFault, PeosError, WrongInput
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import PureMechanism
from peos.net.certificates import (
    Certificate,
    as_der,
    as_pem,
    fingerprint,
    is_expired,
    make_certificate,
    read_certificate,
    require_pair,
)
from peos.shuffle.inspect.evidence import Nothing, Opening
from peos.shuffle.messages import Kind, SignedReveal
from peos.store.private_files import Witness, read_witness, write_witness
from peos.tasks.labels import value_of
from peos.v1 import services_pb2 as pb
from peos.wire import inspections, parties, shuffles, submissions
from peos.wire.strict import VERSION, serialize
from tests.keys import small_key
from tests.unit.wire import party_strategies
from tests.unit.wire.mutations import payload, split
from tests.unit.wire.strategies import CODECS, FLOOR
from tests.unit.wire.test_inspections import OPENING, SIGNED, part
from tests.vectors.wire_by_hand import blob
from user_client.input_files import read_answers, read_key, read_record, read_records, read_ticket, read_values

_RNG: Final = Randomness(b"\x0f" * 32)
_SEEDS: Final = 12  # of each message
_ROW: Final = 16  # bytes of a row of a vector that is fuzzed as rows


@dataclass(frozen=True)
class Target:
    """A reader: what it is given, what it may raise, and how what it understood is written, if in one way only."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes], Any]
    errors: tuple[type[PeosError], ...] = (BadEncoding,)
    write: Callable[[Any], bytes] | None = None
    tokens: tuple[bytes, ...] = ()


def targets(folder: Path) -> list[Target]:
    """All of them; `folder` is for those that read files."""
    made = [*_messages(), *_vectors(), *_keys(), *_opened(), *_reports(), *_texts(folder)]
    assert len({target.name for target in made}) == len(made), "two targets have one name"
    return made


def drawn(strategy: st.SearchStrategy[bytes], count: int = _SEEDS) -> tuple[bytes, ...]:
    """The first examples of a strategy, the same in each run."""
    found: list[bytes] = []

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=count,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: bytes) -> None:
        found.append(value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a strategy that runs dry says so; what it gave is enough
        collect()
    return tuple(dict.fromkeys(found))


def _messages() -> Iterator[Target]:
    for name, codec in CODECS.items():
        yield Target(name, drawn(codec.encodings), codec.decode, write=codec.encode)
    receipts = drawn(party_strategies.receipts.map(submissions.encode_receipt))
    yield Target("a receipt that a user keeps", receipts, submissions.decode_receipt)
    cards = drawn(party_strategies.cards(for_users=True).map(_own_card))
    inner = tuple(payload(split(card)[1]) for card in cards)
    yield Target("Card, signed after it was changed", inner, _read_card)
    revealed = tuple(inspections.encode_revealed(one) for one in _REVEALED)
    yield Target("RevealedPart", revealed, inspections.decode_revealed, write=inspections.encode_revealed)
    unsent = (inspections.encode_unsent(_UNSENT),)
    yield Target("UnsentDummy", unsent, inspections.decode_unsent, write=inspections.encode_unsent)


_REVEALED: Final[tuple[inspections.RevealedPart | SignedReveal, ...]] = (
    inspections.RevealedPart(part(1)),
    inspections.RevealedPart(part(3), b"s" * 32, np.array([7, 2**63], np.uint64)),
    SIGNED,
)
_UNSENT: Final = Dummy(b"s" * 32, b"i" * 16, np.array([7, 2**63], np.uint64))
_SIGNER: Final = party_strategies.SIGNERS[min(party_strategies.SIGNERS)]


def _own_card(card: Card) -> bytes:
    return party_strategies.sign_card(replace(card, identity=_SIGNER.public))


def _read_card(data: bytes) -> Any:
    """A card as its owner would have signed it, if its owner were free in what it says."""
    signed = pb.SignedCard(version=VERSION, card=data, signature=_SIGNER.sign("card", data))
    return parties.decode_card(serialize(signed))


def _vectors() -> Iterator[Target]:
    path = inspections.encode_path((1, 5, 2**31), SIGNED).tobytes()
    yield Target("a path", (path,), lambda data: inspections.decode_path(_rows(data, 1)))
    openings = OPENING, *(Opening(2, revealed=SIGNED, nothing=why) for why in Nothing)
    seeds = tuple(inspections.encode_opening(one).tobytes() for one in openings)
    yield Target("an opening", seeds, lambda data: inspections.decode_opening(2, _rows(data, 1)))
    rows = np.arange(10 * _ROW, dtype=np.uint8).reshape(10, _ROW)
    header = shuffles.decode_vector_header(drawn(CODECS["VectorHeader"].encodings, 1)[0]).header
    streams = [list(shuffles.encode_vector(header, rows, chunk=size, transcript=_due(header))) for size in (7, 64, 999)]
    framed = tuple(b"".join(blob(1, message, shown=True) for message in stream) for stream in streams)
    yield Target("a vector's stream", framed, lambda data: shuffles.decode_vector(_unframed(data)))


def _due(header: Any) -> bytes:
    return bytes(32) if header.step.kind is Kind.DELIVERY else b""


def _rows(data: bytes, width: int) -> Any:
    return np.frombuffer(data[: len(data) // width * width], np.uint8).reshape(-1, width)


def _unframed(data: bytes) -> list[bytes]:
    """The messages of a stream, each a field; what cannot be taken apart is one message."""
    try:
        return [payload(one) for one in split(data)]
    except IndexError:
        return [data]


def _keys() -> Iterator[Target]:
    for name in SCHEMES:
        scheme, own = scheme_named(name), small_key(_bits(name), name)
        floor = min(FLOOR, own.public.bits)
        yield Target(f"a public key of {scheme.name}", (own.public.encode(),), _public_of(scheme, floor), write=_encode)
        yield Target(f"a private key of {scheme.name}", (own.encode(),), _private_of(scheme, floor), write=_encode)
        rows = own.public.encrypt(_RNG.uint64(4), own.public.zero_source(_RNG).zeros(4))
        yield Target(f"ciphertexts of {scheme.name}", (rows.tobytes(),), _ciphertexts(own))
    onion = OnionPrivateKey.generate(_RNG)
    yield Target("an onion key", (onion.point,), read_point)
    yield Target("a private onion key", (onion.secret,), OnionPrivateKey, write=_encode)
    certificate = make_certificate("fuzzed", _RNG)
    encodings = certificate.pem, as_der(certificate.pem)
    yield Target("a certificate", encodings, _used, (WrongInput,))
    pair = certificate.key
    yield Target(
        "a certificate's key", (pair,), lambda data: require_pair(Certificate(certificate.pem, data)), (WrongInput,)
    )
    yield Target("an identity", (bytes(range(32)),), Identity, (WrongInput,))


def _used(data: bytes) -> Any:
    """A certificate of a card, as it is read, compared and shown."""
    found = read_certificate(data)
    return found.subject, is_expired(data), as_pem(data), as_der(data), fingerprint(data)


def _bits(name: str) -> int:
    """The shortest key that tests make of a scheme."""
    return 512 if name == "paillier" else 1024


def _public_of(scheme: Any, floor: int) -> Callable[[bytes], PublicKey]:
    return lambda data: scheme.public_key(data, floor=floor)


def _private_of(scheme: Any, floor: int) -> Callable[[bytes], PrivateKey]:
    return lambda data: scheme.private_key(data, floor=floor)


def _encode(key: Any) -> bytes:
    return key.encode()  # type: ignore[no-any-return]


def _ciphertexts(own: PrivateKey) -> Callable[[bytes], Any]:
    """Rows as they come from others: checked, and those that are let in decrypted."""

    def read(data: bytes) -> Any:
        rows = _rows(data, own.public.ciphertext_bytes)
        return own.decrypt(rows[own.public.check(rows)])

    return read


def _opened() -> Iterator[Target]:
    receiver, shared = Receiver(_RNG), Shared(bytes(32))
    yield Target("a sealed message", (seal(receiver.point, b"hello", _RNG),), receiver.open)
    yield Target(
        "a message under a shared key", (shared.seal(b"hello", b"l", _RNG),), lambda data: shared.open(data, b"l")
    )
    key = OnionPrivateKey.generate(_RNG)
    keys = _layers(key)
    onion = keys.wrap(bytes(32), _rows(bytes(range(_ROW)), _ROW), _RNG, first=3)[0].tobytes()
    yield Target("an onion", (onion,), lambda data: key.open(bytes(32), 3, data))


def _layers(last: OnionPrivateKey) -> OnionKeys:
    """Three layers, of which the last is this key's."""
    return OnionKeys((*(OnionPrivateKey.generate(_RNG).point for _ in range(2)), last.point))


def _reports() -> Iterator[Target]:
    mechanisms: tuple[PureMechanism, ...] = (GRR(10, 2.0), LocalHash(100, 2.0, 16), SUE(20, 2.0))
    for mechanism in mechanisms:
        words = mechanism.randomize(np.arange(8) % mechanism.domain, _RNG)
        yield Target(f"reports of {type(mechanism).__name__}", (words.tobytes(),), _counted(mechanism))


def _counted(mechanism: PureMechanism) -> Callable[[bytes], Any]:
    """Any words at all may come out of a shuffle: each is a report."""

    def read(data: bytes) -> Any:
        width = 8 * mechanism.words
        words = np.frombuffer(data[: len(data) // width * width], "<u8").reshape(-1, mechanism.words)
        return mechanism.support_counts(words.astype(np.uint64))

    return read


_TOML: Final = (
    *b'[ ] [[ ]] = . , " \' { } # \n \t \r \\ 0 -1 1e9 1e999 0x10 nan inf true false 1979-05-27T07:32:00Z """ '
    b"99999999999999999999 \\u0000 \\ud800 \xff \xc3\xa9 listen policy limits compute encryption budget name folder "
    b"users peers analyzers shufflers accept auto ask engine dask processes workers epsilon delta ../ / 127.0.0.1:1 "
    b":99999 [::1]:1".split(b" "),
    *(b" ", b"", b"[" * 500, b"{a=" * 200, b"9" * 5000, b"a." * 400),
)
_LINES: Final = (
    b"\n",
    b":",
    b" ",
    b"\r\n",
    b"\x0c",
    b"\xe2\x80\xa8",
    b"0",
    b"a" * 32,
    b"f" * 128,
    b"-1",
    b"\xff",
    b"9" * 18,
)

_SHUFFLER: Final = (
    b'name = "s"\nfolder = "state"\n[listen]\nusers = "127.0.0.1:1"\npeers = "127.0.0.1:2"\n[policy]\n'
    b'analyzers = ["a.card"]\naccept = "auto"\nmost_eps_local = 4.0\nleast_reports = 10\nleast_fakes = 3\n'
    b'protocols = ["peos"]\nmost_eps_server = 1.0\n[encryption]\nstatistical = true\n[limits]\nstep_seconds = 60\n'
    b"workers = 2\nzeros_megabytes = 10\n"
)
_ANALYZER: Final = (
    b'name = "a"\nfolder = "state"\npassphrase_file = "p"\nshufflers = ["1.card", "2.card", "3.card"]\n[listen]\n'
    b'peers = "127.0.0.1:3"\n[budget]\nepsilon = 1.0\ndelta = 1e-6\n'
)
_USER: Final = (
    b'folder = "memory"\nshufflers = ["%s", "%s", "%s"]\nmost_eps_local = 4\nleast_reports = 3\nbudget = 9.5\n'
    % (*(bytes([48 + number]) * 64 for number in range(3)),)
)


def _answer(text: str) -> int | None:
    return value_of(text, ("nobody", "a dog", "a cat"), 3)


def _texts(folder: Path) -> Iterator[Target]:
    ticket = b"a" * 32 + b":" + b"f" * 128 + b":" + b"5" * 64
    yield Target("a key file", (b"5" * 64,), _in_file(folder / "key", read_key), (WrongInput,), tokens=_LINES)
    yield Target("a ticket", (ticket,), _as_text(read_ticket), (WrongInput,), tokens=_LINES)
    yield Target("an answer", (b"17", b"a cat"), _as_text(_answer), (WrongInput,), tokens=_LINES)
    tickets, values = ticket + b"\n" + ticket + b"\n", folder / "two values"
    values.write_bytes(b"1\n2\n")
    lines, table = b'"bread"\n["tea", 7]\n', b"who,what\nAda,bread\nBo,tea\n"
    files: list[tuple[str, bytes, Callable[[Path], Any]]] = [
        ("tickets", tickets, lambda path: read_answers(path, lambda: read_values(values))),
        ("values", b"1\n2\n", read_values),
        ("records.jsonl", lines, read_records),
        ("records.csv", table, lambda path: read_records(path, "what", "who")),
        ("record.json", lines[:8], read_record),
    ]
    for name, seed, reading in files:
        yield Target(f"a file of {name}", (seed,), _in_file(folder / name, reading), (WrongInput,), tokens=_LINES)
    for name, seed, reading in (
        ("shuffler.toml", _SHUFFLER, shuffler.config.read),
        ("analyzer.toml", _ANALYZER, analyzer.config.read),
        ("client.toml", _USER, user_client.config.read),
    ):
        yield Target(name, (seed,), _in_file(folder / name, reading), (WrongInput,), tokens=_TOML)
    mark = folder / "mark"
    write_witness(mark, Witness(bytes(16), 7, 3, bytes(32)))
    yield Target("a witness", (mark.read_bytes(),), _in_file(mark, read_witness), (LocalFault,), tokens=_LINES)


def _as_text(read: Callable[[str], Any]) -> Callable[[bytes], Any]:
    return lambda data: read(data.decode(errors="surrogateescape"))


def _in_file(path: Path, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    path.touch(mode=0o600)

    def written(data: bytes) -> Any:
        path.write_bytes(data)
        return read(path)

    return written


# Which readers there are.


@dataclass
class Reached:
    """The functions that are called while it is open."""

    codes: set[CodeType] = field(default_factory=set)

    def __enter__(self) -> "Reached":
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.codes.add(frame.f_code)


def unread(made: Iterable[Target]) -> list[str]:
    """Readers of the wire that none of these targets reaches with its own seeds."""
    readers: dict[CodeType, str] = {}
    for found in pkgutil.iter_modules(peos.wire.__path__):
        module = importlib.import_module(f"peos.wire.{found.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("decode_") and function.__module__ == module.__name__:
                readers[function.__code__] = f"{module.__name__}.{name}"
    with Reached() as reached:
        for target in made:
            for seed in target.seeds:
                target.read(seed)
    return sorted(name for code, name in readers.items() if code not in reached.codes)
