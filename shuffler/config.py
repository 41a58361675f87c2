"""shuffler.toml: where this shuffler lives, where it listens, and what its operator accepts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peos import configuration
from peos.collection.party import Card
from peos.collection.policy import PER_ANALYZER, PER_QUESTION, Policy
from peos.compute import Choice
from peos.configuration import ADDRESS, FLAG, NAME, POSITIVE, TEXT, TEXTS, Key, at_least, count, one_of, some_of
from peos.errors import WrongInput
from peos.protocols import NEEDS_NO_LEAVE, PROTOCOLS
from shuffler.ahead import MEGABYTES

SILENCE: Final = 30.0  # seconds

_NAME: Final = Key("name", NAME)
_FOLDER: Final = Key("folder", TEXT)
_PASSPHRASE: Final[Key[str | None]] = Key("passphrase_file", TEXT, None)
_USERS: Final = Key("listen.users", ADDRESS)
_PEERS: Final = Key("listen.peers", ADDRESS)
_ANALYZERS: Final = Key("policy.analyzers", TEXTS)
_ACCEPT: Final = Key("policy.accept", one_of("auto", "ask"), "ask")
_MOST_EPS_LOCAL: Final = Key("policy.most_eps_local", POSITIVE)
_LEAST_REPORTS: Final = Key("policy.least_reports", count(1))
_LEAST_FAKES: Final = Key("policy.least_fakes", count(0), 0)
_PROTOCOLS: Final = Key("policy.protocols", some_of(*PROTOCOLS), NEEDS_NO_LEAVE)
_MOST_EPS_SERVER: Final[Key[float | None]] = Key("policy.most_eps_server", POSITIVE, None)
_MOST_EPS_USERS: Final[Key[float | None]] = Key("policy.most_eps_users", POSITIVE, None)
_PER_QUESTION: Final = Key("policy.most_per_question_and_day", count(1), PER_QUESTION)
_PER_ANALYZER: Final = Key("policy.most_per_analyzer_and_day", count(1), PER_ANALYZER)
_STATISTICAL: Final = Key("encryption.statistical", FLAG, False)
_STEP_SECONDS: Final = Key("limits.step_seconds", at_least(1.0), 60.0)
_WORKERS: Final[Key[int | None]] = Key("limits.workers", count(1), None)
_ZEROS: Final = Key("limits.zeros_megabytes", count(0), MEGABYTES)
_USER_CONNECTIONS: Final = Key("limits.user_connections", count(1), 1000)
_PER_ADDRESS: Final = Key("limits.connections_per_address", count(1), 32)
_SILENT: Final = Key("limits.silent_seconds", at_least(1.0), SILENCE)
_MOST_FAKES: Final = Key("policy.most_fakes", count(0), 100_000_000)
_MOST_DAYS: Final = Key("policy.most_days", POSITIVE, 90.0)
_MOST_OPEN: Final = Key("policy.most_open", count(1), 64)
KEYS: Final = (
    *(_NAME, _FOLDER, _PASSPHRASE, _USERS, _PEERS, _ANALYZERS, _ACCEPT, _MOST_EPS_LOCAL, _LEAST_REPORTS, _LEAST_FAKES),
    *(_PROTOCOLS, _MOST_EPS_SERVER, _MOST_EPS_USERS, _STATISTICAL, _STEP_SECONDS, _WORKERS, _ZEROS),
    *(_MOST_FAKES, _MOST_DAYS, _MOST_OPEN, _USER_CONNECTIONS, _PER_ADDRESS, _SILENT, configuration.PEER_CONNECTIONS),
    *(_PER_QUESTION, _PER_ANALYZER),
    *configuration.COMPUTE,
)


@dataclass(frozen=True)
class Config:
    """A shuffler's configuration, paths resolved against the file's own folder."""

    path: Path
    name: str
    folder: Path
    passphrase_file: Path | None  # without one, keys lie in the folder as they are
    users: str
    peers: str
    analyzers: tuple[Path, ...]
    ask_operator: bool
    most_eps_local: float
    least_reports: int
    least_fakes: int
    protocols: tuple[str, ...]
    most_eps_server: float | None
    most_eps_users: float | None
    most_per_question_and_day: int
    most_per_analyzer_and_day: int
    statistical: bool  # re-randomise without assuming an honestly made key, at a hundred times the price
    step_seconds: float  # how long a step of the shuffle may take, beside what its rows take
    workers: int | None  # processes for passes over ciphertexts; one a core if not given
    zeros_megabytes: int  # of zeros made ahead, in memory, for all collections together
    most_fakes: int
    most_days: float  # from acceptance to the erasure
    most_open: int  # collections of one analyzer
    user_connections: int  # at a time; fewer where there are few descriptors
    connections_per_address: int  # of them
    silent_seconds: float  # after which a stream that brings no part is ended
    peer_connections: int
    compute: Choice  # where the passes are worked

    def policy(self) -> Policy:
        """The operator's policy, with the identities of the analyzers' cards."""
        return Policy(
            tuple(card.identity for card in self.analyzer_cards()),
            self.most_eps_local,
            self.least_reports,
            self.least_fakes,
            self.protocols,
            self.most_eps_server,
            self.most_eps_users,
            self.most_fakes,
            self.most_days,
            self.most_open,
            most_per_question_and_day=self.most_per_question_and_day,
            most_per_analyzer_and_day=self.most_per_analyzer_and_day,
        )

    def analyzer_cards(self) -> list[Card]:
        """The cards of the analyzers that may ask."""
        return [configuration.read_card(self.path, _ANALYZERS.name, path)[1] for path in self.analyzers]


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput says which key is wrong."""
    found = configuration.read(path, KEYS)
    if found[_USERS] == found[_PEERS]:
        raise WrongInput(
            f"{path}: listen.users and listen.peers are two ports, not one", hint="give one of them another port"
        )
    return Config(
        path=path,
        name=found[_NAME],
        folder=found.beside(found[_FOLDER]),
        passphrase_file=found.beside(phrase) if (phrase := found[_PASSPHRASE]) is not None else None,
        users=found[_USERS],
        peers=found[_PEERS],
        analyzers=tuple(map(found.beside, found[_ANALYZERS])),
        ask_operator=found[_ACCEPT] == "ask",
        most_eps_local=found[_MOST_EPS_LOCAL],
        least_reports=found[_LEAST_REPORTS],
        least_fakes=found[_LEAST_FAKES],
        most_eps_server=found[_MOST_EPS_SERVER],
        most_eps_users=found[_MOST_EPS_USERS],
        protocols=found[_PROTOCOLS],
        most_per_question_and_day=found[_PER_QUESTION],
        most_per_analyzer_and_day=found[_PER_ANALYZER],
        statistical=found[_STATISTICAL],
        step_seconds=found[_STEP_SECONDS],
        workers=found[_WORKERS],
        zeros_megabytes=found[_ZEROS],
        most_fakes=found[_MOST_FAKES],
        most_days=found[_MOST_DAYS],
        most_open=found[_MOST_OPEN],
        user_connections=found[_USER_CONNECTIONS],
        connections_per_address=found[_PER_ADDRESS],
        silent_seconds=found[_SILENT],
        peer_connections=found[configuration.PEER_CONNECTIONS],
        compute=configuration.compute(found),
    )
