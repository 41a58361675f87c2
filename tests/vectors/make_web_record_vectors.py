"""Makes the vectors of records for browsers: `python -m tests.vectors.make_web_record_vectors` from the root.

What the Python client makes of records by views, of given coins by the mechanisms of tasks, and in rounds of studies.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from peos.client.answering import answer, record_of
from peos.client.consent import Consent, Limits, check
from peos.client.ledger import Ledger, charge_of
from peos.collection.document import Document, MechanismChoice, digest
from peos.collection.ticket import PLACES, StudyPart, issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.ldp import GRR
from peos.ldp import from_parameters as made_of
from peos.ldp.base import Mechanism, Question
from peos.ldp.grouped_hash import GroupedHash, Keys
from peos.ldp.grouped_tables import GroupedTables
from peos.ldp.sampled import SampledGRR, SampledHash, Sets
from peos.tasks.cell_views import AttributesView, Axis, GridView, LevelView
from peos.tasks.items.views import ItemsView, SizeView, SubsetsView
from peos.tasks.measure_views import PackedView, RoundedView
from peos.tasks.schema import Schema
from peos.tasks.text_views import ChannelView, PairView, PrefixView, SegmentView
from peos.tasks.views import CandidatesView, Catalogue, ValueView, View, ViewChoice, from_choice
from peos.v1 import collection_pb2 as pb
from peos.wire.documents import encode_document, sign_document
from peos.wire.parties import decode_invitation
from tests.unit.collection.made import ANALYZER, ENROLMENT, SHUFFLERS
from tests.unit.collection.made import digest_of as hashed
from tests.vectors.make_web_vectors import (
    A_STUDY,
    FLOOR,
    NOW,
    PETS,
    Recorded,
    document,
    id_of,
    in_lines,
    in_words,
    invitation,
    small_keys,
    text_of,
)

FILE: Final = Path(__file__).parent / "web_records.json"
CONTENT: Final = '"bread"\n"milk"\n"größe 🜚"\n'.encode()
LISTED: Final = Catalogue.of(CONTENT)
ATTRIBUTES: Final = Schema.of(
    {
        "smokes": ["no", "yes"],
        "age": (0, 100),
        "spending": (0.0, 500.0),
        "tiny": {"from": -1e-05, "to": 2.5e-07, "real": True, "parts": 7},
        "large": {"from": -(2**53), "to": 2**53, "parts": 10},
        'city "x"\\é': ["Köln", 'a"b', "a\\c"],
    }
).attributes
SMOKES, AGE, SPENDING, TINY, LARGE, CITY = ATTRIBUTES
BOUGHT: Final = Schema.of({"kind": ["a", "b", "c"], "price": (1, 9)}).attributes
PERSON: Final[dict[str, Any]] = {
    "smokes": "yes",
    "age": 34,
    "spending": 21.37,
    "tiny": 1e-07,
    "large": 12345678901234,
    CITY.name: 'a"b',
    "bought": [{"kind": "c", "price": 3}, {"kind": "a", "price": 40}, {"kind": "b", "price": -1}],
}
PEOPLE: Final[list[Any]] = [
    PERSON,
    {**PERSON, "age": -5, "spending": 500.0, "tiny": -1.0, "bought": []},
    {**PERSON, "age": 101, "spending": 1e9, "bought": [{"kind": "a", "price": 9}] * 70},
    {**PERSON, "age": "34"},
    {**PERSON, "smokes": "maybe"},
    {**PERSON, "spending": None},
    {**PERSON, "bought": {"kind": "a"}},
    {**PERSON, "bought": [{"kind": "z", "price": 1}]},
    {},
    [],
    "text",
    None,
]
TEXTS: Final[list[Any]] = ["", "a", "größe 🜚 and much more than fits into it", "\0b", "\ud800", 7, None, ["a"], {}]
LISTS: Final[list[Any]] = [
    [],
    ["bread"],
    ["milk", "bread", "milk", "butter"],
    [3, 1, 3, 0, -1, 40, 2**52],
    ["3", 1, "01", "-0", "größe 🜚"],
    [True],
    ["a", None],
    [1.5],
    "bread",
    {},
]
SETS: Final = ('["bread"]', '["bread", "milk"]', '[1, 3, "bread"]', '["größe 🜚", "\ufb01x"]')
VALUES: Final[list[Any]] = [0, 2, 3, -1, True, None, "a dog", " a cat ", "2", "x", [], 1.5]
ASKED: Final[list[tuple[View, list[Any]]]] = [
    (ValueView(3, PETS), VALUES),
    (ValueView(9), VALUES),
    (CandidatesView(PETS), TEXTS),
    (CandidatesView((), LISTED), [*TEXTS, "milk"]),
    (PrefixView(0, 16, 48), TEXTS),
    (PrefixView(16, 33, 48), TEXTS),
    (PrefixView(60, 80, 100), TEXTS),
    (PrefixView(75, 93, 93), TEXTS),
    (SegmentView(3, 20, 21), TEXTS),
    (SegmentView(500, 512, 512), TEXTS),
    (PairView(0, 12, 13, 30, 48), TEXTS),
    (ChannelView(5, 21, 64, 1000), TEXTS),
    (ChannelView(8, 16, 200, 1 << 20), TEXTS),
    (ItemsView(4), [*LISTS, [0] * 10_001]),
    (ItemsView(3, ("bread", "3", "größe 🜚")), LISTS),
    (ItemsView(3, (), LISTED), LISTS),
    (SizeView(5, most=2), LISTS),
    (SizeView(4, SETS, most=3, sets=1), LISTS),
    (SubsetsView(SETS), LISTS),
    (AttributesView((Axis(SMOKES), Axis(CITY), Axis(TINY))), PEOPLE),
    (AttributesView((Axis(LARGE), Axis(AGE))), PEOPLE),
    (LevelView((Axis(SPENDING, 16),)), PEOPLE),
    (GridView((Axis(AGE, 25), Axis(SMOKES), Axis(SPENDING, 100))), PEOPLE),
    (RoundedView((Axis(SPENDING),), 2), PEOPLE),
    (RoundedView((Axis(SMOKES), Axis(AGE, 10), Axis(SPENDING)), 5), PEOPLE),
    (RoundedView((Axis(AGE),), 1024), PEOPLE),
    (PackedView((Axis(SMOKES), *map(Axis, BOUGHT)), "bought", 1, 3, 4), PEOPLE),
    (PackedView((Axis(BOUGHT[1], 2),), "bought", 0, 64, 2), PEOPLE),
]
QUESTION: Final = Question(b"\x0a" * 32, "größe?", "2025-W07", hashed("views"))
GIVEN: Final[list[tuple[Mechanism, int]]] = [
    (GroupedHash([1], 2.0, 2), 1),
    (GroupedHash([3, 1, 4], 4.0, 256), 3),
    (GroupedHash([1] * 64, 8.0, 65536), 64),
    (GroupedTables([2], 1.0), 1),
    (GroupedTables([2, 7, 300], 3.0), 3),
    (GroupedTables([2, 7, 300], 5.0, weights=[9, 1, 3]), 3),
    (SampledGRR(1, 1, 1.0), 1),
    (SampledGRR(40, 5, 3.0), 1),
    (SampledHash(40, 5, 3.0), 1),
    (SampledHash(700, 12, 4.0, 30), 1),
]


def told(choice: ViewChoice) -> dict[str, Any]:
    """A view in JSON."""
    listed = choice.catalogue
    return {
        "kind": choice.kind,
        "parameters": text_of(choice.parameters),
        "labels": list(choice.labels),
        "catalogue": listed and {"sha256": listed.digest.hex(), "count": listed.count},
    }


def plain(given: Any) -> Any:
    """What a view gives of one record, in JSON."""
    if isinstance(given, Keys):
        return [str(given.parents[0]), str(given.exts[0]), bool(given.fits[0])]
    return [int(item) for item in given.items] if isinstance(given, Sets) else int(given[0])


def views() -> Iterator[dict[str, Any]]:
    """Every kind, with records that fit and that do not."""
    for number, (bare, records) in enumerate(ASKED):
        choice = bare.describe()
        view = from_choice(choice)
        if choice.catalogue:
            view = view.listing(CONTENT)
        found = []
        for place, record in enumerate(records):
            # JSON has no half of a surrogate pair that all libraries read alike, and no difference of 1 and 1.0.
            coins, fits = Recorded(f"view {number} {place}"), not view.problem(record)
            made = plain(view.answers(view.read([record]), coins)) if fits else None
            found.append({"record": record, "fits": fits, "coins": coins.drawn.hex(), "answer": made})
        yield {
            "choice": told(choice),
            "catalogue": CONTENT.hex() if choice.catalogue else None,
            "gives": view.gives,
            "cells": view.cells,
            "records": found,
        }


def refused_views() -> Iterator[dict[str, Any]]:
    """Each kind with one thing wrong."""
    for bare, _ in ASKED:
        good = bare.describe()
        given, labels = dict(good.parameters), good.labels
        wrong = [
            replace(good, parameters={**given, "more": 1}),
            replace(good, parameters=dict(list(given.items())[1:])),
            replace(good, labels=(*labels, labels[0]) if labels else ("x",)),
            replace(good, labels=(" ", *labels[1:])),
            replace(good, labels=()),
            replace(good, catalogue=None if good.catalogue else LISTED),
            *(
                replace(good, parameters={**given, name: value})
                for name in given
                for value in (0, 1, 3, 600, 2**64 - 1)
            ),
        ]
        wrong += [replace(good, labels=tuple(text)) for text in _rewritten(labels)]
        for choice in wrong:
            yield {"choice": told(choice), "id": id_of(partial(from_choice, choice))}
    for choice in (ViewChoice("unheard of", {}), ViewChoice("toString", {})):
        yield {"choice": told(choice), "id": "view.kind"}
    for text in _attributes():
        choice = ViewChoice("attributes", {}, (text,))
        yield {"choice": told(choice), "id": id_of(partial(from_choice, choice))}


def _rewritten(labels: tuple[str, ...]) -> Iterator[list[str]]:
    """Labels that mean the same to a lax reader."""
    for at, label in enumerate(labels):
        for other in (label.replace(",", ", "), label.replace(", ", ","), f"{label} "):
            if other != label:
                yield [*labels[:at], other, *labels[at + 1 :]]


def _attributes() -> Iterator[str]:
    """Texts of attributes, good and bad."""
    real: dict[str, Any] = {"name": "x", "from": 0.5, "to": 9.0, "real": True, "parts": 0}
    whole: dict[str, Any] = {"name": "x", "from": 0, "to": 9, "real": False, "parts": 0}
    changes: list[dict[str, Any]] = [{}, {"parts": 1}, {"parts": 11}, {"parts": -1}, {"name": ""}, {"name": " x"}]
    changes += [
        {"name": "n" * 65},
        {"to": 0},
        {"from": 20},
        {"to": 2**53 + 2},
        {"parts": True},
        {"real": 1},
        {"more": 1},
    ]
    changes += [{"to": 70_000}, {"parts": 2**16 + 1}, {"from": "0"}, {"name": "\u202e"}, {"from": None}]
    for base in (real, whole):
        for change in changes:
            yield json.dumps({**base, **change}, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    floats = (1e16, 123456789012345.0, 1e-4, 9.9e-05, 1e-10, 5e-324, -0.0, 0.1 + 0.2, 1 / 3)
    for low in floats:
        yield json.dumps({**real, "from": low, "to": 2.0**52}, sort_keys=True, separators=(",", ":"))
    yield '{"from":0.50,"name":"x","parts":0,"real":true,"to":9.0}'
    yield '{"from":1e-5,"name":"x","parts":0,"real":true,"to":9.0}'
    yield '{"labels":["a","b"],"name":"x"}'
    yield '{"labels":["a","a"],"name":"x"}'
    yield '{"labels":["a"],"name":"x"}'
    yield '{"labels":[],"name":"x"}'
    yield '{"labels":["a",1],"name":"x"}'
    yield '{"labels":["a","b"],"name":"x","parts":0}'
    yield '{"labels":["\\u00e9","b"],"name":"x"}'
    yield '{"name":"x","labels":["a","b"]}'
    yield "[]"
    yield "x"


def catalogues() -> Iterator[dict[str, Any]]:
    """Files that are a document's list, and others."""
    for content in (
        CONTENT,
        CONTENT[:-1],
        b"",
        b"\n",
        b'"a"\n\n',
        b"\xff",
        b'"a',
        b"1\n",
        b'"\\ud800"\n',
        b' "a" \n"b"\r\n',
    ):
        for listed in (LISTED, Catalogue(hashlib.sha256(content).digest(), max(1, content.count(b"\n")))):
            yield {
                "catalogue": {"sha256": listed.digest.hex(), "count": listed.count},
                "content": content.hex(),
                "id": id_of(partial(listed.checked, content)),
            }


def mechanisms() -> Iterator[dict[str, Any]]:
    """Reports of what views gave."""
    for number, (bare, groups) in enumerate(GIVEN):
        one = made_of(bare.name, bare.domain, bare.parameters, QUESTION if number % 2 else Question())
        reports = []
        for turn in range(5):
            rng, coins = Randomness(hashed(f"held {number} {turn}")), Recorded(f"keyed {number} {turn}")
            given, shown = _held(one, groups, turn, rng)
            words = one.randomize(given, coins)
            reports.append({"held": shown, "coins": coins.drawn.hex(), "words": [str(word) for word in words[0]]})
        asked = one.question
        yield {
            "name": one.name,
            "domain": one.domain,
            "parameters": text_of(one.parameters),
            "question": [asked.analyzer.hex(), asked.question, asked.epoch, asked.views.hex()],
            "digest": one.digest.hex(),
            "epsilon_bits": np.float64(one.epsilon_local).tobytes()[::-1].hex(),
            "cost": charge_of(one.epsilon_local),
            "support": 0.0 if one.theorem_support is None else float(one.theorem_support),
            "reports": reports,
        }


def _held(one: Mechanism, groups: int, turn: int, rng: Randomness) -> tuple[Any, list[Any]]:
    if isinstance(one, GroupedHash):
        parents, exts = rng.uint64((1, groups)), rng.uint64((1, groups)) >> np.uint64(44)
        fits = turn != 3
        shown = [[str(parent), str(ext), fits] for parent, ext in zip(parents[0], exts[0], strict=True)]
        return Keys(parents, exts, np.full((1, groups), fits)), shown
    if isinstance(one, GroupedTables):
        cells = [int(rng.integer_below(size)) for size in one.tables]
        return np.array([cells]), cells
    held = sorted({int(rng.integer_below(one.domain)) for _ in range((0, 1, 3, 9, one.domain)[turn])})
    return Sets.of([held]), [held]


def refused_mechanisms() -> Iterator[dict[str, Any]]:
    """Descriptions with one integer wrong."""
    for bare, _ in GIVEN:
        given = dict(bare.parameters)
        wrong = [(0, given), ((1 << 24) + 1, given), (bare.domain, {**given, "more": 1})]
        names = list(given)[:6]
        wrong += [(bare.domain, {**given, name: value}) for name in names for value in (0, 2**64 - 1, 3)]
        wrong += [(bare.domain, {key: value for key, value in given.items() if key != name}) for name in names]
        for domain, parameters in wrong:
            id_ = id_of(partial(made_of, bare.name, domain, parameters))
            yield {"name": bare.name, "domain": domain, "parameters": text_of(parameters), "id": id_}


def asking(mechanism: Mechanism, *asked: View, **changes: Any) -> Document:
    """A collection that asks by views."""
    choices = tuple(view.describe() for view in asked)
    return document(choice=MechanismChoice.of(mechanism), labels=(), views=choices, **changes)


def round_of(first: int = 0, end: int = PLACES, number: int = 1) -> StudyPart:
    """A round of the study here."""
    return StudyPart(A_STUDY, number, first, end)


TABLE: Final = (AttributesView((Axis(SMOKES), Axis(CITY))), LevelView((Axis(AGE, 10),)))
DOCUMENTS: Final[list[tuple[Document, Any]]] = [
    (asking(GroupedHash([1, 2], 4.0, 16), PrefixView(0, 16, 48), SegmentView(16, 24, 48)), "word"),
    (asking(GroupedHash([1], 4.0, 16), ChannelView(0, 16, 48, 9), study=round_of()), "\u00fcber"),
    (asking(GroupedTables([6, 11], 2.0), *TABLE), PERSON),
    (asking(GroupedTables([5], 2.0), RoundedView((Axis(SPENDING),), 5), study=round_of(number=3)), json.dumps(PERSON)),
    (asking(GroupedTables([108], 2.0), PackedView((Axis(SMOKES), *map(Axis, BOUGHT)), "bought", 1, 3, 2)), PERSON),
    (asking(SampledGRR(3, 2, 2.0), ItemsView(3, (), LISTED)), '["milk", "butter"]'),
    (asking(SampledHash(4, 2, 2.0, 4), SubsetsView(SETS)), ["bread", "milk"]),
    (asking(GRR(4, 2.0), SizeView(5, most=3)), [1, 2, 9]),
    (asking(GRR(4, 2.0), CandidatesView(PETS)), "a dog"),
    (asking(GRR(3, 2.0), ValueView(3, PETS)), "a cat"),
    (document(study=round_of()), "a dog"),
]


def submissions() -> Iterator[dict[str, Any]]:
    """Whole submissions by views and in rounds."""
    for number, (asked, record) in enumerate(DOCUMENTS):
        collection = digest(encode_document(asked))
        needs = any(choice.catalogue for choice in asked.views)
        consent = Consent(collection, asked, asked.encryption(floor=FLOOR), (), CONTENT if needs else None)
        key = Identity(hashed(f"key of user {number}"))
        ticket = issue(ENROLMENT, asked.scope(collection), hashed(f"user {number}")[:16], key)
        coins = Recorded(f"record {number}")
        given = record_of(consent, record) if isinstance(record, str) else record
        made = answer(consent, given, ticket, Ledger(100_000_000), coins)
        yield {
            "signed": sign_document(asked, ANALYZER).hex(),
            "catalogue": CONTENT.hex() if needs else None,
            "ticket": in_words(ticket),
            "record": record,
            "coins": coins.drawn.hex(),
            "parts": [part.hex() for part in made.encoded],
            "asking": made.asking.hex(),
        }


def consents() -> Iterator[dict[str, Any]]:
    """What a user allows of what is asked, and catalogues that are there or not."""
    limits: dict[str, Any] = {"mostEpsLocal": 9.0, "leastReports": 1, "leastFakes": 0}
    table, listed = DOCUMENTS[2][0], DOCUMENTS[5][0]
    unfit = replace(table, choice=MechanismChoice.of(GroupedTables([6, 12], 2.0)))
    several = replace(listed, choice=MechanismChoice.of(GRR(3, 2.0)), views=())
    cases: list[tuple[str, Document | pb.Document, dict[str, Any], bytes | None]] = [
        ("a table", table, {}, None),
        ("kinds that are allowed", table, {"views": ["attributes", "level"]}, None),
        ("a kind that is not", table, {"views": ["attributes"]}, None),
        ("no kinds", table, {"views": []}, None),
        ("attributes that are allowed", table, {"attributes": ["smokes", CITY.name, "age"]}, None),
        ("an attribute that is not", table, {"attributes": ["smokes", "age"]}, None),
        ("cells that are allowed", table, {"mostCells": 11}, None),
        ("too fine a table", table, {"mostCells": 10}, None),
        ("a catalogue", listed, {}, CONTENT),
        ("no catalogue", listed, {}, None),
        ("another catalogue", listed, {}, CONTENT[:-1]),
        ("limits of tables do not concern values", several, {"views": [], "attributes": [], "mostCells": 1}, None),
        ("views that do not fit the mechanism", unfit, {}, None),
        ("a mechanism of tasks without views", replace(table, views=()), {}, None),
        ("a round whose id is too short", _changed(table, study=pb.StudyPart(id=b"short", round=1, end=5)), {}, None),
        ("a round of nobody", _changed(table, study=pb.StudyPart(id=A_STUDY, round=1, first=7, end=7)), {}, None),
        ("labels next to views", _changed(table, labels=PETS), {}, None),
        (
            "views out of order",
            _changed(table, views=[pb.View(kind="level", parameters=[pb.Parameter(name="b"), pb.Parameter(name="a")])]),
            {},
            None,
        ),
    ]
    with small_keys():
        for name, asked, allowed, content in cases:
            data = (
                encode_document(asked) if isinstance(asked, Document) else asked.SerializeToString(deterministic=True)
            )
            signature = ANALYZER.sign("document", data)
            signed = pb.SignedDocument(version=1, document=data, signature=signature).SerializeToString()
            given = {**limits, **allowed}
            limit = Limits(
                most_eps_local=given["mostEpsLocal"],
                least_reports=given["leastReports"],
                least_fakes=given["leastFakes"],
                protocols=("peos",),
                views=given.get("views"),
                attributes=given.get("attributes"),
                most_cells=given.get("mostCells"),
            )
            invited, pins = invitation(digest(data)), [one.public for one in SHUFFLERS]
            id_ = id_of(partial(check, decode_invitation(invited), [signed] * 3, pins, limit, NOW, content))
            yield {
                "name": name,
                "invitation": invited.hex(),
                "signed": signed.hex(),
                "pins": [pin.hex() for pin in pins],
                "limits": given,
                "now": NOW,
                "catalogue": None if content is None else content.hex(),
                "id": id_,
            }


def _changed(base: Document, **changes: Any) -> pb.Document:
    """A message that no `Document` says."""
    message = pb.Document.FromString(encode_document(base))
    for name, value in changes.items():
        message.ClearField(name)
        message.MergeFrom(pb.Document(**{name: value}))
    return message


def rendered() -> str:
    """The file's text."""
    return in_lines(
        {
            "format": 1,
            "floor": FLOOR,
            "views": list(views()),
            "refused_views": list(refused_views()),
            "catalogues": list(catalogues()),
            "mechanisms": list(mechanisms()),
            "refused_mechanisms": list(refused_mechanisms()),
            "submissions": list(submissions()),
            "consents": list(consents()),
        }
    )


if __name__ == "__main__":
    FILE.write_text(rendered(), encoding="utf-8")
