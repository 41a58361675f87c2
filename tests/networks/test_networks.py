"""Collections over links that fail, between processes in network namespaces; `python -m tests.networks` runs them all.

Here are a few: one collection with a link cut at each phase while the others lose and delay packets, one with a byte
flipped in a store.
"""

from collections.abc import Iterator

import pytest

from tests.networks.cases import GROUPS, Case, run
from tests.networks.switch import Link
from tests.networks.town import LINKS, PHASES, Ended, FarTown, far_town

pytestmark = pytest.mark.namespaces


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FarTown]:
    """Parties that serve every test of this file."""
    with far_town(tmp_path_factory.mktemp("far")) as made:
        yield made


def test_links_that_are_cut_and_lose_packets_cost_time_and_no_answer(town: FarTown) -> None:
    def play(here: FarTown) -> Ended:
        here.switch.set_all(Link(loss=0.01, delay=0.01, jitter=0.01))
        cuts = [here.cut(*LINKS[2 * number], phase) for number, phase in enumerate(PHASES)]
        return here.play(*cuts)

    outcome = run(town, Case("cuts and losses", play))
    assert not outcome.fault, outcome.fault
    lost, cut, delayed = (int(count) for count in outcome.packets.split("/")[1:])
    assert min(lost, cut, delayed) > 0, f"nothing went wrong: {outcome.packets}"


def test_a_store_with_a_flipped_byte_is_not_served_and_goes_on_once_it_is_restored(town: FarTown) -> None:
    outcome = run(town, next(case for case in GROUPS["disks"]() if "submissions" in case.name))
    assert not outcome.fault, outcome.fault


@pytest.mark.long  # python -m tests.networks
@pytest.mark.parametrize("group", GROUPS)
def test_every_case(town: FarTown, group: str) -> None:
    outcomes = [run(town, case) for case in GROUPS[group]()]
    assert [one for one in outcomes if one.fault] == []
