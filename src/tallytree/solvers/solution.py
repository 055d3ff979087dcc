"""What a mechanism's post-processing returns: counts with evidence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_WEIGHT_SUM, cut_rows, get_rows, get_shape

# The objective of the tree models, exact: weights and sums of squares as whole numbers.

Ints = npt.NDArray[np.int64]


def weigh_levels(scales: Sequence[Fraction], *, most: int = MAX_WEIGHT_SUM) -> Ints:
    """Return the levels' weights, in proportion to 1 / scale^2, as the smallest whole numbers.

    The less noise a level has, the more it counts (inverse variance). With the paper's even split all
    weights are 1, and the objective is its (H1). Weights are rounded if their ratios need whole numbers
    that add up to more than ``most`` (no split in thousandths does).

    >>> weigh_levels([Fraction(6), Fraction(3)]).tolist()
    [1, 4]
    """
    shares = [1 / scale**2 for scale in scales]
    denominator = lcm(*(share.denominator for share in shares))
    exact = [int(share * denominator) for share in shares]
    exact = [weight // gcd(*exact) for weight in exact]
    if sum(exact) > most:
        room = most - len(exact)  # each may round up
        exact = [max(1, round(Fraction(weight * room, sum(exact)))) for weight in exact]
    return np.array(exact, dtype=np.int64)


def add_weighted_squares(counts: Sequence[Ints], noisy: Sequence[Ints], weights: Ints) -> int:
    """Return (H1) with level weights: the sum of w_level (n^ - n~)^2, in exact arithmetic."""
    return sum(int(weight) * sum_squares(n - t) for weight, n, t in zip(weights, counts, noisy, strict=True))


def add_squares_at(
    counts: Sequence[Ints], noisy: Sequence[Ints], weights: Ints, answer: Callable[[Ints], Ints]
) -> int:
    """Return the weighted sum of squares at released counts, whose answers ``answer`` computes row by row."""
    total = 0
    for level, weight in enumerate(weights.tolist()):
        for start, stop in cut_rows(*get_shape(noisy, level)):
            off = answer(get_rows(counts, level, start, stop)) - get_rows(noisy, level, start, stop)
            total += weight * sum_squares(off)
    return total


def sum_squares(values: Ints) -> int:
    """Return the exact sum of squares."""
    flat = values.reshape(-1)
    largest = max(int(flat.max(initial=0)), -int(flat.min(initial=0)))
    if largest**2 * flat.size < 2**63:
        return int(np.dot(flat, flat))
    return sum(value * value for value in flat.tolist())


@dataclass(frozen=True)
class Certificate:
    """Whether a feasible point is optimal, by checking all single exchanges."""

    slack: int
    """The least slack of any node: negative exactly when some exchange improves the objective."""

    @property
    def optimal(self) -> bool:
        """Whether no single exchange improves the objective."""
        return self.slack >= 0


@dataclass(frozen=True)
class Evidence:
    """How good given counts are by a mechanism's own objective, as stated in a solution."""

    objective: int
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Accuracy:
    """How near a relaxed solution is to the optimum of its model."""

    gap: float
    """The gap between its objective and a lower bound, relative to the bound."""
    primal_residual: float
    """The most groups by which a total is missed."""
    dual_residual: float
    """The largest violation of a leaf's optimality condition, in groups by which its target would move."""
    bound: float
    """A lower bound on the relaxed model's objective at any counts that add up, whole or not."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The counts n^ and how good they are by the mechanism's own objective."""

    counts: Sequence[Ints]
    """Regions x sizes for each level, root first."""
    objective: int
    """The mechanism's objective at the counts, exactly."""
    certificate: Certificate | None
    """Evidence that the counts are optimal, where the solver gives one."""
    solver: str
    """The solver that found them."""
    effort: dict[str, int]
    """The work of the solver, in its own terms."""
    accuracy: Accuracy | None = None
    """Of the relaxed solution that was rounded, where there is one."""
