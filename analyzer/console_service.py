"""What the console is shown and may ask for, answered by the serving process: it has the keys, the console has none.

Answers are JSON texts as the commands print them with --json, and a refusal is one too: the console shows the same id
and the same sentence as a command would.
"""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from analyzer import status, study
from analyzer.creating import Creating
from analyzer.draft import preview
from analyzer.ledger import history, populations
from analyzer.statement.contents import statement
from analyzer.statement.page import page
from analyzer.store import CollectionRow, StudyRow
from analyzer.workspace import Workspace
from peos.cli.options import typed_settings
from peos.collection.lifecycle import OVER, State
from peos.collection.summary import Summary
from peos.errors import NotYet, PeosError
from peos.net.calls import Service, service
from peos.net.guard import Context
from peos.privacy.guarantees import Guarantees
from peos.protocols import protocol_named
from peos.settings import load
from peos.spec import CollectionSpec
from peos.wire import methods
from peos.wire.consoles import ConsoleQuestion, pieces
from peos.wire.parties import encode_invitation

_UNNAMED = {"name": "unnamed", "question": "?"}  # of a plan: neither changes it
Answer = Callable[[ConsoleQuestion], Awaitable[Any]]


class ConsoleService:
    """Answers `peos.v1.Console`."""

    def __init__(self, workspace: Workspace, creating: Creating) -> None:
        self._workspace, self._creating = workspace, creating
        self._planning = asyncio.Semaphore(1)  # a plan takes a core for a while, and a slider asks for many
        self._said: dict[bytes, tuple[str, int]] = {}  # question and closing time of each document, which stay
        self._histories: dict[str, tuple[object, dict[str, Any]]] = {}

    def service(self) -> Service:
        """The calls, with what answers them."""
        return service(
            {
                methods.CONSOLE_OVERVIEW: _answered(self.overview),
                methods.CONSOLE_COLLECTION: _answered(self.collection),
                methods.CONSOLE_STUDY: _answered(self.study),
                methods.CONSOLE_BUDGETS: _answered(self.budgets),
                methods.CONSOLE_RESULT: _answered(self.result),
                methods.CONSOLE_STATEMENT: _answered(self.statement),
                methods.CONSOLE_INVITATION: _answered(self.invitation),
                methods.CONSOLE_PLAN: _answered(self.plan),
                methods.CONSOLE_CREATE: _answered(self.create),
            }
        )

    async def overview(self, _: ConsoleQuestion) -> dict[str, Any]:
        """Every collection and study; of those that are not over, what each shuffler says."""
        rows = await asyncio.to_thread(self._workspace.store.all)
        collections = await asyncio.gather(*(asyncio.to_thread(self._standing, kept) for kept in rows))
        studies = await asyncio.to_thread(self._workspace.store.studies)
        return {
            "analyzer": self._workspace.config.name,
            "collections": list(collections),
            "studies": [self._study(one) for one in studies],
            "has_budget": self._workspace.config.budget is not None,
        }

    async def collection(self, question: ConsoleQuestion) -> dict[str, Any]:
        """One collection, with what its document says."""

        def found() -> dict[str, Any]:
            kept = self._workspace.kept(question.name)
            document = self._workspace.signed(kept).document
            return {
                **self._standing(kept),
                "summary": Summary.of(document).to_json(),
                "shuffler_names": [member.name for member in document.shufflers],
                "guarantees": kept.words.splitlines(),
                "expected": kept.expected,
            }

        return await asyncio.to_thread(found)

    async def study(self, question: ConsoleQuestion) -> dict[str, Any]:
        """One study, its rounds as they stand."""

        def found() -> dict[str, Any]:
            kept = study.kept(self._workspace, question.name)
            rounds = [self._standing(one) for one in self._workspace.store.rounds(kept.name)]
            return {**self._study(kept), "guarantees": kept.words.splitlines(), "rounds": rounds}

        return await asyncio.to_thread(found)

    async def budgets(self, _: ConsoleQuestion) -> list[dict[str, Any]]:
        """What each population has given away, collection after collection."""
        return await asyncio.to_thread(self._budgets)

    async def result(self, question: ConsoleQuestion) -> dict[str, Any]:
        """What was published, of a collection or of a study."""

        def found() -> dict[str, Any]:
            if self._is_study(question.name):
                return study.result(self._workspace, question.name)
            kept = self._workspace.kept(question.name)
            published = status.published(kept)
            if published is None:
                raise status.not_yet(str(status.status(self._workspace, [kept])[0].here))
            self._workspace.store.note("result read", kept.digest)
            return published

        return await asyncio.to_thread(found)

    async def statement(self, question: ConsoleQuestion) -> dict[str, Any]:
        """The privacy statement, as its page and as JSON."""
        shown = await asyncio.to_thread(statement, self._workspace, question.name, time.time())
        return {"page": page(shown), "statement": shown.to_json()}

    async def invitation(self, question: ConsoleQuestion) -> dict[str, str]:
        """The file for users, once all shufflers have accepted; the same bytes as the command writes."""
        kept = await asyncio.to_thread(self._workspace.kept, question.name)
        if kept.opened_at is None:
            raise NotYet(
                "collection.no_invitation",
                f"{kept.name} is {kept.state}: there is no invitation",
                hint="it has to open first",
            )
        data = encode_invitation(kept.digest, self._workspace.proposal(kept).signed_cards[:-1])
        return {"invitation": base64.b64encode(data).decode()}

    async def plan(self, question: ConsoleQuestion) -> dict[str, Any]:
        """What a collection with these terms would be, with every refusal of the command; nothing is kept of it."""
        spec = _spec({**_UNNAMED, **question.terms})
        async with self._planning:
            return await asyncio.to_thread(self._plan, spec)

    async def create(self, question: ConsoleQuestion) -> dict[str, str]:
        """Begin to create a collection, or go on with one: answered once it is kept, while shufflers are asked."""
        if question.terms:
            spec = _spec(question.terms)
        else:
            kept = await asyncio.to_thread(self._workspace.kept, question.name)
            spec = load(None, CollectionSpec, json.loads(kept.request))
        made = await self._creating.begin(spec)
        return {"name": made.name, "digest": made.digest.hex()}

    def _plan(self, spec: CollectionSpec) -> dict[str, Any]:
        found = preview(self._workspace, spec)
        protocol, shufflers = protocol_named(spec.protocol), found.shufflers
        few = protocol.claims(found.randomizer, spec.least, found.fakes, spec.delta, shufflers)
        return {
            **found.to_json(),
            "minimum": spec.least,
            "claims": _claims(found.guarantees),
            "claims_of_minimum": _claims(few),
            "assumed": found.guarantees.server.assumed,
        }

    def _standing(self, kept: CollectionRow) -> dict[str, Any]:
        question, closes_at = self._document(kept)
        if kept.state in OVER:
            line: dict[str, Any] = {"state": kept.state, "reason": kept.reason, "waiting": None}
            line |= {"refused": [], "shufflers": []}
        else:
            line = status.status(self._workspace, [kept])[0].to_json()
        of = self._workspace.store.study_of(kept.digest)
        return {
            **line,
            "name": kept.name,
            "digest": kept.digest.hex(),
            "question": question,
            "closes_at": closes_at,
            "since": int(kept.since),
            "opened_at": kept.opened_at,
            "study": of and of.name,
            "has_result": kept.result is not None,
            "creating": self._creating.said(kept.name) if kept.state is State.DRAFT else None,
        }

    def _document(self, kept: CollectionRow) -> tuple[str, int]:
        if kept.digest not in self._said:
            document = self._workspace.signed(kept).document
            self._said[kept.digest] = document.question, document.closes_at
        return self._said[kept.digest]

    def _study(self, kept: StudyRow) -> dict[str, Any]:
        rounds = self._workspace.store.rounds(kept.name)
        return {
            "name": kept.name,
            "id": kept.id.hex(),
            "state": kept.state,
            "reason": kept.reason,
            "task": study.task_of(kept)["name"],
            "asked": len(rounds),
            "has_result": kept.result is not None,
            "created": int(kept.created),
        }

    def _is_study(self, name: str) -> bool:
        store = self._workspace.store
        return store.named(name) is None and store.study(name) is not None

    def _budgets(self) -> list[dict[str, Any]]:
        budget = self._workspace.config.budget
        if budget is None:
            return []
        # What is spent takes a while to compute, and changes with a collection's state alone.
        now = [(kept.digest, kept.state, kept.result is None) for kept in self._workspace.store.all()]
        for population in populations(self._workspace):
            if self._histories.get(population, (None,))[0] != now:
                self._histories[population] = now, history(self._workspace, population, budget)
        return [self._histories[population][1] for population in populations(self._workspace)]


def _claims(found: Guarantees) -> list[dict[str, Any]]:
    """ε against each coalition, and whether it rests on the shuffle."""
    shared = [
        {"name": name, "against": claim.coalition, "epsilon": claim.epsilon, "delta": claim.delta}
        for name, claim in (("ε_c", found.server), ("ε_s", found.users))
    ]
    return [*shared, {"name": "ε_l", "against": found.anyone, "epsilon": found.local, "delta": 0.0}]


def _spec(terms: Mapping[str, Any]) -> CollectionSpec:
    """As the command would read the same options."""
    return load(None, CollectionSpec, typed_settings(CollectionSpec, terms))


def _answered(answer: Answer) -> Callable[[ConsoleQuestion, Context], AsyncIterator[bytes]]:
    async def stream(question: ConsoleQuestion, _: Context) -> AsyncIterator[bytes]:
        try:
            found = {"answer": await answer(question)}
        except PeosError as error:
            found = {"refused": _refusal(error)}
        for piece in pieces(found):
            yield piece

    return stream


def _refusal(error: PeosError) -> dict[str, Any]:
    """An error as the commands print it with --json, and its class."""
    said = {"id": error.id, "error": error.sentence, "where": error.where, "hint": error.hint}
    return said | {"kind": type(error).__name__}
