"""Smoothing along the sizes, against linear algebra, and what must hold whatever the answers are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.intervals.replicates import imagine, replicate
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.privacy.neighbours import TotalKind
from tallytree.solvers.checks import verify_counts
from tallytree.solvers.joint.curves import (
    Draws,
    Model,
    draw_families,
    draw_posterior,
    draw_variance,
    find_posterior,
    find_reach,
    smooth_families,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def solve_plainly(
    noisy: Floats, noise: Floats, drift: Floats, scatter: Floats, end: float
) -> tuple[Floats, Floats]:
    """Mean and variances of the walk: one dense system for all sizes."""
    sizes = len(noisy)
    steps = np.eye(sizes) - np.eye(sizes, k=-1)
    noise = noise.copy()
    if np.isfinite(end):
        noisy, noise[-1] = np.append(noisy[:-1], end), 1e-9
    precision = steps.T @ np.diag(1 / scatter) @ steps + np.diag(1 / noise)
    right = steps.T @ (drift / scatter) + noisy / noise
    mean: Floats = np.linalg.solve(precision, right).astype(np.float64)
    variances: Floats = np.diag(np.linalg.inv(precision))
    return mean, variances


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("has_end", [False, True])
def test_the_posterior_is_that_of_one_linear_system(seed: int, has_end: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = int(rng.integers(1, 12))
    noisy, drift = rng.normal(0, 30, sizes), rng.exponential(5, sizes)
    noise, scatter = rng.exponential(20, sizes) + 0.1, rng.exponential(10, sizes) + 0.1
    end = 40.0 if has_end else np.inf
    variances = np.empty(sizes)
    curve = find_posterior(noisy, noise, drift, scatter, end, np.empty(sizes), variances)
    mean, spread = solve_plainly(noisy, noise, drift, scatter, end)
    np.testing.assert_allclose(curve, mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(variances, spread, rtol=1e-6, atol=1e-6)


def smooth(rows: Ints, families: list[int], scale: float, ends: Floats | None = None) -> Ints:
    model = Model(scale, find_reach(np.arange(1, rows.shape[1] + 1)))
    known = np.full(len(rows), np.inf) if ends is None else ends
    return smooth_families(rows, np.array(families), model, known, np.full(len(families) - 1, np.inf))


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.integers(1, 60),
    siblings=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    scale=st.sampled_from([0.1, 3.0, 300.0]),
    largest=st.sampled_from([0, 5, 10**8]),
)
def test_rows_rise_within_their_ends_and_families_are_apart(
    seed: int, sizes: int, siblings: list[int], scale: float, largest: int
) -> None:
    rng = np.random.default_rng(seed)
    families = np.concatenate([[0], np.cumsum(siblings)]).tolist()
    truth = np.cumsum(rng.integers(0, largest + 1, (families[-1], sizes)), axis=1)
    noisy = np.rint(truth + rng.laplace(0, scale, truth.shape)).astype(np.int64)
    ends = np.where(rng.random(len(noisy)) < 0.5, truth[:, -1].astype(np.float64), np.inf)
    found = smooth(noisy, families, scale, ends)
    assert (found >= 0).all() and (np.diff(found, axis=1) >= 0).all()
    assert (found <= ends[:, None]).all()
    for begin, stop in pairwise(families):
        alone = smooth(noisy[begin:stop], [0, stop - begin], scale, ends[begin:stop])
        np.testing.assert_array_equal(found[begin:stop], alone)
        turned = smooth(noisy[begin:stop][::-1], [0, stop - begin], scale, ends[begin:stop][::-1])
        assert np.abs(turned[::-1] - alone).max(initial=0) <= 1  # sums in another order may round otherwise


def test_nearly_exact_answers_are_kept() -> None:
    rng = np.random.default_rng(4)
    for mean in (0.2, 40.0, 10.0**6):
        truth = np.cumsum(rng.poisson(mean * np.exp(-np.arange(50) / 9), (6, 50)), axis=1)
        np.testing.assert_array_equal(smooth(truth, [0, 6], 0.02), truth)


def invent_taxis(kind: str) -> tt.GroupCounts:
    """Some regions with many sizes: a smooth curve, or heaps at every fifth size, in all of them alike."""
    rng = np.random.default_rng(2)
    sizes = np.arange(1, 301)
    curve = 60 * np.exp(-sizes / 60) * (np.where(sizes % 5 == 0, 4, 0.25) if kind == "heaps" else 1)
    paths = [("city", f"part {i % 3}", f"zone {i:02}") for i in range(12)]
    h = tt.Hierarchy.from_paths(["city", "part", "zone"], sorted(paths))
    return tt.GroupCounts(h, (1, 300), rng.poisson(rng.lognormal(0, 0.5, (12, 1)) * curve))


def find_errors(counts: tt.GroupCounts, *, smooth: bool, total: TotalKind) -> Floats:
    """L1 and EMD from above, by level."""
    mechanism = tt.mechanism("cumulative-joint", smooth=smooth)
    errors = []
    for seed in range(4):
        run = tt.simulate(counts, epsilon="0.5", mechanism=mechanism, seed=seed, total=total)
        table = tt.evaluate(run, counts)
        errors.append([table[name].to_numpy() for name in ("l1", "emd_above")])
    means: Floats = np.mean(errors, axis=0)
    return means


@pytest.mark.parametrize("total", ["public", "private"])
@pytest.mark.parametrize("kind", ["smooth", "heaps"])
def test_curves_are_more_accurate_and_other_levels_pay_little_for_it(kind: str, total: TotalKind) -> None:
    counts = invent_taxis(kind)
    with_curves = find_errors(counts, smooth=True, total=total)
    without = find_errors(counts, smooth=False, total=total)
    assert with_curves[0, 2] < 0.7 * without[0, 2]  # L1 at the zones
    assert (with_curves < 1.08 * without).all()


def test_classes_and_ragged_trees_are_smoothed_too() -> None:
    paths = [("US", "GA", "Bibb"), ("US", "GA", "Cobb"), ("US", "DC"), ("US", "NY", "Erie")]
    h = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
    leaf = [[90, 40, 8], [50, 20, 3], [70, 10, 0], [20, 9, 1]]
    counts = tt.GroupCounts(h, tt.SizeClasses([1, 5, 20]), leaf)
    mechanism = tt.mechanism("cumulative-joint")
    totals: tuple[TotalKind, ...] = ("public", "private")
    for total in totals:
        run = tt.simulate(counts, epsilon="50", mechanism=mechanism, seed=1, total=total)
        assert np.abs(run.counts[0] - counts.array(0)).max() <= 2


# Draws from the posterior: plausible true counts, with which intervals begin.


@pytest.mark.parametrize("end", [40.0, np.inf])
def test_draws_have_the_mean_and_the_variances_of_the_posterior(end: float) -> None:
    rng = np.random.default_rng(3)
    sizes, times = 8, 20_000
    noisy, drift = rng.normal(0, 30, sizes), rng.exponential(5, sizes)
    noise, scatter = rng.exponential(20, sizes) + 0.1, rng.exponential(10, sizes) + 0.1
    means, variances = np.empty(sizes), np.empty(sizes)

    def draw(flat: npt.NDArray[np.bool_], times: int) -> npt.NDArray[np.float64]:
        walk = noisy, noise, drift, scatter, end, flat, means, variances
        return np.array([draw_posterior(*walk) for _ in range(times)])

    draws = draw(np.zeros(sizes, dtype=np.bool_), times)
    mean, spread = solve_plainly(noisy, noise, drift, scatter, end)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=6 * (spread.max() / times) ** 0.5 + 1e-6)
    np.testing.assert_allclose(draws.var(axis=0), spread, rtol=0.08, atol=1e-6)
    steps = np.diff(draws, axis=1).var(axis=0)
    assert (steps < 2 * scatter[1:]).all()  # a control: draws of each size alone would be rougher
    # Flat sizes have no draws of their own: they follow from the last.
    steps = np.diff(draw(np.ones(sizes, dtype=np.bool_), 10), axis=1)
    assert np.linalg.matrix_rank(steps - steps.mean(axis=0), tol=1e-6) <= 1


def test_variances_drawn_for_laplace_noise_are_those_it_was_made_with() -> None:
    """Gaussians of exponential variances are Laplace draws; given these, the variances come back."""
    rng = np.random.default_rng(4)
    scale, times = 7.0, 40_000
    variances = rng.exponential(2 * scale**2, times)
    offs = np.abs(rng.normal(0, np.sqrt(variances)))
    again = np.array([draw_variance(off, scale) for off in offs])
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    np.testing.assert_allclose(np.quantile(again, shares), np.quantile(variances, shares), rtol=0.06)
    # Controls: variances of a scale that is off, and offs without their variances.
    wrong = np.array([draw_variance(off, 1.3 * scale) for off in offs])
    assert np.quantile(wrong, 0.5) > 1.15 * np.quantile(variances, 0.5)
    assert np.corrcoef(again, offs)[0, 1] > 0.3


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), sizes=st.integers(1, 50), siblings=st.integers(1, 6))
def test_draws_of_siblings_add_up_to_their_parents(seed: int, sizes: int, siblings: int) -> None:
    rng = np.random.default_rng(seed)
    truth = np.cumsum(rng.poisson(9, (siblings, sizes)), axis=1)
    noisy = truth + np.rint(rng.laplace(0, 5, truth.shape)).astype(np.int64)
    model = Model(5.0, find_reach(np.arange(1, sizes + 1)))
    none, scales = np.full(siblings, np.inf), np.full(siblings, 5.0)
    shift = rng.normal(0, 9, (1, sizes))
    draws = Draws(seed, scales, shift)
    families = np.array([0, siblings])
    drawn, off = draw_families(noisy, families, model, none, np.array([np.inf]), draws)
    np.testing.assert_allclose(off.sum(axis=0), shift[0], atol=1e-6)
    assert (np.diff(drawn, axis=1) >= 0).all() and (drawn >= 0).all()
    again, _ = draw_families(noisy, families, model, none, np.array([np.inf]), draws)
    np.testing.assert_array_equal(again, drawn)
    others = draws._replace(seed=seed + 1, shifts=np.empty((0, 0)))
    assert siblings * sizes < 8 or (draw_families(noisy, families, model, none, none, others)[1] != off).any()


@pytest.mark.parametrize("total", ["public", "private"])
def test_what_is_imagined_is_as_far_off_as_the_truth(total: TotalKind) -> None:
    """The errors of replicates are those of releases; from released counts alone they are too small."""
    counts = invent_taxis("smooth")
    method = tt.mechanism("cumulative-joint")
    seen, shown, control = [], [], []
    for seed in range(6):
        run = tt.simulate(counts, epsilon="0.5", mechanism=method, seed=seed, total=total)
        hidden = run.measurements.plan.hide_total(run.total)
        imagined = method.imagine(run.measurements, total=hidden, seed=seed)
        assert imagined is not None
        level = counts.hierarchy.index("zone")
        for check in verify_counts(counts.hierarchy, counts.sizes, imagined, int(imagined[0].sum())):
            assert check.passed, check
        again, smooth = (
            replicate(
                method,
                run.measurements.plan,
                imagine(each, run, seed=seed),
                total=run.total,
                seed=seed + 100,
            )
            for each in (method, Forgetful())
        )
        seen.append(np.square(run.counts[level] - counts.array(level)).mean())
        shown.append(np.square(again.made[level] - again.known[level]).mean())
        control.append(np.square(smooth.made[level] - smooth.known[level]).mean())
    assert 0.9 < np.mean(shown) / np.mean(seen) < 1.25
    assert np.mean(control) < 0.88 * np.mean(seen)


class Forgetful(CumulativeJoint):
    """It takes what it released for the truth."""

    def draw(self, plan: tt.Plan, values: Sequence[Ints], *, total: int | None, seed: int) -> None:
        """Draw nothing."""


def test_flat_stretches_take_the_mean_of_gaussian_and_the_median_of_geometric_noise() -> None:
    row = np.concatenate([[5000] * 10, [300] * 50])[None]  # falls, so its isotonic fit is flat
    reach, none = find_reach(np.arange(1, 61)), np.array([np.inf])
    for is_gaussian, expected in ((True, row.mean()), (False, 300)):
        found = smooth_families(row, np.array([0, 1]), Model(900.0, reach, is_gaussian), none, none)
        assert (abs(found - expected) < 0.6).all()
