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
    from tallytree.privacy.neighbours import Neighbours, Protected, TotalKind
    from tallytree.privacy.queries import Query
    from tallytree.sizes import Sizes

# In what a privacy loss is counted, and which noise keeps to it.
#
# *epsilon*: pure differential privacy, by two-sided geometric noise calibrated to the L1 sensitivity.
# *rho*: zero-concentrated differential privacy, by discrete Gaussian noise calibrated to the L2 sensitivity
# (Canonne, Kamath and Steinke, 2020, Theorem 14: noise of parameter sigma on whole numbers that differ by d
# in L2 is d^2 / (2 sigma^2)-zCDP).

UnitName = Literal["epsilon", "rho"]
Distribution = Literal["two-sided geometric", "discrete Gaussian"]

SIGMA_GRID = 10**6
"""Sigma is a square root, rounded up to a multiple of one part in this."""


class Unit(ABC):
    """A unit of privacy loss."""

    name: UnitName
    distribution: Distribution

    @abstractmethod
    def find_sensitivity(self, query: Query, neighbours: Neighbours, sizes: Sizes, regions: int) -> Fraction:
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

    def find_sensitivity(self, query: Query, neighbours: Neighbours, sizes: Sizes, regions: int) -> Fraction:
        """In L1."""
        return Fraction(query.sensitivity(neighbours, sizes, regions))

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

    def find_sensitivity(self, query: Query, neighbours: Neighbours, sizes: Sizes, regions: int) -> Fraction:
        """The square of the L2 distance, which is a whole number."""
        return Fraction(query.squared_sensitivity(neighbours, sizes, regions))

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


Exact = str | int | Fraction | Decimal
"""A number that means what it says: "0.1", 1, Fraction(1, 3), Decimal("0.1")."""

MOST_DIGITS = 40
MOST_SHOWN = 10

MOST_EPSILON = 1000
"""No release has a larger one, and no budget. It is far beyond anything that protects, and OpenDP's
arithmetic for Gaussian noise ends not far above."""
LARGE_EPSILON = 10
"""From here on a release carries a warning. Odds that were even may become exp(10) = 22,026 to 1, so that the
worst case is near certainty, and what agencies publish with a promise to each person is mostly below it."""


def parse_exact(value: object, what: str) -> Fraction:
    """A positive number as a fraction; a float is refused, because 0.1 as a float is not 1/10.

    >>> parse_exact("0.1", "epsilon")
    Fraction(1, 10)
    """
    value = _refuse_floats(value, what)
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        raise PrivacyError(f"{what} is longer than {MOST_DIGITS} characters.")
    # An exponent is looked at before it is carried out: 1e-9999999999 would fill the memory.
    if _magnitude(value) > MOST_DIGITS:
        raise PrivacyError(f"{what} has more than {MOST_DIGITS} digits.")
    try:
        if isinstance(value, str) and not is_numeral(value.strip()):
            raise ValueError
        number = Fraction(value)
    except (ValueError, ArithmeticError):
        raise PrivacyError(f"{what} is not a number: {show(value)}. Write it as 0.5, 1e-9 or 1/3.") from None
    # A Fraction may hold NumPy's whole numbers, which overflow.
    number = Fraction(int(number.numerator), int(number.denominator))
    if number <= 0:
        raise PrivacyError(f"{what} must be above zero.")
    if max(number.numerator, number.denominator) >= 10**MOST_DIGITS:
        raise PrivacyError(f"{what} has more than {MOST_DIGITS} digits.")
    return number


def _refuse_floats(value: object, what: str) -> Exact:
    """The value, if it is of a type that is exact; NumPy's whole numbers become Python's."""
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
    """As people would write it: a decimal number where that is exact and short, else a fraction.

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
    """Exactly where that is short, else in four digits."""
    exact = show_exact(number)
    return exact if len(exact) <= MOST_SHOWN else f"{float(number):.4g}"


def _magnitude(value: Exact) -> int:
    """How many places a decimal number is away from one digit; 0 for what is not a decimal number."""
    try:
        number = Decimal(value) if isinstance(value, str) else value
    except ArithmeticError:
        return 0
    return abs(number.adjusted()) if isinstance(number, Decimal) and number.is_finite() else 0


def split_budget(
    epsilon: Fraction, levels: Sequence[str], budget: Mapping[str, Exact] | None
) -> tuple[Fraction, ...]:
    """Epsilon's part at each level: in proportion to ``budget``, or even, as in the paper.

    >>> split_budget(Fraction(1), ["nation", "state"], {"nation": 1, "state": "3"})
    (Fraction(1, 4), Fraction(3, 4))
    """
    if budget is None:
        return (epsilon / len(levels),) * len(levels)
    if not isinstance(budget, Mapping):
        raise PrivacyError('The budget must name a weight for each level, such as {"nation": 1, "state": 2}.')
    for name in budget:
        if name not in levels:
            raise PrivacyError(
                f"The budget names a level {show(name)} that there is not: {name_choices(name, levels)}"
            )
    missing = [name for name in levels if name not in budget]
    if missing:
        raise PrivacyError(f"The budget gives no weight to level {show(missing[0])}; every level needs one.")
    weights = [parse_exact(budget[name], f"The budget of level {show(name)}") for name in levels]
    return tuple(epsilon * weight / sum(weights) for weight in weights)


# What a release costs, in every unit that a budget may be kept in.


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


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a release may spend, and how its levels share it: one decision, from the surface to the plan.

    The loss is an ``epsilon``; or, with a ``delta``, the largest rho that implies (epsilon, delta)-DP; or a
    ``rho``, whose epsilon is stated at ``delta``.
    """

    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    split: Mapping[str, Exact] | None = None
    """Weights of the levels, by their names; None: they share it evenly."""
    public_totals: str | None = None
    """The level down to which the regions' numbers of groups are public, and need no noise."""
    protect: Protected = "person"
    """Who is protected: a person, or a whole group."""
    total: TotalKind = "public"
    """Whether the list of groups, so also their number, is public."""
