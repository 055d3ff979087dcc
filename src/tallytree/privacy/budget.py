"""Epsilon and its split over the levels, exactly: nothing about privacy is a float."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isqrt
from numbers import Rational, Real
from typing import TYPE_CHECKING, Literal

from tallytree.errors import PrivacyError, name_choices, show
from tallytree.sizes import find_whole, is_numeral

if TYPE_CHECKING:
    from tallytree.privacy.neighbours import Bounds, Neighbours, Protected, TotalKind, Whom
    from tallytree.privacy.queries import Query
    from tallytree.sizes import Sizes

# The units of privacy loss, and the noise that goes with each.
#
# *epsilon*: pure differential privacy, by two-sided geometric noise calibrated to the L1 sensitivity.
# *rho*: zero-concentrated differential privacy, by discrete Gaussian noise calibrated to the L2 sensitivity
# (Canonne, Kamath and Steinke, 2020, Theorem 14: noise of parameter sigma on whole numbers that differ by d
# in L2 is d^2 / (2 sigma^2)-zCDP).

UnitName = Literal["epsilon", "rho"]
Distribution = Literal["two-sided geometric", "discrete Gaussian"]

SIGMA_GRID = 10**6
"""Sigma is a square root, rounded up to a multiple of 1 / SIGMA_GRID."""


class Unit(ABC):
    """A unit of privacy loss."""

    name: UnitName
    distribution: Distribution

    @abstractmethod
    def find_sensitivity(self, query: Query, neighbours: Neighbours, sizes: Sizes, regions: int) -> Fraction:
        """Return how far apart a level's answers on two neighbours can be, in the metric of the noise."""

    @abstractmethod
    def find_scale(self, sensitivity: Fraction, loss: Fraction) -> Fraction:
        """Return the smallest scale of noise that keeps a level's loss."""

    @abstractmethod
    def find_loss(self, sensitivity: Fraction, scale: Fraction) -> Fraction:
        """Return the loss of a level with noise of this scale."""


class Epsilon(Unit):
    """Pure differential privacy."""

    name = "epsilon"
    distribution = "two-sided geometric"

    def find_sensitivity(self, query: Query, neighbours: Neighbours, sizes: Sizes, regions: int) -> Fraction:
        """Return the sensitivity in L1."""
        return Fraction(query.sensitivity(neighbours, sizes, regions))

    def find_scale(self, sensitivity: Fraction, loss: Fraction) -> Fraction:
        """Return the scale of the noise: the paper's lambda."""
        return sensitivity / loss

    def find_loss(self, sensitivity: Fraction, scale: Fraction) -> Fraction:
        """Return epsilon: the sum of the answers' distances, each divided by the scale."""
        return sensitivity / scale


class Rho(Unit):
    """Zero-concentrated differential privacy."""

    name = "rho"
    distribution = "discrete Gaussian"

    def find_sensitivity(self, query: Query, neighbours: Neighbours, sizes: Sizes, regions: int) -> Fraction:
        """Return the square of the L2 distance, which is a whole number."""
        return Fraction(query.squared_sensitivity(neighbours, sizes, regions))

    def find_scale(self, sensitivity: Fraction, loss: Fraction) -> Fraction:
        """Return sigma = sqrt(sensitivity / (2 rho)), rounded up."""
        square = sensitivity / (2 * loss) * SIGMA_GRID**2
        root = isqrt(-(-square.numerator // square.denominator))
        return Fraction(root if root**2 >= square else root + 1, SIGMA_GRID)

    def find_loss(self, sensitivity: Fraction, scale: Fraction) -> Fraction:
        """Return rho = d^2 / (2 sigma^2)."""
        return sensitivity / (2 * scale**2)


EPSILON, RHO = Epsilon(), Rho()
UNITS: dict[str, Unit] = {unit.name: unit for unit in (EPSILON, RHO)}


Exact = str | int | Fraction | Decimal
"""An exact number: "0.1", 1, Fraction(1, 3), Decimal("0.1")."""

MOST_DIGITS = 40
MOST_SHOWN = 10

MOST_EPSILON = 1000
"""The largest epsilon of a release or a budget. It is far beyond anything that protects, and OpenDP's
arithmetic for Gaussian noise fails not far above."""
LARGE_EPSILON = 10
"""From this epsilon on, a release carries a warning. Even odds may become exp(10) = 22,026 to 1, so that the
worst case is near certainty, and most guarantees to individuals that agencies publish are below it."""


def parse_exact(value: object, what: str) -> Fraction:
    """Parse a positive number as a fraction; refuse floats, because 0.1 as a float is not 1/10.

    >>> parse_exact("0.1", "epsilon")
    Fraction(1, 10)
    """
    value = _refuse_floats(value, what)
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        raise PrivacyError(f"{what} is longer than {MOST_DIGITS} characters.")
    # The exponent is checked before it is expanded: 1e-9999999999 would fill the memory.
    if _magnitude(value) > MOST_DIGITS:
        raise PrivacyError(f"{what} has more than {MOST_DIGITS} digits.")
    try:
        if isinstance(value, str) and not is_numeral(value.strip()):
            raise ValueError
        number = Fraction(value)
    except (ValueError, ArithmeticError):
        raise PrivacyError(f"{what} is not a number: {show(value)}. Write it as 0.5, 1e-9 or 1/3.") from None
    # A Fraction may hold NumPy integers, which overflow.
    number = Fraction(int(number.numerator), int(number.denominator))
    if number <= 0:
        raise PrivacyError(f"{what} must be above zero.")
    if max(number.numerator, number.denominator) >= 10**MOST_DIGITS:
        raise PrivacyError(f"{what} has more than {MOST_DIGITS} digits.")
    return number


def _refuse_floats(value: object, what: str) -> Exact:
    """Return the value if its type is exact; NumPy integers become Python's."""
    if isinstance(value, Real) and not isinstance(value, Rational):  # NumPy's floats as well
        if not math.isfinite(value):
            raise PrivacyError(f"{what} must be a finite number above zero.")
        raise PrivacyError(
            f"{what} is a float, which cannot hold most decimal numbers exactly: "
            f'give it as text, such as "{value}".'
        )
    if isinstance(value, (str, Fraction, Decimal)):
        return value
    if (whole := find_whole(value)) is None:
        raise PrivacyError(f'{what} must be text such as "0.5", a whole number, Fraction or Decimal.')
    return whole


def check_epsilon(epsilon: Fraction, what: str) -> None:
    """Refuse an epsilon that leaves no privacy."""
    if epsilon > MOST_EPSILON:
        raise PrivacyError(
            f"{what} is too large: there is no privacy left above {MOST_EPSILON}. Take the smallest one that "
            f"serves the purpose; from {LARGE_EPSILON} on, a release carries a warning."
        )


def show_exact(number: Fraction) -> str:
    """Format a number as people would write it: as a decimal where that is exact and short, else a fraction.

    >>> show_exact(Fraction(3, 10)), show_exact(Fraction(1, 3)), show_exact(Fraction(1, 10**9))
    ('0.3', '1/3', '1e-9')
    """
    places = 0
    while places <= MOST_DIGITS and (number * 10**places).denominator > 1:
        places += 1
    if places > MOST_DIGITS:
        return str(number)
    digits = str(int(number * 10**places))
    if places > len(digits) + 3:
        return f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e-{places - len(digits) + 1}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def show_short(number: Fraction) -> str:
    """Format a number exactly where that is short, else with four digits."""
    exact = show_exact(number)
    return exact if len(exact) <= MOST_SHOWN else f"{float(number):.4g}"


def _magnitude(value: Exact) -> int:
    """Return the absolute decimal exponent of a number; 0 for what is not a decimal number."""
    try:
        number = Decimal(value) if isinstance(value, str) else value
    except ArithmeticError:
        return 0
    return abs(number.adjusted()) if isinstance(number, Decimal) and number.is_finite() else 0


def split_budget(
    epsilon: Fraction, levels: Sequence[str], budget: Mapping[str, Exact] | None
) -> tuple[Fraction, ...]:
    """Split epsilon over the levels: in proportion to ``budget``, or evenly, as in the paper.

    >>> split_budget(Fraction(1), ["nation", "state"], {"nation": 1, "state": "3"})
    (Fraction(1, 4), Fraction(3, 4))
    """
    if budget is None:
        return (epsilon / len(levels),) * len(levels)
    if not isinstance(budget, Mapping):
        raise PrivacyError('The budget must name a weight for each level, such as {"nation": 1, "state": 2}.')
    for name in budget:
        if name not in levels:
            raise PrivacyError(f"Unknown level {show(name)} in the budget: {name_choices(name, levels)}")
    missing = [name for name in levels if name not in budget]
    if missing:
        raise PrivacyError(f"The budget gives no weight to level {show(missing[0])}; every level needs one.")
    weights = [parse_exact(budget[name], f"The budget of level {show(name)}") for name in levels]
    return tuple(epsilon * weight / sum(weights) for weight in weights)


# The privacy loss of a release, in every unit in which a budget may be kept.


@dataclass(frozen=True)
class Loss:
    """A privacy loss: as a rho always, as an epsilon if the noise gives pure differential privacy."""

    rho: Fraction
    epsilon: Fraction | None = None
    whom: Whom | None = None
    """Whose loss it is; None if that was not said."""

    @classmethod
    def of(cls, value: Loss | Exact) -> Loss:
        """Return the loss, which may be given as its epsilon."""
        return value if isinstance(value, Loss) else add_losses("epsilon", [parse_exact(value, "epsilon")])

    def count(self, unit: UnitName) -> Fraction | None:
        """Return the loss in a unit; None if it has no bound in that unit."""
        return self.rho if unit == "rho" else self.epsilon


def add_losses(unit: UnitName, parts: Sequence[Fraction]) -> Loss:
    """Return the total loss of several measurements of the same data.

    Epsilons add up, and so do rhos. A measurement that is epsilon-DP is (epsilon^2 / 2)-zCDP (Bun and
    Steinke, 2016, Proposition 1.4).
    """
    if unit == "rho":
        return Loss(rho=sum(parts, Fraction(0)))
    return Loss(rho=sum((part**2 / 2 for part in parts), Fraction(0)), epsilon=sum(parts, Fraction(0)))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a release may spend, and how its levels share it: one value, from the public API to the plan.

    The loss is an ``epsilon``; or, with a ``delta``, the largest rho that implies (epsilon, delta)-DP; or a
    ``rho``, whose epsilon is stated at ``delta``.
    """

    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    split: Mapping[str, Exact] | None = None
    """Weights of the levels, by name; None: the loss is split evenly."""
    public_totals: str | None = None
    """The level down to which the regions' numbers of groups are public, and need no noise."""
    protect: Protected = "person"
    """Who is protected: a person, or a whole group."""
    total: TotalKind | None = None
    """Whether the list of groups, so also their number, is public; None: as befits the counts."""

    def find_neighbours(self, bounds: Bounds) -> Neighbours:
        """Return which datasets are hard to tell apart, with a public total if nothing was said of it."""
        from tallytree.privacy.neighbours import Neighbours

        total = "public" if self.total is None else self.total
        return Neighbours(protect=self.protect, total=total, bounds=bounds)
