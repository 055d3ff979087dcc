"""Zero-concentrated differential privacy: conversion of a rho to (epsilon, delta), and the reverse.

A mechanism is rho-zCDP if the Renyi divergence of any order a > 1 between its outcomes on two neighbours is
at most rho a (Bun and Steinke, 2016). Rhos add up under composition; epsilon-DP is (epsilon^2 / 2)-zCDP. The
(epsilon, delta)-DP that it implies is computed by OpenDP, which rounds outward (Canonne, Kamath and Steinke,
2020, Corollary 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Protocol

from tallytree.errors import PrivacyError
from tallytree.privacy.budget import MOST_EPSILON, Exact, parse_exact

# OpenDP is an optional dependency: it is as large as all others together, and only some releases need it.


@cache
def load_opendp() -> Any:
    """Load OpenDP's prelude module, ready for use."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise PrivacyError(
            "Gaussian noise (delta, rho) and the sampler 'opendp' need OpenDP, which is not installed: "
            "pip install 'tallytree[opendp]'."
        ) from None
    dp.enable_features("contrib")
    return dp


EPSILON_DIGITS = 7
"""Significant digits of a converted epsilon, rounded up."""
RHO_DIGITS = 8
"""Significant digits of a rho found for an epsilon, rounded down."""
LEAST_EPSILON = Fraction(1, 10**7)
"""The smallest epsilon that is stated: at a large delta, a small rho implies an epsilon of 0."""
MOST_RHO = 10_000
"""Far beyond anything that protects; OpenDP's arithmetic fails not far above."""
MARGIN, LEAST_GROUPS = 10, 100
"""Delta is at most 1 / (MARGIN x number of groups), counting at least LEAST_GROUPS groups."""


def parse_delta(value: object) -> Fraction:
    """Parse a probability as a fraction.

    >>> parse_delta("1e-9")
    Fraction(1, 1000000000)
    """
    delta = parse_exact(value, "delta")
    if delta >= 1:
        raise PrivacyError(
            "delta is a probability: it must be below 1, and far below 1 / (number of people)."
        )
    return delta


def find_most_delta(groups: int = 0) -> Fraction:
    """Return the largest delta for a release of ``groups`` groups, a public number: well below 1 / groups.

    A mechanism that publishes each person's records as they are, with probability delta, is (0, delta)-DP.
    With delta = 1 / groups it would expose someone in one of the groups, and still keep its promise.

    >>> find_most_delta(1_000_000)
    Fraction(1, 10000000)
    """
    return Fraction(1, MARGIN * max(groups, LEAST_GROUPS))


def check_delta(delta: Fraction, groups: int = 0) -> None:
    """Refuse a delta that is too large for this number of groups, or for any number."""
    if delta > find_most_delta(groups):
        raise PrivacyError(
            "delta is too large: with that probability the promise to a person may fail altogether. It must "
            f"be at most 1 / ({MARGIN} x the number of groups), and never above "
            f"{float(find_most_delta()):g}; 1e-10 suits most data."
        )


@lru_cache(maxsize=256)
def convert_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon for which rho-zCDP implies (epsilon, delta)-DP, rounded up.

    >>> convert_rho(Fraction(1, 10), Fraction(1, 10**9))
    Fraction(1357741, 500000)
    """
    if rho > MOST_RHO:
        raise PrivacyError(f"rho is too large: there is no privacy left above {MOST_RHO}.")
    epsilon = _profile(rho).epsilon(_round_down(delta))
    return max(LEAST_EPSILON, _round_digits(Fraction(epsilon), EPSILON_DIGITS, math.ceil))


@lru_cache(maxsize=256)
def find_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, to one part in a million, that implies (epsilon, delta)-DP.

    >>> convert_rho(find_rho(Fraction(1), Fraction(1, 10**9)), Fraction(1, 10**9))
    Fraction(1, 1)
    """
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise PrivacyError(f"With delta, epsilon must be from {float(LEAST_EPSILON)} to {MOST_EPSILON}.")

    def fits(rho: Fraction) -> bool:
        return _profile(rho).delta(_round_down(epsilon)) <= delta

    low, high = _bracket(fits)
    while high > low * (1 + Fraction(1, 10**RHO_DIGITS)):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    rho = _round_digits(low, RHO_DIGITS, math.floor)
    while convert_rho(rho, delta) > epsilon:  # an epsilon that is found from above, and rounded up
        rho = _round_digits(rho * (1 - Fraction(1, 10 ** (RHO_DIGITS - 1))), RHO_DIGITS, math.floor)
    return rho


def _bracket(fits: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
    """A rho that fits, and one four times as large that does not."""
    low = Fraction(1)
    while fits(low):
        low *= 4
    while not fits(low):
        low /= 4
    return low, 4 * low


def settle_rho(epsilon: Exact | None, rho: Exact | None, delta: Fraction) -> Fraction:
    """Return the given rho, or the one that the given epsilon allows."""
    if rho is not None:
        return parse_exact(rho, "rho")
    return find_rho(parse_exact(epsilon, "epsilon"), delta)


class Profile(Protocol):
    """Which pairs of epsilon and delta a mechanism keeps."""

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon at that delta."""
        ...

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta at that epsilon."""
        ...


def _profile(rho: Fraction) -> Profile:
    """Return the privacy profile of rho-zCDP, from OpenDP.

    It is asked about Gaussian noise of scale 1 on answers at a distance d, for which rho = d^2 / 2.
    """
    profile: Profile = _convert_gaussian().map(_root_up(2 * rho))
    return profile


@cache
def _convert_gaussian() -> Any:
    dp = load_opendp()
    space = dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.f64)
    return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=1.0))


def _root_up(square: Fraction) -> float:
    """Return the square root, rounded up to a float."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def _round_down(number: Fraction) -> float:
    rounded = float(number)
    return rounded if Fraction(rounded) <= number else math.nextafter(rounded, 0.0)


def _round_digits(number: Fraction, digits: int, to_whole: Callable[[Fraction], int]) -> Fraction:
    """Round to ``digits`` significant decimal digits."""
    if number == 0:
        return number
    places = digits - 1 - math.floor(math.log10(number))
    unit = Fraction(10) ** -places
    return to_whole(number / unit) * unit
