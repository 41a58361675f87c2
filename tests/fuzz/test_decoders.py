"""Readers of what others wrote raise what they document and nothing else; the long run is `python -m tests.fuzz`.

What the long runs found is kept here, each as the input that showed it.
"""

from pathlib import Path

import pytest

from peos.crypto.randomness import Randomness
from peos.errors import WrongInput
from peos.net.certificates import as_der, make_certificate, read_certificate
from peos.tasks.labels import value_of
from tests.full import many
from tests.fuzz.decoders import Target, targets, unread
from tests.fuzz.running import Run, growth
from user_client.input_files import read_answers, read_key, read_values

_RNG = Randomness(b"\x2f" * 32)


def test_every_reader_of_the_wire_is_fuzzed(tmp_path: Path) -> None:
    made = targets(tmp_path)
    assert unread(made) == []
    assert unread([one for one in made if one.name != "RevealedPart"]) == ["peos.wire.inspections.decode_revealed"]


def test_inputs_that_are_nearly_right_are_read_or_refused(tmp_path: Path) -> None:
    made = targets(tmp_path)
    run = Run(made, seed=20310401)
    run.run(many(6_000, 30_000))
    assert not run.findings, run.findings[0]
    assert growth(run.before, run.after) == []
    assert all(one.inputs >= 50 for one in run.figures.values())
    assert all(one.read for one in run.figures.values()), "the right inputs of a reader come first"
    silent = [name for name, one in run.figures.items() if len(one.outcomes) < 2 and one.read < one.inputs]
    assert not silent, "nothing right and nothing wrong was among their inputs"


@pytest.mark.parametrize(
    "wrong", [KeyError("a"), MemoryError(), RecursionError(), WrongInput("test.wronginput", "another kind")]
)
def test_what_a_reader_does_not_document_is_found(wrong: Exception) -> None:
    def read(data: bytes) -> None:
        if data[:1] == b"!":
            raise wrong

    run = Run([Target("one", (b"!ab", b"ab"), read)], seed=1)
    run.run(200)
    (finding,) = run.findings
    assert (finding.target, finding.data[:1]) == ("one", b"!")
    assert type(wrong).__name__ in finding.what


def test_a_second_encoding_is_found() -> None:
    run = Run([Target("one", (b"abc",), bytes.lower, write=bytes)], seed=1)
    run.run(500)
    assert [finding.what for finding in run.findings] == ["was read, and is written otherwise"]


# Found by the long runs.

_KEY_TYPE = bytes.fromhex("06072a8648ce3d0201")  # id-ecPublicKey
_CURVE = bytes.fromhex("06082a8648ce3d030107")  # P-256
_NAMED = b"\x06\x03\x55\x04\x05\x13"  # a serial number of the subject, as a PrintableString


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        pytest.param(_KEY_TYPE, _KEY_TYPE[:-1] + b"\x05", id="a key of an unknown type"),
        pytest.param(_CURVE, _CURVE[:-3] + b"\x1a\x6e\x03", id="an unknown curve"),
        pytest.param(_NAMED, _NAMED[:-1] + b"\x03", id="a name that is a bit string"),
        pytest.param(b"\x30\x5c\x31\x0f", b"\x7b\x5c\x31\x0f", id="a subject of another tag"),
    ],
)
def test_a_certificate_of_a_strange_kind_is_refused_in_a_sentence(there: bytes, instead: bytes) -> None:
    made = as_der(make_certificate("fuzzed", _RNG).pem)
    changed = instead.join(made.rsplit(there, 1))
    assert changed != made
    with pytest.raises(WrongInput) as found:
        read_certificate(changed)
    assert found.value.id in {"certificate.unreadable", "certificate.curve", "certificate.purpose"}


@pytest.mark.parametrize("blank", ["\x1c", "\x1f", "\x85", "\u3000", " "])
def test_a_value_may_stand_between_blanks_of_any_kind(blank: str, tmp_path: Path) -> None:
    assert value_of(f"17{blank}", (), 18) == value_of(f"{blank}17", (), 18) == 17
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text("5" * 64 + blank, encoding="utf-8")
    assert read_key(key).secret == b"\x55" * 32
    tickets, values = tmp_path / "tickets", tmp_path / "values"
    tickets.write_text("a" * 32 + ":" + "f" * 128 + ":" + "5" * 64 + "\n", encoding="utf-8")
    values.write_text(f"17{blank}\n", encoding="utf-8")
    if len(f"17{blank}\n".splitlines()) == 1:
        assert [
            value_of(str(words), (), 18) for words in read_answers(tickets, lambda: read_values(values))[0].records
        ] == [17]
