"""Post-processing of a published result, as result.json holds it: METHOD, or auto[:GOAL] for the best by simulation.

The analyst who published a result may post-process it, and so may any reader: nothing but the result is needed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from peos.errors import PeosError, WrongInput
from peos.estimate.frequency import Estimate, FrequencyOracle, estimate_frequencies
from peos.estimate.post_processing.applied import method_named, post_process
from peos.estimate.post_processing.simulation import choose_by_simulation, goal_in

AUTO: Final = "auto"
ASKED: Final = "METHOD|auto[:GOAL]"


def require(asked: str, domain: int) -> None:
    """Refuse what cannot be asked of a histogram of that many values."""
    kind, _, goal = asked.partition(":")
    if kind == AUTO:
        goal_in(goal or "values", domain)
    elif method_named(asked).answers_queries:
        raise WrongInput(
            "post_process.queries",
            f"{asked} answers queries about sets of values, and a result has a number for each value",
            hint="base_pos does the same to each value alone",
        )


def post_processed(found: Mapping[str, Any], asked: str) -> dict[str, Any]:
    """The entry "post_processed" of a result. Where it is simulated, the same result always gets the same choice."""
    estimate = _estimate(found)
    require(asked, len(estimate.frequency))
    kind, _, goal = asked.partition(":")
    method, notes = asked, list[str]()
    if kind == AUTO:
        rng = np.random.default_rng(int.from_bytes(str(found.get("digest")).encode()))
        choice = choose_by_simulation(estimate, goal or "values", rng=rng)
        raw, least = choice.errors["base"], choice.errors[choice.method]
        method = choice.method
        notes = [
            f"chosen by simulation for {choice.goal}: a mean squared error of {least:.2g} is expected, and of "
            f"{raw:.2g} of the raw estimates",
        ]
    made = post_process(estimate, method)
    return {
        "method": made.method,
        "frequency": made.frequency.tolist(),
        "asked": asked,
        "notes": [*notes, *made.notes],
    }


def _estimate(found: Mapping[str, Any]) -> Estimate:
    try:
        if "oracle" not in found:
            raise WrongInput(
                "post_process.older",
                "this result was published before results said how likely a report supports a value, which "
                "post-processing has to know",
                hint="its raw estimates stay as good as they are; newer results can be post-processed",
            )
        if found["oracle"] is None:
            raise WrongInput(
                "post_process.fitted",
                "the values of this result were fitted together to bits that they share, and methods of "
                "post-processing are for values that are counted each by itself",
                hint="its estimates stay as they are; other mechanisms' results can be post-processed",
            )
        oracle = FrequencyOracle(**{name: float(found["oracle"][name]) for name in ("p", "q", "u")})
        users, fakes = found["users"], found["fakes"]
        frequency = np.array(found["frequency"], dtype=np.float64)
        if frequency.shape != (len(found["labels"]),) or not frequency.size or not np.all(np.isfinite(frequency)):
            raise TypeError
        counts = np.rint(frequency * users * (oracle.p - oracle.q) + users * oracle.q + fakes * oracle.u)
        estimate = estimate_frequencies(oracle, counts.astype(np.int64), users=users, fakes=fakes)
    except PeosError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError):
        raise WrongInput(
            "input.result", "this is not a published result", hint="name the result.json that the analyzer published"
        ) from None
    return replace(estimate, frequency=frequency)  # as published, to the last digit
