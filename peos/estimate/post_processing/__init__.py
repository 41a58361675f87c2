"""Frequencies after publication: consistent, and mostly closer to the truth. It costs no privacy.

    method        what a method of `peos.registry.POST_PROCESSING` is, and what comes of one
    applied       post_process
    baseline      base, base_pos, post_pos
    cut           base_cut, norm_cut
    norm          norm, norm_mul, norm_sub
    mle           mle_apx
    power         power, power_ns
    simulation    choose_by_simulation
    published     either of a result.json

All but base, norm and post_pos are biased. The raw estimates and their intervals stay what is published; no interval is
claimed for what comes of a method.
"""

from peos.estimate.post_processing.applied import post_process
from peos.estimate.post_processing.method import OF_THE_RAW, Method, PostProcessed
from peos.estimate.post_processing.simulation import Choice, choose_by_simulation

__all__ = ["OF_THE_RAW", "Choice", "Method", "PostProcessed", "choose_by_simulation", "post_process"]
