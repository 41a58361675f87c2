"""What a coalition's view says about the order of each pair's two rows, as numbers that a chooser can weigh.

For a pair with frozen rows i₀ < i₁ and output rows j₀ < j₁ a feature is a number that changes its sign if j₀ and j₁
are exchanged: above zero it speaks for i₀ having become j₀. There are two kinds:

- products (x(i₀) − x(i₁))·(y(j₀) − y(j₁)) of everything that is known of a user's row, x, with everything that is known
  of an output row, y: words and integers by rank, their widths, Legendre symbols, parities, places, and which chunk of
  which size brought the row;
- scores s(i₀,j₀) + s(i₁,j₁) − s(i₀,j₁) − s(i₁,j₀) of a relation s between a user's row and an output row: the ratio of
  two ciphertexts, two words (or sums of words) that are equal, differences across a lost attempt that fit, a
  permutation that some 32 bytes on the wire would yield as a seed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import gmpy2
import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64
from tests.security.linking.coalition import Ciphertexts, Known, Orders, Seen, origin
from tests.security.linking.collection import Index

Numbers = NDArray[np.floating[Any]]
_LOOK: Final = 4  # pairs on which a relation of words is tried before it is computed for all


@dataclass(frozen=True, eq=False)
class Evidence:
    """One collection as one coalition sees it: per pair x(i₀) − x(i₁), y(j₀) − y(j₁), and scores; and the truth."""

    users: dict[str, Numbers]
    outputs: dict[str, Numbers]
    scores: dict[str, Numbers]
    straight: NDArray[np.bool_]  # the referee's


def evidence(seen: Seen) -> Evidence:
    """Everything, for every pair."""
    came_in, came_out = seen.pairs
    users = {name: values[came_in] for name, values in _of_users(seen)}
    outputs = {name: values[came_out] for name, values in _of_outputs(seen)}
    return Evidence(
        {name: (found[:, 0] - found[:, 1]).astype(np.float32) for name, found in users.items()},
        {name: (found[:, 0] - found[:, 1]).astype(np.float32) for name, found in outputs.items()},
        {
            name: found.astype(np.float32)
            for score in (_ratios, _equal_words, _differences, _seeds)
            for name, found in score(seen)
        },
        origin(seen.collection)[came_out[:, 0]] == came_in[:, 0],
    )


# What is known of a single row.


def _of_users(seen: Seen) -> Iterator[tuple[str, Numbers]]:
    yield "place in the frozen list", np.arange(seen.rows, dtype=float)
    dummies = {dummy.id for dummy in seen.collection.dummies}
    frozen = sorted(parts[0].id for parts in seen.collection.parts)
    padded = [id_ in dummies for id_ in frozen] + [False] * (seen.rows - len(frozen))
    yield "dummies further up in the frozen list", np.cumsum(padded).astype(float)
    order = {parts[0].id: number for number, parts in enumerate(seen.collection.parts)}
    lengths = {parts[0].id: sum(len(part.share) for part in parts) for parts in seen.collection.parts}
    padding = [0.0] * (seen.rows - len(order))
    yield "order of submission", np.array([*(order[id_] for id_ in frozen), *padding], float)
    yield "bytes submitted", np.array([*(lengths[id_] for id_ in frozen), *padding], float)
    for attempt in range(1, seen.attempts + 1):
        index = np.argsort(seen.composed(attempt, 1, seen.unknown - 1))
        yield f"place before the unknown round, attempt {attempt}", index.astype(float)
    for known in seen.before:
        index = seen.by_user(known)
        for what, values in _components_once(seen, known):
            yield f"{what} of {known.name}, attempt {known.attempt}", values[index]


def _of_outputs(seen: Seen) -> Iterator[tuple[str, Numbers]]:
    yield "place in the output", np.arange(seen.rows, dtype=float)
    last = seen.composed(seen.attempts, seen.unknown + 1, len(seen.rounds))
    yield "place after the unknown round", last.astype(float)
    dummies = np.isin(seen.output, [dummy.words[0] for dummy in seen.collection.dummies])
    yield "dummies further up in the output", np.cumsum(dummies).astype(float)
    for known in seen.after:
        index = seen.by_output(known)
        for what, values in _components_once(seen, known):
            yield f"{what} of {known.name}, attempt {known.attempt}", values[index]


def _components_once(seen: Seen, known: Known) -> list[tuple[str, Numbers]]:
    return seen.once(("components", known.name, known.attempt), lambda: list(_components(known)))


def _components(known: Known) -> Iterator[tuple[str, Numbers]]:
    content = known.content
    words = content.words if isinstance(content, Ciphertexts) else content
    yield "word", _ranks(words)
    yield "parity", (words % 2).astype(float)
    if isinstance(content, Ciphertexts):
        key = content.key
        yield "integer", _ranks(content.integers)
        yield "width", np.array([m.bit_length() for m in content.integers], float)
        yield "symbol mod p", np.array([gmpy2.legendre(c, key.p) for c in content.raw], float)
        yield "symbol mod q", np.array([gmpy2.legendre(c, key.q) for c in content.raw], float)
        yield "c", _ranks(content.raw)
        yield "c mod N", _ranks(content.units)
        yield "parity of c", np.array([c % 2 for c in content.raw], float)
        yield "parity of c mod N", np.array([c % 2 for c in content.units], float)
    if known.carried is not None:
        yield "chunk", known.carried.chunk
        yield "size of the chunk", known.carried.size


def _ranks(values: "list[int] | U64") -> Numbers:
    ranks = np.empty(len(values))
    ranks[sorted(range(len(values)), key=values.__getitem__)] = np.linspace(0, 1, len(values))
    return ranks


# Relations between a user's row and an output row.

Relation = Callable[[int, int], float]


def _scored(seen: Seen, users: Index, outputs: Index, relation: Relation) -> Numbers:
    """The score of each pair; rows are found at users[i] and outputs[j]."""
    found = []
    for (i0, i1), (j0, j1) in zip(users[seen.pairs[0]].tolist(), outputs[seen.pairs[1]].tolist(), strict=True):
        found.append(relation(i0, j0) + relation(i1, j1) - relation(i0, j1) - relation(i1, j0))
    return np.array(found, float)


def _ratios(seen: Seen) -> Iterator[tuple[str, Numbers]]:
    """c_out / c_in: mod N it is 1 if nothing was re-randomised, and the exponent of 1 + N may be small."""
    for x in (one for one in seen.before if isinstance(one.content, Ciphertexts)):
        for y in (one for one in seen.after if isinstance(one.content, Ciphertexts)):
            a, b = x.content, y.content
            assert isinstance(a, Ciphertexts), "chosen so"
            assert isinstance(b, Ciphertexts), "chosen so"
            users, outputs = seen.by_user(x), seen.by_output(y)
            for what, relation in _relations(a, b).items():
                yield f"{what}: {x.name}, {x.attempt}; {y.name}, {y.attempt}", _scored(seen, users, outputs, relation)


def _relations(a: Ciphertexts, b: Ciphertexts) -> dict[str, Relation]:
    n = int(a.key.public.modulus)
    return {
        "c mod N is the same": lambda i, j: float(a.units[i] == b.units[j]),
        "ratio mod N": lambda i, j: a.inverses[i] * b.units[j] % n / n,
        "small exponent": lambda i, j: -float(abs(b.integers[j] - a.integers[i]).bit_length()),
    }


def _equal_words(seen: Seen) -> Iterator[tuple[str, Numbers]]:
    """A word of a user, or the sum or difference of two, that comes out as a word or a sum or difference of two."""
    users = _combinations([_words(one)[seen.by_user(one)][seen.pairs[0]] for one in seen.before])
    final = [one for one in seen.after if one.attempt == seen.attempts]
    outputs = _combinations([_words(one)[seen.by_output(one)][seen.pairs[1]] for one in final])
    total = np.zeros(len(seen.pairs[0]))
    common = [np.intersect1d(users[:, pair], outputs[:, pair]) for pair in range(_LOOK)]
    if sum(len(values) > 0 for values in common) <= _LOOK // 2:
        yield "equal words", total  # what links rows links more than half of them
        return
    tried = users[:, None, :_LOOK, :, None] == outputs[None, :, :_LOOK, None, :]
    for x, y in np.argwhere(tried.any(axis=(3, 4)).sum(axis=2) > _LOOK // 2):
        same = users[x][:, :, None] == outputs[y][:, None, :]
        total += _crossed(same)
    yield "equal words", total


def _combinations(words: list[U64]) -> U64:
    both = list(combinations(words, 2))
    return np.stack([*words, *(a + b for a, b in both), *(a - b for a, b in both), *(b - a for a, b in both)])


def _differences(seen: Seen) -> Iterator[tuple[str, Numbers]]:
    """A vector less its counterpart of a lost attempt: if masks came again, what a user's row had less another's."""
    total = np.zeros(len(seen.pairs[0]))
    lost = {one.name: one for one in seen.after if one.attempt == 1 < seen.attempts and one.carried}
    bases = [_bases(seen, attempt) for attempt in (1, seen.attempts)]
    for one in (one for one in seen.after if one.attempt == seen.attempts and one.name in lost):
        change = (_words(one) - _words(lost[one.name]))[seen.by_output(one)][seen.pairs[1]]
        for name in bases[0].keys() & bases[1].keys():
            before, now = np.sort(bases[0][name]), bases[1][name][seen.pairs[0]]
            fits = _among(now[:_LOOK, :, None] - change[:_LOOK, None, :], before)
            if fits.any(axis=(1, 2)).sum() > _LOOK // 2:
                total += _crossed(_among(now[:, :, None] - change[:, None, :], before))
    yield "differences across a lost attempt", total


def _among(values: U64, ordered: U64) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = ordered[np.searchsorted(ordered, values) % len(ordered)] == values
    return found


def _bases(seen: Seen, attempt: int) -> dict[str, U64]:
    """By user: each share, alone and with each part that was added to it."""
    shares = {one.name: _words(one) for one in seen.submitted}
    parts = {one.name: _words(one)[seen.by_user(one)] for one in seen.before if one.attempt == attempt}
    return shares | {f"{a} and {b}": shares[a] + parts[b] for a in shares for b in parts.keys() - shares.keys()}


def _crossed(same: NDArray[np.bool_]) -> Numbers:
    counted = same.astype(float)
    found: Numbers = counted[:, 0, 0] + counted[:, 1, 1] - counted[:, 0, 1] - counted[:, 1, 0]
    return found


def _seeds(seen: Seen) -> Iterator[tuple[str, Numbers]]:
    """Every word said in the unknown round to or by a member, tried as its seed."""
    said = {
        word.body
        for word in seen.collection.words
        if word.header.step.round == seen.unknown
        and not seen.coalition.isdisjoint((word.header.sender, word.header.receiver))
    }
    total = np.zeros(len(seen.pairs[0]))
    for body in sorted(said):
        guessed = Orders.composed(seen, seen.attempts, 1, len(seen.rounds), {seen.unknown: body})
        same = guessed[seen.pairs[1]][:, None, :] == seen.pairs[0][:, :, None]
        total += _crossed(same)
    yield "a word as the seed", total


def _words(known: Known) -> U64:
    return known.content.words if isinstance(known.content, Ciphertexts) else known.content
