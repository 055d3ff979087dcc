"""Mechanisms of this package as solvers: for the same models with whole numbers."""

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.solvers.outcome import Outcome, Posed, Prepare, Solve
from tallytree.privacy.queries import CUMULATIVE
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.solvers.solution import Solution


def prepare_variant(variant: Variant, effort: str) -> Prepare:
    """The mechanism instead of the instance's own; ``effort`` is what it counts."""
    return partial(_prepare, variant, effort)


def _prepare(variant: Variant, effort: str, posed: Posed) -> Solve:
    instance = replace(posed.instance, method=variant.make())

    def solve() -> Outcome:
        solution = instance.solve()
        return Outcome(
            y=_list_answers(solution, cumulative=instance.method.query == CUMULATIVE) + posed.program.lower,
            solved=True,
            status="optimal",
            iterations=solution.effort[effort],
            setup_seconds=0.0,
        )

    return solve


def _list_answers(solution: Solution, *, cumulative: bool) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    levels = [level.cumsum(axis=1) if cumulative else level for level in solution.counts]
    return np.concatenate([level.reshape(-1) for level in levels])
