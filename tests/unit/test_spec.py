"""What a collection is created from: the same value from a file, from options, from both, or made in Python."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from peos.cli.options import with_settings
from peos.errors import WrongInput
from peos.settings import keys_of, load
from peos.spec import CollectionSpec, StudySpec

PETS: dict[str, Any] = {
    "name": "pets",
    "question": "Who lives with you?",
    "labels": ["nobody", "a dog", "a cat"],
    "users": 20,
    "delta": 1e-6,
    "eps_local": 4.0,
    "fakes": "10",
}


def file_of(folder: Path, given: dict[str, Any]) -> Path:
    path = folder / "pets.toml"
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in given.items())
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_file_options_both_and_python_make_the_same(tmp_path: Path) -> None:
    path = file_of(tmp_path, PETS)
    made = CollectionSpec(**(PETS | {"labels": tuple(PETS["labels"])}))
    some = {name: PETS[name] for name in ("users", "fakes")}
    half = file_of(tmp_path / "..", {name: value for name, value in PETS.items() if name not in some})
    asked = {
        load(path, CollectionSpec).encode(),
        load(None, CollectionSpec, PETS).encode(),
        load(half, CollectionSpec, some).encode(),
        made.encode(),
    }
    assert len(asked) == 1
    assert made.domain == 3
    assert made.least == 10


def test_an_option_takes_the_place_of_what_the_file_says(tmp_path: Path) -> None:
    path = file_of(tmp_path, PETS)
    assert load(path, CollectionSpec, {"users": 30}).users == 30
    assert load(path, CollectionSpec, {"users": 30}).encode() != load(path, CollectionSpec).encode()


@pytest.mark.parametrize("changes", [{}, {"labels": [], "domain": 7}, {"protocol": "ss"}, {"question": 'Wer\t"?\nü'}])
def test_a_spec_is_read_again_from_the_file_that_it_writes(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = load(None, CollectionSpec, {name: value for name, value in (PETS | changes).items() if value != []})
    path = tmp_path / "written.toml"
    path.write_text(made.to_toml(), encoding="utf-8")
    assert load(path, CollectionSpec).encode() == made.encode()


@pytest.mark.parametrize(
    ("changes", "id_", "sentence"),
    [
        ({"domain": 4}, "document.labels", "there are 3 labels for 4 values"),
        ({"labels": ["a", "a"]}, "document.labels", "two values have the label 'a'"),
        ({"labels": None}, "document.labels", "neither the answers nor their number are given"),
        ({"users": 0}, "config.value", "users must be a whole number of at least 1, not 0"),
        ({"users": "20"}, "config.value", "users must be a whole number of at least 1, not '20'"),
        ({"users": None}, "config.missing_key", "users is missing"),
        ({"closes_in": 0}, "config.value", "closes_in must be a number from 1 to"),
        ({"name": "a/b"}, "input.name", "cannot name a collection"),
        ({"mechanism": "magic"}, "config.value", "mechanism must be auto or grr"),
        ({"scheme": "rot13"}, "config.value", "scheme must be paillier or dgk or jl, not 'rot13'"),
        ({"protocol": "udp"}, "config.value", "protocol must be peos or ss, not 'udp'"),
        ({"fakes": "some"}, "config.value", "fakes must be"),
        ({"colour": "red"}, "config.unknown_key", "colour is not a setting"),
    ],
)
def test_one_set_of_checks_holds_for_every_way_in(
    tmp_path: Path, changes: dict[str, Any], id_: str, sentence: str
) -> None:
    given = {name: value for name, value in (PETS | changes).items() if value is not None}
    with pytest.raises(WrongInput) as from_file:
        load(file_of(tmp_path, given), CollectionSpec)
    assert (from_file.value.id, sentence in str(from_file.value)) == (id_, True), from_file.value
    if "colour" in given:
        return
    with pytest.raises(WrongInput) as from_options:
        load(None, CollectionSpec, given)
    assert from_options.value.id == id_
    if "users" in given:
        with pytest.raises(WrongInput) as in_python:
            CollectionSpec(**(given | {"labels": tuple(given.get("labels", ()))}))
        assert in_python.value.id == id_


def test_every_setting_but_none_else_is_an_option_of_the_command() -> None:
    app, got = typer.Typer(), dict[str, Any]()

    @app.command()
    @with_settings(CollectionSpec)
    def create(out: str, **given: object) -> None:
        """Make one."""
        got.update(given, out=out)

    said = CliRunner().invoke(
        app, ["here", "--name", "n", "--label", "a", "--label", "b", "--users", "3", "--delta", "0.1"]
    )
    assert said.exit_code == 0, said.output
    assert got == {"out": "here", "name": "n", "labels": ["a", "b"], "users": 3, "delta": 0.1}
    names = {key.name for key in keys_of(CollectionSpec)}
    assert names == {one.name for one in fields(CollectionSpec)} - {"path"}
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert all(f"--{name.replace('_', '-')}".removesuffix("s" if name == "labels" else "") in shown for name in names)


def test_a_schema_keeps_the_order_of_its_attributes_and_options_come_in_any(tmp_path: Path) -> None:
    schema = {"smokes": ["no", "yes"], "age": {"from": 18, "to": 97}}
    asked: dict[str, Any] = {"name": "people", "task": "marginals", "users": 900, "delta": 1e-6, "eps_local": 6.0}
    made = StudySpec(**asked, options={"ways": 2, "schema": schema})
    path = tmp_path / "people.toml"
    path.write_text(made.to_toml(), encoding="utf-8")
    for again in (load(path, StudySpec), load(None, StudySpec, json.loads(made.encode()))):
        assert again.options is not None
        assert list(again.options["schema"]) == ["smokes", "age"]
    assert StudySpec(**asked, options={"schema": schema, "ways": 2}).encode() == made.encode()
    other = {"schema": dict(reversed(schema.items())), "ways": 2}
    assert StudySpec(**asked, options=other).encode() != made.encode()
