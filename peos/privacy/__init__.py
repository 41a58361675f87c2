"""Privacy: what may be claimed of a collection, and which parameters to choose for it. Pure arithmetic.

Depends on `peos.ldp` and below.
"""

from peos.privacy.guarantees import Claim, Guarantees, guarantees
from peos.privacy.planner import Plan, plan

__all__ = ["Claim", "Guarantees", "Plan", "guarantees", "plan"]
