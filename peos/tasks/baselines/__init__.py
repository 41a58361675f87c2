"""The papers' systems for marginals, ranges and joins, to be measured against: what is sent, and what is made of it."""

from peos.tasks.baselines.decompositions import rdc
from peos.tasks.baselines.hierarchies import categorical, hi, hio, mg, sc, weighted_fo
from peos.tasks.baselines.inputs import fc, ft, inp_ht, inp_htcms, inp_olh, inp_ps, inp_rr
from peos.tasks.baselines.joins import hio_join, sc_join, truncated
from peos.tasks.baselines.likelihood import em, inp_em
from peos.tasks.baselines.measures import ahio, ehio, hio_pub, hio_sum, sr_hio
from peos.tasks.baselines.tables import am, calm, marg_ht, marg_ps, marg_rr

__all__ = [
    "ahio",
    "am",
    "calm",
    "categorical",
    "ehio",
    "em",
    "fc",
    "ft",
    "hi",
    "hio",
    "hio_join",
    "hio_pub",
    "hio_sum",
    "inp_em",
    "inp_ht",
    "inp_htcms",
    "inp_olh",
    "inp_ps",
    "inp_rr",
    "marg_ht",
    "marg_ps",
    "marg_rr",
    "mg",
    "rdc",
    "sc",
    "sc_join",
    "sr_hio",
    "truncated",
    "weighted_fo",
]
