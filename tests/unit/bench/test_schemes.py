"""`peos bench schemes`: every operation has its row, and a library that is not there is said to be missing."""

import importlib.metadata
from types import SimpleNamespace
from typing import Any

import pytest

from peos.bench import schemes
from peos.bench.machine import NOT_INSTALLED, optional
from peos.bench.schemes import measure
from peos.crypto.randomness import Randomness

BITS = 768  # what is shown does not depend on the size
COUNT = 64


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemes, "optional", lambda _module, _distribution: (None, NOT_INSTALLED))
    monkeypatch.setattr(schemes, "SHUFFLED", 40)


@pytest.mark.usefixtures("alone")
def test_every_operation_of_every_scheme_has_a_row_and_missing_libraries_are_said_to_be_missing() -> None:
    found = measure(COUNT, bits=BITS)
    assert all(set(row) == {"scheme", "operation", "microseconds", "bytes"} for row in found["rows"])
    assert all(row["microseconds"] > 0 for row in found["rows"])
    operations = {(row["scheme"], row["operation"]) for row in found["rows"]}
    assert len(operations) == len(found["rows"])
    for name in ("paillier", "dgk", "jl"):
        for operation in ("encrypt", "encrypt-cold", "encrypt-ready-zeros", "rerandomise", "check"):
            assert (name, operation) in operations
    assert {("paillier", f"decrypt-{passes}-passes") for passes in (2, 3, 4)} | {("dgk", "decrypt")} <= operations
    assert {row["scheme"] for row in found["rows"]} == {"paillier", "dgk", "jl", "phe"}
    assert found["beside"] == {"phe": importlib.metadata.version("phe"), "heu": NOT_INSTALLED}
    assert min(found["times_faster_than_phe"].values()) > 0
    assert found["times_faster_than_heu"] == {}
    assert [row["bits"] for row in found["multiplications"]] == [BITS, 2 * BITS]
    assert {row["bytes"] for row in found["rows"] if row["scheme"] in {"paillier", "phe"}} == {2 * BITS // 8}
    assert {row["bytes"] for row in found["rows"] if row["scheme"] in {"dgk", "jl"}} == {BITS // 8}
    said: list[str] = []
    schemes.lines(found, said.append)
    assert "heu: not installed" in said


def test_what_is_installed_is_found_and_what_is_not_is_no_error() -> None:
    library, version = optional("json", "numpy")
    assert library is not None
    assert version != NOT_INSTALLED
    assert optional("a_library_that_nobody_wrote", "numpy") == (None, NOT_INSTALLED)
    assert optional("json", "a-distribution-that-nobody-published")[1] == NOT_INSTALLED


class Counted:
    """Stands where HEU's encryptor, evaluator and decryptor do, and counts what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def encrypt_raw(self, word: int) -> int:
        assert 0 <= word < 2**63, "its integers are signed"
        self.calls.append("encrypt")
        return word

    def add(self, one: int, other: int) -> int:
        self.calls.append("add")
        return one + other

    def decrypt_raw(self, ciphertext: int) -> int:
        self.calls.append("decrypt")
        return ciphertext


def test_where_heu_is_installed_its_three_operations_are_measured(
    monkeypatch: pytest.MonkeyPatch, rng: Randomness
) -> None:
    party = Counted()
    kit = SimpleNamespace(encryptor=lambda: party, evaluator=lambda: party, decryptor=lambda: party)
    asked: list[Any] = []

    def setup(*given: Any) -> Any:
        asked.append(given)
        return kit

    library = SimpleNamespace(SchemaType=SimpleNamespace(ZPaillier="Z"), setup=setup)
    monkeypatch.setattr(schemes, "optional", lambda _module, _distribution: (library, "0.5"))
    works, version = schemes.heu(3072, rng.uint64(5))
    assert asked == [("Z", 3072)]
    assert version == "0.5"
    party.calls.clear()
    for _, operation, work, count in works:
        work()
        assert count == 5
        expected = {
            "encrypt": ["encrypt"] * 5,
            "rerandomise": ["encrypt", "add"] * 5,  # adding a fresh encryption
            "decrypt": ["decrypt"] * 5,
        }
        assert party.calls == expected[operation]
        party.calls.clear()
