"""Questions that are more than one value of a list: what each user is asked, and what is made of the answers.

    task = treehist(bits=48, k=32, users=500_000, delta=1e-9, eps_server=0.08)
    answer = peos.simulate.run_study(task, records)

A task is one file, and a view is one dataclass.
"""

from peos.tasks.channels import Channels, channels
from peos.tasks.prefix_search import PrefixSearch, frequent_texts, pem, pem1, treehist
from peos.tasks.segments import SegmentPairs, segment_pairs

__all__ = [
    "Channels",
    "PrefixSearch",
    "SegmentPairs",
    "channels",
    "frequent_texts",
    "pem",
    "pem1",
    "segment_pairs",
    "treehist",
]
