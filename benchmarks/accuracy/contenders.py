"""Which mechanisms are compared: all in the registry that are not for small problems only."""

from collections.abc import Sequence

from benchmarks.accuracy.published import Figures, Published
from benchmarks.variants import Variant
from tallytree.mechanisms.cumulative_chain import CALIBRATIONS, CumulativeChain
from tallytree.mechanisms.registry import MECHANISMS

CHAIN = {
    calibration: Variant(CumulativeChain.name, {"calibration": calibration}) for calibration in CALIBRATIONS
}
"""The chain with the noise that its epsilon asks for ("sound"), and with the paper's ("published")."""


def list_contenders() -> list[Variant]:
    """In the order of the registry; the chain with both of its calibrations."""
    return [variant for kind in MECHANISMS if not kind.small for variant in _list_variants(kind.name)]


def needs_solver(variant: Variant) -> bool:
    """Whether its model goes to a general solver, which takes far longer than our own."""
    return bool(variant.make().solver_module)


def find_figures(variant: Variant, epsilon: str, published: Published) -> Figures | None:
    """What the paper measured for it, if ``published`` has it; its chain is the published one."""
    if variant == CHAIN["sound"]:
        return None
    return published.get(epsilon, {}).get(variant.make().symbol)


def _list_variants(name: str) -> Sequence[Variant]:
    return list(CHAIN.values()) if name == CumulativeChain.name else [Variant(name)]
