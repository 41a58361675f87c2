"""shuffler.toml: where this shuffler lives, where it listens, and what its operator accepts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peos import configuration
from peos.collection.cards import Card
from peos.collection.policy import PER_ANALYZER, PER_QUESTION, Policy
from peos.compute import PROCESSES, Choice
from peos.errors import WrongInput
from peos.protocols import NEEDS_NO_LEAVE
from peos.registry import PROTOCOLS, VIEWS
from peos.settings import (
    ADDRESS,
    FLAG,
    NAME,
    PATH,
    PATHS,
    POSITIVE,
    File,
    count,
    duration,
    group,
    load,
    megabytes,
    one_of,
    setting,
    some_of,
)
from shuffler.web_config import KEYS, Web, web
from shuffler.zero_pool import MEGABYTES

SILENCE: Final = 30.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Config(File):
    """A shuffler's configuration, paths resolved against the file's own folder."""

    name: str = setting("name", NAME)
    folder: Path = setting("folder", PATH)
    passphrase_file: Path | None = setting("passphrase_file", PATH, None)  # without one, keys lie there as they are
    users: str = setting("listen.users", ADDRESS)
    peers: str = setting("listen.peers", ADDRESS)
    bind: str | None = setting(*configuration.BIND)
    web: Web | None = group(KEYS, web, None)  # for browsers
    metrics: str | None = setting(*configuration.METRICS)
    tracing: str | None = group(configuration.TRACING, configuration.tracing, None)  # a collector's address

    analyzers: tuple[Path, ...] = setting("policy.analyzers", PATHS)
    accept: str = setting("policy.accept", one_of("auto", "ask"), "ask")
    most_eps_local: float = setting("policy.most_eps_local", POSITIVE)
    least_reports: int = setting("policy.least_reports", count(1))
    least_fakes: int = setting("policy.least_fakes", count(0), 0)
    most_fakes: int = setting("policy.most_fakes", count(0), 100_000_000)
    protocols: tuple[str, ...] = setting("policy.protocols", some_of(*PROTOCOLS), NEEDS_NO_LEAVE)
    views: tuple[str, ...] | None = setting("policy.views", some_of(*VIEWS), None)  # what may be asked of a record
    most_eps_server: float | None = setting("policy.most_eps_server", POSITIVE, None)
    most_eps_users: float | None = setting("policy.most_eps_users", POSITIVE, None)
    most_days: float = setting("policy.most_days", POSITIVE, 90.0)  # from acceptance to the erasure
    most_open: int = setting("policy.most_open", count(1), 64)  # collections of one analyzer
    most_per_question_and_day: int = setting("policy.most_per_question_and_day", count(1), PER_QUESTION)
    most_per_analyzer_and_day: int = setting("policy.most_per_analyzer_and_day", count(1), PER_ANALYZER)

    # Re-randomise without assuming an honestly made key, at a hundred times the price.
    statistical: bool = setting("encryption.statistical", FLAG, False)

    step_seconds: float = setting(
        "limits.step_seconds", duration(1.0), 60.0
    )  # of a step, on top of the time for its rows
    workers: int | None = setting("limits.workers", count(1), None)  # for passes over ciphertexts; else one a core
    zeros_megabytes: float = setting("limits.zeros_megabytes", megabytes(0), MEGABYTES)  # made ahead, in memory
    user_connections: int = setting("limits.user_connections", count(1), 1000)  # fewer where descriptors are few
    connections_per_address: int = setting("limits.connections_per_address", count(1), 32)  # of them
    silent_seconds: float = setting("limits.silent_seconds", duration(1.0), SILENCE)  # of a stream without a part
    peer_connections: int = setting(*configuration.PEER_CONNECTIONS)
    compute: Choice = group(configuration.COMPUTE, configuration.compute, PROCESSES)  # where the passes are worked

    def __post_init__(self) -> None:
        web = self.web.address if self.web else None
        ports = {"users": self.users, "peers": self.peers, "web": web, "metrics": self.metrics}
        configuration.require_apart(self.path, ports)

    @property
    def ask_operator(self) -> bool:
        """Whether a collection within the policy still waits for `peos shuffler accept`."""
        return self.accept == "ask"

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
            views=self.views,
        )

    def analyzer_cards(self) -> list[Card]:
        """The cards of the analyzers that may ask."""
        found = [configuration.read_card(self.path, "policy.analyzers", path)[1] for path in self.analyzers]
        for path, card in zip(self.analyzers, found, strict=True):
            if card.is_shuffler:
                raise WrongInput(
                    "config.card_of_shuffler",
                    f"policy.analyzers: {path} is the card of a shuffler",
                    hint="name the card that the analyzer's `peos analyzer init` made",
                    where=str(self.path),
                )
        return found


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput says which key is wrong."""
    return load(path, Config)
