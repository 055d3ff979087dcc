"""Plausible true counts for replicates of direct mechanisms."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.intervals.replicates import imagine, replicate
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.privacy.neighbours import TotalKind
from tallytree.solvers.checks import verify_counts
from tallytree.solvers.tree.tree_draws import _draw, _expect, _expect_root, draw_tree_counts

Ints = npt.NDArray[np.int64]


def invent_counties(seed: int, states: int = 6, counties: int = 12, sizes: int = 30) -> tt.GroupCounts:
    """Regions of very different numbers of groups, most of which are small: the large sizes are empty."""
    rng = np.random.default_rng(seed)
    paths = [("US", f"{state:02}", f"{county:02}") for state in range(states) for county in range(counties)]
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
    groups = np.exp(rng.normal(6, 1.2, len(paths)))
    leaf = rng.poisson(groups[:, None] * 0.4 ** np.arange(sizes) * 0.6)
    return tt.GroupCounts(hierarchy, sizes=(1, sizes), leaf=leaf.astype(np.int64))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    states=st.integers(1, 4),
    counties=st.integers(1, 5),
    sizes=st.integers(1, 12),
    total=st.sampled_from(["public", "private"]),
)
def test_draws_add_up_and_are_the_same_with_the_same_seed(
    seed: int, states: int, counties: int, sizes: int, total: TotalKind
) -> None:
    counts = invent_counties(seed, states, counties, sizes)
    run = tt.simulate(counts, epsilon="0.3", mechanism="direct-dp", seed=seed, total=total)
    plan = run.measurements.plan
    known = plan.hide_total(run.total)
    drawn = draw_tree_counts(plan, run.measurements.values, total=known, seed=seed)
    number = int(drawn[0].sum())
    assert known in (None, number)
    for check in verify_counts(counts.hierarchy, counts.sizes, drawn, number):
        assert check.passed, check
    again = draw_tree_counts(plan, run.measurements.values, total=known, seed=seed)
    for one, other in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_expected_counts_are_the_nearest_share_of_the_parent() -> None:
    rng = np.random.default_rng(5)
    above = rng.integers(0, 50, (40, 9))
    answers = np.rint(above * rng.random((40, 1)) + rng.normal(0, 4, above.shape)).astype(np.int64)
    above[3], answers[4] = 0, -answers[4]  # a parent without groups, and answers that are all below zero
    for row, parent, found in zip(answers, above, _expect(answers, above), strict=True):
        shares = np.linspace(0, 2, 20_001)
        off = ((row - shares[:, None] * parent) ** 2).sum(axis=1)
        np.testing.assert_allclose(found, shares[off.argmin()] * parent, atol=0.01)


@pytest.mark.parametrize(("scatter", "variance"), [(400.0, 100.0), (50.0, 200.0), (0.0, 30.0)])
def test_a_draw_has_the_mean_and_the_variance_of_the_posterior(scatter: float, variance: float) -> None:
    rng = np.random.default_rng(11)
    wide = np.ones((1, 40_000))
    drawn = _draw((1030 * wide).astype(np.int64), 1000 * wide, scatter * wide, variance, rng)
    kept = scatter / (scatter + variance)
    assert drawn.mean() == pytest.approx(1000 + 30 * kept, abs=0.3)
    assert drawn.var() == pytest.approx(kept * variance, rel=0.05, abs=0.1)


def test_few_expected_groups_are_drawn_as_often_as_they_are_expected() -> None:
    rng = np.random.default_rng(12)
    wide = np.ones((1, 40_000))
    drawn = _draw((0 * wide).astype(np.int64), 0.02 * wide, 0.02 * wide, 70.0, rng)
    assert drawn.mean() == pytest.approx(0.02, abs=0.003)
    assert drawn.var() == pytest.approx(0.02, abs=0.004)


def test_what_the_root_expects_is_as_uncertain_as_a_mean_of_its_answers() -> None:
    """Else all draws would have the same groups where there may be none."""
    rng = np.random.default_rng(13)
    answers = np.rint(5000 + rng.normal(0, 8, 300)).astype(np.int64)
    means = np.array([_expect_root(answers, 64.0, rng)[0][0] for _ in range(400)])
    for place, near in ((10, 5), (200, 41)):  # sizes from 8 to 12, and from 180 to 220
        assert means[:, place].mean() == pytest.approx(answers[place - near // 2 :][:near].mean(), abs=1)
        assert means[:, place].std() == pytest.approx(8 / np.sqrt(near), rel=0.15)


class Forgetful(DirectDP):
    """It takes what it released for the truth."""

    def draw(self, plan: tt.Plan, values: Sequence[Ints], *, total: int | None, seed: int) -> None:
        """Draw nothing."""


@pytest.mark.parametrize("total", ["public", "private"])
def test_sums_of_replicates_are_as_biased_as_those_of_releases(total: TotalKind) -> None:
    """Noise that is cut off at zero makes sums too large; from released counts that shows in part only."""
    counts = invent_counties(1)
    edges = np.arange(1, 31)
    true = float(counts.array("nation")[0] @ edges)
    seen: list[float] = []
    shown: list[float] = []
    control: list[float] = []
    for seed in range(8):
        run = tt.simulate(counts, epsilon="0.5", mechanism="direct-dp", seed=seed, total=total)
        plan = run.measurements.plan
        again, forgetful = (
            replicate(each, plan, imagine(each, run, seed=seed), total=run.total, seed=seed + 100)
            for each in (DirectDP(), Forgetful())
        )
        seen.append(float(run.counts[0][0] @ edges) - true)
        for found, made in ((shown, again), (control, forgetful)):
            found.append(float((made.made[0][0] - made.known[0][0]) @ edges))
    assert np.mean(seen) > 0
    assert 0.8 < np.mean(shown) / np.mean(seen) < 1.15
    assert np.mean(control) < 0.9 * np.mean(shown)
