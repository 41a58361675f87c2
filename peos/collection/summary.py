"""What a collection document asks of users and of operators, in a few lines: shown to the operator who accepts it."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from peos.collection.cards import plain_text
from peos.collection.document import Document, utc
from peos.privacy.guarantees import rounded_up

_WIDTH: Final = 11


@dataclass(frozen=True)
class Summary:
    """The printable terms of one document. Without labels, answers are the numbers 0 … domain − 1."""

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

    @classmethod
    def of(cls, document: Document) -> Self:
        """The document's."""
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
        )

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """As `to_json` wrote it."""
        return cls(**{**found, "labels": tuple(found["labels"])})

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return asdict(self)

    @property
    def answers(self) -> str:
        """Every answer, with the number that stands for it."""
        if not self.labels:
            return f"whole numbers from 0 to {self.domain - 1:,}"
        return ", ".join(f"{number} {label}" for number, label in enumerate(self.labels))

    def __str__(self) -> str:
        lines = {
            "analyzer": self.analyzer + (f", epoch {self.epoch}" if self.epoch else ""),
            "question": self.question,
            "answers": self.answers,
            "mechanism": f"{self.mechanism}, ε_l = {rounded_up(self.eps_local)}",
            "protocol": f"{self.protocol}, minimum {self.minimum:,} reports, {self.fakes:,} fakes",
            "closes": f"{utc(self.closes_at)}, shuffled by {utc(self.shuffle_by)}, erased by {utc(self.erase_by)}",
        }
        return "\n".join(f"  {name:<{_WIDTH}}{text}" for name, text in lines.items())
