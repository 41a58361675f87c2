"""Lists of rows: what is in them is shown, what is not is shown too, and nothing else can be."""

import hashlib
import itertools
from dataclasses import replace

import pytest

from peos.collection.receipts import Acknowledged, Receipt, receipts
from peos.collection.rows import ROW_BYTES, ListProof, Membership, RowList, membership
from peos.crypto.identity import Identity
from peos.errors import LocalFault


def _row(id_: int, commitment: int = 0) -> bytes:
    return id_.to_bytes(16, "big") + hashlib.sha256(bytes([commitment])).digest()


def _asked(count: int) -> tuple[RowList, list[bytes], list[bytes]]:
    rows = [_row(2 * place + 1, place % 256) for place in range(count)]
    absent = [*(_row(2 * place) for place in range(count + 1)), *(_row(2 * place + 1, 255) for place in range(count))]
    return RowList(rows), rows, [row for row in absent if row not in rows]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 13, 64, 65])
def test_what_is_in_the_list_and_what_is_not_are_both_shown(count: int) -> None:
    listed, rows, absent = _asked(count)
    assert all(membership(listed.root, count, row, listed.show(row)) is Membership.IN for row in rows)
    assert all(membership(listed.root, count, row, listed.show(row)) is Membership.ABSENT for row in absent)


def test_the_root_is_that_of_the_tree_written_out_by_hand() -> None:
    def node(*below: bytes) -> bytes:
        return hashlib.sha256(b"\x01" + b"".join(below)).digest()

    rows = [_row(number) for number in range(5)]
    one, two, three, four, five = (hashlib.sha256(b"\x00" + row).digest() for row in rows)
    assert RowList(rows).root == node(node(node(one, two), node(three, four)), five)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_no_selection_of_rows_that_are_in_the_list_shows_what_is_false(count: int) -> None:
    """All pairs of true rows, in both orders, with every place and length: only what holds is believed."""
    listed, rows, absent = _asked(count)
    true = [listed.show(row)[0] for row in rows]
    selections = [(), *((one,) for one in true), *itertools.permutations(true, 2), *((one, one) for one in true)]
    moved = [(replace(one, place=place),) for one in true for place in range(count) if place != one.place]
    for row, length in itertools.product([*rows, *absent], range(count + 3)):
        for shown in [*selections, *moved]:
            found = membership(listed.root, length, row, shown)
            if row in rows:
                assert found is not Membership.ABSENT
            else:
                assert found is not Membership.IN


def test_a_row_of_another_length_and_a_changed_path_prove_nothing() -> None:
    listed, rows, _ = _asked(5)
    (shown,) = listed.show(rows[2])
    longer = replace(shown, path=(*shown.path, b"\x00" * 32))
    for wrong in [longer, replace(shown, path=shown.path[:-1]), replace(shown, path=(b"",) * len(shown.path))]:
        assert membership(listed.root, 5, rows[2], [wrong]) is Membership.UNPROVED
    node = listed.show(rows[0])[0].path[0] * 2  # as if two nodes were a row
    assert membership(listed.root, 5, node[:ROW_BYTES], [ListProof(0, node, ())]) is Membership.UNPROVED


@pytest.mark.parametrize("rows", [[b"short"], [_row(1), _row(1, 9)], [_row(2), _row(1)]])
def test_a_list_is_sorted_and_has_every_id_once(rows: list[bytes]) -> None:
    with pytest.raises(LocalFault):
        RowList(rows)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 32])
def test_a_receipt_holds_for_its_own_submission_and_shuffler_alone(count: int) -> None:
    signer, other = Identity(bytes(32)), Identity(bytes([1]) * 32)
    group = [Acknowledged(bytes(32), _row(number), bytes([number]) * 32) for number in range(count)]
    made = receipts(signer, group)
    for one, receipt in zip(group, made, strict=True):
        assert receipt.holds(signer.public, one)
        assert not receipt.holds(other.public, one)
        for changed in (
            replace(one, collection=bytes([1]) * 32),
            replace(one, row=_row(count)),
            replace(one, user_key=bytes([255]) * 32),
        ):
            assert not receipt.holds(signer.public, changed)
        for wrong in (replace(receipt, count=count + 1), replace(receipt, place=receipt.place + 1)):
            assert not wrong.holds(signer.public, one)
    assert len({receipt.signature for receipt in made}) == 1
    assert not Receipt(0, 0, (), made[0].signature).holds(signer.public, group[0])
