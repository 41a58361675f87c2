"""A user's disk that is full: nothing is lost, and once there is room the same command completes the rest."""

import json
import shutil
from pathlib import Path

import pytest

from tests.disks import fill, small_disk
from tests.full import full
from tests.unit.user_client.test_command_line import Desk
from tests.unit.user_client.town import FakeShufflers

USERS = 400


@pytest.mark.full
@pytest.mark.parametrize("room", [full(0), 700 << 10], ids=["from the start", "in the middle"])
def test_without_room_nothing_more_is_sent_and_with_room_the_same_command_goes_on(
    town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str], room: int
) -> None:
    desk = Desk(town, tmp_path, capsys)
    desk.write(USERS)
    with small_disk(tmp_path / "memory", 8 << 10) as disk:
        code, out, _ = desk.run("ledger")
        assert (code, out.splitlines()[0]) == (0, "spent 0 of 3")
        ballast = fill(disk)
        with ballast.open("r+b") as file:
            file.truncate(ballast.stat().st_size - room)
        code, out, err = desk.many("--json")
        assert (code, out) == (1, ""), err
        told = json.loads(err.splitlines()[-1])
        assert told["id"] == "store.no_room"
        assert "Traceback" not in err
        before = {one.name: set(one.parts) for one in town.shufflers}
        sent = len(town.connections())
        assert sent < USERS
        assert (sent > 0) is (room > 0), "what was kept before was sent"
        ballast.unlink()
        code, out, err = desk.many("--json")
        assert (code, json.loads(out)["accepted"]) == (0, USERS), err
        held = town.connections()
        assert len(held) == USERS
        assert all(len(digests) == 3 and len(set(digests.values())) == 1 for digests in held.values())
        for one in town.shufflers:
            assert before[one.name] <= set(one.parts)
            assert len(set(one.parts)) == USERS, "the same bytes, whenever they were sent"
        shutil.rmtree(disk, ignore_errors=True)
