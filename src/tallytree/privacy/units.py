"""In what a privacy loss is counted, and which noise keeps to it.

*epsilon*: pure differential privacy, by two-sided geometric noise calibrated to the L1 sensitivity.
*rho*: zero-concentrated differential privacy, by discrete Gaussian noise calibrated to the L2 sensitivity
(Canonne, Kamath and Steinke, 2020, Theorem 14: noise of parameter sigma on whole numbers that differ by d in
L2 is d^2 / (2 sigma^2)-zCDP).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import isqrt
from typing import Literal

from tallytree.privacy.neighbours import Bounds
from tallytree.privacy.queries import Query
from tallytree.sizes import Sizes

UnitName = Literal["epsilon", "rho"]
Distribution = Literal["two-sided geometric", "discrete Gaussian"]

SIGMA_GRID = 10**6
"""Sigma is a square root, rounded up to a multiple of one part in this."""


class Unit(ABC):
    """A unit of privacy loss."""

    name: UnitName
    distribution: Distribution

    @abstractmethod
    def find_sensitivity(self, query: Query, bounds: Bounds, sizes: Sizes, regions: int) -> Fraction:
        """How far apart a level's answers on two neighbours can be, in the measure that the noise needs."""

    @abstractmethod
    def find_scale(self, sensitivity: Fraction, loss: Fraction) -> Fraction:
        """The least noise that keeps a level's loss."""

    @abstractmethod
    def find_loss(self, sensitivity: Fraction, scale: Fraction) -> Fraction:
        """The loss of a level with that noise."""


class Epsilon(Unit):
    """Pure differential privacy."""

    name = "epsilon"
    distribution = "two-sided geometric"

    def find_sensitivity(self, query: Query, bounds: Bounds, sizes: Sizes, regions: int) -> Fraction:
        """In L1."""
        return Fraction(query.sensitivity(bounds, sizes, regions))

    def find_scale(self, sensitivity: Fraction, loss: Fraction) -> Fraction:
        """The paper's lambda."""
        return sensitivity / loss

    def find_loss(self, sensitivity: Fraction, scale: Fraction) -> Fraction:
        """The sum over the answers of their distances, each divided by the scale."""
        return sensitivity / scale


class Rho(Unit):
    """Zero-concentrated differential privacy."""

    name = "rho"
    distribution = "discrete Gaussian"

    def find_sensitivity(self, query: Query, bounds: Bounds, sizes: Sizes, regions: int) -> Fraction:
        """The square of the L2 distance, which is a whole number."""
        return Fraction(query.squared_sensitivity(bounds, sizes, regions))

    def find_scale(self, sensitivity: Fraction, loss: Fraction) -> Fraction:
        """sigma = sqrt(sensitivity / (2 rho)), rounded up."""
        square = sensitivity / (2 * loss) * SIGMA_GRID**2
        root = isqrt(-(-square.numerator // square.denominator))
        return Fraction(root if root**2 >= square else root + 1, SIGMA_GRID)

    def find_loss(self, sensitivity: Fraction, scale: Fraction) -> Fraction:
        """Rho = d^2 / (2 sigma^2)."""
        return sensitivity / (2 * scale**2)


EPSILON, RHO = Epsilon(), Rho()
UNITS: dict[str, Unit] = {unit.name: unit for unit in (EPSILON, RHO)}
