"""What is guaranteed to each user against each coalition, in words and numbers; and what is not."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from analyzer.report.values import Selection, about_found
from analyzer.report.words import text, whole
from peos.privacy.guarantees import HONEST, rounded_up
from peos.protocols import protocol_named
from peos.protocols.base import About

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
_LOCAL: Final = "Her own randomness (docs/privacy.md §0): it holds whoever works together."


def promises(found: Mapping[str, Any]) -> str:
    """A card for each coalition, and the terms explained."""
    claims = found["guarantees"]
    sentences = [str(sentence) for sentence in claims["coalitions"]]
    kinds: tuple[dict[str, Any], ...] = (claims["server"], claims["users"], {})
    cards = "".join(
        _card(sentence, name, sees, claim, claims["local"])
        for sentence, name, sees, claim in zip(sentences[: len(kinds)], _NAMES, _SEES, kinds, strict=True)
    )
    about = protocol_named(found["parameters"]["protocol"]).about
    return (
        "<p>Each card is about one group of parties that might turn against a user, and bounds what they can learn "
        "of her answer. ε measures how far what they see may depend on it: whatever they see is at most "
        "e<sup>ε</sup> times as likely with one answer as with another, but for a probability of at most δ. Smaller "
        "is better.</p>"
        f'<div class="cards">{cards}</div>{_together(found)}{_others(about, sentences[len(kinds) :])}'
        "<p>The shufflers alone, even all of them together, read nothing: "
        f"{text(about.encrypted)} encrypted to the analyzer.</p>"
    )


def _together(found: Mapping[str, Any]) -> str:
    """What all collections over the population come to, where the analyzer keeps a ledger."""
    seen = found.get("together")
    if seen is None or seen["collections"] == 1:
        return ""
    return (
        f'<p class="together"><strong>All {whole(seen["collections"])} collections over these users together,</strong> '
        f"as far as this analyzer counts them: for a user who answered all of them ε = {rounded_up(seen['server'])} at "
        f"δ = {seen['delta']:g} against the analyzer, alone or with few shufflers, if the other users are honest, and "
        f"ε = {rounded_up(seen['users'])} if all other users are the analyzer's. Its budget, for the former, is "
        f"{seen['budget']:g}.</p>"
    )


def _others(about: About, sentences: Sequence[str]) -> str:
    """A protocol's further claims, where it makes any."""
    if not about.further:
        return ""
    rows = "".join(f"<li>{text(sentence)}</li>" for sentence in sentences)
    first, comma, rest = about.further.partition(",")
    return f"<p><strong>{text(first + comma)}</strong>{text(rest)}</p><ul>{rows}</ul>"


def _card(sentence: str, name: str, sees: str, claim: Mapping[str, float | None], local: float) -> str:
    said, assumes, rest = sentence.partition(HONEST)
    assumed = f' <p class="assumed">{text(assumes + rest)}</p>' if assumes else ""
    who = sentence.removeprefix("Against ").partition(":")[0]
    ways = ((claim.get("theorem"), _THEOREM), (claim.get("exact"), _EXACT), (local, _LOCAL))
    epsilon, because = min((value, because) for value, because in ways if value is not None)
    # ε_l holds with δ = 0: no part of it rests on what is hidden by others.
    delta = float(claim["delta"] or 0.0) if because is not _LOCAL else 0.0
    return (
        f'<article class="card"><h3>{text(who[:1].upper() + who[1:])}</h3><p class="figures">'
        f'<span>{name} = <b class="epsilon">{rounded_up(epsilon)}</b></span> '
        f'<span>δ = <b class="delta">{delta:g}</b></span></p><p>{sees}</p>'
        f"<p>Of two answers that they hold equally likely beforehand, they can name the right one in at most "
        f'<b class="guess">{guess(epsilon, delta)}</b> of 100 cases; by guessing it is 50.</p>'
        f'<p class="rests"><strong>Rests on:</strong> {because}</p>'
        f'<p class="verbatim"><strong>The claim:</strong> {text(said.rstrip())}</p>{assumed}</article>'
    )


def guess(epsilon: float, delta: float) -> str:
    """The best chance of telling two equally likely answers apart under (ε, δ), (e^ε + δ)/(e^ε + 1), rounded up."""
    chance = 1 / (1 + math.exp(-epsilon)) + delta / (1 + math.exp(epsilon))
    return f"{min(100.0, math.ceil(1000 * chance) / 10):.1f}"


def limits(selection: Selection, about: About) -> str:
    """What nobody should read into the numbers."""
    points = (
        *(f"<strong>{text(first)}</strong> {text(more)}" for first, more in about.limits),
        "<strong>That somebody took part is not hidden.</strong> Shufflers and networks see who sends, when and "
        "how much.",
        "<strong>Shufflers are taken to permute as the protocol says.</strong> Lost and replaced reports are looked "
        "for, see what was checked; a shuffler that deviates and works with the analyzer is outside these guarantees "
        "(docs/limitations.md).",
        "<strong>The guarantees are for this collection.</strong> What a user gives away in several adds up; her own "
        "client keeps that account, and refuses beyond the limit that she set.",
        "<strong>Intervals cover the noise that was added for privacy,</strong> not who chose to take part, nor "
        "whether the answers are true: the numbers are about the users who were counted.",
        about_found(selection),
    )
    return f"<ul>{''.join(f'<li>{point}</li>' for point in points)}</ul>"
