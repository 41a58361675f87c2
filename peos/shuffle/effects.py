"""What the shuffler machine asks of its caller, and what the caller tells it (docs/decisions/0003).

The machine never touches a vector. It names vectors by handle and lists the arithmetic; the caller owns the buffers,
does the work wherever it likes and reports `Done`. Effects are carried out in the order given, and a `Persist` is
durable before the next one begins. Tests run the same effects on numbers, and on linear forms to prove what leaks.
"""

from dataclasses import dataclass, field

from peos.crypto.kdf import StreamKey
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.messages import Header, Notice, Statement

Handle = str
SHARES = "shares"  # the frozen plaintext shares, fakes included: shufflers 2 … r
CIPHERTEXTS = "ciphertexts"  # the frozen encrypted shares, fakes included: shuffler 1; onions in a sequential shuffle


@dataclass(frozen=True)
class Send:
    """Send a statement to another shuffler; retry until it is acknowledged."""

    statement: Statement


@dataclass(frozen=True)
class SendVector:
    """Stream a vector to another shuffler, the same bytes at every retry, until it acknowledged them whole."""

    header: Header
    vector: Handle


@dataclass(frozen=True)
class Notify:
    """Sign a notice and send it to these shufflers."""

    notice: Notice
    receivers: tuple[int, ...]


@dataclass(frozen=True)
class Persist:
    """Make this delivery state durable, together with the final vector if one is named, before going on."""

    delivery_state: DeliveryState
    vector: Handle | None = None


@dataclass(frozen=True)
class Split:
    """out = source − Σ streams: what is left of a vector when the other parts are streams."""

    task: int
    source: Handle
    streams: tuple[StreamKey, ...]
    out: Handle


@dataclass(frozen=True)
class Mix:
    """A round's arithmetic: add the parts, permute, mask; report the root under `salt`.

    Without a source the vector starts from zero.
    """

    task: int
    source: Handle | None
    vectors: tuple[Handle, ...]
    streams: tuple[StreamKey, ...]
    permutation: StreamKey
    plus: tuple[StreamKey, ...]
    minus: tuple[StreamKey, ...]
    salt: StreamKey
    out: Handle


@dataclass(frozen=True)
class Pass:
    """A tenure's one pass over the ciphertexts: permute, add the accumulator, re-randomise; report the root."""

    task: int
    ciphertexts: Handle
    permutations: tuple[StreamKey, ...]
    accumulator: Handle
    hop: int
    salt: StreamKey
    out: Handle


@dataclass(frozen=True)
class Peel:
    """The sequential shuffle's step: remove a layer of every onion, add own fakes, permute; report the root."""

    task: int
    source: Handle
    permutation: StreamKey
    salt: StreamKey
    out: Handle


@dataclass(frozen=True)
class Output:
    """Deliver the stored vector to the analyzer, the same bytes at every retry, until it signed a receipt."""

    delivery_state: DeliveryState


@dataclass(frozen=True)
class Discard:
    """Forget every vector of an attempt: it will never be finished here."""

    attempt: int


@dataclass(frozen=True)
class Erase:
    """Forget everything of this collection but the delivery state: shares, ciphertexts, vectors, the seed of the fakes.

    Not asked for where the attempt that was delivered is to be inspected here: the caller does it once that is over.
    """


@dataclass(frozen=True)
class Report:
    """Tell the operator why an attempt was left or the collection aborted."""

    sentence: str


Task = Split | Mix | Pass | Peel
Effect = Send | SendVector | Notify | Persist | Task | Output | Discard | Erase | Report


@dataclass(frozen=True)
class Received:
    """A statement arrived, from the party its header names (the caller has authenticated it)."""

    statement: Statement


@dataclass(frozen=True)
class ReceivedVector:
    """A vector arrived whole, its length and hash checked, its rows ciphertexts if they claim to be."""

    header: Header
    vector: Handle


@dataclass(frozen=True)
class Heard:
    """A notice arrived and its signature holds."""

    notice: Notice


@dataclass(frozen=True)
class Done:
    """A task is finished; the root of its result, where one was asked for."""

    attempt: int
    task: int
    root: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Restarted:
    """The process came back: all that was not persisted is gone."""


@dataclass(frozen=True)
class Tick:
    """Some time has passed: ask the awaited shufflers again."""


@dataclass(frozen=True)
class TimedOut:
    """The step under way took longer than it may."""


@dataclass(frozen=True)
class Deadline:
    """`shuffle_by` has passed."""


@dataclass(frozen=True)
class Receipt:
    """The analyzer signed that it has this attempt's output."""

    attempt: int


@dataclass(frozen=True)
class Expired:
    """`erase_by` has passed."""


Event = Received | ReceivedVector | Heard | Done | Restarted | Tick | TimedOut | Deadline | Receipt | Expired
