"""What a shuffler replies: to a part, and to the question where a collection stands."""

from dataclasses import dataclass

from peos.collection.receipts import Receipt


@dataclass(frozen=True)
class Answer:
    """What became of a part: the acknowledged row with its receipt, or a refusal in one sentence."""

    collection: bytes
    id: bytes
    row: bytes = b""
    refusal: str = ""
    hint: str = ""
    retry: bool = False
    receipt: Receipt | None = None  # of an acknowledgement
    error_id: str = ""  # of a refusal


@dataclass(frozen=True)
class Status:
    """Where a collection stands with one shuffler, what it waits for, and what it refused."""

    collection: bytes
    state: str
    known: bool = True
    reason: str = ""
    reports: int = 0
    step: str = ""
    waited_for: tuple[str, ...] = ()
    done: int = 0
    total: int = 0
    seconds: int = 0
    refused: tuple[str, ...] = ()
