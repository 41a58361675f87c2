"""`heavy-hitters`: which texts are frequent, by one of the searches (see prefix_search, segments, channels)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from peos.errors import WrongInput
from peos.tasks.base import Task
from peos.tasks.channels import HASH
from peos.tasks.kinds import Option, TaskKind
from peos.tasks.linked import LinkedHASH, LinkedSPM
from peos.tasks.planning import Targets
from peos.tasks.prefix_search import heavy_hitters, pem, pem1, treehist
from peos.tasks.private_trie import PrivTrie
from peos.tasks.segments import SPM

_ALGORITHMS: Final[Mapping[str, Callable[..., Task]]] = {
    "treehist": treehist,
    "pem": pem,
    "pem1": pem1,
    "spm": SPM,
    "hash": HASH,
}
_IN_MEMORY: Final[Mapping[str, type[Any]]] = {
    "linked-spm": LinkedSPM,
    "linked-hash": LinkedHASH,
    "privtrie": PrivTrie,
}
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_WORDS: Final = 200
_ZIPF: Final = 1.2


def _build(given: Mapping[str, Any], targets: Targets) -> Task:
    if given["algorithm"] == "default":
        return heavy_hitters(given["bytes"], given["top"], beam=given["beam"], **targets)
    if given["algorithm"] in _IN_MEMORY:
        raise WrongInput(
            "task.in_memory", _IN_MEMORY[given["algorithm"]].in_memory, hint="it is for comparisons in Python"
        )
    if given["algorithm"] not in _ALGORITHMS:
        raise WrongInput(
            "task.algorithm",
            f"there is no search {given['algorithm'][:80]!r} for frequent texts",
            hint=f"it is one of default, {', '.join(_ALGORITHMS)}",
        )
    if given["beam"] is not None:
        raise WrongInput("task.beam", "a beam is kept by the default search", hint="leave it out, or --algorithm")
    return _ALGORITHMS[given["algorithm"]](8 * given["bytes"], given["top"], **targets)


def _words(given: Mapping[str, Any], users: int, seed: int | None) -> Sequence[object]:
    """Zipf over random words of the full length."""
    seeded = np.random.default_rng(seed)  # what a demo pretends is no secret
    named = sorted({"".join(seeded.choice(list(_LETTERS), given["bytes"])) for _ in range(_WORDS)})
    chances = 1.0 / np.arange(1, len(named) + 1) ** _ZIPF
    words: list[object] = [str(word) for word in seeded.permutation(named)]
    return [words[one] for one in seeded.choice(len(words), users, p=chances / chances.sum()).tolist()]


HEAVY_HITTERS: Final = TaskKind(
    name="heavy-hitters",
    about="frequent texts that no list has",
    question="Which text is yours?",
    options=(
        Option("bytes", int, "Most bytes of a text; longer ones are cut."),
        Option("top", int, "Number of texts wanted.", 8),
        Option("algorithm", str, f"Search: default, {', '.join(_ALGORITHMS)}.", "default"),
        Option("beam", int, "Number of prefixes kept, of the default search [default: 4 for each text wanted].", None),
    ),
    build=_build,
    demo={"users": 6_000, "bytes": 3, "top": 8},
    records=_words,
)
