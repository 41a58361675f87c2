"""PEOS: shares of which the first is encrypted, rounds of t hiders, an inspection after the delivery."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.crypto import sharing
from peos.crypto.identity import Identity
from peos.crypto.onion import ONION
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import scheme as scheme_named
from peos.crypto.schemes.base import Packed, PrivateKey, PublicKey, ZeroSource
from peos.errors import RemoteFault, WrongInput
from peos.ldp.base import Mechanism
from peos.privacy.guarantees import Guarantees, guarantees
from peos.protocols.base import (
    About,
    AnalyzerKey,
    Assignment,
    B,
    BenchFactory,
    Encryption,
    Opens,
    ShuffleProtocol,
    Splitter,
    Terms,
)
from peos.registry import DEFAULT_SCHEME
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.combine import FinalVector, add_up
from peos.shuffle.fakes import fake_shares
from peos.shuffle.machine import Shuffler
from peos.shuffle.schedule import Schedule

WORD_BYTES: Final = 8


@dataclass(frozen=True)
class ShareSplitter(Splitter):
    """Additive shares, the first of them encrypted; each zero is used once."""

    shufflers: int
    public: PublicKey
    zeros: ZeroSource

    def split(
        self,
        collection: bytes,  # noqa: ARG002 - a key is of one collection
        reports: U64,
        rng: Randomness,
    ) -> list[tuple[bytes, ...]]:
        """The shares of each report; encryption of the whole batch at once."""
        count, words = reports.shape
        first, *others = sharing.split(reports, self.shufflers, rng)
        encrypted = self.public.encrypt(first.reshape(-1), self.zeros.zeros(first.size))
        rows = encrypted.reshape(count, words * self.public.ciphertext_bytes)
        return [
            (rows[row].tobytes(), *(share[row].astype("<u8").tobytes() for share in others)) for row in range(count)
        ]


@dataclass(frozen=True)
class ShareEncryption(Encryption):
    """One encrypted share and r − 1 plain ones."""

    public: PublicKey
    words: int
    schedule: Schedule

    def share_bytes(self, shuffler: int) -> int:
        """A ciphertext for each word, or the word itself."""
        return self.words * (self.public.ciphertext_bytes if shuffler == ENCRYPTED_SHARE else WORD_BYTES)

    def splitter(self, rng: Randomness, expected: int) -> Splitter:
        """One supply of zeros for all: tables cost seconds, and each zero is used once all the same."""
        zeros = self.public.zero_source(rng, expected=expected * self.words)
        return ShareSplitter(self.schedule.shufflers, self.public, zeros)

    def check_share(self, share: bytes, shuffler: int) -> None:
        """The encrypted share must be ciphertexts of this key; any words are a share of some report."""
        if shuffler == ENCRYPTED_SHARE and not self._are_ciphertexts(np.frombuffer(share, np.uint8)):
            raise RemoteFault(
                "submit.ciphertext",
                "the encrypted share is not a ciphertext of this key",
                party="user",
                step="submission",
                hint="encrypt with the document's key",
            )

    def own_fakes(self, given: Assignment, seed: bytes) -> U64:
        """This shuffler's shares of all fakes."""
        return fake_shares(seed, given.context, given.fakes, self.words)

    def bench(self, given: Assignment, benches: BenchFactory[B]) -> B:
        """A bench of shares."""
        return benches.of_shares(given.reports + given.fakes, self.words, self.public)

    def delivered_bytes(self, sender: int) -> int:
        """The last holder's rows are ciphertexts, the others' words."""
        return self.words * (self.public.ciphertext_bytes if sender == self.schedule.last[0] else WORD_BYTES)

    def delivered_check(self, sender: int) -> Callable[[Packed], bool] | None:
        """The last holder must deliver ciphertexts of this key."""
        return self._are_ciphertexts if sender == self.schedule.last[0] else None

    def opened(
        self,
        collection: bytes,  # noqa: ARG002 - a key is of one collection
        parts: Mapping[int, FinalVector],
        private: AnalyzerKey,
        opens: Opens,
    ) -> tuple[U64, int]:
        """The last holder's ciphertexts, decrypted, and the other vectors added."""
        assert isinstance(private, PrivateKey), "a collection of PEOS has a key of its scheme"
        held = parts[self.schedule.last[0]].vector.view(np.uint8)
        words = opens.decrypt(private, held, passes=len(self.schedule.passes))
        return add_up(self.schedule, parts, words), 0

    def _are_ciphertexts(self, rows: Packed) -> bool:
        return bool(np.all(self.public.check(rows.reshape(-1, self.public.ciphertext_bytes))))


class Peos(ShuffleProtocol):
    """The encrypted oblivious shuffle (protocol.md §3)."""

    name = "peos"
    machine = Shuffler
    inspects = True
    about = About(
        encryption="{scheme}; a shuffle of encrypted shares (PEOS)",
        fakes="added by the shufflers together, known to none of them",
        encrypted="one share of each report is",
    )

    def schedule(self, shufflers: int) -> Schedule:
        """All t-subsets, in order."""
        return Schedule(shufflers)

    def scheme(self, named: str | None) -> str:
        """The scheme that was named, or the default."""
        return named or DEFAULT_SCHEME

    def check_terms(self, terms: Terms) -> None:
        """A scheme of ciphertexts, and no keys of shufflers."""
        if terms.scheme == ONION or terms.onion_keys:
            raise WrongInput(
                "document.onions", "the sequential shuffle, and it alone, has onions and an onion key of each shuffler"
            )

    def encryption(self, terms: Terms, *, floor: int) -> ShareEncryption:
        """The analyzer's encryption key, every condition on it checked."""
        public = scheme_named(terms.scheme).public_key(terms.public_key, floor=floor)
        return ShareEncryption(public, terms.mechanism.words, self.schedule(len(terms.shufflers)))

    def generate(self, scheme: str, rng: Randomness, *, bits: int) -> AnalyzerKey:
        """A key of the scheme."""
        return scheme_named(scheme).generate(rng, bits=bits)

    def private_key(self, scheme: str, secret: bytes, *, floor: int) -> AnalyzerKey:
        """The decryption key."""
        return scheme_named(scheme).private_key(secret, floor=floor)

    def public_part(self, private: AnalyzerKey) -> tuple[str, bytes]:
        """The scheme's name, and the public key."""
        assert isinstance(private, PrivateKey), "a collection of PEOS has a key of its scheme"
        return private.public.scheme, private.public.encode()

    def shufflers_keys(self, shown: Sequence[tuple[str, bytes]]) -> tuple[bytes, ...]:  # noqa: ARG002 - none is needed
        """None."""
        return ()

    def is_own_key(self, terms: Terms, number: int, shown: bytes) -> bool:  # noqa: ARG002 - there are none
        """Always true: there are no keys of shufflers."""
        return True

    def key_shown(self, identity: Identity) -> bytes:  # noqa: ARG002 - nothing is needed
        """Nothing."""
        return b""

    def claims(self, mechanism: Mechanism, users: int, fakes: int, delta: float, shufflers: int) -> Guarantees:
        """All fakes count against every coalition."""
        return guarantees(mechanism, users, fakes, delta, shufflers)

    def hiding_fakes(self, fakes: int, shufflers: int) -> int:  # noqa: ARG002 - for every coalition
        """All."""
        return fakes

    def plans_with(self, fakes: str, shufflers: int) -> str:  # noqa: ARG002 - for every coalition
        """All."""
        return fakes

    def fakes_for(self, asked: str, planned: int, shufflers: int) -> int:  # noqa: ARG002 - the plan's
        """As many as the plan says."""
        return planned

    def priced_as(self, scheme: str) -> str:
        """The scheme itself."""
        return scheme


PEOS: Final = Peos()
