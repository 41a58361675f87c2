"""Questions that are more than one value of a list: what each user is asked, and what is made of the answers.

    task = heavy_hitters(bytes=6, k=32, users=500_000, delta=1e-9, eps_server=0.08)
    answer = peos.simulate.run_study(task, records)

A task is one file, and a view is one dataclass. They are loaded when they are asked for: a user's client needs views,
and none of what plans and decodes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from peos.tasks.channels import HASH
    from peos.tasks.items.ldp_miner import LDPMiner
    from peos.tasks.items.svim import SVIM
    from peos.tasks.items.svsm import SVSM
    from peos.tasks.items.svsm_ldp_miner import SVSMLDPMiner
    from peos.tasks.linked import LinkedHASH, LinkedSPM
    from peos.tasks.marginals.task import Marginals
    from peos.tasks.prefix_search import PrefixSearch, heavy_hitters, pem, pem1, treehist
    from peos.tasks.private_trie import PrivTrie
    from peos.tasks.query import Where
    from peos.tasks.ranges.strata import Strata
    from peos.tasks.ranges.task import Packed, Ranges
    from peos.tasks.schema import Schema
    from peos.tasks.segments import SPM

__all__ = [
    "HASH",
    "SPM",
    "SVIM",
    "SVSM",
    "LDPMiner",
    "LinkedHASH",
    "LinkedSPM",
    "Marginals",
    "Packed",
    "PrefixSearch",
    "PrivTrie",
    "Ranges",
    "SVSMLDPMiner",
    "Schema",
    "Strata",
    "Where",
    "heavy_hitters",
    "pem",
    "pem1",
    "treehist",
]

_HOMES: Final = {
    "channels": ("HASH",),
    "items.ldp_miner": ("LDPMiner",),
    "items.svim": ("SVIM",),
    "items.svsm": ("SVSM",),
    "items.svsm_ldp_miner": ("SVSMLDPMiner",),
    "linked": ("LinkedHASH", "LinkedSPM"),
    "marginals.task": ("Marginals",),
    "prefix_search": ("PrefixSearch", "heavy_hitters", "pem", "pem1", "treehist"),
    "private_trie": ("PrivTrie",),
    "query": ("Where",),
    "ranges.strata": ("Strata",),
    "ranges.task": ("Packed", "Ranges"),
    "schema": ("Schema",),
    "segments": ("SPM",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(f"peos.tasks.{home}")
            globals().update({each: getattr(module, each) for each in names})
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
