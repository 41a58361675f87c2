"""How much memory each process holds at most, by the number of reports.

    python -m benchmarks.memory [--scheme jl] [--rows 20000 100000] [--million] [--json]

Each part of the work is done by a process of its own, as the role does it, on synthetic rows under a key of 3072
bits: a shuffler's freeze with seven lists; its shuffle (the frozen vector laid out, a hand-over taken in, a pass,
roots, sending, the final vector stored and read, an opening); the analyzer's end (decryption, the dummies, support
counts). Printed is the high-water mark of resident memory (VmHWM; ru_maxrss of a child would begin with its
parent's), with it that of the largest worker, and the line through two sizes at a million rows. A line says too
little where a small run is outgrown by what is the same at any size; so `--million` also runs a shuffler's parts at a
million rows. Ready zeros are not in it: at most 256 MB a shuffler.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from peos.bench.machine import Row, machine
from peos.chunks import chunks, rows_of
from peos.collection.freeze import Announcement, Freeze
from peos.collection.rows import ROW_BYTES
from peos.compute import Processes
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context, StreamKey
from peos.crypto.randomness import Randomness, system
from peos.crypto.schemes import scheme
from peos.crypto.schemes.base import Packed, PrivateKey
from peos.ldp import LocalHash
from peos.shuffle.combine import FinalVector, add_up, without_dummies
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Pass
from peos.shuffle.inspect.evidence import open_rows
from peos.shuffle.messages import Header, Kind, SignedReveal, Step
from peos.shuffle.schedule import HandOver, Schedule
from peos.shuffle.vectors import in_rows
from peos.store.mapped import OneWayReader, mapped
from peos.store.private_files import write_durably
from peos.store.vectors import VectorFiles
from peos.wire.freezes import STRETCH
from peos.wire.shuffles import VectorReader, decode_vector_header, encode_vector

SCHEMES: Final = ("jl", "paillier")
ROWS: Final = (20_000, 100_000)
MILLION: Final = 1_000_000
LIMIT: Final = 2_000.0  # MB
READY: Final = 256.0  # MB of zeros made ahead, at most
LISTS: Final = 7
FAKES: Final = 1000
DUMMIES: Final = 200
CYCLE: Final = 512  # different ciphertexts; a row more costs no encryption here
DOMAIN: Final = 42178
HERE: Final = Context(bytes(32), bytes(32), 1)


def high_water(process: int | str = "self") -> float:
    """MB that a process has held at most."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))


def some_ciphertexts(private: PrivateKey) -> Packed:
    """Ciphertexts to fill vectors with."""
    rng, public = system(), private.public
    return public.encrypt(rng.uint64(CYCLE), public.zero_source(rng, expected=CYCLE).zeros(CYCLE))


def fill(out: Any, ciphertexts: Packed) -> None:
    """The same ciphertexts again and again."""
    for where in chunks(len(out), rows_of(ciphertexts.shape[1])):
        out[where] = ciphertexts[np.arange(where.start, where.stop) % CYCLE]


def key(number: int) -> StreamKey:
    """A stream."""
    return StreamKey(bytes([number]) * 32)


def shuffle(private: PrivateKey, rows: int, folder: Path) -> float:
    """Shuffler 1's work, and a later holder's; MB of the largest worker."""
    import shuffler.server  # noqa: F401 - what a shuffler has in memory at least
    from shuffler.workbench import Bench

    public, rng = private.public, system()
    some = some_ciphertexts(private)
    with Processes(2) as engine:
        bench = Bench(rows, 1, public, engine, folder=folder, long_from=0)
        frozen = bench.frozen_room(1)
        fill(frozen, some)
        bench.complete(1, frozen, rng.uint64((FAKES, 1)))
        bench.vectors[SHARES] = rng.uint64((rows, 1))
        task = Pass(1, CIPHERTEXTS, (key(1), key(2)), SHARES, 1, key(3), "1/pass/1")
        bench.work(task)
        handed = Header(HERE, Step(1, Kind.HANDOVER), 1, 2)
        messages = encode_vector(handed, in_rows(bench.vectors[task.out]))
        header = decode_vector_header(next(messages))
        coming = bench.coming(header)
        assert coming is not None, "it is long"
        reader = VectorReader(header, coming.keep)
        for message in messages:
            reader.feed(message)
        reader.end()
        bench.take_in("1/came", header, coming.whole())
        files = VectorFiles(folder / "vectors")
        final = files.read(files.write("final", in_rows(bench.vectors[task.out])))
        for _ in encode_vector(Header(HERE, Step(3, Kind.DELIVERY), 2, 0), OneWayReader(final), transcript=bytes(32)):
            pass
        places = tuple(range(0, rows, rows // DUMMIES))
        over = HandOver(1, first_round=1, source=0, receiver=2, hop=1)
        signed, numbers = SignedReveal(bytes(32), bytes(64)), tuple(range(len(places)))
        shown = [places, places]
        open_rows(1, [(over, task)], bench.vectors, shown, {}, claim=None, revealed=signed, dummies=numbers)
        return max(map(high_water, engine.worker_ids), default=0.0)


def freeze(_: PrivateKey, rows: int, __: Path) -> float:
    """A shuffler's list compared with six others."""
    import shuffler.server  # noqa: F401 - likewise

    def listed() -> list[bytes]:
        stream = Randomness(bytes(32)).bytes(rows * ROW_BYTES)
        return sorted(stream[at : at + ROW_BYTES] for at in range(0, len(stream), ROW_BYTES))

    own = listed()
    others = range(2, LISTS + 1)
    identities = [Identity(bytes([who]) * 32) for who in range(1, LISTS + 1)]
    one = Freeze(1, tuple(identity.public for identity in identities), bytes(32), own, identities[0])
    held = [Announcement.sign(identity, who, bytes(32), own) for who, identity in enumerate(identities, start=1)]
    for who in others:
        one.heard(who, held)
    for who in others:
        listing = one.listing(who)
        shown = listed()
        for at in range(0, rows, STRETCH):
            listing.feed(shown[at : at + STRETCH])
        listing.finish()
    assert len(one.rows) == rows
    assert len(one.digest) == 32
    return 0.0


def analyse(private: PrivateKey, rows: int, folder: Path) -> float:
    """The analyzer's end of an output of three shufflers; MB of the largest worker."""
    import analyzer.serve  # noqa: F401 - what an analyzer has in memory at least
    from analyzer.decryption import decrypt

    rng, public, schedule = system(), private.public, Schedule(3)
    some = some_ciphertexts(private)

    def pieces() -> Iterator[bytes]:
        for where in chunks(rows, rows_of(public.ciphertext_bytes)):
            yield some[np.arange(where.start, where.stop) % CYCLE].tobytes()

    write_durably(folder / "1.rows", pieces())
    held = mapped(folder / "1.rows", rows, public.ciphertext_bytes)
    holder, *others = schedule.last
    mechanism = LocalHash(domain=DOMAIN, epsilon=4.5, d_prime=512)
    with Processes(2) as engine:
        words = decrypt(engine, private, held, folder / "words", lambda *_: None, passes=len(schedule.passes))
        workers = max(map(high_water, engine.worker_ids), default=0.0)
    parts = {holder: FinalVector(HERE, bytes(32), held)}
    parts |= {who: FinalVector(HERE, bytes(32), rng.uint64((rows, 1))) for who in others}
    combined = add_up(schedule, parts, words.reshape(rows, 1))
    reports = without_dummies(combined, combined[:DUMMIES].copy())
    mechanism.estimate(mechanism.tally(reports), users=len(reports) - FAKES, fakes=FAKES)
    return workers


PARTS: Final[dict[str, Callable[[PrivateKey, int, Path], float]]] = {
    "shuffler: freeze of seven lists": freeze,
    "shuffler: shuffle": shuffle,
    "analyzer": analyse,
}


def one(part: str, name: str, rows: int) -> None:
    """In a process of its own; the key comes through standard input."""
    private = scheme(name).private_key(sys.stdin.buffer.read())
    with tempfile.TemporaryDirectory(prefix="peos-memory-") as folder:
        worker = PARTS[part](private, rows, Path(folder))
    print(json.dumps({"megabytes": high_water(), "worker": worker}))


def measured(part: str, name: str, key_: bytes, rows: int) -> Row:
    """One part at one size."""
    command = [sys.executable, "-m", "benchmarks.memory", "--part", part, "--scheme", name, "--rows", str(rows)]
    ran = subprocess.run(command, input=key_, capture_output=True, check=False)  # noqa: S603 - this file
    if ran.returncode:
        sys.exit(ran.stderr.decode())
    told: Row = json.loads(ran.stdout)
    return {"part": part, "scheme": name, "rows": rows} | told


def at_a_million(rows: list[Row]) -> list[Row]:
    """What the figures say of a million rows, by part and scheme.

    Ciphertexts are not in memory, so what grows is the same for every scheme, and the steepest line of a part counts.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["part"], row["scheme"]), []).append(row)
    slopes: dict[str, float] = {}
    for (part, _), of in found.items():
        first, *others = sorted(of, key=lambda row: int(row["rows"]))
        for row in others:
            slope = (row["megabytes"] - first["megabytes"]) / (row["rows"] - first["rows"])
            slopes[part] = max(slope, slopes.get(part, 0.0))
    lines = []
    for (part, name), of in found.items():
        last = max(of, key=lambda row: int(row["rows"]))
        million = last["megabytes"] + slopes[part] * (MILLION - last["rows"])
        with_ready = million + (READY if part.startswith("shuffler") else 0.0)
        lines.append(
            {
                "part": part,
                "scheme": name,
                "measured": last["rows"] == MILLION,
                "bytes_a_row": round(slopes[part] * 1e6, 1),
                "megabytes_at_a_million": round(million, 1),
                "with_ready_zeros": round(with_ready, 1),
                "worker": max(row["worker"] for row in of),
                "within_limit": with_ready < LIMIT,
            }
        )
    return lines


def measure(schemes: list[str], sizes: list[int], *, million: bool) -> Row:
    """All figures."""
    rows: list[Row] = []
    for name in schemes:
        secret = scheme(name).generate(system()).encode()
        for part in PARTS:
            if part.startswith("shuffler: freeze") and name != schemes[0]:
                continue  # it knows no ciphertexts
            whole = million and name == schemes[0] and part.startswith("shuffler")
            rows += [measured(part, name, secret, size) for size in [*sizes, *([MILLION] if whole else [])]]
    return {"machine": machine(), "limit_megabytes": LIMIT, "rows": rows, "at_a_million": at_a_million(rows)}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="resident memory of each process by the number of reports")
    parser.add_argument("--scheme", action="append", choices=SCHEMES)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--million", action="store_true", help="a shuffler's parts also at a million rows: minutes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=tuple(PARTS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        one(given.part, given.scheme[0], given.rows[0])
        return
    found = measure(given.scheme or list(SCHEMES), given.rows, million=given.million)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for row in found["rows"]:
        print(f"{row['part']}, {row['scheme']}, {row['rows']:,} rows: {row['megabytes']:.0f} MB", end="")
        print(f", a worker {row['worker']:.0f} MB" if row["worker"] else "")
    for row in found["at_a_million"]:
        print(f"at a million: {row['part']}, {row['scheme']}: {row['megabytes_at_a_million']:.0f} MB")


if __name__ == "__main__":
    main()
