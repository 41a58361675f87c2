"""From a complete output to a result: exact dummies or nothing, estimates within their errors, all else erased."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer import decryption
from analyzer.delivery_receiver import VECTORS
from analyzer.publisher import RESULT, Publisher
from analyzer.report import REPORT
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.lifecycle import State
from peos.compute import Engine, Inline
from peos.errors import LocalFault
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.privacy import guarantees
from tests.raising import raises
from tests.unit.analyzer.world import FAKES, World, take

VALUES = np.repeat(np.arange(4), [150, 30, 15, 5])
FREQUENCIES = np.array([0.75, 0.15, 0.075, 0.025])
LARGEST = 5.7  # standard errors: four two-sided normal tails beyond it have probability 5e-8, under alpha = 1e-6
DUMMIES = 96
ROWS = 200 + DUMMIES + FAKES


def _delivered(world: World, workspace: Workspace, *, dummies: bool = True) -> CollectionRow:
    kept = world.open(workspace)
    receiver = world.receiver(workspace)
    for sender, sent in world.deliveries(
        workspace, kept, world.output(workspace, kept, VALUES, dummies=dummies)
    ).items():
        take(receiver, sent, world.certificate(sender))
    return workspace.kept("fruit")


def _publisher(world: World, workspace: Workspace, engine: Engine | None = None) -> Publisher:
    return Publisher(
        workspace,
        world.receiver(workspace),
        world.inspection_runner(workspace),
        engine or Inline(),
        Observer(Log("tests.analyzer")),
    )


def _result(workspace: Workspace) -> dict[str, Any]:
    found = workspace.kept("fruit").result
    assert found is not None
    read: dict[str, Any] = json.loads(found)
    return read


def test_the_estimates_are_within_their_errors_of_the_truth(world: World) -> None:
    workspace = world.workspace()
    _publisher(world, workspace).publish(_delivered(world, workspace))
    found = _result(workspace)
    off = np.abs(np.array(found["frequency"]) - FREQUENCIES) / np.array(found["stderr"])
    assert off.max() < LARGEST, (found["frequency"], found["stderr"])
    assert off.max() > 0, "an estimate without noise would not be private"


def test_the_result_has_the_shape_that_scripts_read(world: World) -> None:
    workspace = world.workspace()
    kept = _delivered(world, workspace)
    _publisher(world, workspace).publish(kept)
    found = _result(workspace)
    assert set(found) == {
        *("schema", "ok", "digest", "collection", "users", "dropped", "fakes", "parameters", "labels", "frequency"),
        *(
            "stderr",
            "interval95",
            "significant",
            "oracle",
            "bits",
            "post_processed",
            "truth",
            "guarantees",
            "together",
            "cost",
            "checks",
            "inspection",
            "lists",
            *("tested", "note", "sizes", "task", "complete", "rounds"),
        ),
    }
    assert (found["schema"], found["ok"], found["digest"]) == (2, False, kept.digest.hex())
    assert (found["users"], found["dropped"], found["fakes"], found["truth"]) == (200, None, FAKES, None)
    document = workspace.signed(kept).document
    oracle = document.mechanism.oracle  # type: ignore[attr-defined] # this one is of supports
    assert found["oracle"] == {"p": oracle.p, "q": oracle.q, "u": oracle.u}
    assert found["post_processed"] is None
    assert found["parameters"] == {
        "mechanism": "grr",
        "eps_local": document.mechanism.epsilon_local,
        "d_prime": None,
        "mechanism_parameters": {},
        "domain": 4,
        "scheme": "paillier",
        "protocol": "peos",
        "shufflers": 3,
        "fakes": FAKES,
        "delta": 1e-6,
    }
    asked = found["collection"]
    assert asked.pop("published_at") <= time.time()
    assert asked == {
        "question": "Which fruit?",
        "epoch": "2024",
        "asked": [],
        "analyzer": "statistics office",
        "shufflers": ["organisation 1", "organisation 2", "organisation 3"],
        "minimum": 20,
        "closes_at": document.closes_at,
    }
    assert found["labels"] == ["0", "1", "2", "3"]
    assert [len(found[name]) for name in ("frequency", "stderr", "interval95")] == [4, 4, 4]
    assert all(low < middle < high for (low, high), middle in zip(found["interval95"], found["frequency"], strict=True))
    assert found["significant"][0] is True
    assert [type(one) for one in found["significant"]] == [bool] * 4
    assert (found["tested"], found["note"], found["task"], found["complete"]) == (4, "", None, True)
    (of_one,) = found["rounds"]
    assert (of_one["name"], of_one["state"], of_one["users"]) == ("fruit", "published", 200)
    assert of_one["groups"] == [{"size": 200 + FAKES, "share": 1.0}]
    assert found["together"] is None, "no budget is set, and so no ledger kept"
    claims = guarantees(document.mechanism, 200, FAKES, 1e-6, 3)
    assert found["guarantees"] == {**claims.to_json(), "coalitions": list(claims.in_words())}
    (cost,) = found["cost"]
    assert set(cost) == {"party", "seconds", "sent", "received", "peak_rss"}
    assert cost["party"] == "analyzer"
    assert cost["received"] == ROWS * (128 + 8)
    assert cost["sent"] > DUMMIES * (128 + 8 + 8)
    assert cost["peak_rss"] > 1 << 20
    assert found["checks"] == {"dummies": True, "digests": True, "inspection": None}, "no shuffler has shown any rows"
    assert found["inspection"] == {"dummies": 0, "not_opened": [1, 2, 3]}


def test_published_there_are_result_and_page_and_nothing_else_of_the_reports(world: World) -> None:
    workspace = world.workspace()
    kept = _delivered(world, workspace)
    folder = workspace.folder(kept)
    assert (folder / VECTORS).is_dir()
    _publisher(world, workspace).publish(kept)
    assert {path.name for path in folder.iterdir()} == {RESULT, REPORT}
    assert json.loads((folder / RESULT).read_text()) == _result(workspace)
    after = workspace.kept("fruit")
    assert after.state is State.PUBLISHED
    assert after.key is None
    with raises("key.erased"):
        workspace.private_key(after)
    assert kept.key is not None
    for path in world.config.folder.glob("analyzer.sqlite*"):
        assert kept.key not in path.read_bytes(), path


def test_without_the_dummies_nothing_is_published(world: World) -> None:
    workspace = world.workspace()
    kept = _delivered(world, workspace, dummies=False)
    _publisher(world, workspace).publish(kept)
    after = workspace.kept("fruit")
    assert after.state is State.ABORTED
    assert f"{DUMMIES} of {DUMMIES} dummies did not come out of the shuffle" in after.reason
    assert after.result is None
    assert after.key is None
    assert list(workspace.folder(kept).iterdir()) == []


def test_a_single_altered_dummy_is_enough(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    rows = world.output(workspace, kept, VALUES)
    victim = workspace.dummies(kept)[7].words
    rows[np.flatnonzero((rows == victim).all(axis=1))[0]] ^= np.uint64(1)
    receiver = world.receiver(workspace)
    for sender, sent in world.deliveries(workspace, kept, rows).items():
        take(receiver, sent, world.certificate(sender))
    _publisher(world, workspace).publish(workspace.kept("fruit"))
    assert f"1 of {DUMMIES} dummies did not come out" in workspace.kept("fruit").reason


class _Stopping(Engine):
    """Decrypts so many blocks, and is then closed by a stop of the process."""

    def __init__(self, blocks: int) -> None:
        self._inline = Inline()
        self.blocks = blocks
        self.rows = 0
        self.passes: set[int] = set()

    def decrypt(
        self, private: Any, rows: Any, progress: Callable[[int, int], None] | None = None, *, passes: int = 0
    ) -> Any:
        """As the engine of a process that is asked to end."""
        if not self.blocks:
            raise LocalFault("compute.stopped", "the work was cancelled: this process is stopping")
        self.blocks -= 1
        self.rows += len(rows)
        self.passes.add(passes)
        return self._inline.decrypt(private, rows, progress, passes=passes)

    def close(self) -> None:
        """There is nothing to end."""

    def _run(self, *_: Any) -> None:
        raise AssertionError("only decryption is asked for")


def test_a_stop_during_decryption_aborts_nothing_and_the_next_start_goes_on_from_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decryption, "BLOCK", 50)
    workspace = world.workspace()
    kept = _delivered(world, workspace)
    first = _Stopping(blocks=2)
    with raises("compute.stopped"):
        _publisher(world, workspace, first).publish(kept)
    assert (first.rows, workspace.kept("fruit").state) == (100, State.DELIVERED)
    words = workspace.folder(kept) / VECTORS / "decrypted.words"
    with words.open("ab") as file:
        file.write(b"abc")  # of a word that was being written
    workspace = world.workspace()
    second = _Stopping(blocks=99)
    _publisher(world, workspace, second).publish(workspace.kept("fruit"))
    assert second.rows == ROWS - 100
    assert first.passes == second.passes == {2}, "as many as three shufflers make: it decides the width of slots"
    assert workspace.kept("fruit").state is State.PUBLISHED


@pytest.mark.parametrize("at", [0, 399, 405, 500], ids=["a word", "the last word", "a seal", "the second block"])
def test_words_that_changed_on_the_disk_are_decrypted_again(
    world: World, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(decryption, "BLOCK", 50)
    workspace = world.workspace()
    kept = _delivered(world, workspace)
    with raises("compute.stopped"):
        _publisher(world, workspace, _Stopping(blocks=2)).publish(kept)
    words = workspace.folder(kept) / VECTORS / "decrypted.words"
    _flip(words, at)
    engine = _Stopping(blocks=99)
    _publisher(world, workspace, engine).publish(workspace.kept("fruit"))
    assert engine.rows == ROWS - (50 if at == 500 else 0)
    found = _result(workspace)
    assert (np.abs(np.array(found["frequency"]) - FREQUENCIES) / np.array(found["stderr"])).max() < LARGEST


@pytest.mark.parametrize("sender", [2, 3])
def test_a_vector_that_changed_on_the_disk_is_named_and_nothing_is_published(world: World, sender: int) -> None:
    workspace = world.workspace()
    kept = _delivered(world, workspace)
    (path,) = (workspace.folder(kept) / VECTORS).glob(f"{sender}-*.rows")
    _flip(path, 77)
    with raises("delivery.damaged", path.name, f"shuffler {sender}"):
        _publisher(world, workspace).publish(kept)
    assert workspace.kept("fruit").state is State.DELIVERED
    _flip(path, 77)
    _publisher(world, workspace).publish(workspace.kept("fruit"))
    assert workspace.kept("fruit").state is State.PUBLISHED


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_stop_between_the_result_and_the_erasure_is_made_good(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = world.workspace()
    kept = _delivered(world, workspace)
    with monkeypatch.context() as stopping:
        stopping.setattr(Publisher, "clear", _stopped)
        with raises("test.localfault", kind=LocalFault):
            _publisher(world, workspace).publish(kept)
    workspace = world.workspace()
    assert workspace.kept("fruit").state is State.PUBLISHED
    assert workspace.kept("fruit").key is not None
    assert not (workspace.folder(kept) / RESULT).exists()
    _publisher(world, workspace).clear(workspace.kept("fruit"))
    assert {path.name for path in workspace.folder(kept).iterdir()} == {RESULT, REPORT}
    assert workspace.kept("fruit").key is None


def _stopped(*_: object) -> None:
    raise LocalFault("test.localfault", "stopped here")


def test_progress_is_there_for_status_while_it_decrypts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decryption, "BLOCK", 100)
    workspace = world.workspace()
    kept = _delivered(world, workspace)
    engine = _Stopping(blocks=2)
    with pytest.raises(LocalFault):
        _publisher(world, workspace, engine).publish(kept)
    after = workspace.kept("fruit")
    assert after.total == ROWS
    assert 0 <= after.done <= 200
