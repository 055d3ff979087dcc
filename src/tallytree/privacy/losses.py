"""What a release costs, in every unit that a budget may be kept in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tallytree.privacy.budget import Exact, parse_exact
from tallytree.privacy.units import UnitName


@dataclass(frozen=True)
class Loss:
    """A privacy loss: as a rho always, as an epsilon if the noise gives pure differential privacy."""

    rho: Fraction
    epsilon: Fraction | None = None

    @classmethod
    def of(cls, value: Loss | Exact) -> Loss:
        """A loss that may be given as its epsilon."""
        return value if isinstance(value, Loss) else add_losses("epsilon", [parse_exact(value, "epsilon")])

    def count(self, unit: UnitName) -> Fraction | None:
        """In a unit; None if it has no bound there."""
        return self.rho if unit == "rho" else self.epsilon


def add_losses(unit: UnitName, parts: Sequence[Fraction]) -> Loss:
    """What several measurements of the same data cost together.

    Epsilons add up, and so do rhos. A measurement that is epsilon-DP is (epsilon^2 / 2)-zCDP (Bun and
    Steinke, 2016, Proposition 1.4).
    """
    if unit == "rho":
        return Loss(rho=sum(parts, Fraction(0)))
    return Loss(rho=sum((part**2 / 2 for part in parts), Fraction(0)), epsilon=sum(parts, Fraction(0)))
