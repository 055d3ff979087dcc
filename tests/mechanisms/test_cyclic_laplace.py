"""The mechanism of Kohli and Laskowski: noise on the boundaries between sizes, and no fit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt

REGIONS = tt.Hierarchy.from_paths(["nation", "state"], [("US", f"state {i}") for i in range(3)])


@given(seed=st.integers(0, 10_000), sizes=st.integers(1, 6))
def test_counts_are_differences_without_negative_ones(seed: int, sizes: int) -> None:
    rng = np.random.default_rng(seed)
    method = tt.mechanism("cyclic-laplace")
    plan = method.plan(REGIONS, sizes=(1, sizes), epsilon="1")
    values = [rng.integers(-5, 20, plan.shape(level)) for level in range(2)]
    found = method.postprocess(tt.Measurements(plan, values), total=9).counts
    for counts, noisy in zip(found, values, strict=True):
        for row, answers in zip(counts.tolist(), noisy.tolist(), strict=True):
            before = [0, *answers[:-1]]
            assert row == [max(0, here - last) for here, last in zip(answers, before, strict=True)]


def test_a_count_has_the_noise_of_its_two_boundaries() -> None:
    """Counts so large that none is set to zero: variances show how many draws each has, from which scale."""
    large = np.full((3, 4), 10_000)
    counts = tt.GroupCounts(REGIONS, sizes=(1, 4), leaf=large)
    runs = [tt.simulate(counts, epsilon="1", mechanism="cyclic-laplace", seed=seed) for seed in range(600)]
    off = np.concatenate([run.counts[1] - large for run in runs])
    ratio = np.exp(-0.5)  # half of epsilon for this level, and a sensitivity of 1
    draws = off.var(axis=0) / (2 * ratio / (1 - ratio) ** 2)
    np.testing.assert_allclose(draws, [1, 2, 2, 1], rtol=0.3)
    assert not np.allclose(draws, [2, 2, 2, 2], rtol=0.3)
    assert (off.sum(axis=1) == 0).all()  # each draw is added on one side and subtracted on the other
