"""Bugs that the simulation found, each as the shrunk trial that showed it."""

import pytest

from peos.shuffle.delivery import Delivery
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Heard, Notify
from peos.shuffle.messages import Notice, NoticeKind
from peos.shuffle.schedule import Schedule
from tests.simulation.operations import Delay, Drop, Impatient, Kill, Partition, Scramble, Trial
from tests.simulation.world import World, failure


@pytest.mark.parametrize("at", range(14, 30, 2))
def test_a_shuffler_that_has_done_its_part_hears_that_the_attempt_was_left(at: int) -> None:
    """Shuffler 1 had done its part and waited for no one; the others' lost(1) fell into the partition.

    They were said once. So the others waited for attempt 2, and shuffler 1 for a receipt, until the deadline.
    """
    trial = Trial(operations=(Partition(at=at, lasts=50, group=(1,)),))
    assert failure(trial) is None


def test_whoever_was_killed_between_leaving_and_saying_so_says_so_again() -> None:
    """The same, without a partition: what was left is durable, but no party had heard of it."""
    for at in range(8, 30):
        for who in (1, 2, 3):
            trial = Trial(operations=(Impatient(at, who), Kill(at, who, 1), Drop(at, 40, who, 1 + who % 3)))
            assert failure(trial) is None, trial


def test_a_shuffler_that_gave_up_does_not_say_that_it_stored() -> None:
    """It had erased its vector, and said stored(1) to a fellow, who began to deliver what could never be whole.

    That fellow then ended without a tombstone, so no user could have taken her report to another collection.
    """
    operations = (
        Delay(at=23, lasts=28, sender=1, receiver=3, by=39),
        Impatient(at=24, who=1),
        Kill(at=26, who=2, down=62),
    )
    assert failure(Trial(shuffle_by=88, erase_by=488, operations=operations)) is None


def test_a_shuffler_that_gave_up_does_not_say_that_it_stored_among_four() -> None:
    operations = (Impatient(at=0, who=4), Impatient(at=19, who=3), Scramble(at=40, lasts=54, spread=32))
    assert failure(Trial(shufflers=4, shuffle_by=92, erase_by=492, operations=operations)) is None


@pytest.mark.parametrize("place", list(Phase))
def test_only_whoever_still_has_its_vector_says_that_it_stored(place: Phase) -> None:
    here = Delivery(2, Schedule(3), DeliveryState(place, 1, 0, b"t" * 32))
    _, effects = here.on(Heard(Notice(NoticeKind.ASK, 3, 1)))
    said = [effect.notice.kind for effect in effects if isinstance(effect, Notify)]
    assert (NoticeKind.STORED in said) == (place in (Phase.STORED, Phase.SENDING))


@pytest.mark.parametrize("lasts", [60, 80, 100])
def test_what_came_early_for_one_attempt_is_not_kept_for_the_next(lasts: int) -> None:
    """Shuffler 2 never heard of attempt 1, but had a part of it; the same part of attempt 2 was taken for a repeat.

    It had been acknowledged, so it was not sent again: attempt 2 stalled and was left, and attempt 3 was needed.
    """
    operations = (Drop(at=7, lasts=50, sender=1, receiver=2), Delay(at=58, lasts=lasts, sender=1, receiver=2, by=12))
    for vectors in (False, True):
        assert World(Trial(vectors=vectors, operations=operations)).run().attempts == 2
