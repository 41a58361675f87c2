"""What a shuffler's operator lets an analyzer ask: the rules under which a collection document is accepted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from peos.collection.document import Document
from peos.errors import Refused
from peos.privacy.guarantees import Claim, power, rounded_up
from peos.protocols import NEEDS_NO_LEAVE

DAY: Final = 86_400.0  # seconds
PER_QUESTION: Final = 4
PER_ANALYZER: Final = 32


@dataclass(frozen=True)
class Policy:
    """An operator's limits. The analyzers are identity keys; a guarantee weaker than the limits is not worth a name.

    A document makes no claims that would have to be believed: mechanism, δ, fakes and minimum are all there is to
    know, and what they guarantee is computed here, for the fewest users that it allows.
    """

    analyzers: tuple[bytes, ...]
    most_eps_local: float
    least_reports: int
    least_fakes: int = 0
    protocols: tuple[str, ...] = NEEDS_NO_LEAVE  # others protect less
    most_eps_server: float | None = None
    most_eps_users: float | None = None
    most_fakes: int = 100_000_000
    most_days: float = 90.0
    most_open: int = 64
    most_per_question_and_day: int = PER_QUESTION
    most_per_analyzer_and_day: int = PER_ANALYZER
    views: tuple[str, ...] | None = None  # kinds of what may be asked of a record; None: all that are known

    def check(self, document: Document, *, me: bytes, now: float, open_: int = 0) -> int:
        """Refuse what the operator would not run; returns this shuffler's number in the document.

        `open_` is how many collections of this analyzer are not over yet.

        That a question is answered once an epoch is the store's to refuse, which knows what was delivered.
        """
        if document.analyzer.identity not in self.analyzers:
            raise _refused(
                "policy.analyzer",
                f"the analyzer {document.analyzer.name} is not known here",
                "add its card to the policy",
            )
        identities = [member.identity for member in document.shufflers]
        if me not in identities:
            raise _refused(
                "policy.not_named",
                "the document does not name this shuffler",
                "check which shufflers the analyzer configured",
            )
        if document.protocol.name not in self.protocols:
            raise _refused(
                "policy.protocol",
                f"its protocol is {document.protocol.name}, here it must be {' or '.join(self.protocols)}",
                "ask for another protocol, or allow this one in the policy",
            )
        others = {view.kind: None for view in document.asked if self.views is not None and view.kind not in self.views}
        if others:
            raise _refused(
                "policy.views",
                f"it asks for {' and '.join(others)}, here it must be {' or '.join(self.views or ())}",
                "ask otherwise, or allow these views in the policy",
            )
        epsilon = document.mechanism.epsilon_local
        if epsilon > self.most_eps_local:
            raise _refused(
                "policy.eps_local",
                f"its ε_l is {epsilon:.4g}, the limit here is {self.most_eps_local:.4g}",
                "ask for less",
            )
        if document.minimum < self.least_reports:
            raise _refused(
                "policy.minimum",
                f"its minimum is {document.minimum} reports, here it must be {self.least_reports}",
                "raise the minimum",
            )
        if document.fakes < self.least_fakes:
            raise _refused(
                "policy.few_fakes", f"it has {document.fakes} fakes, here there must be {self.least_fakes}", "add fakes"
            )
        if document.fakes > self.most_fakes:
            raise _refused(
                "policy.many_fakes",
                f"it has {document.fakes} fakes, at most {self.most_fakes} are made here",
                "ask for fewer",
            )
        if document.erase_by > now + self.most_days * DAY:
            raise _refused(
                "policy.duration",
                f"it may last {(document.erase_by - now) / DAY:,.1f} days until everything of it is erased, the limit "
                f"here is {self.most_days:g}",
                "let it be shuffled and erased sooner",
            )
        if open_ >= self.most_open:
            raise _refused(
                "policy.open",
                f"{open_} collections of this analyzer are not over yet, the limit here is {self.most_open}",
                "wait until some are over, or abort what is not needed any more",
            )
        if document.closes_at <= now:
            raise _refused(
                "policy.closed",
                f"it has closed already, {document.closing(now)}",
                "set the clock that is wrong, or create another collection",
            )
        self._check_guarantees(document)
        return identities.index(me) + 1

    def check_often(self, document: Document, asked: Sequence[str]) -> None:
        """Refuse a collection too many; `asked` are the questions of its analyzer that came within a `DAY`.

        Two collections whose users differ by one person differ, in what they show, by her report and by everybody's
        fresh randomness. Each such pair tells a little; a hundred of them tell her value. So they are few a day, by
        question, whatever the epoch, and by analyzer, who could word one question in many ways.
        """
        same = sum(_same(question) == _same(document.question) for question in asked)
        for found, most, of, key in (
            (same, self.most_per_question_and_day, "this question", "most_per_question_and_day"),
            (len(asked), self.most_per_analyzer_and_day, "this analyzer", "most_per_analyzer_and_day"),
        ):
            if found >= most:
                raise _refused(
                    "policy.often",
                    f"{found} of {of} came here within a day, the limit is {most}",
                    f"ask a day later, or ask the operator for a higher `{key}`",
                )

    @staticmethod
    def needs_no_word(document: Document, accepted: Document) -> bool:
        """Whether who accepted one round of a study by hand has accepted this round too.

        It is if the same analyzer asks the same question through the same shufflers, of other places, and if each
        claim is at least as strong.
        """
        here, there = document.study, accepted.study
        if here is None or there is None or here.id != there.id:
            return False
        if max(here.first, there.first) < min(here.end, there.end):  # one user could be asked twice
            return False
        if here.asked_in(document.question) != there.asked_in(accepted.question) or any(
            getattr(document, name) != getattr(accepted, name)
            for name in ("analyzer", "shufflers", "protocol", "enrolment_key")
        ):
            return False
        mine, theirs = (one.claims(one.minimum) for one in (document, accepted))
        pairs = ((mine.server, theirs.server), (mine.users, theirs.users))
        return mine.local <= theirs.local and all(
            new.epsilon <= old.epsilon and new.delta <= old.delta for new, old in pairs
        )

    def _check_guarantees(self, document: Document) -> None:
        if self.most_eps_server is None and self.most_eps_users is None:
            return
        found = document.claims(document.minimum)  # which its dummies do not count towards (check_minimum)
        for claim, most in ((found.server, self.most_eps_server), (found.users, self.most_eps_users)):
            if most is not None and claim.epsilon > most:
                raise _refused(
                    "policy.guarantee",
                    _too_weak(claim, document.minimum, most),
                    "ask for a higher minimum, or more fakes",
                )


def _too_weak(claim: Claim, minimum: int, most: float) -> str:
    return (
        f"with its minimum of {minimum} reports, ε against {claim.coalition} would be {rounded_up(claim.epsilon)} at "
        f"δ = {power(claim.delta)}, the limit here is {most:.4g}"
    )


def _same(question: str) -> str:
    """A question without what is not seen: blanks and capitals."""
    return " ".join(question.split()).casefold()


def _refused(id_: str, sentence: str, hint: str) -> Refused:
    return Refused(id_, f"the collection is not accepted: {sentence}", hint=hint)
