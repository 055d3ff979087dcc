"""A quadratic integer program as it is passed to every general solver, and its result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tallytree.errors import MechanismError


class Row(NamedTuple):
    """One linear condition: a signed sum of variables, and the number it is compared with."""

    terms: list[tuple[int, int]]
    """Sign and variable."""
    right: int

    def measure(self, x: Sequence[int]) -> int:
        """Return by how much the sum exceeds that number."""
        return sum(sign * x[at] for sign, at in self.terms) - self.right


@dataclass(frozen=True)
class Program:
    """The least sum of weight * x^2 over whole numbers x, ``least <= x <= most``, that meet all rows."""

    weights: list[int]
    least: list[int]
    most: list[int]
    equalities: list[Row]
    """Sums that equal their right side."""
    steps: list[Row]
    """Sums that are at least their right side."""

    def admits(self, x: Sequence[int]) -> bool:
        """Return whether all conditions are met, in whole numbers."""
        return (
            all(low <= value <= high for low, value, high in zip(self.least, x, self.most, strict=True))
            and all(row.measure(x) == 0 for row in self.equalities)
            and all(row.measure(x) >= 0 for row in self.steps)
        )


@dataclass(frozen=True)
class Found:
    """An optimum, and the branch-and-bound nodes it took."""

    values: list[int]
    nodes: int


INFINITE = 1e20
"""SCIP's infinity, which it returns when it has no bound."""

SolveProgram = Callable[[Program, float], Found]
"""A solver: the optimum of a program within a number of seconds, or a MechanismError."""


def explain_unfinished(
    solver: str, time_limit: float, status: str, *, best: float, bound: float
) -> MechanismError:
    """Return the error of a solver that stopped early, with its gap; ``best`` is infinite if it has none."""
    least = max(bound, 0.0) if bound < INFINITE else 0.0  # squares never add up to less
    found = f"{best:,.0f}" if best < INFINITE else "none"
    gap = f"{100 * (best - least) / max(best, 1.0):.3g} %" if best < INFINITE else "unknown"
    return MechanismError(
        f"{solver} did not finish within {time_limit:g} seconds ({status}): best solution {found}, "
        f"bound {least:,.0f}, gap {gap}. Allow more with time_limit."
    )
