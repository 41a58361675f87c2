"""Files without a name: what is written is read, no other process finds it, none is left, and a full disk is said."""

import errno
import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.errors import Full
from shuffler.spill import SpillFile, SpillWriter
from tests.disks import fill, small_disk
from tests.raising import raises

ROWS, WIDTH = 50, 24


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def filled(folder: Path, rng: Randomness) -> tuple[SpillFile, Any]:
    """A vector there, and the same in memory."""
    rows = np.frombuffer(rng.bytes(ROWS * WIDTH), np.uint8).reshape(ROWS, WIDTH)
    kept = SpillFile.reserved(folder, ROWS, WIDTH)
    for start in range(0, ROWS, 7):
        kept[start : start + 7] = rows[start : start + 7]
    return kept, rows


def test_stretches_and_places_are_read_as_of_an_array(tmp_path: Path, rng: Randomness) -> None:
    kept, rows = filled(tmp_path, rng)
    for where in (slice(None), slice(3, 9), slice(48, 70), slice(9, 3), [4, 0, 49, 4], np.arange(ROWS)[::-1], []):
        assert np.array_equal(kept[where], rows[where]), where
    words = kept.reshape(3 * ROWS, WIDTH // 3)
    assert np.array_equal(words[5:8], rows.reshape(3 * ROWS, -1)[5:8])
    words.beyond(6)[0:3] = np.zeros((3, WIDTH // 3), np.uint8)
    assert not kept[2:3].any(), "it is the same file"
    assert np.array_equal(kept[3:], rows[3:])


def test_the_file_has_no_name_and_is_gone_with_its_last_user(tmp_path: Path, rng: Randomness) -> None:
    before = open_files()
    kept, _ = filled(tmp_path, rng)
    part = kept.beyond(40)
    assert list(tmp_path.iterdir()) == []
    (link,) = (os.readlink(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd") if _is_in(one, tmp_path))
    assert link.endswith("(deleted)")
    assert os.stat(kept._file.descriptor).st_mode & 0o777 == 0o600
    assert not os.get_inheritable(kept._file.descriptor)
    del kept
    assert len(part[:]) == 10
    del part
    gc.collect()
    assert open_files() == before


def _is_in(descriptor: str, folder: Path) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(folder))
    except OSError:
        return False


def test_what_arrives_takes_room_as_it_comes(tmp_path: Path) -> None:
    coming = SpillWriter(tmp_path, 1 << 20, 1 << 10)
    assert os.stat(coming._file.descriptor).st_size == 0, "a header is cheap to send"
    coming.keep(bytes(range(256)))
    assert os.stat(coming._file.descriptor).st_size == 256
    short = SpillWriter(tmp_path, 2, 128)
    short.keep(bytes(100))
    short.keep(bytes(range(156)))
    assert bytes(short.whole()[1:2].reshape(-1)) == bytes(range(28, 156))


def test_a_disk_without_room_is_said_and_is_no_crash(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 256) as disk:
        with raises("store.scratch_full"):
            SpillFile.reserved(disk, 1024, 1024)
        coming = SpillWriter(disk, 1024, 1024)
        ballast = fill(disk)
        with pytest.raises(Full):
            coming.keep(bytes(1 << 16))
        ballast.unlink()
        coming.keep(bytes(1 << 16))
        assert len(SpillFile.reserved(disk, 64, 1024)[:]) == 64


def test_a_disk_that_fails_is_said_and_is_no_crash(
    tmp_path: Path, rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, _ = filled(tmp_path, rng)
    os.truncate(kept._file.descriptor, 30)
    with raises("store.scratch_short"):
        kept[0:5]

    def broken(*_: Any) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("shuffler.spill.os.preadv", broken)
    with raises("store.scratch", "input/output error"):
        kept[0:1]
    with raises("store.scratch", "no such file"):
        SpillFile.reserved(tmp_path / "nowhere", 1, 1)
