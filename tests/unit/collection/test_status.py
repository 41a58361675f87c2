"""Where a collection stands, in one sentence for a person."""

import pytest

from peos.collection.replies import Status
from peos.collection.status import line_of

DIGEST = bytes(range(32))
NAME = "0001020304050607…"


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (Status(DIGEST, "published", reports=1200), f"{NAME}  published, 1,200 submissions"),
        (
            Status(
                DIGEST,
                "shuffling",
                reports=100_000,
                step="attempt 1, round 2, hand-over",
                waited_for=("shuffler 2 (south)",),
                done=40_000,
                total=100_000,
                seconds=12,
            ),
            f"{NAME}  shuffling, 100,000 submissions; waiting for attempt 1, round 2, hand-over from "
            "shuffler 2 (south): 40,000 of 100,000, 12 s",
        ),
        (
            Status(DIGEST, "aborted", reason="812 reports, the minimum is 900", reports=812, refused=("3 parts: x",)),
            f"{NAME}  aborted, 812 submissions; 812 reports, the minimum is 900; refused: 3 parts: x",
        ),
        (
            Status(DIGEST, "closed", step="freeze, list", waited_for=("shuffler 1", "shuffler 2"), seconds=3),
            f"{NAME}  closed, 0 submissions; waiting for freeze, list from shuffler 1, shuffler 2: 3 s",
        ),
        (
            Status(DIGEST, "open", reports=40, step="submissions", waited_for=("users",), done=40, total=20, seconds=3),
            f"{NAME}  open, 40 submissions; waiting for submissions from users: 40 (at least 20), 3 s",
        ),
    ],
)
def test_a_status_is_one_sentence(status: Status, sentence: str) -> None:
    assert str(line_of(status)) == sentence
