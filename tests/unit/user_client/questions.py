"""Collections that ask by views, and rounds of a study, for the fake shufflers' town."""

import hashlib
import itertools
from typing import Any

from peos.collection.document import Document, MechanismChoice
from peos.collection.ticket import PLACES, StudyPart, Ticket, issue
from peos.crypto.identity import Identity
from peos.ldp import GRR
from peos.ldp.base import Mechanism
from peos.ldp.grouped_hash import GroupedHash
from peos.ldp.grouped_tables import GroupedTables
from peos.tasks.cell_views import AttributesView, Axis
from peos.tasks.schema import Attribute
from peos.tasks.text_views import PrefixView
from peos.tasks.views import CandidatesView, Catalogue, View
from tests.unit.user_client.town import FakeShufflers

STUDY = b"\x57" * 32
HALF = PLACES // 2
ROUNDS = (StudyPart(STUDY, 1, 0, HALF), StudyPart(STUDY, 2, HALF, PLACES))
PREFIXES = (PrefixView(0, 8, 48), PrefixView(8, 16, 48))
FOODS = ("bread", "tea", "salt")
CANDIDATES = CandidatesView(FOODS)
PEOPLE = AttributesView((Axis(Attribute("smokes", ("no", "yes"))), Axis(Attribute("age", (), 0, 9))))
LIST = b'"bread"\n"tea"\n"salt"\n'
LISTED = CandidatesView((), Catalogue.of(LIST))


def asking(town: FakeShufflers, *views: View, **changes: Any) -> Document:
    """The town's document, asking by these views."""
    mechanism: Mechanism = (
        GRR(views[0].cells, 2.0) if views[0].gives == "value" else GroupedHash([1] * len(views), 2.0, 4)
    )
    if views[0].gives == "cell":
        mechanism = GroupedTables([view.cells for view in views], 2.0)
    described = tuple(view.describe() for view in views)
    return town.document(choice=MechanismChoice.of(mechanism), views=described, **changes)


def round_of(town: FakeShufflers, number: int, **changes: Any) -> Document:
    """The study's round of that number."""
    return asking(town, *PREFIXES, epoch=f"round {number}", study=ROUNDS[number - 1], **changes)


def ticket_of(town: FakeShufflers, number: int, *, within: int) -> Ticket:
    """The study's ticket of a user by number, for round `within`."""
    ids = (hashlib.sha256(b"%d %d" % (number, at)).digest()[:16] for at in itertools.count())
    id_ = next(one for one in ids if ROUNDS[within - 1].asks(one))
    return issue(town.enrolment, STUDY, id_, Identity(hashlib.sha256(id_).digest()))
