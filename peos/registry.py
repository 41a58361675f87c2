"""Mechanisms, encryption schemes, shuffle protocols and methods of post-processing: a line for each, in no other list.

    MECHANISMS["grr"]       # the class, loaded when it is first asked for
    MECHANISMS.choices      # "grr|solh|…", for which nothing is loaded: a command's --help need not wait

What is not here is refused wherever it is named. Each says all that there is to say of it (`peos.ldp.base.Mechanism`,
`peos.crypto.schemes.base.Scheme`, `peos.protocols.base.ShuffleProtocol`).
"""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from peos.crypto.schemes.base import Scheme
    from peos.estimate.post_processing.method import Method
    from peos.ldp.base import Mechanism
    from peos.protocols.base import ShuffleProtocol
    from peos.tasks.kinds import TaskKind
    from peos.tasks.views import View

T = TypeVar("T")


class Registry(MutableMapping[str, T]):
    """From a name to what has it: an object, or where one is defined as "module:name"."""

    def __init__(self, homes: dict[str, str]) -> None:
        self._known: dict[str, str | T] = dict(homes)

    def __getitem__(self, name: str) -> T:
        found: Any = self._known[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = self._known[name] = getattr(import_module(module), attribute)
        thing: T = found
        return thing

    def __setitem__(self, name: str, thing: T) -> None:
        self._known[name] = thing

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def choices(self) -> str:
        """All names, as a command's help shows them."""
        return "|".join(self)


MECHANISMS: Final[Registry[type["Mechanism"]]] = Registry(
    {
        "grr": "peos.ldp.grr:GRR",
        "solh": "peos.ldp.local_hash:LocalHash",
        "sue": "peos.ldp.sue:SUE",
        "hadamard": "peos.ldp.hadamard:HadamardResponse",
        "subset": "peos.ldp.subset:SubsetSelection",
        "olh": "peos.ldp.olh:OLH",
        "blh": "peos.ldp.olh:BLH",
        "ue": "peos.ldp.ue:UE",
        "oue": "peos.ldp.ue:OUE",
        "the": "peos.ldp.the:THE",
        "rmp": "peos.ldp.rmp:RandomMatrixProjection",
        "rappor": "peos.ldp.rappor:RAPPOR",
    }
)
"""By the name that planners are asked for. It is the one in documents too, but for one that makes another's members
only, such as olh those of solh: documents name what anybody can make of their integers."""

KEYED: Final[Registry[type["Mechanism"]]] = Registry(
    {
        "grouped_hash": "peos.ldp.grouped_hash:GroupedHash",
        "grouped_tables": "peos.ldp.grouped_tables:GroupedTables",
        "sampled_grr": "peos.ldp.sampled:SampledGRR",
        "sampled_hash": "peos.ldp.sampled:SampledHash",
    }
)
"""Whose reports are of keys, cells or sets and not of a list's values: for tasks (`peos.tasks`)."""

LOCAL_ONLY: Final[Registry[type["Mechanism"]]] = Registry({"she": "peos.ldp.she:SHE"})
"""For Python alone: no document may name them, and each says why."""

SCHEMES: Final[Registry[type["Scheme"]]] = Registry(
    {
        "paillier": "peos.crypto.schemes.paillier:Paillier",
        "dgk": "peos.crypto.schemes.dgk:DGK",
        "jl": "peos.crypto.schemes.joye_libert:JoyeLibert",
    }
)
"""The default first."""

DEFAULT_SCHEME: Final = next(iter(SCHEMES))

PROTOCOLS: Final[Registry["ShuffleProtocol"]] = Registry(
    {
        "peos": "peos.protocols.peos:PEOS",
        "ss": "peos.protocols.sequential:SEQUENTIAL",
    }
)
"""First the protocol of a document that names none."""

DEFAULT_PROTOCOL: Final = next(iter(PROTOCOLS))

POST_PROCESSING: Final[Registry["Method"]] = Registry(
    {
        "base": "peos.estimate.post_processing.baseline:BASE",
        "base_pos": "peos.estimate.post_processing.baseline:BASE_POS",
        "post_pos": "peos.estimate.post_processing.baseline:POST_POS",
        "base_cut": "peos.estimate.post_processing.cut:BASE_CUT",
        "norm": "peos.estimate.post_processing.norm:NORM",
        "norm_mul": "peos.estimate.post_processing.norm:NORM_MUL",
        "norm_sub": "peos.estimate.post_processing.norm:NORM_SUB",
        "norm_cut": "peos.estimate.post_processing.cut:NORM_CUT",
        "mle_apx": "peos.estimate.post_processing.mle:MLE_APX",
        "power": "peos.estimate.post_processing.power:POWER",
        "power_ns": "peos.estimate.post_processing.power:POWER_NS",
    }
)
"""What may be done to published frequencies."""

VIEWS: Final[Registry[type["View"]]] = Registry(
    {
        "value": "peos.tasks.views:ValueView",
        "candidates": "peos.tasks.views:CandidatesView",
        "prefix": "peos.tasks.text_views:PrefixView",
        "segment": "peos.tasks.text_views:SegmentView",
        "pair": "peos.tasks.text_views:PairView",
        "channel": "peos.tasks.text_views:ChannelView",
        "items": "peos.tasks.items.views:ItemsView",
        "size": "peos.tasks.items.views:SizeView",
        "subsets": "peos.tasks.items.views:SubsetsView",
        "attributes": "peos.tasks.cell_views:AttributesView",
        "level": "peos.tasks.cell_views:LevelView",
        "grid": "peos.tasks.cell_views:GridView",
        "rounded": "peos.tasks.measure_views:RoundedView",
        "packed": "peos.tasks.measure_views:PackedView",
    }
)
"""What may be asked of a record, by the kinds that documents name."""

TASKS: Final[Registry["TaskKind"]] = Registry(
    {
        "heavy-hitters": "peos.tasks.frequent_texts:HEAVY_HITTERS",
        "items": "peos.tasks.items.kinds:ITEMS",
        "item-sets": "peos.tasks.items.kinds:ITEM_SETS",
        "marginals": "peos.tasks.marginals.kind:MARGINALS",
        "ranges": "peos.tasks.ranges.kind:RANGES",
    }
)
"""What a study may ask."""
