"""The one reader of configurations: what it takes, what it suggests, and that nothing in a file makes it stumble."""

from pathlib import Path
from typing import Any, Final

import pytest

from peos.errors import WrongInput
from peos.settings import ADDRESS, FLAG, NAME, POSITIVE, TEXTS, Key, count, duration, megabytes, one_of, read
from tests.raising import raises

COLOUR: Final = Key("colour", NAME)
PORT: Final = Key("listen.users", ADDRESS, "here:1")
LEAST: Final = Key("policy.least_reports", count(2), 5)
KEYS: Final = (COLOUR, PORT, LEAST)


def refused(folder: Path, content: str | bytes, *keys: Key[Any]) -> tuple[str, str]:
    """The sentence and the hint that a file is refused with."""
    path = folder / "party.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(WrongInput) as caught:
        read(path, keys or KEYS)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint, "it can be mended, so it says how"
    return str(caught.value).replace(str(path), "FILE"), caught.value.hint


def test_values_come_by_their_keys_and_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    path = tmp_path / "party.toml"
    path.write_text('colour = "red"\n[policy]\nleast_reports = 7\n')
    found = read(path, KEYS)
    assert (found[COLOUR], found[PORT], found[LEAST]) == ("red", "here:1", 7)
    assert found.beside("keys") == tmp_path / "keys"
    assert found.beside("/keys") == Path("/keys")


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ('color = "red"', "did you mean colour?"),
        ('colour = "red"\n[policy]\nleast_report = 3', "did you mean policy.least_reports?"),
        ('colour = "red"\nleast_reports = 3', "did you mean policy.least_reports?"),
        ('colour = "red"\n[listen]\nleast_reports = 3', "did you mean policy.least_reports?"),
        ('colour = "red"\n[listne]\nusers = "here:1"', "known: colour, listen.users, policy.least_reports"),
        ('colour = "red"\nzebra = 3', "known: colour, listen.users, policy.least_reports"),
    ],
)
def test_a_key_that_is_none_is_refused_with_the_nearest_that_is(tmp_path: Path, content: str, hint: str) -> None:
    sentence, told = refused(tmp_path, content)
    assert sentence.endswith(" is not a setting")
    assert told == hint


@pytest.mark.parametrize(
    ("key", "written", "words"),
    [
        (Key("k", NAME), "7", "a text of 1 to 200 printable characters, not 7"),
        (Key("k", NAME), '""', "a text of 1 to 200 printable characters, not ''"),
        (Key("k", NAME), f'"{"x" * 201}"', f"a text of 1 to 200 printable characters, not '{'x' * 59}…"),
        (Key("k", NAME), r'"a\u0000b"', r"not 'a\x00b'"),
        (Key("k", TEXTS), "[]", "a list of at least one text, not []"),
        (Key("k", TEXTS), '["a", 7]', "a list of at least one text, not ['a', 7]"),
        (Key("k", TEXTS), r'["a\u0000b"]', "a list of at least one text"),
        (Key("k", FLAG), "1", "true or false, not 1"),
        (Key("k", POSITIVE), "true", "a number above zero, not true"),
        (Key("k", POSITIVE), "0", "a number above zero, not 0"),
        (Key("k", POSITIVE), "nan", "a number above zero, not nan"),
        (Key("k", POSITIVE), "inf", "a number above zero, not inf"),
        (Key("k", POSITIVE), "1" + "0" * 400, "a number above zero, not 1000"),
        (Key("k", duration(1)), "0.5", 'seconds, or a text like "2h", not 0.5'),
        (Key("k", duration(1)), '"2 lightyears"', "seconds, or a text like \"2h\", not '2 lightyears'"),
        (Key("k", megabytes(0)), '"2h"', "megabytes, or a text like \"2 GB\", not '2h'"),
        (Key("k", count(1)), "0", "a whole number of at least 1, not 0"),
        (Key("k", count(1)), "1.0", "a whole number of at least 1, not 1.0"),
        (Key("k", count(1)), "true", "a whole number of at least 1, not true"),
        (Key("k", one_of("auto", "ask")), "[]", '"auto" or "ask", not []'),
        (Key("k", ADDRESS), '"here"', "host:port with a port from 1 to 65535, not 'here'"),
        (Key("k", ADDRESS), '":7000"', "host:port"),
        (Key("k", ADDRESS), '"here:65536"', "host:port"),
        (Key("k", ADDRESS), '"here:٧"', "host:port"),
        (Key("k", FLAG), "1979-05-27T07:32:00Z", "true or false"),
    ],
)
def test_a_value_that_does_not_fit_is_shown_beside_what_would(
    tmp_path: Path, key: Key[Any], written: str, words: str
) -> None:
    path = tmp_path / "party.toml"
    path.write_text(f"k = {written}\n", encoding="utf-8")
    with pytest.raises(WrongInput) as caught:
        read(path, [key])
    assert f"{path}: k must be " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "FILE: colour is missing"),
        ("listen = 3\ncolour = 'red'", "FILE: listen must be a table"),
        ("colour = red", "FILE is not TOML: invalid value (at line 1, column 10)"),
        (b"\xff\xfe", "FILE is not TOML: it is not UTF-8 text"),
        ("colour = " + "[" * 5000, "FILE is not TOML: "),
        ("colour = " + "1" * 5000, "FILE is not TOML: "),
        (b"\x00", "FILE is not TOML: "),
    ],
)
def test_whatever_is_in_a_file_the_answer_is_one_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    assert refused(tmp_path, content)[0].startswith(sentence)


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.toml", "no such file or directory"), (tmp_path, "is a directory")):
        with raises("config.unreadable", str(path), reason):
            read(path, KEYS)
