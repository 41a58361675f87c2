"""What a statement says: who sees what, what is guaranteed and assumed, what is kept how long, and what is spent."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from analyzer import study as studies
from analyzer.ledger import ledger_of, population_of, shown
from analyzer.report import guarantees as of_report
from analyzer.store import CollectionRow, StudyRow
from analyzer.workspace import Workspace
from peos.collection.cards import Card, plain_text
from peos.collection.document import Document, utc
from peos.collection.lifecycle import OVER, State
from peos.collection.study import StudyState
from peos.collection.summary import Summary
from peos.privacy.guarantees import Guarantees, guarantees, power, rounded_up, weakest
from peos.protocols import protocol_named
from peos.shuffle.schedule import Schedule
from peos.wire.parties import decode_card

_WITHOUT_LIMIT: Final = "its operator deletes it"


@dataclass(frozen=True)
class Sight:
    """One party: what it sees, and what it does not."""

    party: str
    sees: str
    unseen: str


@dataclass(frozen=True)
class Held:
    """What is guaranteed if so many users are counted, a card a coalition."""

    of: str
    cards: tuple[of_report.Card, ...]
    further: tuple[str, ...]  # claims that not every protocol makes


@dataclass(frozen=True)
class Kept:
    """Data, where it is, and until when."""

    what: str
    where: str
    until: str


@dataclass(frozen=True)
class Fingerprint:
    """What a party's card shows of its keys, as `peos card show` prints it."""

    party: str
    identity: str
    certificates: Mapping[str, str]


@dataclass(frozen=True)
class Statement:
    """One page, in the order in which it is read."""

    name: str
    kind: str  # collection or study
    state: str
    is_after: bool  # there is a result, or nothing more is asked
    written_at: int
    facts: Mapping[str, str]
    sights: tuple[Sight, ...]
    guarantees: tuple[Held, ...]
    assumed: tuple[str, ...]
    kept: tuple[Kept, ...]
    spent: tuple[str, ...]
    fingerprints: tuple[Fingerprint, ...]

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return asdict(self)


def statement(workspace: Workspace, name: str, now: float) -> Statement:
    """The statement of the collection or the study of that name, as it stands."""
    if workspace.store.named(name) is None and workspace.store.study(name) is not None:
        return _of_study(workspace, studies.kept(workspace, name), now)
    return _of_collection(workspace, workspace.kept(name), now)


def _of_collection(workspace: Workspace, kept: CollectionRow, now: float) -> Statement:
    document, cards = workspace.signed(kept).document, workspace.proposal(kept).cards
    result = json.loads(kept.result) if kept.result is not None else None
    if result is not None:
        held = [_realised(result)]
    else:
        few, many = document.claims(document.minimum), document.claims(kept.expected)
        held = [
            _held(f"If the {kept.expected:,} users who are expected are counted", many),
            _held(f"If no more than the minimum of {document.minimum:,} users are counted", few),
        ]
    asked = Summary.of(document)
    is_open = kept.opened_at is not None
    facts = {
        "Question": asked.question,
        **({"Epoch": asked.epoch} if asked.epoch else {}),
        "Asked of each user": asked.answers if asked.asked else f"one of: {asked.answers}",
        **({"Part of": asked.study} if asked.study else {}),
        "State": _state(kept.state, kept.reason, is_open=is_open),
        "Users": f"{result['users']:,} counted" if result else f"{kept.expected:,} expected",
        **_terms(document),
        "Digest": kept.digest.hex(),
    }
    return Statement(
        name=kept.name,
        kind="collection",
        state=kept.state,
        is_after=kept.state in OVER,
        written_at=int(now),
        facts=facts,
        sights=_sights(document.protocol.about.encrypted, cards),
        guarantees=tuple(held),
        assumed=_assumed(document.protocol.inspects, len(cards) - 1, cards[-1].name),
        kept=_retention(_Times.of(document), is_over=kept.state in OVER),
        spent=_spent(workspace, population_of(kept.request), kept.name),
        fingerprints=_fingerprints(cards),
    )


def _of_study(workspace: Workspace, study: StudyRow, now: float) -> Statement:
    rounds = workspace.store.rounds(study.name)
    spec = studies.spec_of(study)
    documents = [workspace.signed(one).document for one in rounds]
    if rounds:  # the organisations of the round that was asked last
        cards = workspace.proposal(rounds[-1]).cards
    else:
        cards = (*map(decode_card, workspace.config.signed_cards()), workspace.keys.card)
    shufflers = len(cards) - 1
    result = json.loads(study.result) if study.result is not None else None
    plans = spec.build(shufflers).plans
    if result is not None and result["guarantees"] is not None:
        held = [_realised(result)]
    else:
        planned = weakest([plan.guarantees for plan in plans])
        least = [spec.round(spec.name, plan.users, "").least for plan in plans]
        few = [
            guarantees(plan.mechanism, users, plan.fakes, spec.delta, shufflers)
            for plan, users in zip(plans, least, strict=True)
        ]
        held = [
            _held(f"Of the weakest round, if the {spec.users:,} users who are expected are counted", planned),
            _held(
                f"The same with no more than the minimum of a round, {min(least):,} users in the smallest",
                weakest(few),
            ),
        ]
    given = ", ".join(f"{name} {plain_text(str(value))}" for name, value in (spec.options or {}).items())
    facts = {
        **({"Question": spec.question} if spec.question else {}),
        **({"Epoch": spec.epoch} if spec.epoch else {}),
        "Task": spec.task + (f", with {given}" if given else ""),
        "State": f"{study.state}" + (f": {study.reason}" if study.reason else ""),
        "Rounds": f"{len(rounds)} asked; {len(plans)} or more are planned, and each user answers one of them"
        if study.state is StudyState.RUNNING
        else f"{len(rounds)} asked; each user answered one of them at most",
        "Users": f"{result['users']:,} counted" if result else f"{spec.users:,} expected",
        **(_terms(documents[-1]) if documents else {"δ": f"{power(spec.delta)}"}),
        "Study": study.id.hex(),
        **{f"Digest of {one.name}": one.digest.hex() for one in rounds},
    }
    protocol = protocol_named(spec.protocol)
    times = _Times.of(documents[-1]) if documents else _Times.unknown()
    is_over = study.state is not StudyState.RUNNING
    return Statement(
        name=study.name,
        kind="study",
        state=study.state,
        is_after=is_over,
        written_at=int(now),
        facts=facts,
        sights=_sights(protocol.about.encrypted, cards),
        guarantees=tuple(held),
        assumed=_assumed(protocol.inspects, shufflers, cards[-1].name),
        kept=_retention(times, is_over=is_over),
        spent=_spent(workspace, spec.population, study.name),
        fingerprints=_fingerprints(cards),
    )


@dataclass(frozen=True)
class _Times:
    """When users' data ends, in words."""

    shuffled: str
    erased: str

    @classmethod
    def of(cls, document: Document) -> "_Times":
        return cls(utc(document.shuffle_by), utc(document.erase_by))

    @classmethod
    def unknown(cls) -> "_Times":
        return cls("the round's time to shuffle", "the round's time to erase, which its document fixes")


def _realised(result: Mapping[str, Any]) -> Held:
    users = result["users"]
    title = f"For the {users:,} users who were counted" + (", of the weakest round" if result.get("task") else "")
    return Held(title, tuple(of_report.cards(result)), tuple(of_report.further(result)))


def _held(title: str, claims: Guarantees) -> Held:
    found = {"guarantees": {**claims.to_json(), "coalitions": list(claims.in_words())}}
    return Held(title, tuple(of_report.cards(found)), tuple(of_report.further(found)))


def _state(state: State, reason: str, *, is_open: bool) -> str:
    if state is State.DRAFT:
        return "draft: no user has been asked"
    if state is State.ABORTED:
        after = "users may have answered" if is_open else "no user had been asked"
        return f"aborted, {reason}; {after}, and there is no result"
    return str(state)


def _terms(document: Document) -> dict[str, str]:
    mechanism = document.mechanism
    return {
        "Minimum": f"{document.minimum:,} users; with fewer nothing is shuffled",
        "Fake reports": f"{document.fakes:,}, {document.protocol.about.fakes}",
        "Randomised by": f"{mechanism.described()}, ε_l = {rounded_up(mechanism.epsilon_local)}",
        "δ": f"{power(document.delta)}, the probability with which a guarantee that rests on the shuffle may fail",
        "Encrypted by": document.scheme,
        "Closes": f"{utc(document.closes_at)} at the latest",
    }


def _sights(encrypted: str, cards: Sequence[Card]) -> tuple[Sight, ...]:
    *shufflers, analyzer = (plain_text(card.name) for card in cards)
    return (
        Sight(
            "The user's device",
            "her answer, which it randomises; it sends the randomised report alone, cut into parts",
            "other users' answers",
        ),
        Sight(
            f"Each shuffler: {', '.join(shufflers[:-1])} and {shufflers[-1]}",
            "when a device sends, from which network address and how much; the random number on its ticket; one part "
            f"of each report ({encrypted} encrypted to the analyzer)",
            "any answer or report, also if all shufflers pool what they have; which row of the output is whose",
        ),
        Sight(
            f"The analyzer, {analyzer}",
            "every randomised report, users', its own dummies' and fakes' in one shuffled order; how many users there "
            "are; the tickets that it hands out, and so whom it invited",
            "any answer before it was randomised; which report is whose",
        ),
        Sight(
            "A reader of the result",
            "estimates with their intervals, how many users were counted, and these guarantees",
            "any single report",
        ),
        Sight("The network", "which device sends to which organisation, when and how much", "what is sent"),
    )


def _assumed(inspects: bool, shufflers: int, analyzer: str) -> tuple[str, ...]:
    few = Schedule(shufflers).colluders
    permuted = (
        "Shufflers permute as the protocol says. Reports that are lost or replaced are looked for by the analyzer's "
        + ("dummies, and by an inspection of their rows" if inspects else "dummies; no row is inspected")
        + "; a shuffler that deviates and works with the analyzer is outside these guarantees."
    )
    return (
        f"For ε_c and ε_s, at most {few} of the {shufflers} shufflers {'works' if few == 1 else 'work'} with the "
        "analyzer. If more do, ε_l is left.",
        f"For ε_c, the other users are honest. The analyzer, {plain_text(analyzer)}, mints the tickets, and could add "
        "users of its own; ε_s and ε_l do not count on other users.",
        permuted,
        "The organisations are independent. A user's client answers only where it knows the identity of each of them, "
        "listed below.",
        "A user's device runs the client of this project, unchanged. In a browser, the party that serves the page is "
        "trusted with the answer.",
        "Encryption, signatures and the generators of random numbers are as strong as believed, and each organisation "
        "controls its own machines.",
        "That a person took part is no secret, and what she gives away in several collections adds up.",
    )


def _retention(times: _Times, *, is_over: bool) -> tuple[Kept, ...]:
    ended = "erased when the collection ended" if is_over else f"published or aborted, {times.erased} at the latest"
    return (
        Kept("the answer", "the user's device, in memory", "it is randomised; it is never stored"),
        Kept("the parts of her report", "the user's device", "every shuffler has acknowledged them"),
        Kept("one part of each report", "each shuffler", f"the inspection has ended, {times.erased} at the latest"),
        Kept(
            "seeds and vectors of the shuffle",
            "each shuffler, encrypted if it has a passphrase",
            f"the inspection has ended; if nothing is delivered, {times.shuffled}",
        ),
        Kept(
            "48 bytes a user: the random number on her ticket, and a hash",
            "each shuffler, so that she can verify that she was counted",
            times.erased,
        ),
        Kept("the decryption key, and the shuffled reports", "the analyzer, the key encrypted", ended),
        Kept("the document, the ledger, the audit log, and the result", "the analyzer", _WITHOUT_LIMIT),
    )


def _spent(workspace: Workspace, population: str, name: str) -> tuple[str, ...]:
    budget = workspace.config.budget
    if budget is None:
        return (
            "The analyzer has set no budget: what its collections give away together is not added up here. Each "
            "user's own client keeps such an account, and refuses beyond her limit.",
        )
    ledger = ledger_of(workspace, population, budget)
    names = [release.name for release in ledger.releases]
    if not names:
        return (
            f"Nothing of the budget of ε = {budget.epsilon:g} at δ = {power(budget.delta)} is spent over the "
            f"population {shown(population)}.",
        )
    counted = "this one counted" if name in names else "this one not counted: no user has been asked"
    return (
        f"All collections and studies over the population {shown(population)} together ({len(names):,}; {counted}): "
        f"ε = {rounded_up(ledger.spent.epsilon)} of a budget of {budget.epsilon:g} at δ = {power(budget.delta)}, "
        "against the analyzer, alone or with few shufflers, for a user who answered all of them.",
        f"If all other users were the analyzer's, it would be ε = {rounded_up(ledger.spent_alone.epsilon)}.",
        "What has no result yet counts with its minimum of users.",
    )


def _fingerprints(cards: Sequence[Card]) -> tuple[Fingerprint, ...]:
    return tuple(
        Fingerprint(
            f"shuffler {number}, {plain_text(card.name)}" if card.is_shuffler else f"analyzer, {plain_text(card.name)}",
            card.identity.hex(),
            {
                port: hashlib.sha256(certificate).hexdigest()
                for port, certificate in (("peers", card.peer_certificate), ("users", card.user_certificate))
                if certificate
            },
        )
        for number, card in enumerate(cards, start=1)
    )
