"""The growth and the memory of one variant."""

from functools import partial

from benchmarks.attempts import Missing, attempt, tell
from benchmarks.memory import measure_memory
from benchmarks.report import Growth
from benchmarks.scaling import measure_scaling
from benchmarks.settings import Settings
from tallytree.research.reproduction.paper_figures import Variant


def measure_growth(variant: Variant, settings: Settings, repeats: int, missing: list[Missing]) -> Growth:
    """At all numbers of sizes; the memory at the largest."""
    tell(f"{variant.label}, all sizes")
    sizes, epsilons = settings.scaling_sizes, settings.scaling_epsilons
    scaling = measure_scaling(variant, sizes, epsilons, repeats=repeats)
    memory = attempt(
        f"memory of {variant.label}, {settings.largest} sizes",
        partial(measure_memory, variant, settings.largest, epsilons[0]),
        missing,
    )
    return Growth(variant.label, repeats, scaling, memory)
