"""The freeze: what all shufflers hold counts, whole rows only; a signer of two lists is named, and no other."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.collection.freeze import Announcement, Freeze, Stretch, check_minimum
from peos.collection.rows import RowList
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.errors import NotYet, RemoteFault
from peos.wire import freezes
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, SHUFFLERS, digest_of, row

IDENTITIES = tuple(identity.public for identity in SHUFFLERS)
USERS = tuple(row(f"user {number}") for number in range(6))
Rows = Sequence[bytes]


def freeze(me: int, own: Iterable[bytes], collection: bytes = COLLECTION) -> Freeze:
    return Freeze(me, IDENTITIES, collection, sorted(own), SHUFFLERS[me - 1])


def announcement(who: int, rows: Rows, collection: bytes = COLLECTION) -> Announcement:
    return Announcement.sign(SHUFFLERS[who - 1], who, collection, sorted(rows))


def pairs(freezing: dict[int, Freeze]) -> list[tuple[int, int]]:
    return [(sender, receiver) for sender in freezing for receiver in freezing if sender != receiver]


def compare(freezing: dict[int, Freeze]) -> None:
    """Everybody tells everybody, first the own announcement and then all."""
    for _ in range(2):
        held = {who: one.announcements.held for who, one in freezing.items()}
        for sender, receiver in pairs(freezing):
            freezing[receiver].heard(sender, held[sender])


def show(one: Freeze, who: int, rows: Rows) -> None:
    """A list, a row at a time."""
    listing = one.listing(who)
    for shown in rows:
        listing.feed([shown])
    listing.finish()


def frozen(lists: Mapping[int, Rows]) -> dict[int, Freeze]:
    """Three shufflers that have shown one another these lists."""
    freezing = {me: freeze(me, own) for me, own in lists.items()}
    compare(freezing)
    for sender, receiver in pairs(freezing):
        show(freezing[receiver], sender, sorted(lists[sender]))
    return freezing


def compared(own: Rows = USERS) -> Freeze:
    """Shuffler 1, to which no other has shown a list yet."""
    freezing = {me: freeze(me, own) for me in (1, 2, 3)}
    compare(freezing)
    return freezing[1]


def alike(own: Rows = USERS) -> dict[int, Freeze]:
    return frozen(dict.fromkeys((1, 2, 3), own))


held = st.lists(st.sets(st.integers(0, 5)), min_size=3, max_size=3)


@settings(max_examples=60)
@given(held)
def test_what_all_of_them_hold_counts_and_all_compute_the_same(chosen: list[set[int]]) -> None:
    lists = {me: [USERS[at] for at in own] for me, own in enumerate(chosen, start=1)}
    freezing = frozen(lists)
    common = set.intersection(*chosen)
    assert {one.rows for one in freezing.values()} == {tuple(sorted(USERS[at] for at in common))}
    assert len({one.digest for one in freezing.values()}) == 1
    for sender, receiver in pairs(freezing):
        said = freezing[sender].sign()
        freezing[receiver].confirmed(sender, said.digest, said.signature)
    assert {one.context for one in freezing.values()} == {Context(COLLECTION, freezing[1].digest)}


def test_two_splittings_under_one_id_are_not_counted_at_all() -> None:
    once, again = row("user 0"), row("user 0", version=1)
    assert once[:16] == again[:16]
    freezing = frozen({1: (once, *USERS[1:]), 2: (again, *USERS[1:]), 3: (once, *USERS[1:])})
    assert freezing[1].rows == freezing[2].rows == freezing[3].rows == tuple(sorted(USERS[1:]))


def test_a_user_who_reached_some_shufflers_only_is_not_counted() -> None:
    assert frozen({1: USERS, 2: USERS[:3], 3: USERS[2:]})[2].rows == (USERS[2],)


def test_nobody_shows_or_takes_a_list_before_all_hold_the_same_announcements() -> None:
    one = freeze(1, USERS)
    second, third = announcement(2, USERS), announcement(3, USERS[1:])
    one.heard(2, [second])
    one.heard(3, [third])
    assert not one.may_show_list, "each has announced, and none has shown what it heard of the others"
    with pytest.raises(NotYet):
        one.listing(2)
    one.heard(2, [*one.announcements.held])
    assert (one.uncompared, one.may_show_list) == ((3,), False)
    one.heard(3, [*one.announcements.held])
    assert one.may_show_list


def test_a_shuffler_that_signs_two_lists_is_named_by_whoever_compares_and_by_whoever_is_shown_both() -> None:
    first, second, third = (freeze(me, USERS) for me in (1, 2, 3))
    one, other = announcement(3, USERS), announcement(3, USERS[1:])
    first.heard(3, [one])
    second.heard(3, [other])
    assert third.announcements.held == (one,)
    with raises("freeze.two_lists") as caught:
        first.heard(2, second.announcements.held)
    assert caught.value.party == "shuffler 3"
    assert set(first.evidence) == {one, other}
    assert not first.may_show_list
    with raises("freeze.two_lists", "shuffler 3, freeze"):
        second.heard(1, first.announcements.held)
    assert set(second.evidence) == {one, other}
    for here in (first, second):  # it stays so whatever is heard afterwards
        with raises("freeze.two_lists", "shuffler 3, freeze"):
            here.heard(3, [one])


def test_the_two_signatures_alone_convict_and_no_third_list_is_kept() -> None:
    one = freeze(1, USERS)
    for own in (USERS, USERS[1:], USERS[2:]):
        with pytest.raises(RemoteFault) if own is not USERS else _nothing():
            one.heard(3, [announcement(3, own)])
    evidence = one.evidence
    assert len(evidence) == 2
    assert len({shown.list for shown in evidence}) == 2
    assert all(shown.verifies(IDENTITIES[2], COLLECTION) for shown in evidence)
    assert not any(shown.verifies(IDENTITIES[1], COLLECTION) for shown in evidence)
    assert not any(shown.verifies(IDENTITIES[2], digest_of("another collection")) for shown in evidence)


class _nothing:  # noqa: N801 - in place of a context that raises
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


FORGED: list[tuple[str, Announcement]] = [
    ("by another", Announcement.sign(SHUFFLERS[1], 3, COLLECTION, sorted(USERS))),
    ("for another collection", announcement(3, USERS, digest_of("another"))),
    ("with another length", Announcement(3, 7, announcement(3, USERS).root, announcement(3, USERS).signature)),
    ("with another root", Announcement(3, 6, digest_of("root"), announcement(3, USERS).signature)),
    ("of a shuffler that there is not", Announcement(4, 6, digest_of("root"), bytes(64))),
]


@pytest.mark.parametrize(("_", "forged"), FORGED, ids=[name for name, _ in FORGED])
def test_who_passes_on_what_nobody_signed_is_named_and_not_who_would_have_signed_it(
    _: str, forged: Announcement
) -> None:
    one = freeze(1, USERS)
    one.heard(3, [announcement(3, USERS[1:])])
    with raises("freeze.announcement") as caught:
        one.heard(2, [announcement(2, USERS), forged])
    assert caught.value.party == "shuffler 2"
    assert not one.evidence


def test_who_shows_others_announcements_and_not_its_own_is_named() -> None:
    with raises("freeze.not_announced", "shuffler 2, freeze"):
        freeze(1, USERS).heard(2, [announcement(3, USERS)])


def test_a_list_under_ones_own_key_that_is_not_ones_own_is_told_to_the_operator() -> None:
    one = freeze(1, USERS)
    with raises("freeze.own_key_used"):
        one.heard(2, [announcement(1, USERS[1:]), announcement(2, USERS)])


def test_an_honest_shuffler_announces_the_same_after_a_restart() -> None:
    assert freeze(1, USERS).announcements == freeze(1, USERS[::-1]).announcements


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
    ("signed by a third", confirmed_by(SHUFFLERS[2], lambda one: one.digest), "freeze.signature"),
    ("signed by a stranger", confirmed_by(Identity(bytes(32)), lambda one: one.digest), "freeze.signature"),
    ("another label", confirmed_by(SHUFFLERS[1], lambda one: one.digest, "notice"), "freeze.signature"),
    ("no signature", lambda one: one.confirmed(2, one.digest, bytes(64)), "freeze.signature"),
    ("another collection", signed_for_another_collection, "freeze.signature"),
    ("another digest", confirmed_by(SHUFFLERS[1], lambda _: digest_of("x")), "freeze.digest"),
]


@pytest.mark.parametrize(("act", "id_"), [pytest.param(*row[1:], id=row[0]) for row in WRONG])
def test_a_shuffler_that_confirms_otherwise_is_named(act: Callable[[Freeze], object], id_: str) -> None:
    with raises(id_) as caught:
        act(alike()[1])
    assert (caught.value.party, caught.value.step) == ("shuffler 2", "freeze")


SORTED = sorted(USERS)
OTHER_LISTS: list[tuple[str, Rows, str]] = [
    ("a row too few", SORTED[1:], "freeze.another_list"),
    ("a row too many", [*SORTED, b"\xff" * 48], "freeze.another_list"),
    ("no row", [], "freeze.another_list"),
    ("another row", [*SORTED[:5], b"\xff" * 48], "freeze.another_list"),
    ("another splitting", sorted([*USERS[1:], row("user 0", version=1)]), "freeze.another_list"),
    ("not sorted", SORTED[::-1], "freeze.order"),
    ("an id twice", [SORTED[0], *SORTED[:5]], "freeze.order"),
]


@pytest.mark.parametrize(("_", "rows", "id_"), OTHER_LISTS, ids=[name for name, *_ in OTHER_LISTS])
def test_a_list_that_was_not_announced_is_not_taken(_: str, rows: Rows, id_: str) -> None:
    one = compared()
    with raises(id_) as caught:
        show(one, 2, rows)
    assert caught.value.party == "shuffler 2"
    show(one, 2, SORTED)
    show(one, 3, SORTED)
    assert one.rows == tuple(SORTED), "what was shown wrongly changes nothing"


def test_of_a_list_no_more_rows_are_read_than_were_announced() -> None:
    listing, read = compared().listing(2), 0

    def endless() -> Iterable[bytes]:
        nonlocal read
        while True:
            read += 1
            yield read.to_bytes(16, "big") + bytes(32)

    with raises("freeze.another_list"):
        listing.feed(endless())
    assert read == len(USERS) + 1


@pytest.mark.parametrize("who", [-1, 0, 1, 4])
def test_only_the_other_shufflers_of_the_collection_are_heard(who: int) -> None:
    one = alike()[1]
    with raises("freeze.stranger"):
        one.heard(who, one.announcements.held)
    with raises("freeze.stranger"):
        one.listing(who)
    with raises("freeze.stranger"):
        one.confirmed(who, one.digest, SHUFFLERS[2].sign("frozen", COLLECTION, one.digest))


def test_own_list_with_an_id_twice_is_this_shufflers_own_fault() -> None:
    with raises("freeze.rows"):
        freeze(1, (*USERS, row("user 0", version=1)))


def test_nothing_is_frozen_before_every_list_is_there() -> None:
    one = compared()
    show(one, 3, SORTED)
    for ask in (lambda: one.rows, lambda: one.digest, lambda: one.sign()):
        with raises("freeze.not_shown", "shuffler 2, freeze"):
            ask()


def test_nothing_is_shuffled_before_every_other_shuffler_has_confirmed() -> None:
    one = alike()[1]
    one.confirmed(3, one.digest, SHUFFLERS[2].sign("frozen", COLLECTION, one.digest))
    with raises("freeze.not_confirmed", "shuffler 2, freeze"):
        _ = one.context


def test_the_frozen_digest_covers_collection_number_and_every_row() -> None:
    shown = [
        alike()[1].digest,
        alike(USERS[1:])[1].digest,
        alike(())[1].digest,
        alike((row("user 0", version=1), *USERS[1:]))[1].digest,
    ]
    assert len(set(shown)) == len(shown)
    named = (6).to_bytes(8, "big") + RowList(SORTED).root
    assert shown[0] == hashlib.sha256(b"frozen" + COLLECTION + named).digest()
    other = digest_of("another collection")
    elsewhere = {me: Freeze(me, IDENTITIES, other, (), SHUFFLERS[me - 1]) for me in (1, 2, 3)}
    compare(elsewhere)
    for who in (2, 3):
        show(elsewhere[1], who, ())
    assert elsewhere[1].digest != alike(())[1].digest


def test_an_empty_intersection_is_frozen_and_refused_by_the_minimum() -> None:
    freezing = frozen({1: USERS[:2], 2: USERS[2:4], 3: USERS[4:]})
    assert freezing[1].rows == ()
    assert freezing[1].digest == freezing[2].digest
    with raises("freeze.minimum", "0", "1"):
        check_minimum(len(freezing[1].rows), 0, 1)


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
    with raises("freeze.minimum", f"{reports}", f"{minimum}"):
        check_minimum(counted, dummies, minimum)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9])
def test_a_list_travels_in_stretches_that_follow_one_another(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezes, "STRETCH", 4)
    whole = tuple(sorted(row(f"user {number}") for number in range(count)))
    sent = [freezes.encode_stretch(stretch) for stretch in freezes.stretches(COLLECTION, whole)]
    came = [freezes.decode_stretch(data) for data in sent]
    assert len(came) == max(1, -(-count // 4))
    assert tuple(one for stretch in came for one in stretch.rows) == whole
    assert [(stretch.first, stretch.total) for stretch in came] == [(at, count) for at in range(0, max(count, 1), 4)]


def test_a_full_stretch_stays_under_a_mebibyte() -> None:
    one = Stretch(COLLECTION, 2**31, 2**31 - freezes.STRETCH, (USERS[0],) * freezes.STRETCH)
    assert len(freezes.encode_stretch(one)) < 2**20


def test_a_row_of_a_list_is_48_bytes_on_the_wire() -> None:
    small, large = (Stretch(COLLECTION, 2**20, 0, (USERS[0],) * count) for count in (5_000, 15_000))
    assert len(freezes.encode_stretch(large)) - len(freezes.encode_stretch(small)) == 48 * 10_000
