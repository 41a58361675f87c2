"""What follows from an end is done once, though the thread that published and the turn over collections both come."""

import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from analyzer import publishing
from analyzer.publishing import RESULT, Publishing
from peos.compute import Inline
from peos.net.logs import Log
from peos.store.folder import write_durably
from tests.unit.analyzer.world import World, take


def test_two_that_clear_at_the_same_time_write_the_result_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    home = world.home()
    kept = world.open(home)
    receiving = world.receiving(home)
    values = np.repeat(np.arange(4), [20, 20, 10, 10])
    for sender, sent in world.deliveries(home, kept, world.output(home, kept, values)).items():
        take(receiving, sent, world.certificate(sender))
    made = Publishing(home, receiving, world.inspecting(home), Inline(), Log("tests.analyzer"))
    written: list[str] = []
    others: list[threading.Thread] = []
    faults: list[Exception] = []

    def turn() -> None:
        try:
            made.clear(home.kept("fruit"))
        except Exception as error:
            faults.append(error)

    def slowly(path: Path, data: Iterable[bytes | memoryview]) -> None:
        written.append(path.name)
        if not others:  # the result is durable, and the next turn over the collections sees that
            others.append(threading.Thread(target=turn))
            others[0].start()
            others[0].join(0.5)
        write_durably(path, data)

    monkeypatch.setattr(publishing, "write_durably", slowly)
    made.publish(home.kept("fruit"))
    others[0].join()
    assert not faults, faults
    assert written == [RESULT]
