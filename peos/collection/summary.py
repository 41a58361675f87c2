"""What a collection document asks of users and of operators, in a few lines: shown to both before they take part."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from peos.collection.cards import plain_text
from peos.collection.document import Document, utc
from peos.collection.ticket import PLACES
from peos.privacy.guarantees import power, rounded_up
from peos.tasks.views import View

_WIDTH: Final = 11


def in_words(document: Document, views: Sequence[View] = ()) -> str:
    """What a user reads before she answers: what is asked, by whom, what protects her, and until when."""
    asked = Summary.of(document, views)
    names = [plain_text(member.name) for member in document.shufflers]
    lines = [
        asked.question,
        f"You are asked for {asked.answers}"
        if asked.asked
        else f"Answers: {', '.join(asked.labels) or asked.answers}.",
        *([f"This is {asked.study}."] if asked.study else []),
        f"{asked.analyzer} asks. Your answer is randomised on this device, and split among {', '.join(names[:-1])} and "
        f"{names[-1]}. They shuffle it with at least {max(0, document.minimum - 1):,} other users' answers and "
        f"{document.fakes:,} random ones, or end without a result.",
        *guaranteed(document),
        f"The collection closes at {utc(document.closes_at)}; everything is erased by {utc(document.erase_by)}.",
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class Summary:
    """The printable terms of one document. Without labels, answers are the numbers 0 … domain − 1.

    `asked` is what is asked of a record, in words, where that is not one value of a list.
    """

    analyzer: str
    question: str
    epoch: str
    labels: tuple[str, ...]
    domain: int
    mechanism: str
    eps_local: float
    protocol: str
    minimum: int
    fakes: int
    closes_at: int
    shuffle_by: int
    erase_by: int
    asked: tuple[str, ...] = ()
    study: str = ""

    @classmethod
    def of(cls, document: Document, views: Sequence[View] = ()) -> Self:
        """The document's; `views` are its own with the texts of a catalogue, where there is one."""
        return cls(
            analyzer=plain_text(document.analyzer.name),
            question=plain_text(document.question),
            epoch=plain_text(document.epoch),
            labels=document.labels,
            domain=document.mechanism.domain,
            mechanism=document.mechanism.name,
            eps_local=document.mechanism.epsilon_local,
            protocol=document.protocol.name,
            minimum=document.minimum,
            fakes=document.fakes,
            closes_at=document.closes_at,
            shuffle_by=document.shuffle_by,
            erase_by=document.erase_by,
            asked=tuple(map(_question, views or document.asked)) if document.views else (),
            study=_round(document),
        )

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """As `to_json` wrote it."""
        return cls(**{**found, "labels": tuple(found["labels"]), "asked": tuple(found.get("asked", ()))})

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return asdict(self)

    @property
    def answers(self) -> str:
        """Every answer, with the number that stands for it; or what is asked of a record."""
        if len(self.asked) > 1:
            lines = "".join(f"\n  {'':<{_WIDTH}}{question}" for question in self.asked)
            return f"one of {len(self.asked)} answers; which one, the device draws and keeps to itself:{lines}"
        if self.asked:
            return self.asked[0]
        if not self.labels:
            return f"whole numbers from 0 to {self.domain - 1:,}"
        return ", ".join(f"{number} {label}" for number, label in enumerate(self.labels))

    def __str__(self) -> str:
        lines = {
            "analyzer": self.analyzer + (f", epoch {self.epoch}" if self.epoch else ""),
            "question": self.question,
            "answers": self.answers,
            "study": self.study,
            "mechanism": f"{self.mechanism}, ε_l = {rounded_up(self.eps_local)}",
            "protocol": f"{self.protocol}, minimum {self.minimum:,} reports, {self.fakes:,} fakes",
            "closes": f"{utc(self.closes_at)}, shuffled by {utc(self.shuffle_by)}, erased by {utc(self.erase_by)}",
        }
        return "\n".join(f"  {name:<{_WIDTH}}{text}" for name, text in lines.items() if text)


def guaranteed(document: Document) -> tuple[str, ...]:
    """What each coalition may learn of one person in the smallest crowd that is allowed, without a formula.

    Rounded to the side that promises less.
    """
    found = document.claims(document.minimum)
    said = []
    for who, epsilon, assumed in (
        (found.server.coalition, found.server.epsilon, found.server.assumed),
        (found.users.coalition, found.users.epsilon, ""),
        (found.anyone, found.local, ""),
    ):
        times = math.ceil(math.exp(epsilon) * 100) / 100
        chance = "" if epsilon >= found.local else f", but for a chance of {power(document.delta)}"
        said.append(
            f"To {who}: nothing that is seen is more than {times:,.2f} times as likely with your answer as with any "
            f"other (ε = {rounded_up(epsilon)}{chance}). {assumed}".rstrip()
        )
    return tuple(said)


def _question(view: View) -> str:
    words = plain_text(view.in_words)
    labels = getattr(view, "labels", ())  # of views that have some; in_words names the first of them
    listed = f": {', '.join(map(plain_text, labels))}" if labels and getattr(view, "catalogue", None) is None else ""
    return words + listed


def _round(document: Document) -> str:
    study = document.study
    if study is None:
        return ""
    share = (study.end - study.first) / PLACES
    return f"round {study.round} of study {study.id.hex()[:16]}…, which asks {share:.1%} of its users, each once"
