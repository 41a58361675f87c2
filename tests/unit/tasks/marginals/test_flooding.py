"""A table that users flood: its size gives it away, and it is left out where others know what it knew."""

from itertools import combinations

import numpy as np

from peos.crypto.randomness import Randomness
from peos.errors import Refused
from peos.tasks.marginals.answer import MarginalsAnswer
from peos.tasks.marginals.design import cover
from peos.tasks.marginals.task import Marginals
from tests.full import many
from tests.raising import raises
from tests.unit.tasks.marginals.populations import counted, one_factor, schema

USERS, ATTRIBUTES, SHARE = 2**16, 16, 0.01
FITTED = 5  # runs


def twice_covered() -> list[tuple[int, ...]]:
    """28 tables of 8 of 16 attributes: every pair is in several, and every triple in two or more."""
    first = cover(ATTRIBUTES, 3, 8)
    order = np.random.default_rng(1).permutation(ATTRIBUTES)
    second = [tuple(sorted(int(order[one]) for one in block)) for block in first]
    blocks = sorted({*first, *second})
    assert len(blocks) == 28
    return blocks


def planned(blocks: list[tuple[int, ...]]) -> Marginals:
    named = [[f"a{one}" for one in block] for block in blocks]
    return Marginals(schema(ATTRIBUTES), ways=3, tables=named, users=USERS, delta=1e-6, eps_server=1.0, eps_local=8.0)


class Trusting(MarginalsAnswer):
    """Looks at no sizes: what flooding costs without the defence."""

    @property
    def flooded(self) -> tuple[int, ...]:
        return ()


def test_one_per_cent_of_the_users_flood_a_table_and_are_seen() -> None:
    """n = 2^16, 28 tables: seen in 99 of 100 runs, no other is accused, and its triples are known from others.

    The runs' errors are of the first few, each of eight triples.
    """
    task, cells = planned(twice_covered()), one_factor(USERS, ATTRIBUTES, seed=11)
    mechanism, blocks = task.plan.mechanism, task.design.blocks
    columns = np.stack([np.ravel_multi_index([cells[:, one] for one in b], (2,) * len(b)) for b in blocks], axis=1)
    liars, target, runs = round(SHARE * USERS), 5, many(5, 100)
    wanted = 77  # the cell that is promoted
    per_slot = 2.0**64 / mechanism.domain
    word = np.uint64(int((sum(mechanism.tables[:target]) + wanted + 0.5) * per_slot))
    seen, accused, after, before = 0, 0, [], []
    for run in range(runs):
        words = mechanism.randomize(columns, Randomness(run.to_bytes(32, "big")))
        words[:liars] = word
        table = task.decode(mechanism.reports(words, USERS, task.plan.fakes))
        answer = task.next([table])
        assert isinstance(answer, MarginalsAnswer)
        seen += target in answer.flooded
        accused += len({*answer.flooded} - {target})
        assert list(answer.checks.values()).count(False) == len(answer.flooded)
        if run >= FITTED:
            continue
        trusting = Trusting(table, schema=task.schema, overlaps=task.overlaps, plan=task.plan)
        for triple in list(combinations(blocks[target], 3))[::7]:
            names, truth = [f"a{one}" for one in triple], counted(cells, triple)
            after.append(np.sum((answer.table(*names).frequency - truth) ** 2))
            before.append(np.sum((trusting.table(*names).frequency - truth) ** 2))

    assert seen >= 0.99 * runs
    assert accused == 0
    assert np.mean(after) <= 0.003
    assert np.mean(before) > 3 * np.mean(after), "without the defence the table is poisoned"


def test_what_only_a_flooded_table_knew_is_refused() -> None:
    blocks = [(0, 1, 2), (2, 3, 4), (0, 3, 5), (1, 4, 5)]
    named = [[f"a{one}" for one in block] for block in blocks]
    task = Marginals(schema(6), ways=2, tables=named, users=20_000, delta=1e-6, eps_local=7.0, fakes=0)
    cells, mechanism = one_factor(20_000, 6, seed=12), task.plan.mechanism
    columns = np.stack([np.ravel_multi_index([cells[:, one] for one in b], (2,) * 3) for b in blocks], axis=1)
    words = mechanism.randomize(columns, Randomness(bytes(32)))
    words[:1_500] = np.uint64(3)  # the first table's first cell
    answer = task.next([task.decode(mechanism.reports(words, 20_000, 0))])
    assert isinstance(answer, MarginalsAnswer)
    assert answer.flooded == (0,)
    assert [name for name, ok in answer.checks.items() if not ok] == ["reports of the table a0, a1, a2"]
    answer.table("a0")
    answer.table("a2", "a3")
    for names in (("a0", "a1"), ("a1", "a2", "a5")):
        with raises("marginals.flooded", kind=Refused):
            answer.table(*names)
    with raises("marginals.flooded", kind=Refused):
        answer.independence("a0", "a1")
