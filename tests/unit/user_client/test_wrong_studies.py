"""What can be wrong with a study, one line each: the id of the sentence, the exit code, and what the sentence names."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analyzer.study import create
from peos.cli import main
from peos.collection.document import MechanismChoice
from peos.collection.ticket import PLACES, StudyPart
from peos.errors import PeosError
from peos.ldp.sampled import SampledGRR
from peos.spec import StudySpec
from peos.store.private_files import lock, private_folder
from peos.tasks import PrefixSearch
from peos.tasks.items.views import ItemsView
from peos.tasks.views import MOST_LABELS, CandidatesView, from_choices
from tests.raising import require_shown
from tests.unit.analyzer.conftest import _quick_passphrases, loop, world
from tests.unit.analyzer.world import World
from tests.unit.user_client.questions import LIST, LISTED, PREFIXES, asking, round_of, ticket_of
from tests.unit.user_client.test_command_line import Desk, line_of
from tests.unit.user_client.town import FakeShufflers

__all__ = ["_quick_passphrases", "loop", "world"]  # fixtures

Ended = tuple[int, str]  # the exit code, and what was said
ASKED = {"users": 500, "delta": 1e-6, "eps_local": 4.0, "fakes": "0"}
OPTIONS = [f"--{name.replace('_', '-')}={value}" for name, value in ASKED.items()]
HITTERS = ["--task", "heavy-hitters", "--bytes", "3"]


@dataclass
class Place:
    """A user and an analyst, with their files."""

    town: FakeShufflers
    world: World
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def say(self, *words: object) -> Ended:
        """Give a command of `peos`."""
        self.capsys.readouterr()
        code = main([str(word) for word in words])
        return code, self.capsys.readouterr().err.splitlines()[-1]

    def study(self, order: str, *words: object) -> Ended:
        """A command about a study."""
        return self.say("study", order, "--config", self.world.file, *words)

    def created(self, **changes: Any) -> None:
        """A study `words` that runs."""
        workspace = self.world.workspace()
        given: dict[str, Any] = {"name": "words", "task": "heavy-hitters", "options": {"bytes": 3}, **ASKED}
        create(workspace, StudySpec(**given | changes))
        workspace.close()

    def submits(self, content: bytes, *, within: int = 0, catalogue: bytes | None = None) -> Ended:
        """One user's records, with a ticket of the collection or of a round; nothing of them must be sent."""
        desk = Desk(self.town, self.folder, self.capsys)
        ticket = ticket_of(self.town, 1, within=within) if within else self.town.ticket(1)
        desk.tickets.write_text(f"{line_of(ticket)}\n")
        records = desk.folder / "records.jsonl"
        records.write_bytes(content)
        if catalogue is not None:
            desk.invitation.with_suffix(".catalogue").write_bytes(catalogue)
        if within:
            alone = desk.folder / "mine.json"
            alone.write_bytes(content)
            code, _, err = desk.run("submit", "--ticket", line_of(ticket), "--record-file", alone)
        else:
            code, _, err = desk.run("submit-file", "--tickets", desk.tickets, "--records", records)
        assert not any(one.parts for one in self.town.shufflers)
        return code, err.splitlines()[-1]


def a_text_for_a_list(place: Place) -> Ended:
    view = ItemsView(3, ("bread", "tea", "salt"))
    choice = MechanismChoice.of(SampledGRR(view.cells, 1, 2.0))
    place.town.publish(place.town.document(choice=choice, views=(view.describe(),)))
    return place.submits(b'"bread"\n')


def texts(content: bytes) -> Callable[[Place], Ended]:
    def act(place: Place) -> Ended:
        place.town.publish(asking(place.town, *PREFIXES))
        return place.submits(content)

    return act


def too_many_labels(_: Place) -> Ended:
    from_choices([CandidatesView(tuple(f"word {at}" for at in range(MOST_LABELS + 1))).describe()])
    return 0, ""


def another_catalogue(place: Place) -> Ended:
    place.town.publish(asking(place.town, LISTED))
    return place.submits(b'"tea"\n', catalogue=LIST + b'"soap"\n')


def another_round(place: Place) -> Ended:
    place.town.publish(round_of(place.town, 2))
    return place.submits(b'"tea"\n', within=1)


def a_window_outside(_: Place) -> Ended:
    StudyPart(bytes(32), 1, PLACES // 2, PLACES + 1)
    return 0, ""


def a_first_step_too_long(_: Place) -> Ended:
    PrefixSearch(24, (21, 24), 3, users=500, delta=1e-6, eps_local=4.0, fakes=0)
    return 0, ""


def planned(*words: object) -> Callable[[Place], Ended]:
    return lambda place: place.say("plan", *HITTERS, *OPTIONS, *words)


def a_name_of_another_study(place: Place) -> Ended:
    place.created()
    return place.study("create", "--name", "words", *HITTERS, *OPTIONS, "--users=501")


def a_name_of_a_collection(place: Place) -> Ended:
    workspace = place.world.workspace()
    place.world.open(workspace, dummies=False, name="words")
    workspace.close()
    return place.study("create", "--name", "words", *HITTERS, *OPTIONS)


def a_second_run(place: Place) -> Ended:
    place.created()
    folder = place.world.config.folder / "studies"
    private_folder(folder)
    held = lock(folder / "words.lock")
    try:
        return place.study("run", "words")
    finally:
        os.close(held)


WRONG: dict[str, tuple[Callable[[Place], Ended], int, str, tuple[str, ...]]] = {
    "a text where a list is asked": (a_text_for_a_list, 2, "input.answers", ("records.jsonl, line 1", "list")),
    "an empty file": (texts(b""), 2, "input.lines", ("records.jsonl",)),
    "invalid UTF-8": (texts(b'"\xff\xfe"\n'), 2, "input.not_text", ("records.jsonl",)),
    "too many labels": (too_many_labels, 2, "view.too_many", ("4,097", "4,096")),
    "a catalogue that is not the document's": (another_catalogue, 2, "view.other_catalogue", ("3",)),
    "a window outside the study": (a_window_outside, 2, "study.window", ()),
    "k = 0": (planned("--top", 0), 2, "mechanism.range", ("0",)),
    "a first step of more than 20 bits": (a_first_step_too_long, 2, "task.cuts_apart", ("20",)),
    "d' that is no power of two": (planned("--d-prime=100"), 2, "mechanism.power_of_two", ("100",)),
    "an unknown task": (lambda place: place.say("plan", "--task", "gossip", *OPTIONS), 2, "task.unknown", ("gossip",)),
    "a study of other parameters": (a_name_of_another_study, 2, "study.other_parameters", ("words",)),
    "a name in use": (a_name_of_a_collection, 2, "input.name_taken", ("words",)),
    "a ticket of another round": (another_round, 3, "ticket.other_round", ()),
    "a second run": (a_second_run, 2, "study.running", ("words",)),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_about_a_study_is_one_sentence(
    what: str,
    town: FakeShufflers,
    world: World,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    act, code, id_, says = WRONG[what]
    try:
        ended, said = act(Place(town, world, tmp_path, capsys))
    except PeosError as error:  # of what a document or a task is made of in Python
        ended, said = error.exit_code, f"{error} ({error.hint}) [{error.id}]"
    assert ended == code, said
    require_shown(said, id_, *says)
