"""Guarantees to each user against each coalition, a card for each; and those of several collections together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from analyzer.report.formatting import capitalised
from peos.privacy.guarantees import HONEST

_SEES: Final = (
    "They see every randomised report, users' and fakes' in one shuffled order, and not which is whose.",
    "They also know every other user's report and answer. Hers is hidden among the fakes alone.",
    "They may know which report came from which user. What is left is the randomness of her own device.",
)
_NAMES: Final = ("ε_c", "ε_s", "ε_l")
_THEOREM: Final = (
    "The shuffle, by a closed formula: theorem 3.1 of Balle, Bell, Gascón and Nissim (CRYPTO 2019), as thesis §9.3 "
    "applies it (docs/privacy.md §1)."
)
_EXACT: Final = "The shuffle, by exact accounting (docs/privacy.md §2)."
_LOCAL: Final = "Her own randomness (docs/privacy.md §0): it holds whichever parties collude."


@dataclass(frozen=True)
class Card:
    """The claim about one coalition."""

    against: str
    name: str
    epsilon: float
    delta: float
    sees: str
    because: str
    assumes: str
    guess: str


def cards(found: Mapping[str, Any]) -> list[Card]:
    """A card for each coalition."""
    guaranteed = found["guarantees"]
    kinds: tuple[dict[str, Any], ...] = (guaranteed["server"], guaranteed["users"], {})
    return [
        _card(sentence, name, sees, claim, guaranteed["local"])
        for sentence, name, sees, claim in zip(claims(found), _NAMES, _SEES, kinds, strict=True)
    ]


def claims(found: Mapping[str, Any]) -> list[str]:
    """What is claimed of each coalition, in the words of result.json."""
    return [str(sentence) for sentence in found["guarantees"]["coalitions"][: len(_NAMES)]]


def further(found: Mapping[str, Any]) -> list[str]:
    """The claims that not every protocol makes."""
    return [str(sentence) for sentence in found["guarantees"]["coalitions"][len(_NAMES) :]]


def together(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Guarantees of all collections of the population, where the analyzer keeps a ledger and there are several."""
    seen: Mapping[str, Any] | None = found.get("together")
    return None if seen is None or seen["collections"] == 1 else seen


def _card(sentence: str, name: str, sees: str, claim: Mapping[str, float | None], local: float) -> Card:
    _, assumes, rest = sentence.partition(HONEST)
    ways = ((claim.get("theorem"), _THEOREM), (claim.get("exact"), _EXACT), (local, _LOCAL))
    epsilon, because = min((value, because) for value, because in ways if value is not None)
    # ε_l holds with δ = 0: no part of it rests on what is hidden by others.
    delta = float(claim["delta"] or 0.0) if because is not _LOCAL else 0.0
    return Card(
        against=capitalised(sentence.removeprefix("Against ").partition(":")[0]),
        name=name,
        epsilon=epsilon,
        delta=delta,
        sees=sees,
        because=because,
        assumes=assumes + rest,
        guess=guess(epsilon, delta),
    )


def guess(epsilon: float, delta: float) -> str:
    """The best chance of telling two equally likely answers apart under (ε, δ), (e^ε + δ)/(e^ε + 1), rounded up."""
    chance = 1 / (1 + math.exp(-epsilon)) + delta / (1 + math.exp(epsilon))
    return f"{min(100.0, math.ceil(1000 * chance) / 10):.1f}"
