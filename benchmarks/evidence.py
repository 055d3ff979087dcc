"""What a solution says about itself, without its counts."""

import math
from dataclasses import dataclass

import tallytree as tt
from tallytree.solvers.solution import Accuracy


@dataclass(frozen=True)
class Evidence:
    """The objective, what it took to find it, and how good the relaxation is where there is one."""

    objective: int
    effort: dict[str, int]
    accuracy: Accuracy | None

    @classmethod
    def of(cls, solution: tt.Solution) -> "Evidence":
        """Of this solution."""
        return cls(solution.objective, solution.effort, solution.accuracy)

    @property
    def gap(self) -> float:
        """The relaxation's duality gap as stated, relative; infinite if none is stated."""
        return self.accuracy.gap if self.accuracy else math.inf

    def above(self, other: "Evidence") -> float:
        """How far the objective is above the bound of ``other``, relatively; infinite if it has none.

        Both have to be about the same model.
        """
        return self.objective / other.accuracy.bound - 1 if other.accuracy else math.inf
