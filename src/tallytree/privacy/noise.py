"""Noise: two-sided geometric (discrete Laplace), P(X = k) proportional to exp(-|k| / scale), or discrete
Gaussian, P(X = k) proportional to exp(-k^2 / (2 scale^2)).

There are two kinds, distinguished by type. :class:`ExactNoise` is exact and unpredictable, and the only kind
that a release can have. :class:`SeededNoise` can be repeated, and so removed by anyone who knows the seed: it
is for research on data that is not sensitive.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tallytree.errors import PrivacyError
from tallytree.privacy.budget import Distribution
from tallytree.privacy.zcdp import load_opendp
from tallytree.progress import count_processors
from tallytree.sizes import find_whole

Ints = npt.NDArray[np.int64]
Advance = Callable[[int], None]
"""Receives the number of further draws that are done."""

Fill = Callable[[Ints], None]
"""Fills an array with independent draws."""


class Noise(Protocol):
    """Where noise comes from."""

    distribution: Distribution

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        """Draw ``count`` independent numbers with noise of the given scale."""
        ...


class ExactNoise(ABC):
    """Noise of exactly the distribution that it claims, which nobody can foresee or repeat."""

    distribution: Distribution = "two-sided geometric"

    description: str
    """How it is drawn, for the manifest."""

    chunk: int
    """Draws per piece of work: well below a second, so that an interruption takes effect soon."""

    @abstractmethod
    def prepare(self, scale: Fraction) -> Fill:
        """Return a function that fills an array with draws, and may be called by several threads at once."""

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        """Draw ``count`` numbers, in chunks over all processors."""
        fill = self.prepare(scale)
        out = np.empty(count, dtype=np.int64)
        if 0 < count <= self.chunk:  # one piece of work: starting a thread would take longer than the draws
            fill(out)
            advance(count)
            return out

        def work(part: Ints) -> int:
            fill(part)
            return len(part)

        with ThreadPoolExecutor(count_processors()) as pool:
            try:
                starts = range(0, count, self.chunk)
                jobs = [pool.submit(work, out[start : start + self.chunk]) for start in starts]
                for job in as_completed(jobs):
                    advance(job.result())
            except BaseException:
                # Do not keep the user waiting for draws that are no longer needed.
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return out


class _SamplerOfOpenDP(ExactNoise):
    """A sampler of OpenDP, an optional dependency: if missing, this fails before anything is charged."""

    chunk = 20_000

    def __init__(self) -> None:
        load_opendp()


class OpenDPNoise(_SamplerOfOpenDP):
    """OpenDP's discrete Laplace: exact rational arithmetic on the operating system's randomness."""

    description = (
        "discrete Laplace of OpenDP: exact sampler on the operating system's randomness, the scale "
        "rounded up to the next 64-bit float"
    )

    def prepare(self, scale: Fraction) -> Fill:
        """Return a function that fills an array by OpenDP's sampler, which releases the interpreter lock."""
        dp = load_opendp()
        space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
        return _fill_with(dp.m.make_laplace(*space, scale=round_scale_up(scale)))


class GaussianNoise(_SamplerOfOpenDP):
    """OpenDP's discrete Gaussian: exact rational arithmetic on the operating system's randomness."""

    distribution = "discrete Gaussian"
    description = (
        "discrete Gaussian of OpenDP: exact sampler on the operating system's randomness, the scale "
        "rounded up to the next 64-bit float"
    )

    def prepare(self, scale: Fraction) -> Fill:
        """Return a function that fills an array by OpenDP's sampler, which releases the interpreter lock."""
        dp = load_opendp()
        space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.f64)
        return _fill_with(dp.m.make_gaussian(*space, scale=round_scale_up(scale)))


def round_scale_up(scale: Fraction) -> float:
    """Return the smallest float not below ``scale``: OpenDP takes a float, and more noise is safe."""
    rounded = float(scale)
    return rounded if Fraction(rounded) >= scale else math.nextafter(rounded, math.inf)


def _fill_with(sample: Callable[[list[int]], list[int]]) -> Fill:
    """Let OpenDP, which adds noise to answers, add it to zeros: the answers never leave ``door``."""

    def fill(out: Ints) -> None:
        out[:] = sample([0] * len(out))

    return fill


class SeededNoise:
    """Noise that can be repeated: research only, never in a release."""

    distribution: Distribution = "two-sided geometric"

    def __init__(self, seed: int) -> None:
        start = find_whole(seed)
        if start is None or start < 0:
            raise PrivacyError("The seed must be a whole number, 0 or above.")
        self._generator = np.random.default_rng(start)

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        """Draw ``count`` differences of two geometrics with ratio exp(-1 / scale)."""
        success = -math.expm1(-1.0 / float(scale))
        draws = self._generator.geometric(success, count) - self._generator.geometric(success, count)
        advance(count)
        return draws.astype(np.int64)


class SeededGaussianNoise(SeededNoise):
    """Discrete Gaussian noise that can be repeated: research only, never in a release."""

    distribution = "discrete Gaussian"

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        """Draw ``count`` numbers by rejection (Canonne, Kamath and Steinke, 2020, Algorithm 3), in floats.

        Two-sided geometric draws of scale t = floor(sigma) + 1 are kept with probability
        exp(-(|k| - sigma^2 / t)^2 / (2 sigma^2)), which is more than half of the time.
        """
        sigma, wide = float(scale), Fraction(math.floor(scale) + 1)
        kept: list[Ints] = []
        left = count
        while left > 0:
            draws = super().draw(wide, 2 * left + 16, lambda done: None)
            away = (np.abs(draws) - sigma**2 / float(wide)) / sigma
            draws = draws[self._generator.random(len(draws)) < np.exp(-(away**2) / 2)][:left]
            kept.append(draws)
            left -= len(draws)
        advance(count)
        return np.concatenate([np.empty(0, dtype=np.int64), *kept])
