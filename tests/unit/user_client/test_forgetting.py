"""Her device forgets: once all have acknowledged, nothing on it tells her answer, even with the published output."""

from pathlib import Path

from peos.collection.submission import Part
from peos.wire import submissions
from tests.raising import raises
from tests.unit.fake_shuffler import read
from tests.unit.user_client.conftest import Open
from tests.unit.user_client.town import FakeShufflers
from user_client.config import Config


def _parts(town: FakeShufflers) -> list[Part]:
    return [submissions.decode_part(one.parts[0]) for one in town.shufflers if one.parts]


def _needles(parts: list[Part]) -> dict[str, bytes]:
    """What must not stay: each by name."""
    found = {f"share {part.shuffler}": part.share for part in parts}
    found |= {f"salt {part.shuffler}": part.salt for part in parts}
    return found | {"ticket": parts[0].ticket, "signature": parts[0].signature, "hash": parts[0].hashes[0]}


def _on_disk(folder: Path, needles: dict[str, bytes]) -> set[str]:
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {name for name, needle in needles.items() if any(needle in data for data in files)}


def test_what_all_have_acknowledged_is_on_no_page_of_her_device(
    town: FakeShufflers, client: Open, config: Config
) -> None:
    secret = {"the ticket's key": town.ticket(1).key.secret}
    with client() as started:
        collection = started.open(town.invitation)
        town.stop(3)
        with raises("network.no_answer", "shuffler 3"):
            collection.submit(17, town.ticket(1), deadline=5.0)
    needles = _needles(_parts(town))
    assert _on_disk(config.folder, needles) == set(needles), "while one is missing she needs it all"
    assert not _on_disk(config.folder, secret)
    town.start(3)
    with client() as started:
        assert started.open(town.invitation).submit(17, town.ticket(1)).accepted
    assert _on_disk(config.folder, _needles(_parts(town)) | secret) == set()
    part, mechanism = _parts(town)[0], read(town.shufflers[0].signed)[0].document.mechanism.digest
    kept = {"id": part.row[:16], "commitment": part.row[16:], "user key": part.user_key, "mechanism": mechanism}
    assert _on_disk(config.folder, kept) == set(kept), "what lets her ask, and keeps her from answering twice"
    with client() as started:
        again = started.open(town.invitation).submit(18, town.ticket(1))
        assert (again.accepted, again.repeated) == (True, True)
        assert started.ledger().own_spent == 2_000_000


def test_an_acknowledgement_that_is_not_signed_is_none(town: FakeShufflers, client: Open) -> None:
    town.shufflers[1].signer = town.shufflers[0].identity
    result = client().open(town.invitation).submit(17, town.ticket(1))
    assert [str(one) for one in result.refusals] == [
        "shuffler 2 (org-2): sent an acknowledgement that it has not signed"
    ]
