"""Studies in memory: what the shuffle hands to a search is what users and shufflers made, and so is the answer."""

from typing import Any

import numpy as np
import pytest

from peos.crypto import sharing
from peos.crypto.randomness import U64, Randomness
from peos.simulate import Collected, Simulation, run_study
from peos.tasks import HASH, SPM, SVIM, SVSM, LDPMiner, Marginals, Ranges, treehist
from peos.tasks.base import Answer, Round, Table, Task
from peos.tasks.texts import Records
from tests.keys import small_key

USERS = 60
ASKED: dict[str, Any] = {"users": USERS, "delta": 1e-6, "eps_local": 6.0, "fakes": 15}
WORDS = ["ash"] * 30 + ["oak"] * 20 + ["elm"] * 10
LISTS = [["bread", "butter"], ["bread"], []] * (USERS // 3)
FOODS = ["bread", "butter", "milk", "salt"]
PEOPLE = [{"smokes": "yes" if at % 3 else "no", "age": 20 + at} for at in range(USERS)]
SCHEMA = {"smokes": ["no", "yes"], "age": {"from": 0, "to": 99, "parts": 4}}
TASKS: dict[str, tuple[Task, Records]] = {
    "prefixes": (treehist(24, 2, beam=8, d_prime=64, **ASKED), WORDS),
    "items": (SVIM(FOODS, 2, **ASKED), LISTS),
    "marginals": (Marginals(SCHEMA, ways=2, **ASKED), PEOPLE),
    "ranges": (Ranges(SCHEMA, **ASKED), PEOPLE),
    "segments": (SPM(24, 2, d_prime=64, **ASKED), WORDS),
    "channels": (HASH(24, 2, d_prime=64, **ASKED), WORDS),
    "items, mined": (LDPMiner(FOODS, 2, **ASKED), LISTS),
    "item sets": (SVSM(FOODS, 2, **ASKED), LISTS),
}


class Recorded(Simulation):
    """Remembers what went into each collection, and what came out."""

    made: list["Recorded"]

    def submit(self, reports: U64) -> None:
        self.made.append(self)
        self.sent = reports
        super().submit(reports)

    def publish(self, *, submitted: int) -> Collected:
        collected = super().publish(submitted=submitted)
        self.delivered_reports = collected.reports
        return collected

    @property
    def unshuffled(self) -> U64:
        """The users' reports in their order, and the fakes after them."""
        fakes = sharing.combine([node.fake_shares(node.fake_seed) for node in self.nodes])
        return np.concatenate((self.sent, fakes.reshape(-1, self.mechanism.words)))


@pytest.mark.parametrize("name", TASKS)
def test_through_the_shuffle_and_straight_the_same_reports_are_the_same_answer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorded, "made", [], raising=False)
    monkeypatch.setattr("peos.simulate.study.Simulation", Recorded)
    task, records = TASKS[name]
    answer = run_study(task, records, rng=Randomness(b"\x02" * 32), key=small_key())
    seen: list[Table] = []
    for collection in Recorded.made:
        asked = task.next(seen)
        assert isinstance(asked, Round)
        straight, shuffled = collection.unshuffled, collection.delivered_reports
        assert not np.array_equal(straight, shuffled), "the order is another"
        assert np.array_equal(np.sort(straight, axis=0), np.sort(shuffled, axis=0)), "and nothing else is"
        seen.append(asked.decode(collection.mechanism.reports(straight, len(collection.sent), ASKED["fakes"])))
    alone = task.next(seen)
    assert isinstance(alone, Answer)
    assert answer.is_complete
    assert answer.answer.found.to_json() == alone.found.to_json()
    assert answer.answer.more() == alone.more()
    assert [one.users for one in answer.rounds] == [len(collection.sent) for collection in Recorded.made]
    assert answer.rounds[0].groups == seen[0].sizes or not seen[0].sizes
