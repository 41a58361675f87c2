"""The freeze: what all shufflers hold counts, whole triples only, and nobody moves once he has announced."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.collection.freeze import Freeze, Stretch, check_minimum, list_hash
from peos.collection.submission import Triple
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.errors import LocalFault, Refused, RemoteFault
from peos.wire import freezes
from tests.unit.collection.made import COLLECTION, SHUFFLERS, digest_of, triple

IDENTITIES = tuple(identity.public for identity in SHUFFLERS)
USERS = tuple(triple(f"user {number}") for number in range(6))


def freeze(me: int, own: Iterable[Triple], collection: bytes = COLLECTION) -> Freeze:
    return Freeze(me, IDENTITIES, collection, own)


def announce(freezing: dict[int, Freeze]) -> None:
    for sender, one in freezing.items():
        for receiver, other in freezing.items():
            if sender != receiver:
                other.announced(sender, one.announcement)


def frozen(lists: dict[int, tuple[Triple, ...]]) -> dict[int, Freeze]:
    """Three shufflers that have shown one another these lists."""
    freezing = {me: freeze(me, own) for me, own in lists.items()}
    announce(freezing)
    for sender, own in lists.items():
        for receiver, other in freezing.items():
            if sender != receiver:
                other.listed(sender, own)
    return freezing


def alike(own: tuple[Triple, ...] = USERS) -> dict[int, Freeze]:
    return frozen(dict.fromkeys((1, 2, 3), own))


held = st.lists(st.sets(st.integers(0, 5)), min_size=3, max_size=3)


@settings(derandomize=True, deadline=None, database=None, max_examples=60)
@given(held, st.permutations(range(6)))
def test_what_all_of_them_hold_counts_and_all_compute_the_same(chosen: list[set[int]], order: list[int]) -> None:
    lists = {me: tuple(USERS[at] for at in order if at in own) for me, own in enumerate(chosen, start=1)}
    freezing = frozen(lists)
    common = set.intersection(*chosen)
    assert {one.triples for one in freezing.values()} == {tuple(sorted(USERS[at] for at in common))}
    assert len({one.digest for one in freezing.values()}) == 1
    for sender, one in freezing.items():
        for receiver, other in freezing.items():
            if sender != receiver:
                other.confirmed(sender, one.digest, one.sign(SHUFFLERS[sender - 1]))
    assert {one.context for one in freezing.values()} == {Context(COLLECTION, freezing[1].digest)}


def test_two_splittings_under_one_id_are_not_counted_at_all() -> None:
    once, again = triple("user 0"), triple("user 0", version=1)
    assert (once.id, once.ticket) == (again.id, again.ticket)
    freezing = frozen({1: (once, *USERS[1:]), 2: (again, *USERS[1:]), 3: (once, *USERS[1:])})
    assert freezing[1].triples == freezing[2].triples == freezing[3].triples == tuple(sorted(USERS[1:]))


def test_one_submission_under_two_tickets_is_not_counted_either() -> None:
    other = replace(USERS[0], ticket=bytes(64))
    freezing = frozen({1: USERS, 2: (other, *USERS[1:]), 3: USERS})
    assert USERS[0] not in freezing[1].triples
    assert other not in freezing[2].triples


def test_a_user_who_reached_some_shufflers_only_is_not_counted() -> None:
    assert frozen({1: USERS, 2: USERS[:3], 3: USERS[2:]})[2].triples == (USERS[2],)


def test_rows_are_ordered_by_id_whatever_the_order_of_arrival() -> None:
    rows = frozen({1: USERS, 2: USERS[::-1], 3: USERS[3:] + USERS[:3]})[1].triples
    assert [row.id for row in rows] == sorted(user.id for user in USERS)


def test_nobody_shows_a_list_before_all_have_announced() -> None:
    one = freeze(1, USERS)
    assert not one.may_show_list
    one.announced(2, digest_of("a list"))
    one.announced(2, digest_of("a list"))
    assert not one.may_show_list, "one shuffler that speaks twice is not two"
    one.announced(3, digest_of("another list"))
    assert one.may_show_list


def listed_unannounced(_: Freeze) -> None:
    freeze(1, USERS).listed(2, USERS)


def confirmed_by(
    identity: Identity, digest: Callable[[Freeze], bytes], label: str = "frozen"
) -> Callable[[Freeze], None]:
    def act(one: Freeze) -> None:
        said = digest(one)
        one.confirmed(2, said, identity.sign(label, COLLECTION, said))

    return act


def signed_for_another_collection(one: Freeze) -> None:
    one.confirmed(2, one.digest, SHUFFLERS[1].sign("frozen", digest_of("another"), one.digest))


WRONG: list[tuple[str, Callable[[Freeze], object], str]] = [
    ("announced anew", lambda one: one.announced(2, digest_of("x")), "announced two different lists"),
    ("a list too short", lambda one: one.listed(2, USERS[1:]), "showed another list than it announced"),
    ("a list too long", lambda one: one.listed(2, (*USERS, triple("x"))), "showed another list than it announced"),
    ("an empty list", lambda one: one.listed(2, ()), "showed another list than it announced"),
    ("nothing announced", listed_unannounced, "showed another list than it announced"),
    ("signed by a third", confirmed_by(SHUFFLERS[2], lambda one: one.digest), "signed its frozen digest wrongly"),
    ("signed by a stranger", confirmed_by(Identity(bytes(32)), lambda one: one.digest), "signed its frozen digest"),
    ("another label", confirmed_by(SHUFFLERS[1], lambda one: one.digest, "notice"), "signed its frozen digest wrongly"),
    ("no signature", lambda one: one.confirmed(2, one.digest, bytes(64)), "signed its frozen digest wrongly"),
    ("another collection", signed_for_another_collection, "signed its frozen digest wrongly"),
    ("another digest", confirmed_by(SHUFFLERS[1], lambda _: digest_of("x")), "froze another list"),
]


@pytest.mark.parametrize(("act", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in WRONG])
def test_a_shuffler_that_says_otherwise_is_named(act: Callable[[Freeze], object], sentence: str) -> None:
    with pytest.raises(RemoteFault, match=sentence) as caught:
        act(alike()[1])
    assert (caught.value.party, caught.value.step) == ("shuffler 2", "freeze")


@pytest.mark.parametrize("who", [-1, 0, 1, 4])
def test_only_the_other_shufflers_of_the_collection_are_heard(who: int) -> None:
    one, stranger = alike()[1], "is not another shuffler of this collection"
    with pytest.raises(RemoteFault, match=stranger):
        one.announced(who, one.announcement)
    with pytest.raises(RemoteFault, match=stranger):
        one.listed(who, USERS)
    with pytest.raises(RemoteFault, match=stranger):
        one.confirmed(who, one.digest, SHUFFLERS[2].sign("frozen", COLLECTION, one.digest))


def test_a_list_with_an_id_twice_is_refused_even_if_it_was_announced() -> None:
    doubled = (*USERS, triple("user 0", version=1))
    one = freeze(1, USERS)
    one.announced(2, list_hash(doubled))
    with pytest.raises(RemoteFault, match="listed an id twice"):
        one.listed(2, doubled)
    one = freeze(1, USERS)
    one.announced(2, list_hash((*USERS, USERS[0])))
    with pytest.raises(RemoteFault, match="listed an id twice"):
        one.listed(2, (*USERS, USERS[0]))
    with pytest.raises(LocalFault, match="this shuffler's own list has an id twice"):
        freeze(1, doubled)


def test_nothing_is_frozen_before_every_list_is_there() -> None:
    one = freeze(1, USERS)
    one.announced(2, list_hash(USERS))
    one.announced(3, list_hash(USERS))
    one.listed(3, USERS)
    for ask in (lambda: one.triples, lambda: one.digest, lambda: one.sign(SHUFFLERS[0])):
        with pytest.raises(RemoteFault, match="shuffler 2, freeze: has not shown its list"):
            ask()


def test_nothing_is_shuffled_before_every_other_shuffler_has_confirmed() -> None:
    one = alike()[1]
    one.confirmed(3, one.digest, SHUFFLERS[2].sign("frozen", COLLECTION, one.digest))
    with pytest.raises(RemoteFault, match="shuffler 2, freeze: has not confirmed the frozen list"):
        _ = one.context


def test_the_frozen_digest_covers_collection_number_and_every_triple() -> None:
    shown = [
        alike()[1].digest,
        alike(USERS[1:])[1].digest,
        alike(())[1].digest,
        alike((triple("user 0", version=1), *USERS[1:]))[1].digest,
        alike((replace(USERS[0], ticket=bytes(64)), *USERS[1:]))[1].digest,
    ]
    assert len(set(shown)) == len(shown)
    counted = b"".join(one.id + one.ticket + one.digest for one in sorted(USERS))
    assert shown[0] == hashlib.sha256(b"frozen" + COLLECTION + (6).to_bytes(8, "big") + counted).digest()
    elsewhere = [freeze(me, (), digest_of("another collection")) for me in (1, 2, 3)]
    for who in (2, 3):
        elsewhere[0].announced(who, elsewhere[0].announcement)
        elsewhere[0].listed(who, ())
    assert elsewhere[0].digest != alike(())[1].digest


def test_an_empty_intersection_is_frozen_and_refused_by_the_minimum() -> None:
    freezing = frozen({1: USERS[:2], 2: USERS[2:4], 3: USERS[4:]})
    assert freezing[1].triples == ()
    assert freezing[1].digest == freezing[2].digest
    with pytest.raises(Refused, match=r"^0 reports, the minimum is 1$"):
        check_minimum(len(freezing[1].triples), 0, 1)


@pytest.mark.parametrize(
    ("counted", "dummies", "minimum"), [(1000, 0, 1000), (1032, 32, 1000), (1033, 32, 1000), (33, 32, 1)]
)
def test_enough_reports_beside_the_dummies_may_be_shuffled(counted: int, dummies: int, minimum: int) -> None:
    check_minimum(counted, dummies, minimum)


@pytest.mark.parametrize(
    ("counted", "dummies", "minimum", "reports"),
    [(999, 0, 1000, 999), (1031, 32, 1000, 999), (1000, 32, 1000, 968), (32, 32, 1, 0), (5, 32, 1, 0), (0, 0, 1, 0)],
)
def test_too_few_are_not_shuffled_and_dummies_do_not_count(
    counted: int, dummies: int, minimum: int, reports: int
) -> None:
    with pytest.raises(Refused, match=f"^{reports} reports, the minimum is {minimum}$") as caught:
        check_minimum(counted, dummies, minimum)
    assert "the collection is aborted" in caught.value.hint


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9])
def test_a_list_travels_in_stretches_that_follow_one_another(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezes, "STRETCH", 4)
    whole = tuple(sorted(triple(f"user {number}") for number in range(count)))
    sent = [freezes.encode_stretch(stretch) for stretch in freezes.stretches(COLLECTION, whole)]
    came = [freezes.decode_stretch(data) for data in sent]
    assert len(came) == max(1, -(-count // 4))
    assert tuple(one for stretch in came for one in stretch.triples) == whole
    assert [(stretch.first, stretch.total) for stretch in came] == [(at, count) for at in range(0, max(count, 1), 4)]


def test_a_full_stretch_stays_under_a_mebibyte() -> None:
    one = Stretch(COLLECTION, 2**31, 2**31 - freezes.STRETCH, (USERS[0],) * freezes.STRETCH)
    assert len(freezes.encode_stretch(one)) < 2**20
