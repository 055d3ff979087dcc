"""The noise has the distribution it claims; a slightly wrong one is noticed."""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import tallytree as tt
from tallytree.privacy import noise as noise_module
from tallytree.privacy.noise import ExactNoise, Noise, SeededNoise

Ints = npt.NDArray[np.int64]

REJECT = 1e-7
"""A right sampler fails with this probability; the wrong ones below fail with near certainty."""


def draw(noise: Noise, scale: Fraction, count: int) -> Ints:
    return noise.draw(scale, count, lambda done: None)


def p_value(draws: Ints, scale: float) -> float:
    """Chi-square of the draws against the two-sided geometric of ``scale``, tails pooled."""
    ratio = math.exp(-1.0 / scale)
    most = next(k for k in range(10**6) if len(draws) * ratio ** (k + 1) / (1 + ratio) < 50)
    values = np.arange(-most, most + 1)
    mass = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    mass[[0, -1]] = ratio**most / (1 + ratio)  # all that lies further out
    found = np.bincount(np.clip(draws, -most, most) + most, minlength=len(values))
    return float(stats.chisquare(found, mass / mass.sum() * len(draws)).pvalue)


SCALES = [Fraction(1, 2), Fraction(2), Fraction(20, 3), Fraction(60)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("noise", [ExactNoise(), SeededNoise(5)], ids=["exact", "seeded"])
def test_the_distribution_is_two_sided_geometric(noise: Noise, scale: Fraction) -> None:
    draws = draw(noise, scale, 100_000)
    assert p_value(draws, float(scale)) > REJECT
    for wrong in (0.9, 1.1):  # negative controls
        assert p_value(draws, float(scale) * wrong) < REJECT


def test_draws_are_independent_across_chunks_and_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_module, "CHUNK", 500)
    noise = ExactNoise()
    rows = draw(noise, Fraction(6), 10_000).reshape(20, 500)
    again = draw(noise, Fraction(6), 500)
    # A generator that is made anew for every chunk, as seen in research code, repeats itself.
    assert len({row.tobytes() for row in (*rows, again)}) == 21
    correlation = np.corrcoef(rows[:-1].ravel(), rows[1:].ravel())[0, 1]
    assert abs(correlation) < 6 / math.sqrt(9_500)


def test_progress_adds_up_to_the_number_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_module, "CHUNK", 100)
    done: list[int] = []
    ExactNoise().draw(Fraction(1), 1_050, done.append)
    assert sum(done) == 1_050
    assert len(done) == 11


def test_an_interruption_stops_the_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_module, "CHUNK", 100)

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ExactNoise().draw(Fraction(1), 100_000, interrupt)


def test_seeded_noise_repeats_itself() -> None:
    first, second = (draw(SeededNoise(9), Fraction(6), 100) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (draw(SeededNoise(10), Fraction(6), 100) != first).any()


def test_every_level_of_a_release_gets_the_noise_of_its_own_scale() -> None:
    """The whole way from counts to measurements, seen from outside: what is added, level by level."""
    h = tt.Hierarchy.from_paths(["a", "b", "c"], [("r", "x", "y")])
    counts = tt.GroupCounts(h, (1, 20_000), np.full((1, 20_000), 3))
    release = tt.release(counts, epsilon="1", budget={"a": 1, "b": 3, "c": 2})
    plan = release.measurements.plan
    assert [level.scale for level in plan.levels] == [6, 2, 3]
    for level, measured in enumerate(release.measurements.values):
        added = (measured - plan.answers(counts)[level]).ravel()
        for other in plan.levels:
            right = other.name == plan.levels[level].name
            assert (p_value(added, float(other.scale)) > REJECT) == right
