"""No c shufflers with the analyzer can link rows, whatever shares users chose: checked exactly, coalition by coalition.

The claim (protocol.md §3). Let A be a coalition of at most c shufflers, together with the analyzer, its decryption
key, and users who know or chose all shares and coins. Take two inputs and two choices of the permutations that A does
not know, such that the words come out in the same order and A's own input shares are the same. Then A's view has the
same distribution in both: it depends on the words in output order, on A's inputs and on A's streams, and on nothing
else. In particular (a) other splittings of the same words look alike, and (b) so do permutations that exchange rows
of one word, even if the shares of those rows differ and are known. The same holds for the views of a lost attempt and
of the next together, although A may add what it likes to its shares in between: the lost attempt tells it nothing that
it could compare with the output.

The view is every vector that reaches a member or the analyzer, ciphertexts decrypted to plaintext and coins, and every
stream whose key was named to a member or follows from a word that it saw: the masks and permutations of the rounds in
which a member hides, the seeds that members sent as leavers, and those that leavers sent to members. A holder leaves
like anybody else, but for what remains of its accumulator, which reaches A inside the ciphertexts only. Vectors come
from the effects of the real machines, replayed on linear forms; see `view` for the criterion, which is exact in
Z_{2^64}. Members may start an attempt from other shares than the frozen ones (`forms.Change`). Taken as ideal: AES and
HKDF (streams are uniform and independent), hashes with secret salts, and re-randomisation (fresh coins, with nothing
else in a ciphertext; the width of Paillier's plaintexts and the cosets of zeros have tests of their own). Otherwise
members follow the protocol; contributions are committed to before any is seen, so choosing theirs would not help them.

Known permutations are those of the recorded keys. Unknown ones are varied one round at a time, over all alternatives,
and once all together. A coalition of exactly c misses one round, so for it nothing is left out. A smaller one sees
less than the coalition of c around it that misses the same round, so one change after another leads it anywhere. Over
two attempts the round that is missed is varied in each of them, and once in both.
"""

import numpy as np
import pytest

from peos.crypto import sharing
from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import Randomness
from peos.shuffle.messages import PUBLIC
from peos.shuffle.schedule import Schedule
from tests.full import full
from tests.security.linear.elimination import NotUnimodularError, vanishing
from tests.security.linear.forms import Change, Sealed, Share
from tests.security.linear.glass import plain_words, replay_on_numbers
from tests.security.linear.knowledge import Coalition, coalitions
from tests.security.linear.recording import record
from tests.security.linear.worlds import Worlds

SHUFFLERS = pytest.mark.parametrize("shufflers", [3, 4, 5, full(7)])
ROWS = 3


def said(found: dict[Coalition, str]) -> str:
    """What leaked, for an assertion."""
    return "\n".join(f"{sorted(coalition)}: {sentence}" for coalition, sentence in found.items())


@SHUFFLERS
def test_no_coalition_of_up_to_c_learns_more_than_the_words_in_output_order(shufflers: int, rng: Randomness) -> None:
    worlds = Worlds(record(shufflers, rng), ROWS)
    suspects = coalitions(worlds.recording.schedule)
    assert len(suspects) == {3: 4, 4: 5, 5: 16, 7: 64}[shufflers]
    found = worlds.leaks(suspects, rng)
    assert not found, said(found)


@pytest.mark.parametrize("shufflers", [3, 4, 5])
def test_what_members_make_of_their_vectors_adds_nothing(shufflers: int, rng: Randomness) -> None:
    worlds = Worlds(record(shufflers, rng), ROWS)
    found = worlds.leaks(coalitions(worlds.recording.schedule), rng, own=True)
    assert not found, said(found)


@pytest.mark.parametrize(
    ("shufflers", "rows"), [(3, 3), (4, 3), (5, 3), (6, 2), pytest.param(7, 2, marks=pytest.mark.long)]
)
def test_a_lost_attempt_and_the_next_tell_no_more_together_whatever_shares_changed_in_between(
    shufflers: int, rows: int, rng: Randomness
) -> None:
    worlds = Worlds(record(shufflers, rng, lost=1), rows)
    assert worlds.recording.attempts == 2
    found = worlds.leaks(coalitions(worlds.recording.schedule), rng)
    assert not found, said(found)


@SHUFFLERS
def test_the_words_come_out_as_linear_forms_in_the_order_of_the_permutations(shufflers: int, rng: Randomness) -> None:
    world = Worlds(record(shufflers, rng), ROWS).base
    words = sum((world.layout.one(Share(who)) for who in range(1, shufflers + 1)), world.layout.zero())
    assert np.array_equal(world.output, words[world.order])


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("shufflers", [3, 4, 5])
def test_forms_evaluated_at_the_streams_are_the_numbers_of_the_real_arithmetic(
    shufflers: int, lost: int, rng: Randomness
) -> None:
    rows = 4
    worlds = Worlds(record(shufflers, rng, lost=lost), rows)
    shares = sharing.split(rng.uint64(rows), shufflers, rng)
    changes = [rng.uint64(rows) for _ in shares]
    at = np.zeros(worlds.layout.width, np.uint64)
    for unknown in worlds.layout.unknowns:
        match unknown:
            case Share(who):
                at[worlds.layout.columns(unknown)] = shares[who - 1]
            case Change(who, _):
                at[worlds.layout.columns(unknown)] = changes[who - 1]
            case StreamKey():
                at[worlds.layout.columns(unknown)] = unknown.stream().uint64(rows)
    changed = [share + change for share, change in zip(shares, changes, strict=True)]
    first, second = (replay_on_numbers(worlds.recording, each, rng) for each in (shares, changed))
    forms = worlds.base.arrivals
    assert [one.name for one in forms] == [one.name for one in first] == [one.name for one in second]
    for form, *numbers in zip(forms, first, second, strict=True):
        words = form.vector.words if isinstance(form.vector, Sealed) else form.vector
        number = numbers[form.name.startswith(("attempt 2", "2/"))]
        assert np.array_equal(words.astype(np.uint64) @ at, plain_words(number.vector)), form.name


@SHUFFLERS
def test_of_a_round_without_members_only_public_words_reach_a_coalition(shufflers: int, rng: Randomness) -> None:
    recording = record(shufflers, rng)
    for coalition in coalitions(recording.schedule):
        for word in recording.words:
            header = word.header
            outside = coalition.isdisjoint(recording.schedule.hiders(header.step.round))
            if outside and header.receiver in coalition and header.sender not in coalition:
                assert header.step.kind in PUBLIC, f"{sorted(coalition)} receives {word}"


@SHUFFLERS
def test_every_coalition_of_c_misses_one_round_and_every_coalition_of_c_plus_one_none(shufflers: int) -> None:
    schedule = Schedule(shufflers)
    for size, rounds in ((schedule.colluders, 1), (schedule.colluders + 1, 0)):
        for coalition in coalitions(schedule, size):
            assert sum(coalition.isdisjoint(hiders) for hiders in schedule.rounds) == rounds, sorted(coalition)


def test_elimination_refuses_masks_that_cover_only_some_bits() -> None:
    with pytest.raises(NotUnimodularError, match="row 0"):
        vanishing(np.array([[2]]))
    assert vanishing(np.array([[1, 0], [1, 0], [0, 1]])).tolist() == [[-1, 1, 0]]
