"""A town's whole run: collections at the same time on the same three shufflers, for all tests that only look."""

import datetime
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.config import read
from analyzer.workspace import Workspace
from peos.collection.cards import Card
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.localcluster import LocalCluster, Party
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.wire.parties import sign_card
from tests.e2e import leaks
from tests.e2e.town import Town, digest_of, here, says, until
from tests.e2e.watch import Watch
from tests.full import FULL

USERS: Final = 24
DOMAIN: Final = 30  # more values than users: those that no user gave are zero
CHOSEN: Final = 3
PUBLISHED: Final = ("grr", "solh", "sue", "hadamard", "subset") if FULL else ("grr", "solh")
SIZES: Final[dict[str, tuple[object, ...]]] = {"hadamard": ("--signs", 2), "subset": ("--size", 2)}
SCHEME: Final = ("--scheme", "jl" if FULL else "dgk")  # a key of DGK's takes a tenth of the time
FIRST: Final[tuple[object, ...]] = () if FULL else SCHEME  # in CI the first collection has Paillier
_RNG: Final = Randomness(b"\x0e" * 32)

# An analyzer that the shufflers' operators admitted and that the tests play, and one whose certificate is over.
GUEST: Final = make_certificate("guest peers", _RNG)
EXPIRED: Final = make_certificate(
    "late peers", _RNG, days=1, now=datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=3)
)


@dataclass
class Concluded:
    """A town after its run; the processes are still there."""

    town: Town
    results: dict[str, dict[str, Any]]
    digests: dict[str, str]
    watch: Watch
    clients: dict[str, Party]
    secrets: dict[str, list[bytes]]


def _admit(shuffler: Party, cards: list[Path]) -> None:
    text = shuffler.config.read_text(encoding="utf-8")
    more = "".join(f', "{card}"' for card in cards)
    shuffler.config.write_text(text.replace('analyzer.card"]', f'analyzer.card"{more}]'), encoding="utf-8")


def _card(folder: Path, name: str, certificate: Certificate) -> Path:
    identity = Identity.generate(_RNG)
    path = folder / f"{name}.card"
    path.write_bytes(sign_card(Card(name, identity.public, "127.0.0.1:1", as_der(certificate.pem)), identity))
    return path


@contextmanager
def whole_run(folder: Path) -> Iterator[Concluded]:
    """PUBLISHED mechanisms and a collection that is aborted for want of reports, all under way at the same time."""
    every_value = list(range(USERS))
    with LocalCluster(folder / "cluster", shufflers=3) as cluster:
        if FULL:
            cluster.init_launcher = ()  # type: ignore[misc]  # its keys are stretched as everybody's are
        cluster.init(most_eps_local=48.0, least_reports=2)
        guests = [_card(folder, "guest", GUEST), _card(folder, "late", EXPIRED)]
        for shuffler in cluster.shufflers:
            _admit(shuffler, guests)
        names = (*PUBLISHED, "few")
        folders = {party.name: party.folder for party in cluster.parties}
        folders |= {f"users-of-{name}": cluster.folder / f"users-of-{name}" for name in names}
        with Watch(folders) as watch:
            cluster.start()
            town = Town(cluster)
            quick = town if FULL else Town(cluster, run=here)  # the first collection has every command as a process
            with ThreadPoolExecutor(1) as beside:
                grr = beside.submit(town.open, "grr", every_value, "--mechanism", "grr", *FIRST, domain=DOMAIN)
                clients = {name: _open_chosen(quick, name) for name in PUBLISHED[1:]} | {"few": _open_few(quick)}
                clients["grr"] = grr.result()
                digests = {name: digest_of(quick, name) for name in names}
                private = _secrets_of(town, clients)
                frozen = beside.submit(town.freeze, "grr")
                until(lambda: _is_closed(town, digests["grr"]), "that `grr` is closed")  # the others at the same time
                for name in names[1:]:
                    quick.freeze(name)
                frozen.result()
                results = {name: (quick if name in names[1:] else town).result(name) for name in PUBLISHED}
            until(
                lambda: quick.analyst("status", "few", "--json").json["state"] == "aborted", "the end of `few`", every=1
            )
        town.run = here
        yield Concluded(town, results, digests, watch, clients, private)


def _is_closed(town: Town, digest: str) -> bool:
    return says(town.shufflers[0], "state", state="closed", collection=digest[:16])


def _open_chosen(town: Town, mechanism: str) -> Party:
    """All users give the same answer, with real noise and a few fakes."""
    asked = ("--mechanism", mechanism, *SIZES.get(mechanism, ()), *SCHEME)
    return town.open(mechanism, [CHOSEN] * USERS, *asked, domain=8, eps_local=8.0, fakes=8)


def _open_few(town: Town) -> Party:
    """Five answers where twelve are the minimum."""
    ran = town.ask("few", "--mechanism", "grr", "--minimum", 12, *SCHEME, domain=DOMAIN, users=USERS)
    assert ran.code == 0, ran.err
    return town.answer("few", list(range(5)))


def _secrets_of(town: Town, clients: dict[str, Party]) -> dict[str, list[bytes]]:
    """While they are there: decryption keys and shares are erased at the end."""
    workspace = Workspace(read(town.analyzer.config))
    try:
        found = leaks.of_analyzer(workspace)
    finally:
        workspace.close()
    for shuffler in town.cluster.shufflers:
        found |= leaks.of_shuffler(shuffler)
    for name, client in clients.items():
        found |= leaks.of_users(client, town.folder / f"{name}.tickets", town.cluster.shufflers)
    return found
