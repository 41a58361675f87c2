"""client.toml: what is wrong is one sentence that names file and key."""

from pathlib import Path

import pytest

from peos.errors import WrongInput
from tests.raising import raises, require_said
from user_client.config import read

PINS = ", ".join(f'"{digit * 64}"' for digit in "123")
GOOD = f"""
folder = "memory"
shufflers = [{PINS}]
most_eps_local = 4
least_reports = 1000
least_fakes = 10
budget = 12.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "client.toml"
    path.write_text(text)
    return path


def test_a_configuration_is_read_and_its_folder_is_relative_to_it(tmp_path: Path) -> None:
    config = read(written(tmp_path, GOOD))
    assert config.folder == tmp_path / "memory"
    assert config.shufflers == tuple(bytes.fromhex(digit * 64) for digit in "123")
    assert (config.most_eps_local, config.least_reports, config.least_fakes, config.budget) == (4.0, 1000, 10, 12.5)


def test_fakes_may_be_left_out_and_nothing_else(tmp_path: Path) -> None:
    lines = GOOD.strip().splitlines()
    assert read(written(tmp_path, "\n".join(line for line in lines if "fakes" not in line))).least_fakes == 0
    for line in lines:
        key = line.split()[0]
        if key == "least_fakes":
            continue
        with raises("config.missing_key", "client.toml", f"{key}"):
            read(written(tmp_path, "\n".join(other for other in lines if other != line)))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("budget = 12.5", "budget = 12.5\nbugdet = 1", "bugdet is not a setting"),
        ("budget = 12.5", 'budget = "12"', "budget must be a number"),
        ("budget = 12.5", "budget = true", "budget must be a number"),
        ("budget = 12.5", "budget = 0", "budget must be a number above zero"),
        ("budget = 12.5", "budget = inf", "budget must be a number above zero"),
        ("budget = 12.5", "budget = nan", "budget must be a number above zero"),
        ("most_eps_local = 4", "most_eps_local = -1", "most_eps_local must be a number above zero, not -1"),
        ("least_reports = 1000", "least_reports = 1e3", "least_reports must be a whole number"),
        ("least_reports = 1000", "least_reports = 0", "least_reports must be a whole number of at least 1"),
        ("least_fakes = 10", "least_fakes = -1", "least_fakes must be a whole number of at least 0"),
        ('folder = "memory"', 'folder = ""', "folder must be a text"),
        ('folder = "memory"', "folder = 5", "folder must be a text"),
        (PINS, f'"{"1" * 64}", "{"2" * 64}"', "2 identities, and at least 3 must shuffle"),
        (PINS, f'{PINS}, "{"1" * 64}"', "an identity appears twice"),
        (PINS, f'{PINS}, "{"4" * 63}"', "entry 4 is not an identity of 64 hex digits"),
        (PINS, f'{PINS}, "{"x" * 64}"', "entry 4 is not an identity"),
        (PINS, f"{PINS}, 4", "shufflers must be a list of at least one text"),
        (f"[{PINS}]", '"one"', "shufflers must be a list"),
        ("budget = 12.5", "budget = ", "is not TOML"),
    ],
)
def test_each_mistake_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(WrongInput) as caught:
        read(written(tmp_path, GOOD.replace(old, new)))
    assert caught.value.id.startswith("config.")
    require_said(str(caught.value), "client.toml", complaint)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with raises("config.unreadable", "absent.toml"):
        read(tmp_path / "absent.toml")
    path = tmp_path / "client.toml"
    path.write_bytes(b"\xff\xfe")
    with raises("config.not_toml"):
        read(path)
