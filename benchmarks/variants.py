"""Which mechanisms are timed, and with which options."""

import tallytree as tt
from tallytree.research.reproduction.paper_figures import Variant

DIRECT = Variant("direct-dp")
JOINT = Variant("cumulative-joint")
PLAIN_JOINT = Variant("cumulative-joint", {"smooth": False})
"""Model M_c for the noisy answers as they are, as the paper poses it."""

MORE = (
    PLAIN_JOINT,
    Variant("direct-dp", {"solver": "tables"}),
    Variant("cumulative-chain", {"solver": "tables"}),
    Variant("cumulative-chain", {"solver": "tables", "calibration": "published"}),
)
"""The paper's own algorithms and model; the chain's tables with the noise that it gave them as well."""


def list_variants() -> list[Variant]:
    """Every mechanism that is registered, with its defaults, each followed by its further variants."""
    return [
        variant
        for name in tt.list_mechanisms()
        for variant in (Variant(name), *(more for more in MORE if more.mechanism == name))
    ]
