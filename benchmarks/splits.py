"""A mechanism with epsilon split unevenly over the levels."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.comparison import time_instances
from benchmarks.evidence import Evidence
from benchmarks.instances import make_nation, measure_counts
from benchmarks.timing import Timing
from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class SplitRun:
    """One split of epsilon: the best time, and the solution's evidence."""

    variant: Variant
    split: tuple[int, ...]
    """The levels' parts of epsilon, root first, in proportion."""
    epsilon: str
    timing: Timing
    evidence: Evidence

    @property
    def label(self) -> str:
        """The split as it is written."""
        return " : ".join(str(part) for part in self.split)


def run_splits(
    variants: Sequence[Variant], sizes: int, epsilon: str, splits: Sequence[tuple[int, ...]], rounds: int
) -> list[SplitRun]:
    """The invented nation, with each of the splits. To be called in a fresh process."""
    counts = make_nation(sizes)
    cases = [(variant, split) for split in splits for variant in variants]
    instances = [
        measure_counts(
            variant.make(), counts, epsilon, dict(zip(counts.hierarchy.levels, split, strict=True))
        )
        for variant, split in cases
    ]
    return [
        SplitRun(variant, split, epsilon, timing, evidence)
        for (variant, split), (timing, evidence) in zip(cases, time_instances(instances, rounds), strict=True)
    ]
