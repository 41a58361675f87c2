"""Whether a report was counted: a shuffler that left it out is named by what it signed, and no honest one is."""

from dataclasses import replace

import pytest

from peos.collection.freeze import Announcement, Announcements, frozen_digest, sign_frozen
from peos.collection.membership import FrozenLists, MembershipProof, MembershipRequest, ask, verified
from peos.collection.rows import RowList
from peos.crypto.identity import Identity
from tests.unit.collection.made import COLLECTION, SHUFFLERS, parts, receipt_of, ticket

USERS = [f"user {number}" for number in range(7)]
IDENTITIES = [one.public for one in SHUFFLERS]
ROW = parts("user 3")[0].row


def rows(*left_out: str) -> list[bytes]:
    """A list in which all users are but some."""
    return sorted(parts(name)[0].row for name in USERS if name not in left_out)


def proofs(
    lists: dict[int, list[bytes]],
    counted: list[bytes] | None = None,
    row: bytes = ROW,
    collection: bytes = COLLECTION,
) -> dict[int, MembershipProof]:
    """What three shufflers show that announced these lists and froze what they have in common."""
    common = sorted(set.intersection(*map(set, lists.values()))) if counted is None else counted
    held = tuple(Announcement.sign(SHUFFLERS[who - 1], who, collection, own) for who, own in sorted(lists.items()))
    tree = RowList(common)
    digest = frozen_digest(collection, len(common), tree.root)
    return {
        who: MembershipProof(
            FrozenLists(
                Announcements(collection, held),
                sign_frozen(SHUFFLERS[who - 1], collection, digest),
                len(common),
                tree.root,
            ),
            RowList(own).show(row),
            tree.show(row),
        )
        for who, own in lists.items()
    }


def test_a_report_that_was_counted_is_shown_to_be() -> None:
    found = verified(COLLECTION, ROW, IDENTITIES, proofs({1: rows(), 2: rows("user 0"), 3: rows("user 6")}))
    assert (found.counted, found.findings) == (True, ())


@pytest.mark.parametrize("dropping", [1, 2, 3])
def test_a_shuffler_that_leaves_out_what_it_acknowledged_is_convicted_alone(dropping: int) -> None:
    lists = {who: rows("user 3") if who == dropping else rows() for who in (1, 2, 3)}
    found = verified(COLLECTION, ROW, IDENTITIES, proofs(lists))
    sentence = f"shuffler {dropping} acknowledged the report and left it out of the list that it signed"
    assert (found.counted, found.findings) == (False, (sentence,))


@pytest.mark.parametrize("dropping", [1, 2, 3])
def test_it_cannot_show_the_row_in_its_list_nor_keep_from_being_named_by_hiding_it(dropping: int) -> None:
    lists = {who: rows("user 3") if who == dropping else rows() for who in (1, 2, 3)}
    shown = proofs(lists)
    for own in (RowList(rows()).show(ROW), (), RowList(rows("user 3")).show(ROW)[:1]):
        lying = shown | {dropping: replace(shown[dropping], own=own)}
        found = verified(COLLECTION, ROW, IDENTITIES, lying)
        assert found.findings[0] == f"shuffler {dropping} does not prove what it says of the row"
        assert not any(f"shuffler {honest} " in one for one in found.findings for honest in {1, 2, 3} - {dropping})
        assert found.counted is not True


def test_a_frozen_list_that_is_not_what_the_lists_have_in_common_is_seen() -> None:
    found = verified(COLLECTION, ROW, IDENTITIES, proofs({1: rows(), 2: rows(), 3: rows()}, rows("user 3")))
    assert found.counted is False
    assert found.findings == (
        "every shuffler's own list has the report, but the frozen list, which all signed, has not",
    )


def test_two_lists_of_one_shuffler_and_two_frozen_lists_are_seen() -> None:
    one, other = proofs({1: rows(), 2: rows(), 3: rows()}), proofs({1: rows(), 2: rows(), 3: rows("user 3")})
    found = verified(COLLECTION, ROW, IDENTITIES, {1: one[1], 2: one[2], 3: other[3]})
    assert "shuffler 3 signed two different lists" in found.findings
    assert "shufflers signed different frozen lists: shuffler 1, shuffler 2; shuffler 3" in found.findings
    assert found.counted is None


@pytest.mark.parametrize("spoilt", ["announcement", "frozen", "root", "collection"])
def test_what_is_not_signed_proves_nothing_and_names_who_shows_it(spoilt: str) -> None:
    shown = proofs({1: rows(), 2: rows(), 3: rows()})
    lists = shown[2].lists
    held = lists.announcements.held
    changed = {
        "announcement": replace(lists, announcements=Announcements(COLLECTION, (replace(held[0], count=9), *held[1:]))),
        "frozen": replace(lists, frozen=replace(lists.frozen, signature=bytes(64))),
        "root": replace(lists, root=bytes(32)),
        "collection": replace(lists, announcements=Announcements(bytes(32), held)),
    }[spoilt]
    found = verified(COLLECTION, ROW, IDENTITIES, shown | {2: replace(shown[2], lists=changed)})
    assert found.findings == ("shuffler 2 shows lists that are not signed as they must be",)
    assert found.counted is True, "the others' proofs are enough"


def test_only_who_has_the_receipt_and_the_tickets_key_may_ask() -> None:
    part, key = parts("user 3")[1], ticket("user 3").key
    asked = MembershipRequest(
        COLLECTION, part.row, part.user_key, receipt_of(SHUFFLERS[1], part), ask(key, COLLECTION, part.row)
    )
    assert asked.verifies(SHUFFLERS[1].public)
    other = Identity(bytes(32))
    for wrong in (
        replace(asked, receipt=receipt_of(SHUFFLERS[0], part)),
        replace(asked, signature=ask(other, COLLECTION, part.row)),
        replace(asked, user_key=other.public, signature=ask(other, COLLECTION, part.row)),
        replace(asked, row=parts("user 4")[1].row),
        replace(asked, signature=key.sign("submission", part.digest)),
    ):
        assert not wrong.verifies(SHUFFLERS[1].public)
