"""Facts on the page: parties, costs and checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from analyzer.report.formatting import NOT_RECORDED, moment, whole
from peos.ldp.base import symbol
from peos.privacy.guarantees import power, rounded_up
from peos.protocols import protocol_named
from peos.registry import KEYED, MECHANISMS, POST_PROCESSING, SCHEMES
from peos.tabular import epsilons

_NOT_MEASURED: Final[dict[str, Any]] = dict.fromkeys(("seconds", "sent", "received", "peak_rss"))
_GROUPS: Final = 8  # as many as a line holds
_ROLES: Final = ("analyzer", "users")
_CHECKS: Final = {
    "dummies": "Every dummy came out of the shuffle exactly. The analyzer had put these reports in and committed to "
    "them beforehand, so that lost or replaced reports would be noticed.",
    "conservation": "Every dummy came out of the shuffle exactly: nothing was lost, replaced or counted twice where "
    "it would show.",
    "digests": "All parts of the output came from one attempt at the shuffle, of parties that agree on "
    "everything said in it.",
    "inspection": "What the shufflers opened of their work, the dummies' rows step by step, shows no fault of any "
    "of them.",
    "everybody_counted": "Every user of the demonstration was counted.",
    "groups": "Each group of reports has as many as chance gives it. Users draw for themselves which question they "
    "answer; a group that is too large was flooded on purpose.",
    "complete": "The study was done before there were no users left to ask.",
    "found": "Everything that is frequent enough to be missed in one of a million runs only was found.",
    "estimates": "Every estimate lies within its bound of the truth.",
}
_OF_BITS: Final = (
    "The share of users that set it, as estimated of every bit, lies within its bound of the truth: values are fitted "
    "to these."
)


@dataclass(frozen=True)
class Check:
    """A check in words, and how it came out; `kind` is its look."""

    words: str
    kind: str
    outcome: str


@dataclass(frozen=True)
class Inspected:
    """How far the inspection went: that nothing was found says little if little was opened."""

    dummies: int
    closed: tuple[str, ...]


@dataclass(frozen=True)
class Processed:
    """A method of post-processing, what it does, and what it has to say."""

    method: str
    does: str
    notes: tuple[str, ...]


def facts(found: Mapping[str, Any]) -> dict[str, str]:
    """The question, its dates and the parties; the page lists the shufflers' names where they are recorded."""
    about, parameters = found.get("collection") or {}, found["parameters"]
    mechanism = MECHANISMS.get(parameters["mechanism"]) or KEYED.get(parameters["mechanism"])
    protocol = protocol_named(parameters["protocol"])
    return {
        "Question": about.get("question", NOT_RECORDED),
        **({"Epoch": about["epoch"]} if about.get("epoch") else {}),
        **_asked(found),
        "Published": moment(about.get("published_at")),
        "Open until": f"{moment(about.get('closes_at'))}, or until the analyst closed it",
        "Analyzer": about.get("analyzer", NOT_RECORDED),
        "Shufflers": f"{whole(parameters['shufflers'])}; names {NOT_RECORDED}",
        "Users counted": whole(found["users"]),
        "Minimum": f"{whole(about.get('minimum'))}; with fewer nothing would have been shuffled",
        "Dropped out": whole(
            found["dropped"], missing="not known: the analyzer does not see who gave up before the close"
        ),
        "Fake reports": f"{whole(found['fakes'])}, {protocol.about.fakes}",
        "Mechanism": mechanism.described() if mechanism else parameters["mechanism"],
        "Parameters": f"ε = {rounded_up(parameters['eps_local'])} of each user's own randomness, "
        f"δ = {power(parameters['delta'])}"
        + "".join(f", {symbol(name)} = {whole(value)}" for name, value in _shown(parameters).items()),
        "Encryption": protocol.about.encryption.format(scheme=_scheme(parameters["scheme"])),
    }


@dataclass(frozen=True)
class RoundShown:
    """One collection of a study, as the page shows it."""

    name: str
    state: str
    users: str
    groups: str
    epsilons: tuple[str, ...]


def rounds(found: Mapping[str, Any]) -> list[RoundShown]:
    """Every round of a study, those that were aborted too; nothing for a collection of its own."""
    return [_round(one) for one in found.get("rounds", ())] if found.get("task") else []


def _round(one: Mapping[str, Any]) -> RoundShown:
    if "guarantees" not in one:
        return RoundShown(one["name"], f"{one['state']}: {one['reason']}", "", "", ())
    claims = one["guarantees"]
    groups = ", ".join(f"{group['size']:,} ({100 * group['share']:.0f} %)" for group in one["groups"][:_GROUPS])
    more = len(one["groups"]) - _GROUPS
    groups = groups + (f" and {more} more" if more > 0 else "") if len(one["groups"]) > 1 else ""
    return RoundShown(one["name"], one["state"], whole(one["users"]), groups, tuple(map(rounded_up, epsilons(claims))))


def _asked(found: Mapping[str, Any]) -> dict[str, str]:
    """What was asked of a record: one value of a list, or what a study asks."""
    task = found.get("task")
    if not task:
        return {"Values": f"{whole(found['parameters']['domain'])} possible answers"}
    given = ", ".join(f"{name} {str(value)[:60]}" for name, value in task["parameters"].items())
    asked = (found.get("collection") or {}).get("asked", ())
    return {
        "Task": f"{task['name']}, with {given}" if given else task["name"],
        "Asked of each user": "one of: " + "; ".join(asked) if len(asked) > 1 else "".join(asked),
        "Tested": f"{whole(found['tested'])} candidates in the last level",
    }


def _scheme(name: str) -> str:
    return SCHEMES[name].title if name in SCHEMES else name


def processed(found: Mapping[str, Any]) -> Processed | None:
    """What was made of the estimates; nothing where they are as they were published."""
    made = found.get("post_processed")
    if made is None:
        return None
    method = POST_PROCESSING.get(made["method"])
    return Processed(str(made["method"]), method.about if method else NOT_RECORDED, tuple(map(str, made["notes"])))


def _shown(parameters: Mapping[str, Any]) -> Mapping[str, int]:
    """The mechanism's own; results from before they were listed have d' alone."""
    cells = parameters["d_prime"]
    shown: Mapping[str, int] = parameters.get("mechanism_parameters", {} if cells is None else {"d_prime": cells})
    return shown


def costs(found: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A row for each party, of nothing for one that was not measured."""
    measured = {str(row["party"]): row for row in found["cost"]}
    shufflers = [str(name) for name in (found.get("collection") or {}).get("shufflers", ())]
    lines = [
        # An organisation may call itself what it likes: a role's row is never taken for it.
        (f"shuffler {number} ({name})", {} if name in _ROLES else measured.get(name, {}))
        for number, name in enumerate(shufflers, start=1)
    ]
    others = [name for name in measured if name in _ROLES or name not in shufflers]
    lines += [(name, measured.get(name, {})) for name in dict.fromkeys([*others, *_ROLES])]
    return [(name, _NOT_MEASURED | row) for name, row in lines]


def checks(found: Mapping[str, Any]) -> list[Check]:
    """Every check of result.json, those that have no words here under their own names."""
    told = {"estimates": _OF_BITS} if found.get("bits") else {}
    return [_check(str(name), held, told) for name, held in found["checks"].items()]


def inspected(found: Mapping[str, Any]) -> Inspected | None:
    """How far the inspection went; nothing where there was none."""
    seen = found.get("inspection")
    if seen is None:
        return None
    names = dict(enumerate((found.get("collection") or {}).get("shufflers", ()), start=1))
    closed = (f"shuffler {who} ({names[who]})" if who in names else f"shuffler {who}" for who in seen["not_opened"])
    return Inspected(seen["dummies"], tuple(closed))


def _check(name: str, held: object, told: Mapping[str, str]) -> Check:
    words = told.get(name) or _CHECKS.get(name) or f"{name.replace('_', ' ').capitalize()}."
    match held:
        case True:
            return Check(words, "holds", "holds")
        case False:
            return Check(words, "fails", "FAILS")
        case None:
            return Check(words, "other", "not carried out")
        case _:
            return Check(words, "other", str(held))
